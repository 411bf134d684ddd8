// ---------------------------------------------------------------- time
const ICONS = {play: "M3 1.5v11l9-5.5z", pause: "M3 1.5h3v11H3zM8 1.5h3v11H8z"};

function showPlaying() {
  byId("play").innerHTML = `<svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true"><path d="${ICONS[state.playing ? "pause" : "play"]}"/></svg>`;
}

function seek(t) { state.t = settle(clamp(t, start, end)); state.dirty = true; }
function play() { if (duration > 0) { if (state.t >= end) seek(start); state.playing = true; state.last = 0; } showPlaying(); }
function pause() { state.playing = false; seek(state.t); showPlaying(); }
function stepBy(part) {  // by a part of the whole motion, to the next sample at least
  const from = state.t, i = locate(from).i;
  pause(); seek(from + part * duration);
  if (state.t === from) seek(times[clamp(i + Math.sign(part), 0, count - 1)]);
}
function toggle() { if (state.playing) pause(); else play(); }

function showClock() {
  const digits = clamp(Math.ceil(2 - Math.log10(duration || 1)) + 1, 1, 9), show = (t) => t.toFixed(digits).replace("-", "\u2212");
  byId("clock").innerHTML = `t = ${show(state.t)} s <span>/ ${show(end)} s</span>`;
  byId("seek").value = state.t;
}

function tick(now) {
  if (state.playing) {
    const passed = state.last ? Math.min((now - state.last) / 1000, 0.1) : 0;  // a tab in the background does not jump
    const next = state.t + passed * state.speed;
    state.t = next <= end ? next : start + (next - end) % duration;
    state.last = now; state.dirty = true;
  }
  if (state.dirty) paint();
  requestAnimationFrame(tick);
}

let afterPaint = () => {};  // for what a page shows beside the picture

function paint() {
  const at = present(state.t);
  state.dirty = false;
  drawScene(at);
  strips.forEach((strip) => drawStrip(strip, at));
  showClock();
  afterPaint();
}

function speeds() {  // the usual five, and more where real time would be a blink or an hour
  const list = [0.25, 0.5, 1, 2, 4];
  for (let s = 0.1; duration > 0 && duration / list[0] < 8 && s > 1e-7; s /= 10) list.unshift(Number(s.toPrecision(1)));
  for (let s = 10; duration / list[list.length - 1] > 15 && s < 1e7; s *= 10) list.push(s);
  return list;
}

function makeSpeeds() {
  const list = speeds(), usual = duration < 0.25 ? list.find((s) => s === list[0] || duration / s < 8) : 1;
  for (const s of list) byId("speed").append(new Option(s === 1 ? "\u00d71 real time" : "\u00d7" + s, s));
  state.speed = duration > 0 ? usual : 1;
  byId("speed").value = state.speed;
}

function timeInAddress() {
  const found = /[#?&]t=([-+0-9.eE]+)/.exec(location.search + location.hash), t = found ? Number(found[1]) : NaN;
  return Number.isFinite(t) ? t : null;
}

// ---------------------------------------------------------------- what the user does
function listenToPointers() {
  const held = new Map();
  const spread = () => { const [a, b] = [...held.values()]; return {x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, d: Math.hypot(a.x - b.x, a.y - b.y) || 1}; };
  const spot = (event) => { const box = canvas.getBoundingClientRect(); return {x: event.clientX - box.left, y: event.clientY - box.top}; };
  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); held.set(event.pointerId, spot(event)); });
  canvas.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) return;
    const from = held.get(event.pointerId), to = spot(event), before = held.size === 2 ? spread() : null;
    held.set(event.pointerId, to);
    if (before) {
      const after = spread();
      view.pan(after.x - before.x, after.y - before.y); view.scale(after.d / before.d, after.x, after.y);
    } else if (held.size === 1) {
      const move = event.shiftKey || event.buttons & 6 ? "pan" : "drag";
      view[move](to.x - from.x, to.y - from.y);
    }
    state.dirty = true;
  });
  const release = (event) => held.delete(event.pointerId);
  canvas.addEventListener("pointerup", release); canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("dblclick", fitView);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const p = spot(event), lines = event.deltaMode === 1 ? 24 : 1;
    view.scale(Math.exp(-0.0016 * clamp(event.deltaY * lines, -240, 240)), p.x, p.y); state.dirty = true;
  }, {passive: false});
}

function fitView() { state.follow = false; byId("follow").setAttribute("aria-pressed", false); view.fit(); state.dirty = true; }

function listenToKeys() {
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const native = event.target.closest && event.target.closest("button, select");
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (event.key === " " && !native) { toggle(); event.preventDefault(); }
    else if (step && !(native && native.tagName === "SELECT")) { stepBy(step / 100); event.preventDefault(); }
    else if (event.key === "Home") { seek(start); event.preventDefault(); }
  });
}

function listenToControls() {
  const switchFor = (id) => {
    const show = () => byId(id).setAttribute("aria-pressed", state[id]);
    byId(id).addEventListener("click", () => { state[id] = !state[id]; state.dirty = true; show(); });
    show();
  };
  switchFor("labels"); switchFor("paths"); switchFor("follow"); switchFor("forces");
  byId("follow").addEventListener("click", () => { if (state.follow) view.fit(boundsAt(locate(state.t))); else view.fit(); state.followed = centreAt(locate(state.t)); });
  byId("play").addEventListener("click", toggle);
  byId("fit").addEventListener("click", fitView);
  byId("speed").addEventListener("change", (event) => { state.speed = Number(event.target.value); event.target.blur(); });
  byId("seek").addEventListener("input", (event) => { pause(); seek(Number(event.target.value)); });
  // After a click with the mouse the space bar should play and pause again, not repeat the click.
  for (const button of document.querySelectorAll("button")) button.addEventListener("pointerup", () => setTimeout(() => button.blur()));
}

function layOut() {
  const box = sizeCanvas(canvas, ink);
  width = box.width; height = box.height;
  if (view.fitted) view.fit();
  readColours(); strips.forEach(layStrip);
  paint();  // at once: a new size has emptied the canvas, and waiting for the next frame would flicker
}

function begin() {
  strips = scene.traces.map((trace) => makeStrip(trace));
  byId("title").textContent = scene.title;
  byId("caption").textContent = scene.caption;
  canvas.setAttribute("aria-label", "Animation: " + scene.title);
  Object.assign(byId("seek"), {min: start, max: end, value: start, disabled: !(duration > 0)});
  state.labels = scene.tracks.length + moving.length <= 12;
  if (!scene.tracks.length) byId("paths").hidden = byId("follow").hidden = true;
  byId("forces").hidden = !(scene.arrows || []).length;
  makeSpeeds(); listenToControls(); listenToPointers(); listenToKeys(); layOut();
  new ResizeObserver(layOut).observe(document.body);
  new ResizeObserver(layOut).observe(byId("stage"));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", layOut);
  window.addEventListener("hashchange", () => { if (timeInAddress() !== null) { pause(); seek(timeInAddress()); } });
  const given = timeInAddress(), still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (given !== null) { seek(given); pause(); } else if (still) pause(); else play();
  requestAnimationFrame(tick);
}

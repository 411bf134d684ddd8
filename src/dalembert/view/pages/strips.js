// ---------------------------------------------------------------- strip plots
let strips = [];  // made when a page begins

function makeStrip(trace) {
  const element = document.createElement("canvas");
  element.setAttribute("role", "img"); element.setAttribute("aria-label", trace.name + " over time");
  byId("traces").append(element);
  const strip = {trace, element, brush: element.getContext("2d"), still: document.createElement("canvas")};
  scaleStrip(strip);
  const seekTo = (event) => { const box = element.getBoundingClientRect(); pause(); seek(start + duration * clamp((event.clientX - box.left - 64) / (box.width - 72), 0, 1)); };
  element.addEventListener("pointerdown", (event) => { element.setPointerCapture(event.pointerId); seekTo(event); });
  element.addEventListener("pointermove", (event) => { if (event.buttons) seekTo(event); });
  return strip;
}

function scaleStrip(strip) {  // its range, with some room where nothing changes
  const known = strip.trace.values.filter((v) => v !== null);
  let low = known.length ? Math.min(...known) : 0, high = known.length ? Math.max(...known) : 1;
  if (!(high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high)))) { const pad = 0.1 * Math.abs(high) || 1; low -= pad; high += pad; }
  Object.assign(strip, {low, high});
}

function updateStrips() {  // after showScene, for a motion of the same traces
  strips.forEach((strip, k) => { strip.trace = scene.traces[k]; scaleStrip(strip); layStrip(strip); });
}

function layStrip(strip) {  // the part that stays the same from frame to frame
  const box = sizeCanvas(strip.element, strip.brush), c = strip.still.getContext("2d");
  strip.still.width = strip.element.width; strip.still.height = strip.element.height;
  const ratio = strip.element.width / Math.max(box.width, 1);
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  const left = 64, right = box.width - 8, top = 24, bottom = box.height - 18;
  strip.x = (t) => left + (right - left) * (duration ? (t - start) / duration : 0);
  strip.y = (v) => bottom - (bottom - top) * (v - strip.low) / (strip.high - strip.low);
  Object.assign(strip, {top, bottom, right});
  c.font = "10.5px " + FONT; c.fillStyle = colours.muted; c.lineWidth = 1;
  const line = (x0, y0, x1, y1) => { c.beginPath(); c.moveTo(x0, y0); c.lineTo(x1, y1); c.stroke(); };
  c.strokeStyle = colours["grid-strong"]; c.textAlign = "right"; c.textBaseline = "middle";
  let step = niceStep((strip.high - strip.low) / 2.2);
  if (ticksBetween(strip.low, strip.high, step).length < 2) step = niceStep(step / 2.6);
  for (const v of ticksBetween(strip.low, strip.high, step)) { line(left, strip.y(v), right, strip.y(v)); c.fillText(formatTick(v, step), left - 6, strip.y(v)); }
  c.textAlign = "center"; c.textBaseline = "alphabetic";
  const pace = niceStep((duration || 1) * 70 / Math.max(right - left, 70));
  for (const t of ticksBetween(start, end, pace)) {
    const label = formatTick(t, pace) + (t + pace > end ? " s" : "");
    c.fillText(label, Math.min(strip.x(t), box.width - 1 - c.measureText(label).width / 2), box.height - 4);
  }
  c.strokeStyle = colours.accent; c.lineWidth = 1.4; c.lineJoin = "round"; c.beginPath();
  let broken = true;
  strip.trace.values.forEach((v, i) => {
    if (v === null) { broken = true; return; }
    if (broken) c.moveTo(strip.x(times[i]), strip.y(v)); else c.lineTo(strip.x(times[i]), strip.y(v));
    broken = false;
  });
  c.stroke();
  c.fillStyle = colours.ink; c.font = "600 11.5px " + FONT; c.textAlign = "left"; c.fillText(strip.trace.name, left, 13);
}

function drawStrip(strip, at) {
  const c = strip.brush, box = strip.element.getBoundingClientRect();
  c.clearRect(0, 0, box.width, box.height);
  c.drawImage(strip.still, 0, 0, strip.still.width, strip.still.height, 0, 0, box.width, box.height);
  const a = strip.trace.values[at.i], b = strip.trace.values[at.j], x = strip.x(state.t);
  const v = a === null || b === null ? null : mix(a, b, at.s);
  c.strokeStyle = colours.muted; c.lineWidth = 1; c.beginPath(); c.moveTo(x, strip.top - 3); c.lineTo(x, strip.bottom + 2); c.stroke();
  if (v !== null) { c.fillStyle = colours.accent; c.strokeStyle = colours.bg; c.lineWidth = 1.5; c.beginPath(); c.arc(x, strip.y(v), 4, 0, 2 * Math.PI); c.fill(); c.stroke(); }
  c.font = "11.5px " + FONT; c.textAlign = "right"; c.textBaseline = "alphabetic"; c.fillStyle = colours.muted;
  c.fillText(v === null ? "\u2013" : formatNumber(v), strip.right, 13);
}


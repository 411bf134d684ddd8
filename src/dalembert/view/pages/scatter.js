// ---------------------------------------------------------------- the runs of a sweep: click one to see it move
const cloud = {picked: -1, brush: null};

function columnShown(id) { return facts.runs.columns[byId(id).value]; }

function rangeOfColumn(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); }
  [low, high] = rangeOf(low, high);
  const room = 0.05 * (high - low);
  return [low - room, high + room];
}

function layScatter() {  // where each run is on the canvas; null where it has no value
  const box = sizeCanvas(byId("scatter"), cloud.brush), across = columnShown("across"), up = columnShown("up");
  const [x0, x1] = rangeOfColumn(across), [y0, y1] = rangeOfColumn(up), left = 46, right = box.width - 8, top = 8, bottom = box.height - 20;
  cloud.box = {left, right, top, bottom, x0, x1, y0, y1, width: box.width, height: box.height};
  cloud.places = across.map((v, k) => (v === null || up[k] === null ? null : [left + (right - left) * (v - x0) / (x1 - x0), bottom - (bottom - top) * (up[k] - y0) / (y1 - y0)]));
  drawScatter();
}

function drawScatter() {
  const c = cloud.brush, {left, right, top, bottom, x0, x1, y0, y1, width, height} = cloud.box;
  c.clearRect(0, 0, width, height);
  c.font = "10.5px " + FONT; c.fillStyle = colours.muted; c.strokeStyle = colours.grid; c.lineWidth = 1;
  const wide = niceStep((x1 - x0) / 4), tall = niceStep((y1 - y0) / 4);
  c.textAlign = "center"; c.textBaseline = "alphabetic";
  for (const v of ticksBetween(x0, x1, wide)) { const x = left + (right - left) * (v - x0) / (x1 - x0); strokeLine(c, x, top, x, bottom); c.fillText(formatTick(v, wide), x, height - 5); }
  c.textAlign = "right"; c.textBaseline = "middle";
  for (const v of ticksBetween(y0, y1, tall)) { const y = bottom - (bottom - top) * (v - y0) / (y1 - y0); strokeLine(c, left, y, right, y); c.fillText(formatTick(v, tall), left - 5, y); }
  cloud.places.forEach((p, k) => {
    if (!p) return;
    c.beginPath(); c.arc(p[0], p[1], k === cloud.picked ? 6 : 3.5, 0, 2 * Math.PI);
    c.fillStyle = k === cloud.picked ? colours["axis-x"] : colours.accent; c.strokeStyle = c.fillStyle; c.globalAlpha = k === cloud.picked ? 1 : 0.65;
    if (facts.runs.ok[k]) c.fill(); else c.stroke();  // a ring: its certificate was not OK
    c.globalAlpha = 1;
  });
}

function pickRun(k) {  // its values to the sliders, its motion computed here, and compared with what the sweep kept
  const {varied, columns, outputs, ok, finals} = facts.runs, values = varied.map((name) => columns[name][k]);
  for (const slider of facts.sliders) if (varied.includes(slider.name)) setSlider(slider, values[varied.indexOf(slider.name)]);
  cloud.picked = k;
  drawScatter();
  const list = [...varied, ...outputs].filter((name) => columns[name][k] !== null).map((name) => `${name} = ${formatNumber(columns[name][k], 5)}`);
  let text = `Run ${k + 1} of ${ok.length}: ${list.join(", ")}.`;
  if (recompute({settle: true})) {
    layOut(); seek(start); play();
    const last = now.run.reached === facts.t_end ? now.run.at(facts.t_end).z : null, apart = Object.entries(finals).filter(([name]) => columns[name][k] !== null)
      .map(([name, i]) => (last ? Math.abs(last[i] - columns[name][k]) / Math.max(1, Math.abs(columns[name][k])) : NaN));
    if (apart.length) { cloud.apart = Math.max(...apart); text += cloud.apart <= 1e-6 ? ` This page ends where the run did, to ${formatNumber(cloud.apart, 2)}.` : ` This page does NOT end where the run did: ${Number.isNaN(cloud.apart) ? "it stops before" : "off by " + formatNumber(cloud.apart, 2)}. Was the sweep started from other values?`; }
  }
  byId("picked").textContent = text;
}

function nextRun(step) {
  const count = cloud.places.length;
  for (let k = cloud.picked < 0 ? (step > 0 ? 0 : count - 1) : cloud.picked + step; k >= 0 && k < count; k += step) if (cloud.places[k]) { pickRun(k); return; }
}

function beginScatter() {
  if (!facts.runs) return;
  const {varied, outputs} = facts.runs, names = [...varied, ...outputs], canvasOf = byId("scatter");
  byId("runs").hidden = false;
  for (const id of ["across", "up"]) { for (const name of names) byId(id).append(new Option(name, name)); byId(id).addEventListener("change", layScatter); }
  byId("across").value = names[0]; byId("up").value = outputs[0] || names[names.length - 1];
  cloud.brush = canvasOf.getContext("2d");
  canvasOf.addEventListener("click", (event) => {
    const box = canvasOf.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let best = -1, least = 20;
    cloud.places.forEach((p, k) => { const d = p ? Math.hypot(p[0] - x, p[1] - y) : Infinity; if (d < least) { least = d; best = k; } });
    if (best >= 0) pickRun(best);
  });
  canvasOf.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (step) { nextRun(step); event.preventDefault(); event.stopPropagation(); }
  });
  layScatter();
  new ResizeObserver(layScatter).observe(canvasOf);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", layScatter);
}

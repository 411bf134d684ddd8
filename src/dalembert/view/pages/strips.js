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
  let low = Infinity, high = -Infinity;
  for (const v of strip.trace.values) if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); }
  if (low > 0 && low < 0.1 * high) low = 0;  // sizes, such as a violation, are seen from zero on
  [strip.low, strip.high] = rangeOf(low, high);
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
  c.strokeStyle = colours["grid-strong"]; c.textAlign = "right"; c.textBaseline = "middle";
  let step = niceStep((strip.high - strip.low) / 2.2);
  if (ticksBetween(strip.low, strip.high, step).length < 2) step = niceStep(step / 2.6);
  for (const v of ticksBetween(strip.low, strip.high, step)) { strokeLine(c, left, strip.y(v), right, strip.y(v)); c.fillText(formatTick(v, step), left - 6, strip.y(v)); }
  labelTimes(c, start, end, {left, right, y: box.height - 4, apart: 70, wide: box.width}, strip.x);
  strokeCurve(c, strip.trace.values, strip.x, strip.y, colours.accent, 1.4, {noise: strip.trace.noise});
  c.fillStyle = colours.ink; c.font = "600 11.5px " + FONT; c.textAlign = "left"; c.fillText(strip.trace.name, left, 13);
}

function drawStrip(strip, at) {
  const c = strip.brush, box = strip.element.getBoundingClientRect();
  c.clearRect(0, 0, box.width, box.height);
  c.drawImage(strip.still, 0, 0, strip.still.width, strip.still.height, 0, 0, box.width, box.height);
  const x = strip.x(state.t), v = valueAt(strip.trace.values, at, strip.trace.noise);
  c.strokeStyle = colours.muted; c.lineWidth = 1; strokeLine(c, x, strip.top - 3, x, strip.bottom + 2);
  if (v !== null) { c.fillStyle = colours.accent; c.strokeStyle = colours.bg; c.lineWidth = 1.5; c.beginPath(); c.arc(x, strip.y(v), 4, 0, 2 * Math.PI); c.fill(); c.stroke(); }
  c.font = "11.5px " + FONT; c.textAlign = "right"; c.textBaseline = "alphabetic"; c.fillStyle = colours.muted;
  c.fillText(v === null ? "\u2013" : formatNumber(v), strip.right, 13);
}


// ---------------------------------------------------------------- plots that share their time axis with the picture
const zoom = {from: 0, to: 1, pointer: null};  // pointer: the time under the mouse, null if it is elsewhere
let charts = [];

function makeChart(group) {
  const box = document.createElement("div"), head = document.createElement("h3"), chips = document.createElement("div"), element = document.createElement("canvas");
  box.className = "chart"; chips.className = "chips"; chips.setAttribute("role", "group"); chips.setAttribute("aria-label", group.name);
  head.textContent = group.name;
  element.tabIndex = 0; element.setAttribute("role", "img"); element.setAttribute("aria-label", group.name + " over time");
  const chart = {group, box, element, brush: element.getContext("2d"), curves: []};
  group.channels.forEach((channel, k) => chart.curves.push(makeChip(chart, channel, k, chips)));
  box.append(head, chips, element);
  byId("charts").append(box);
  listenToChart(chart);
  return chart;
}

function makeChip(chart, channel, k, chips) {
  const button = document.createElement("button"), line = document.createElement("i"), value = document.createElement("b");
  const curve = {...channel, k, shown: chart.group.shown.includes(channel.name), button, value, line};
  button.type = "button";
  button.append(line, document.createTextNode(channel.name), value);
  button.addEventListener("click", () => { curve.shown = !curve.shown; layCharts(); });
  chips.append(button);
  return curve;
}

// ---------------------------------------------------------------- drawing
const shownOf = (chart) => chart.curves.filter((curve) => curve.shown);
const sizeOf = (chart, v) => (chart.group.log ? Math.log10(Math.max(v, 1e-18)) : v);

function scaleChart(chart) {  // the range of the shown curves within the zoomed time
  let low = Infinity, high = -Infinity;
  const first = locate(zoom.from).i, last = locate(zoom.to).j;
  for (const curve of shownOf(chart)) for (let i = first; i <= last; i++) if (curve.values[i] !== null) {
    const v = sizeOf(chart, curve.values[i]);
    if (v < low) low = v;
    if (v > high) high = v;
  }
  [low, high] = rangeOf(low, high, chart.group.log ? 1 : 0);
  const room = 0.04 * (high - low);
  Object.assign(chart, {low: low - room, high: high + room});
}

function layChart(chart) {
  const shown = shownOf(chart);
  chart.box.classList.toggle("empty", !shown.length);
  for (const curve of chart.curves) {
    curve.button.setAttribute("aria-pressed", curve.shown);
    curve.line.style.background = curve.shown ? trackColour(curve.k) : "";
  }
  if (shown.length) { chart.size = sizeCanvas(chart.element, chart.brush); scaleChart(chart); }
}

function layCharts() { charts.forEach(layChart); drawCharts(); }

function drawCharts() {
  const t = zoom.pointer === null ? state.t : zoom.pointer, at = locate(t);
  for (const chart of charts) {
    if (shownOf(chart).length) drawChart(chart, t);
    for (const curve of chart.curves) {
      const v = curve.shown ? valueAt(curve.values, at, curve.noise) : null;
      curve.value.textContent = v === null ? "" : formatNumber(v, 4);
    }
  }
}

function drawChart(chart, t) {
  const c = chart.brush, {width: wide, height: tall} = chart.size, left = 64, right = wide - 10, top = 8, bottom = tall - 20;
  const x = (time) => left + (right - left) * (time - zoom.from) / (zoom.to - zoom.from || 1);
  const y = (v) => bottom - (bottom - top) * (sizeOf(chart, v) - chart.low) / (chart.high - chart.low);
  Object.assign(chart, {left, right});
  c.clearRect(0, 0, wide, tall);
  c.font = "11px " + FONT; c.lineWidth = 1; c.fillStyle = colours.muted; c.strokeStyle = colours.grid;
  const step = Math.max(niceStep((chart.high - chart.low) / 6), chart.group.log ? 1 : 0);
  c.textAlign = "right"; c.textBaseline = "middle";
  for (const v of ticksBetween(chart.low, chart.high, step)) {
    const height = bottom - (bottom - top) * (v - chart.low) / (chart.high - chart.low);
    strokeLine(c, left, height, right, height);
    c.fillText(chart.group.log ? formatNumber(10 ** Math.round(v), 1) : formatTick(v, step), left - 7, height);
  }
  labelTimes(c, zoom.from, zoom.to, {left, right, y: tall - 5, apart: 80, wide}, x, (at) => strokeLine(c, at, top, at, bottom));
  c.save(); c.beginPath(); c.rect(left, 0, right - left, tall); c.clip();
  const first = locate(zoom.from).i, last = locate(zoom.to).j;
  for (const curve of shownOf(chart)) strokeCurve(c, curve.values, x, y, trackColour(curve.k), 1.6, {first, last, noise: curve.noise});
  if (chart.drag) { c.fillStyle = colours.accent; c.globalAlpha = 0.15; c.fillRect(x(chart.drag[0]), top, x(chart.drag[1]) - x(chart.drag[0]), bottom - top); c.globalAlpha = 1; }
  c.strokeStyle = colours.muted; c.lineWidth = 1; strokeLine(c, x(t), top, x(t), bottom);
  const at = locate(t);
  for (const curve of shownOf(chart)) { const v = valueAt(curve.values, at, curve.noise); if (v !== null) { c.fillStyle = trackColour(curve.k); c.beginPath(); c.arc(x(t), y(v), 3.5, 0, 2 * Math.PI); c.fill(); } }
  c.restore();
}

// ---------------------------------------------------------------- what the user does
function setZoom(from, to) {
  const least = 1e-6 * (duration || 1), middle = (from + to) / 2, half = Math.max((to - from) / 2, least);
  zoom.from = Math.max(start, middle - half); zoom.to = Math.min(end, middle + half);
  layCharts();
}

function zoomBy(factor, about = state.t) {
  const t = clamp(about, zoom.from, zoom.to);
  setZoom(t - (t - zoom.from) * factor, t + (zoom.to - t) * factor);
}

function listenToChart(chart) {
  const timeAt = (event) => { const box = chart.element.getBoundingClientRect(); return clamp(mix(zoom.from, zoom.to, (event.clientX - box.left - chart.left) / (chart.right - chart.left)), zoom.from, zoom.to); };
  const {element} = chart;
  element.addEventListener("pointerdown", (event) => { element.setPointerCapture(event.pointerId); chart.drag = [timeAt(event), timeAt(event)]; });
  element.addEventListener("pointermove", (event) => { const t = timeAt(event); zoom.pointer = settle(t); if (chart.drag) chart.drag[1] = t; drawCharts(); });
  element.addEventListener("pointerleave", () => { zoom.pointer = null; drawCharts(); });
  element.addEventListener("pointercancel", () => { chart.drag = null; drawCharts(); });
  element.addEventListener("pointerup", (event) => {
    if (!chart.drag) return;
    const [a, b] = chart.drag.sort((p, q) => p - q), wide = chart.right - chart.left;
    chart.drag = null;
    if ((b - a) * wide > 6 * (zoom.to - zoom.from)) setZoom(a, b); else { pause(); seek(timeAt(event)); }
  });
  element.addEventListener("dblclick", () => setZoom(start, end));
  element.addEventListener("wheel", (event) => { if (event.ctrlKey || event.shiftKey) { event.preventDefault(); zoomBy(Math.exp(0.002 * (event.deltaY || event.deltaX)), timeAt(event)); } }, {passive: false});
  element.addEventListener("keydown", (event) => {
    if (event.key === "+" || event.key === "=") zoomBy(0.7); else if (event.key === "-") zoomBy(1 / 0.7); else if (event.key === "0") setZoom(start, end); else return;
    event.preventDefault();
  });
}

function beginCharts(groups) {
  zoom.from = start; zoom.to = end;
  charts = groups.map(makeChart);
  byId("closer").addEventListener("click", () => zoomBy(0.5)); byId("wider").addEventListener("click", () => zoomBy(2)); byId("whole").addEventListener("click", () => setZoom(start, end));
  afterPaint = drawCharts;
  layCharts();
  new ResizeObserver(layCharts).observe(byId("charts"));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", layCharts);
}

// ---------------------------------------------------------------- the scene
// A page calls showScene(scene) before anything is drawn, and again whenever the motion has changed.
const byId = (id) => document.getElementById(id);
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const mix = (a, b, s) => a + (b - a) * s;
let scene, times, count, pieces, coarse, start, end, duration, moving, bounds, extent, bodySize, barSize, trailTime, arrowScale, view;
const state = {t: 0, playing: false, speed: 1, labels: true, paths: false, follow: false, forces: false, dirty: true, last: 0};
let colours = {};
const isClosed = (frame) => frame.length > 6 && Math.hypot(...frame[0].map((x, i) => x - frame[frame.length - 1][i])) < 1e-6 * extent;
const isBar = (line) => line.bar;                    // short moving polylines are links; long ones and hoops are curves

function showScene(next, keepSize = false) {         // keepSize: the view and the widths of links stay as they are
  scene = next; times = scene.t; count = times.length;
  pieces = piecesOf(scene.starts || [], count); coarse = new Set(scene.coarse || []);
  start = times[0]; end = times[count - 1]; duration = end - start;
  state.t = clamp(state.t, start, end);
  moving = scene.lines.filter((line) => !line.fixed);
  if (!keepSize) {
    bounds = boundsOf();
    extent = Math.max(...bounds.high.map((h, i) => h - bounds.low[i])) || 1;
  }
  for (const line of scene.lines) line.bar = line.points[0].length <= 8 && !isClosed(line.points[0]);
  for (const line of scene.lines) line.hoop = hoopOf(line.points[0]);
  for (const line of moving) line.grounded = pivotsOf(line);
  if (!keepSize) {
    bodySize = 0.5 * bodyEdge();                     // half the edge of a body's box, in metres
    barSize = barWidth();                            // width of a link, in metres
    arrowScale = 0.25 * extent / (Math.max(0, ...(scene.arrows || []).map((a) => a.largest)) || 1);
  }
  trailTime = clamp(0.25 * duration, Math.min(duration, 1), 5) * clamp(30 / scene.tracks.length, 0.3, 1);  // shorter in a crowd
  view = scene.planar ? planarView : spatialView;
  state.dirty = true;
}

// Where a polyline that begins with a regular polygon of at least 12 corners closes it, else 0. A spoke may follow.
function hoopOf(points) {
  const gap = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]), edge = points.length > 1 ? gap(points[0], points[1]) : 0;
  for (const m of [points.length - 1, points.length - 2]) {
    if (m < 12 || !(edge > 0) || gap(points[0], points[m]) > 1e-3 * edge) continue;
    if (points.slice(1, m + 1).every((p, k) => Math.abs(gap(p, points[k]) - edge) < 0.02 * edge)) return m;
  }
  return 0;
}

function roundedHoop(points, m) {  // Catmull-Rom through the corners: a circle to a thousandth of its radius
  const round = [], at = (k) => points[((k % m) + m) % m];
  for (let k = 0; k < m; k++) for (const s of [0, 1 / 3, 2 / 3]) {
    const [a, p, q, b] = [at(k - 1), at(k), at(k + 1), at(k + 2)];
    round.push(p.map((x, i) => x + 0.5 * s * (q[i] - a[i] + s * (2 * a[i] - 5 * x + 4 * q[i] - b[i] + s * (3 * (x - q[i]) + b[i] - a[i])))));
  }
  return [...round, points[0], ...points.slice(m + 1)];
}

// A vertex of a moving link, or an end of a moving curve, that stays put in every frame is a pivot on the ground.
function pivotsOf(line) {
  const last = line.points[0].length - 1, near = (p, q) => Math.abs(p[0] - q[0]) + Math.abs(p[1] - q[1]) + Math.abs(p[2] - q[2]) < 1e-6 * extent;
  return line.points[0].map((p, k) => (line.bar || k === 0 || k === last) && line.points.every((frame) => near(frame[k], p)));
}

function boundsOf() {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  const add = (p) => { for (let i = 0; i < 3; i++) { low[i] = Math.min(low[i], p[i]); high[i] = Math.max(high[i], p[i]); } };
  for (const track of scene.tracks) track.positions.forEach(add);
  for (const line of scene.lines) line.points.forEach((frame) => frame.forEach(add));
  return low[0] === Infinity ? {low: [-1, -1, -1], high: [1, 1, 1]} : {low, high};
}

const globalBounds = () => bounds;

function boundsAt(at) {  // of one instant, with room to move in
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  const add = (p) => { for (let i = 0; i < 3; i++) { low[i] = Math.min(low[i], p[i]); high[i] = Math.max(high[i], p[i]); } };
  for (const track of scene.tracks) add(positionAt(track, at));
  for (const line of moving) pointsAt(line, at).forEach(add);
  const room = 0.3 * Math.max(...high.map((h, i) => h - low[i]), 4 * bodySize, 0.02 * extent);
  return {low: low.map((v) => v - room), high: high.map((v) => v + room)};
}

function centreAt(at) {  // the mean of all points and bodies
  const sum = [0, 0, 0];
  for (const track of scene.tracks) positionAt(track, at).forEach((x, i) => { sum[i] += x / scene.tracks.length; });
  return sum;
}

function followCentre(at) {  // moves the view by as much as the mechanism has moved since it was last drawn
  const here = centreAt(at);
  view.centre = view.centre.map((c, i) => c + here[i] - state.followed[i]);
  state.followed = here;
}

function spanOf(points) {
  return Math.max(...[0, 1, 2].map((i) => Math.max(...points.map((p) => p[i])) - Math.min(...points.map((p) => p[i]))));
}

function bodyEdge() {  // a small part of the picture, and smaller than the links and rims around it
  const spans = moving.map((line) => spanOf(line.points[0])).filter((span) => span > 0).sort((a, b) => a - b);
  const typical = spans.length ? spans[Math.floor(spans.length / 2)] : Infinity;
  return Math.min(0.08 * extent, 0.2 * typical);
}

function barWidth() {
  let shortest = 0.25 * extent;
  for (const line of moving.filter(isBar)) {
    const frame = line.points[0];
    for (let i = 1; i < frame.length; i++) {
      const length = Math.hypot(...frame[i].map((x, k) => x - frame[i - 1][k]));
      if (length > 0.02 * extent) shortest = Math.min(shortest, length);
    }
  }
  return 0.12 * shortest;
}

// ---------------------------------------------------------------- interpolation between samples
// Samples are cubic Hermite curves, with slopes of the parabolas through three of them, as `cubic_weights` in Python has
// them. They come in pieces, where `scene.starts` begin: an event changes slopes. Between the samples of an interval in
// `scene.coarse` the motion is not known to a pixel: nothing is drawn there, the nearest sample is shown.
function piecesOf(starts, size) {  // the first and the last sample of the piece of each sample
  const edges = [0, ...starts.filter((k) => k > 0), size], first = new Int32Array(size), last = new Int32Array(size);
  for (let k = 1; k < edges.length; k++) { first.fill(edges[k - 1], edges[k - 1], edges[k]); last.fill(edges[k] - 1, edges[k - 1], edges[k]); }
  return {first, last};
}

function slopeWeights(t, first, last, j) {  // [k, weights of samples k .. k + 2] of the slope at sample j
  if (last - first < 2) { const h = t[last] - t[first]; return [first, [-1 / h, 1 / h, 0]]; }
  const k = clamp(j, first + 1, last - 1), d = t[k] - t[k - 1], e = t[k + 1] - t[k], left = j - k;
  const wl = left === 0 ? e / (d + e) : left < 0 ? (2 * d + e) / (d + e) : -e / (d + e), wr = 1 - wl;  // exact for parabolas
  return [k - 1, [-wl / d, wl / d - wr / e, wr / e]];
}

function cubicWeights(t, first, last, i, s) {  // of samples i - 1 .. i + 2, for the part s of the way from i to i + 1
  const r = 1 - s, h = t[i + 1] - t[i], weights = [0, r * r * (1 + 2 * s), s * s * (1 + 2 * r), 0];
  const slope = (j, factor) => { const [k, w] = slopeWeights(t, first, last, j); w.forEach((v, m) => { weights[k - i + 1 + m] += factor * v; }); };
  slope(i, h * s * r * r); slope(i + 1, -h * s * s * r);
  return weights;
}

const atSample = (i) => ({i, j: i, s: 0, w: null});

function between(i, s) {  // what lies between samples i and i + 1: {i, j, s, w}; w null: sample i itself
  if (coarse.has(i)) s = Math.round(s);
  if (s === 0 || s === 1) return atSample(s ? i + 1 : i);
  return {i, j: i + 1, s, w: cubicWeights(times, pieces.first[i], pieces.last[i], i, s)};
}

function locate(t) {  // at the time of an event: after it
  let low = 0, high = count - 1;
  while (high - low > 1) { const mid = (low + high) >> 1; if (times[mid] <= t) low = mid; else high = mid; }
  const span = times[high] - times[low];
  return span > 0 ? between(low, clamp((t - times[low]) / span, 0, 1)) : atSample(times[high] <= t ? high : low);
}

// A page of samples shows them exactly whenever it stands still; one that computes may replace both.
let present = locate;                                // what is drawn and printed at a time
let settle = (t) => { const i = locate(t).i, j = Math.min(i + 1, count - 1); return t - times[i] <= times[j] - t ? times[i] : times[j]; };

const blend = (p, q, s) => p.map((x, k) => mix(x, q[k], s));
const combine = ({i, w}, read) => { let sum = 0; for (let k = 0; k < 4; k++) if (w[k]) sum += w[k] * read(i - 1 + k); return sum; };
const vectorAt = (values, at) => (at.w ? values[at.i].map((_, c) => combine(at, (m) => values[m][c])) : values[at.i]);
const positionAt = (track, at) => vectorAt(track.positions, at);

function pointsAt(line, at) {
  if (line.fixed) return line.points[0];
  return at.w ? line.points[at.i].map((p, k) => p.map((_, c) => combine(at, (m) => line.points[m][k][c]))) : line.points[at.i];
}

function axesAt(track, at) {  // the three body axes, made orthonormal again
  const column = (k) => [0, 1, 2].map((r) => (at.w ? combine(at, (m) => track.rotations[m][r][k]) : track.rotations[at.i][r][k]));
  const x = unit(column(0)), raw = column(1), along = dot(x, raw);
  const y = unit(raw.map((v, k) => v - along * x[k]));
  const turn = dot(cross(x, y), column(2)) < 0 ? -1 : 1;  // a left-handed triad stays as it was given
  return [x, y, cross(x, y).map((v) => turn * v)];
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => { const n = Math.hypot(...a) || 1; return a.map((x) => x / n); };
const along = (p, d, s) => [p[0] + s * d[0], p[1] + s * d[1], p[2] + s * d[2]];

// ---------------------------------------------------------------- numbers and steps
function niceStep(raw) {
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((m) => m * power >= raw * 0.999) || 10);
}

function formatNumber(x, digits = 3) {
  if (x === 0) return "0";
  const exponent = Math.floor(Math.log10(Math.abs(x)));
  if (exponent >= -3 && exponent < 5) return String(Number(x.toPrecision(digits))).replace("-", "\u2212");
  const [mantissa, power] = x.toExponential(digits - 1).split("e");
  const raised = String(Number(power)).replace(/./g, (c) => (c === "-" ? "\u207b" : "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[c]));
  return (String(Number(mantissa)) + "\u00d710" + raised).replace("-", "\u2212");
}

function formatTick(x, step) {
  if (Math.abs(x) < step * 1e-6) return "0";
  const small = step < 1e-3 || Math.abs(x) >= 1e5;
  return small ? formatNumber(x, 2 + Math.max(0, Math.round(Math.log10(Math.abs(x) / step))))
    : x.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))).replace("-", "\u2212");
}

function ticksBetween(low, high, step) {
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9 && ticks.length < 500; k++) ticks.push(k * step);
  return ticks;
}

// ---------------------------------------------------------------- canvases
const canvas = byId("view"), ink = canvas.getContext("2d");
let width = 0, height = 0;
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

function sizeCanvas(target, context) {
  const box = target.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  target.width = Math.max(1, Math.round(box.width * ratio));
  target.height = Math.max(1, Math.round(box.height * ratio));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return box;
}

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue("--" + name).trim();
  for (const name of ["bg", "ink", "muted", "grid", "grid-strong", "ground", "bar", "bar-edge", "accent", "axis-x", "axis-y",
    "axis-z", "shadow", "force"]) colours[name] = read(name);
  colours.strength = Number(read("shadow-strength"));
  colours.track = read("track").split(/\s+/);
}

const trackColour = (k) => colours.track[k % colours.track.length];

function strokePaths(paths, colour, lineWidth, alpha = 1) {
  ink.globalAlpha = alpha; ink.strokeStyle = colour; ink.lineWidth = lineWidth;
  ink.beginPath();
  for (const points of paths) for (let k = 0; k < points.length; k++) if (k) ink.lineTo(points[k][0], points[k][1]); else ink.moveTo(points[k][0], points[k][1]);
  ink.stroke();
  ink.globalAlpha = 1;
}

const strokePath = (points, colour, lineWidth, alpha = 1) => strokePaths([points], colour, lineWidth, alpha);

function strokeGrid(lines) {  // {segment, strong}
  const chosen = (strong) => lines.filter((line) => line.strong === strong).map((line) => line.segment);
  strokePaths(chosen(false), colours.grid, 1); strokePaths(chosen(true), colours["grid-strong"], 1);
}

function disc(p, radius, fill, edge, edgeWidth = 1.5, alpha = 1) {
  ink.globalAlpha = alpha;
  ink.beginPath(); ink.arc(p[0], p[1], radius, 0, 2 * Math.PI);
  if (fill) { ink.fillStyle = fill; ink.fill(); }
  if (edge) { ink.strokeStyle = edge; ink.lineWidth = edgeWidth; ink.stroke(); }
  ink.globalAlpha = 1;
}

function text(string, x, y, {colour = colours.muted, align = "left", base = "alphabetic", font = "11px", halo = true} = {}) {
  ink.font = font + " " + FONT; ink.textAlign = align; ink.textBaseline = base;
  if (halo) { ink.strokeStyle = colours.bg; ink.lineWidth = 3.5; ink.lineJoin = "round"; ink.strokeText(string, x, y); }
  ink.fillStyle = colour; ink.fillText(string, x, y);
}

// ---------------------------------------------------------------- two views with one interface
// project(p) -> [x px, y px, distance from the eye, px per metre there]
const planarView = {
  centre: [0, 0], zoom: 1, fitted: true,
  project(p) {
    return [width / 2 + (p[0] - this.centre[0]) * this.zoom, height / 2 - (p[1] - this.centre[1]) * this.zoom, 0, this.zoom];
  },
  fit(bounds = globalBounds()) {
    const extent = Math.max(...bounds.high.map((h, i) => h - bounds.low[i])) || 1;
    const wide = bounds.high[0] - bounds.low[0], tall = bounds.high[1] - bounds.low[1], margin = 0.06 * extent;
    this.centre = [(bounds.low[0] + bounds.high[0]) / 2, (bounds.low[1] + bounds.high[1]) / 2];
    this.zoom = Math.min(Math.max(width - 110, 60) / (wide + 2 * margin), Math.max(height - 80, 60) / (tall + 2 * margin));
    this.fitted = true;
  },
  drag(dx, dy) { this.centre = [this.centre[0] - dx / this.zoom, this.centre[1] + dy / this.zoom]; this.fitted = false; },
  pan(dx, dy) { this.drag(dx, dy); },
  scale(factor, x, y) {  // the point under the pointer stays where it is
    const zoom = clamp(this.zoom * factor, 1e-3 / extent, 1e6 / extent), gain = 1 / this.zoom - 1 / zoom;
    this.centre = [this.centre[0] + (x - width / 2) * gain, this.centre[1] - (y - height / 2) * gain];
    this.zoom = zoom; this.fitted = false;
  },
  drawBackground() {
    const step = niceStep(70 / this.zoom), left = this.centre[0] - width / 2 / this.zoom, right = this.centre[0] + width / 2 / this.zoom;
    const bottom = this.centre[1] - height / 2 / this.zoom, top = this.centre[1] + height / 2 / this.zoom;
    const xs = ticksBetween(left, right, step), ys = ticksBetween(bottom, top, step);
    const strong = (v) => Math.abs(v) < step * 1e-6;
    strokeGrid([
      ...xs.map((x) => { const px = this.project([x, 0])[0]; return {segment: [[px, 0], [px, height]], strong: strong(x)}; }),
      ...ys.map((y) => { const py = this.project([0, y])[1]; return {segment: [[0, py], [width, py]], strong: strong(y)}; }),
    ]);
    this.ticks = {xs, ys, step};
  },
  drawForeground() {  // labels last, so that nothing covers them
    const {xs, ys, step} = this.ticks, length = step * this.zoom, end = width - 16 - length;
    for (const x of xs) { const px = this.project([x, 0])[0]; if (px > 46 && px < end - 56) text(formatTick(x, step), px, height - 7, {align: "center"}); }
    for (const y of ys) { const py = this.project([0, y])[1]; if (py > 30 && py < height - 24) text(formatTick(y, step), 8, py, {base: "middle"}); }
    text("y [m]", 8, 16, {colour: colours.ink});
    const x = width - 16;
    strokePath([[x - length, height - 16], [x - length, height - 11], [x, height - 11], [x, height - 16]], colours.ink, 1.25);
    text(formatTick(step, step) + " m", x - length / 2, height - 17, {align: "center", colour: colours.ink});
    text("x [m]", end - 10, height - 7, {align: "right", colour: colours.ink});
  },
};

const spatialView = {
  centre: [0, 0, 0], azimuth: -Math.PI / 3, elevation: 0.42, distance: 1, fitted: true,
  aim() {
    const [ca, sa, ce, se] = [Math.cos(this.azimuth), Math.sin(this.azimuth), Math.cos(this.elevation), Math.sin(this.elevation)];
    this.right = [-sa, ca, 0]; this.back = [ce * ca, ce * sa, se]; this.up = cross(this.back, this.right);
    this.focal = 2.2 * Math.min(width, height);  // a long lens: little distortion
  },
  depth(p) { return this.distance - dot([p[0] - this.centre[0], p[1] - this.centre[1], p[2] - this.centre[2]], this.back); },
  project(p) {
    const d = [p[0] - this.centre[0], p[1] - this.centre[1], p[2] - this.centre[2]];
    const z = this.distance - dot(d, this.back), scale = this.focal / Math.max(z, 0.02 * this.distance);
    return [width / 2 + dot(d, this.right) * scale, height / 2 - dot(d, this.up) * scale, z, scale];
  },
  fit(bounds = globalBounds()) {  // aims at the middle of what is seen and comes nearer as long as the ground and all corners are in the picture
    this.aim();
    const {low, high} = state.follow ? bounds : this.floor();
    const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => [k & 1 ? high[0] : low[0], k & 2 ? high[1] : low[1], k & 4 ? high[2] : low[2]]);
    this.centre = low.map((l, k) => (l + high[k]) / 2);
    this.distance = 60 * extent;
    const inside = (p) => p[0] > 48 && p[0] < width - 48 && p[1] > 22 && p[1] < height - 32;
    for (let k = 0; k < 250; k++) {
      const seen = corners.map((p) => this.project(p)), xs = seen.map((p) => p[0]), ys = seen.map((p) => p[1]);
      const metres = this.distance / this.focal, off = (v, full) => (full / 2 - (Math.min(...v) + Math.max(...v)) / 2) * metres;
      this.centre = along(along(this.centre, this.right, -off(xs, width)), this.up, off(ys, height));
      this.distance *= 0.97;
      if (corners.every((p) => this.depth(p) > 0.2 * this.distance && inside(this.project(p)))) continue;
      this.distance /= 0.97;
      break;
    }
    this.fitted = true;
  },
  drag(dx, dy) {
    this.azimuth -= 0.008 * dx; this.elevation = clamp(this.elevation + 0.008 * dy, -1.55, 1.55); this.aim();
  },
  pan(dx, dy) {
    const metres = this.distance / this.focal;
    this.centre = along(along(this.centre, this.right, -dx * metres), this.up, dy * metres); this.fitted = false;
  },
  scale(factor) { this.distance = clamp(this.distance / factor, 0.02 * extent, 200 * extent); this.fitted = false; },
  floor() {  // the ground grid: at z = 0 where the scene stands on it, else beneath the scene
    const step = niceStep(extent / 10), {low, high} = bounds;
    const stands = low[2] > -0.05 * extent && low[2] < extent;
    const z = stands ? 0 : Math.floor(low[2] / step - 1e-6) * step;
    const down = (v) => Math.floor(v / step - 0.35) * step, up = (v) => Math.ceil(v / step + 0.35) * step;
    return {z, step, low: [down(low[0]), down(low[1]), Math.min(z, low[2])], high: [up(high[0]), up(high[1]), Math.max(z, high[2])]};
  },
  segment(p, q) {  // the part of a segment in front of the eye, projected; null if there is none
    const near = 0.05 * this.distance, a = this.depth(p), b = this.depth(q);
    if (a < near && b < near) return null;
    if (a < near) p = blend(p, q, (near - a) / (b - a)); else if (b < near) q = blend(p, q, (a - near) / (a - b));
    return [this.project(p), this.project(q)];
  },
  drawBackground() {
    this.aim();
    const {z, step, low, high} = this.floor();
    const lines = [], line = (p, q, strong) => { const s = this.segment(p, q); if (s) lines.push({segment: s, strong}); };
    const xs = ticksBetween(low[0], high[0], step), ys = ticksBetween(low[1], high[1], step);
    const rim = (v, a, b) => v === a || v === b;
    for (const x of xs) line([x, low[1], z], [x, high[1], z], rim(x, xs[0], xs[xs.length - 1]));
    for (const y of ys) line([low[0], y, z], [high[0], y, z], rim(y, ys[0], ys[ys.length - 1]));
    strokeGrid(lines);
    this.drawTicks(xs, ys, z, step);
  },
  drawTicks(xs, ys, z, step) {  // along the two edges of the ground that are nearer to the eye
    const nearX = this.back[0] > 0 ? xs[xs.length - 1] : xs[0], nearY = this.back[1] > 0 ? ys[ys.length - 1] : ys[0];
    const outX = [Math.sign(this.back[0]), 0, 0], outY = [0, Math.sign(this.back[1]), 0];
    const put = (p, out, label, away = 13, colour = colours.muted) => {
      if (this.depth(p) < 0.1 * this.distance) return;
      const a = this.project(p), b = this.project(along(p, out, 0.5 * step)), n = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
      text(label, a[0] + 1.5 * away * (b[0] - a[0]) / n, a[1] + away * (b[1] - a[1]) / n, {align: "center", base: "middle", font: "10.5px", colour});
    };
    const pixels = step * this.focal / this.distance, skip = Math.max(1, Math.ceil(34 / pixels));
    xs.forEach((x) => { if (Math.round(x / step) % skip === 0) put([x, nearY, z], outY, formatTick(x, step)); });
    ys.forEach((y) => { if (Math.round(y / step) % skip === 0) put([nearX, y, z], outX, formatTick(y, step)); });
    put([(xs[0] + xs[xs.length - 1]) / 2, nearY, z], outY, "x [m]", 33, colours.ink);
    put([nearX, (ys[0] + ys[ys.length - 1]) / 2, z], outX, "y [m]", 33, colours.ink);
  },
  drawForeground() {
    const {step, z} = this.floor(), origin = [44, height - 40], length = 26;
    [["axis-x", "x", [1, 0, 0]], ["axis-y", "y", [0, 1, 0]], ["axis-z", "z", [0, 0, 1]]]
      .map(([colour, name, e]) => ({colour: colours[colour], name, x: dot(e, this.right), y: dot(e, this.up), b: dot(e, this.back)}))
      .sort((p, q) => p.b - q.b)
      .forEach((a) => {
        arrow(origin, [origin[0] + length * a.x, origin[1] - length * a.y], a.colour, 1.75);
        text(a.name, origin[0] + (length + 9) * a.x, origin[1] - (length + 9) * a.y, {align: "center", base: "middle", colour: a.colour});
      });
    const note = "grid " + formatTick(step, step) + " m" + (z ? ", at z = " + formatTick(z, step) + " m" : "");
    text(note, width - 16, height - 10, {align: "right"});
  },
};

// ---------------------------------------------------------------- things
function arrow(from, to, colour, lineWidth) {
  const dx = to[0] - from[0], dy = to[1] - from[1], n = Math.hypot(dx, dy);
  if (n < 1) return;
  const head = Math.min(3.2 * lineWidth + 1, n), ux = dx / n, uy = dy / n;
  strokePath([from, [to[0] - 0.7 * head * ux, to[1] - 0.7 * head * uy]], colour, lineWidth);
  ink.fillStyle = colour; ink.beginPath(); ink.moveTo(to[0], to[1]);
  ink.lineTo(to[0] - head * ux - 0.42 * head * uy, to[1] - head * uy + 0.42 * head * ux);
  ink.lineTo(to[0] - head * ux + 0.42 * head * uy, to[1] - head * uy - 0.42 * head * ux);
  ink.fill();
}

const barPixels = (scale) => clamp(barSize * scale, 3, 15);
const markPixels = (scale) => clamp(0.014 * extent * scale, 4, 8);

function drawBar(points) {
  const w = barPixels(points[0][3]);
  ink.lineCap = ink.lineJoin = "round";
  strokePath(points, colours["bar-edge"], w + 2.2);
  strokePath(points, colours.bar, w);
}

const jointPixels = (scale) => clamp(0.36 * barPixels(scale), 2, 4.6);

function drawJoint(p) {
  const r = jointPixels(p[3]);
  disc(p, r, colours.bg, colours["bar-edge"], 1.5);
}

function drawSupport(p) {  // the textbook sign of a pivot fixed to the ground
  const r = jointPixels(p[3]), h = 3.6 * r, w = 2.6 * r, y = p[1] + h;
  ink.lineCap = "butt"; ink.lineJoin = "round";
  ink.fillStyle = colours.bg; ink.strokeStyle = colours["bar-edge"]; ink.lineWidth = 1.4;
  ink.beginPath(); ink.moveTo(p[0], p[1]); ink.lineTo(p[0] - w, y); ink.lineTo(p[0] + w, y); ink.closePath();
  ink.moveTo(p[0] - 1.5 * w, y); ink.lineTo(p[0] + 1.5 * w, y); ink.fill(); ink.stroke();
  strokePaths([-1.2, -0.7, -0.2, 0.3, 0.8, 1.3].map((k) => [[p[0] + k * w, y], [p[0] + (k - 0.35) * w, y + 0.4 * h]]), colours["bar-edge"], 1);
}

function drawCentre(p, radius, colour) {  // the sign of a centre of mass: a quartered disc
  disc(p, radius, colours.bg, colour, 1.5);
  ink.fillStyle = colour; ink.beginPath();
  for (const a of [0, Math.PI]) { ink.moveTo(p[0], p[1]); ink.arc(p[0], p[1], radius, a, a + Math.PI / 2); }
  ink.fill();
}

function drawFace(corners, colour, shade) {
  ink.beginPath();
  corners.forEach((p, k) => (k ? ink.lineTo(p[0], p[1]) : ink.moveTo(p[0], p[1])));
  ink.closePath(); ink.lineJoin = "round";
  ink.globalAlpha = 0.55; ink.fillStyle = colours.bg; ink.fill();
  ink.globalAlpha = shade; ink.fillStyle = colour; ink.fill();
  ink.globalAlpha = 1; ink.strokeStyle = colour; ink.lineWidth = 1.25; ink.stroke();
}

function drawBodyPlanar(p, axes, colour) {
  const corner = (a, b) => view.project(along(along(p, axes[0], a * bodySize), axes[1], b * bodySize));
  drawFace([corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)], colour, 0.16);
  ["axis-x", "axis-y"].forEach((name, k) => arrow(view.project(p), view.project(along(p, axes[k], 2.6 * bodySize)), colours[name], 1.75));
}

function drawBodySpatial(p, axes, colour) {
  const tips = axes.map((a, k) => ({tip: along(p, a, 2.6 * bodySize), colour: colours["axis-" + "xyz"[k]]}));
  const here = view.depth(p), centre = view.project(p), draw = (a) => arrow(centre, view.project(a.tip), a.colour, 1.75);
  tips.filter((a) => view.depth(a.tip) > here).forEach(draw);
  for (let k = 0; k < 3; k++) for (const side of [-1, 1]) {
    const normal = axes[k].map((x) => side * x), u = axes[(k + 1) % 3], v = axes[(k + 2) % 3], middle = along(p, normal, bodySize);
    const eye = along(view.centre, view.back, view.distance);
    if (dot(normal, [eye[0] - middle[0], eye[1] - middle[1], eye[2] - middle[2]]) <= 0) continue;
    const corner = (a, b) => view.project(along(along(middle, u, a * bodySize), v, b * bodySize));
    drawFace([corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)], colour, 0.34 - 0.16 * dot(normal, [0.3, -0.35, 0.88]));
  }
  tips.filter((a) => view.depth(a.tip) <= here).forEach(draw);
}

function bendsAt(values, i) {  // into how many pieces a trail is cut between two samples: one per six degrees
  if (pieces.last[i] - pieces.first[i] < 2 || pieces.last[i] === i || coarse.has(i)) return 1;
  const way = (s, e) => { const a = vectorAt(values, between(i, s)), b = vectorAt(values, between(i, e)); return b.map((x, k) => x - a[k]); };
  const a = way(0, 0.25), b = way(0.75, 1), size = Math.hypot(...a) * Math.hypot(...b);
  return size > 0 ? clamp(Math.ceil(Math.acos(clamp(dot(a, b) / size, -1, 1)) / 0.07), 1, 24) : 1;
}

function fineOf(track) {  // the path with more points where it bends between two samples; made once. `apart`: not joined to the one before
  if (!track.fine) {
    track.fine = [];
    for (let i = 0; i < count; i++) {
      const parts = bendsAt(track.positions, i), apart = coarse.has(i - 1);
      for (let m = 0; m < parts; m++) track.fine.push({t: m ? mix(times[i], times[i + 1], m / parts) : times[i], p: positionAt(track, m ? between(i, m / parts) : atSample(i)), apart: apart && !m});
    }
  }
  return track.fine;
}

function pathsOf(points) {  // lists of points that are joined, on the screen
  const lists = [[]];
  for (const {p, apart} of points) { if (apart) lists.push([]); lists[lists.length - 1].push(view.project(p)); }
  return lists;
}

function drawForce(a, at) {
  const from = vectorAt(a.points, at), vector = vectorAt(a.vectors, at);
  const foot = view.project(from), tip = view.project(along(from, vector, arrowScale)), size = Math.hypot(...vector);
  arrow(foot, tip, colours.force, 2.5);
  if (!state.labels || size * arrowScale < 0.03 * extent) return;
  const dx = tip[0] - foot[0], dy = tip[1] - foot[1], n = Math.hypot(dx, dy) || 1, side = Math.abs(dx) > 0.5 * n;  // beyond the tip
  text(`${a.name} ${formatNumber(size)} N`, tip[0] + 7 * dx / n, tip[1] + 11 * dy / n, {colour: colours.force, base: "middle", align: side ? (dx > 0 ? "left" : "right") : "center"});
}

function drawTrails(at) {  // in pieces of growing strength; those of one colour and strength in one stroke
  const from = Math.max(start, state.t - trailTime), begin = locate(from), many = scene.tracks.length > 30;
  const pieces = many ? 6 : 24, near = many ? 3 : 0;  // pixels: what nobody sees in a crowd is not drawn
  const sorted = Array.from({length: pieces + 1}, () => new Map());
  scene.tracks.forEach((track, k) => {
    const points = trailOf(track, from, begin, at), colour = trackColour(k);
    let piece = null, level = -1, last = view.project(points[0].p);
    for (let i = 1; i < points.length; i++) {
      const seen = view.project(points[i].p);
      if (i < points.length - 1 && Math.abs(seen[0] - last[0]) + Math.abs(seen[1] - last[1]) < near) continue;
      const age = 1 - (state.t - points[i].t) / (trailTime || 1), now = Math.round(clamp(age, 0, 1) * pieces);
      if (points[i].apart) { level = -1; last = seen; continue; }
      if (now !== level) {
        level = now; piece = [last];
        if (sorted[level].has(colour)) sorted[level].get(colour).push(piece); else sorted[level].set(colour, [piece]);
      }
      piece.push(seen); last = seen;
    }
  });
  ink.lineCap = "butt"; ink.lineJoin = "round";
  sorted.forEach((colours, level) => colours.forEach((list, colour) => strokePaths(list, colour, mix(1, 2.4, level / pieces), mix(0.05, 0.85, level / pieces))));
}

function trailOf(track, from, begin, at) {  // {t, p} from a time on until now
  const fine = fineOf(track), points = [{t: from, p: positionAt(track, begin)}];
  let low = 0, high = fine.length;
  while (low < high) { const mid = (low + high) >> 1; if (fine[mid].t <= from) low = mid + 1; else high = mid; }
  for (let k = low; k < fine.length && fine[k].t < state.t; k++) points.push(fine[k]);
  points.push({t: state.t, p: positionAt(track, at), apart: coarse.has(locate(state.t).i)});
  return points;
}

function drawShadows(at) {  // straight down on the ground: shows where in depth a thing is
  const z = view.floor().z, flat = (p) => view.project([p[0], p[1], z]);
  ink.lineCap = ink.lineJoin = "round";
  for (const line of moving) { const points = pointsAt(line, at).map(flat); strokePath(points, colours.shadow, isBar(line) ? 0.8 * barPixels(points[0][3]) : 2, 0.08 * colours.strength); }
  for (const track of scene.tracks) {
    const p = flat(positionAt(track, at)), r = markPixels(p[3]);
    ink.globalAlpha = 0.12 * colours.strength; ink.fillStyle = colours.shadow; ink.beginPath();
    ink.ellipse(p[0], p[1], 1.1 * r, Math.max(1, 1.1 * r * Math.abs(Math.sin(view.elevation))), 0, 0, 2 * Math.PI); ink.fill(); ink.globalAlpha = 1;
  }
}

function lineItems(line, at, joints) {
  const corners = pointsAt(line, at), points = line.hoop ? roundedHoop(corners, line.hoop) : corners;
  const seen = points.map((p) => view.project(p)), items = [];
  const bar = !line.fixed && isBar(line), layer = line.fixed ? 0 : 2;
  const stroke = bar ? drawBar : (points) => {
    ink.lineCap = ink.lineJoin = "round";
    strokePath(points, line.fixed ? colours.ground : colours["bar-edge"], line.fixed ? 1.75 : 2.25);
  };
  if (scene.planar) items.push({depth: 0, layer, draw: () => stroke(seen)});
  else for (let i = 1; i < seen.length; i++) items.push({depth: (seen[i - 1][2] + seen[i][2]) / 2, layer, draw: () => stroke([seen[i - 1], seen[i]])});
  if (bar) seen.forEach((p, i) => {  // a joint is in front of the middle of its own bars, which is what they are sorted by
    const depth = Math.min(...[seen[i - 1], p, seen[i + 1]].map((q) => (q ? (p[2] + q[2]) / 2 : Infinity)));
    joints.push({p: points[i], depth});
    items.push({depth, layer: 3, draw: () => drawJoint(p)});
    if (scene.planar && line.grounded[i]) items.push({depth: 0, layer: 1, draw: () => drawSupport(p)});
  });
  else if (scene.planar && !line.fixed && !line.hoop) seen.forEach((p, i) => {
    if (line.grounded[i]) items.push({depth: 0, layer: 1, draw: () => drawSupport(p)}, {depth: 0, layer: 3, draw: () => drawJoint(p)});
  });
  return items;
}

function trackItems(track, k, at, joints) {
  const p = positionAt(track, at), seen = view.project(p), r = markPixels(seen[3]), colour = trackColour(k);
  const near = 1e-4 * extent, here = joints.filter(({p: j}) => Math.abs(p[0] - j[0]) < near && Math.abs(p[1] - j[1]) < near && Math.abs(p[2] - j[2]) < near);
  const depth = Math.min(seen[2], ...here.map((joint) => joint.depth));
  if (track.kind === "point") return [{depth, layer: 5, draw: () => disc(seen, r, colour, colours.bg, 1.5)}];
  const items = [{depth, layer: 4.5, draw: () => drawCentre(seen, 0.85 * r, colour)}];
  const covered = 2.6 * bodySize * seen[3] + 1 < 0.85 * r;  // pixels: box and axes lie under the sign of the centre
  if (!track.rotations || covered) return items;
  const axes = axesAt(track, at);
  items.push({depth, layer: 4, draw: () => (scene.planar ? drawBodyPlanar : drawBodySpatial)(p, axes, colour)});
  return items;
}

function drawLineLabel(line, seen) {  // beside the middle of the line, always on the same side of it
  const k = Math.floor((seen.length - 1) / 2), a = seen[k], b = seen[k + 1], n = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
  const normal = [(b[1] - a[1]) / n, -(b[0] - a[0]) / n], gap = isBar(line) ? 0.5 * barPixels(a[3]) + 5 : 7;
  ink.font = "italic 11.5px " + FONT;
  const reach = [gap + ink.measureText(line.name).width / 2, gap + 6];
  text(line.name, (a[0] + b[0]) / 2 + normal[0] * reach[0], (a[1] + b[1]) / 2 + normal[1] * reach[1],
    {font: "italic 11.5px", align: "center", base: "middle"});
}

function drawLabels(at) {
  const known = new Set(scene.tracks.map((track) => track.name));  // the link of a body bears its name already
  for (const line of moving.filter((line) => !known.has(line.name))) drawLineLabel(line, pointsAt(line, at).map((p) => view.project(p)));
  scene.tracks.forEach((track, k) => {
    const p = view.project(positionAt(track, at)), gap = track.rotations ? 0.9 * bodySize * p[3] + 4 : markPixels(p[3]) + 3;
    text(track.name, p[0] + gap, p[1] - gap, {font: "600 12px", colour: trackColour(k)});
  });
}

function sayNothing() {
  ["There is nothing to draw:", "no particle or body has a position.", "model.line(...) draws one."]
    .forEach((line, k) => text(line, width / 2, height / 2 + 19 * (k - 1), {align: "center", base: "middle", font: "13px", colour: colours.ink}));
}

function drawScene(at) {
  ink.clearRect(0, 0, width, height);
  if (state.follow) followCentre(at);
  view.drawBackground();
  if (!scene.planar) drawShadows(at);
  if (state.paths) scene.tracks.forEach((track, k) => strokePaths(pathsOf(fineOf(track)), trackColour(k), 1, 0.35));
  drawTrails(at);
  const joints = [], items = scene.lines.flatMap((line) => lineItems(line, at, joints));
  items.push(...scene.tracks.flatMap((track, k) => trackItems(track, k, at, joints)));
  const nearer = scene.planar ? 1 : 0.004 * extent;  // how much a layer counts against distance from the eye
  items.sort((a, b) => (b.depth - nearer * b.layer) - (a.depth - nearer * a.layer)).forEach((item) => item.draw());
  if (state.forces) for (const a of scene.arrows) drawForce(a, at);
  if (state.labels) drawLabels(at);
  view.drawForeground();
  if (!scene.tracks.length && !scene.lines.length) sayNothing();
}


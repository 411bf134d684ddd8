// ---------------------------------------------------------------- a motion that is computed in the page
const facts = JSON.parse(byId("facts").textContent), runs = makeRuns(facts, kernels), solver = runs.first, drawn = facts.modes[0].sizes.drawing > 0;
const now = {z: Float64Array.from(facts.z), p: Float64Array.from(facts.p), held: structuredClone(facts.held), run: null};
const frames = Array.from({length: facts.frames}, (_, k) => facts.t0 + (facts.t_end - facts.t0) * k / (facts.frames - 1));

const PIXEL = 1e-3;  // of a picture or a plot: curves are drawn through as many samples as they need to be as true
const MOST_SAMPLES = 20000, drawnNumbers = drawn ? facts.modes[0].sizes.drawing : 0;

const readers = facts.traces.map(({kind, index}) => ({  // of (t, z, p, solver, outputs)
  state: (t, z) => z[index], parameter: (t, z, p) => p[index], output: (t, z, p, here, outputs) => outputs[index],
  energy: (t, z, p, here) => { const energies = here.valuesAt("energy", t, z, p); return energies[0] + energies[1]; },
  violation: (t, z, p, here) => here.violation(t, z, p),
})[kind]);

// All that is shown of a state: points, attitudes and lines, then the traces; each computed of the state by its kernel.
function valuesOf({t, z, solver: here, p}) {
  const values = new Float64Array(drawnNumbers + readers.length);
  if (drawn) values.set(solver.valuesAt("drawing", t, z, p));
  const outputs = kernels[0].outputs ? solver.outputsAt(t, z, p) : null;
  for (let k = 0; k < readers.length; k++) values[drawnNumbers + k] = readers[k](t, z, p, here, outputs);
  return values;
}

function hermite(a, b, s) {  // the state between two nodes, as their rates have it
  const r = s * s * (3 - 2 * s), h = (b.t - a.t) * s * (1 - s);
  return a.z.map((v, i) => v + r * (b.z[i] - v) + h * ((1 - s) * a.dz[i] - s * b.dz[i]));
}

function thinned(nodes) {  // those that are needed to tell the others by their rates, to a thousandth of the way there
  const told = (a, b, c) => { const z = hermite(a, c, (b.t - a.t) / (c.t - a.t)); return z.every((v, i) => Math.abs(v - b.z[i]) <= PIXEL * (c.t - a.t) * (Math.abs(a.dz[i]) + Math.abs(c.dz[i])) + 1e-9 * Math.abs(v) + 1e-12); };
  const fewer = nodes.filter((node, k) => k % 2 === 0 || k === nodes.length - 1 || !told(nodes[k - 1], node, nodes[k + 1]));
  return fewer.length < 0.9 * nodes.length ? thinned(fewer) : nodes;
}

function sampleOf(piece, {t, z, dz}, begins = false) {  // what is shown at a node, and its rates
  const moment = 1e-6 * (facts.t_end - facts.t0), {solver: here, p} = piece;
  const near = (h) => valuesOf({t: t + h, z: z.map((v, i) => v + h * dz[i]), solver: here, p}), before = near(-moment);
  return {piece, t, begins, values: valuesOf({t, z, solver: here, p}), rates: near(moment).map((v, c) => (v - before[c]) / (2 * moment))};
}

function tolerancesOf(samples) {  // a pixel of each value shown; bodies turn in boxes of a tenth of the picture
  const low = Float64Array.from(samples[0].values), high = Float64Array.from(low), from = 3 * facts.drawing.points.length, to = from + 9 * facts.drawing.bodies.length;
  for (const {values} of samples) values.forEach((v, c) => { if (v < low[c]) low[c] = v; if (v > high[c]) high[c] = v; });
  const places = [...low.keys()].filter((c) => c < drawnNumbers && !(c >= from && c < to)), bends = ["state", "output", "energy"];
  const sides = [0, 1, 2].map((axis) => { const along = places.filter((c) => c % 3 === axis); return Math.max(...along.map((c) => high[c])) - Math.min(...along.map((c) => low[c])); });
  const sizeOf = (c) => {
    if (c < drawnNumbers) return c >= from && c < to ? 10 : Math.max(...sides);
    const [bottom, top] = rangeOf(low[c], high[c]);
    return bends.includes(facts.traces[c - drawnNumbers].kind) ? top - bottom : Infinity;  // a violation is noise
  };
  return Array.from(low, (_, c) => PIXEL * sizeOf(c));
}

const startsOf = (samples) => [...samples.keys()].filter((k) => samples[k].begins);

// Where steps end, as far as needed, and both states of a change. Intervals are halved until no curve sets out at a rate
// that takes it off by a pixel, which is 4 / 27 of the difference and the length of the interval at most. Where that
// takes too many samples intervals stay `coarse`.
function samplesOf(run) {
  let samples = run.pieces.flatMap((piece) => thinned(piece.nodes).map((node, k) => sampleOf(piece, node, k === 0)));
  const shortest = 1e-5 * (facts.t_end - facts.t0);
  for (;;) {
    const all = tolerancesOf(samples), moving = all.map((v, i) => (i < drawnNumbers || facts.traces[i - drawnNumbers].kind !== "output" ? v : Infinity));
    const t = samples.map((sample) => sample.t), {first, last} = piecesOf(startsOf(samples), samples.length);
    const isOff = (j, h, tolerances) => {
      const [k, w] = slopeWeights(t, first[j], last[j], j), [a, b, c] = [0, 1, 2].map((m) => samples[Math.min(k + m, last[j])].values);
      return samples[j].rates.some((rate, i) => 4 / 27 * h * Math.abs(w[0] * a[i] + w[1] * b[i] + (w[2] && w[2] * c[i]) - rate) > tolerances[i]);
    };
    const isBad = (i, tolerances) => i < last[i] && (isOff(i, t[i + 1] - t[i], tolerances) || isOff(i + 1, t[i + 1] - t[i], tolerances));
    const halved = new Set([...samples.keys()].filter((i) => isBad(i, all) && t[i + 1] - t[i] > shortest));
    if (!halved.size || samples.length + halved.size > MOST_SAMPLES) return {samples, coarse: [...samples.keys()].filter((i) => isBad(i, moving))};
    samples = samples.flatMap((sample, i) => (halved.has(i) ? [sample, sampleOf(sample.piece, sample.piece.at((t[i] + t[i + 1]) / 2))] : [sample]));
  }
}

function sceneOf(run) {  // as `scene_of` in Python makes it; one place more than there are samples is for `presentOf`
  const d = facts.drawing, {samples, coarse} = samplesOf(run), t = samples.map((sample) => sample.t);
  const tracks = d.points.map((name) => ({name, kind: d.bodies.includes(name) ? "body" : "point", positions: [], rotations: d.bodies.includes(name) ? [] : null}));
  const lines = d.lines.map(([name]) => ({name, points: [], fixed: false})), traces = facts.traces.map(({name, kind}) => ({name, values: [], noise: kind === "violation"}));
  const made = {title: facts.title, caption: facts.caption, planar: d.planar, t, starts: startsOf(samples), coarse, tracks, lines, traces};
  [...samples, samples[samples.length - 1]].forEach(({values}, k) => putInto(made, k, values));
  for (const line of lines) {
    const first = line.points[0];
    line.fixed = line.points.every((frame) => frame.every((p, k) => p[0] === first[k][0] && p[1] === first[k][1] && p[2] === first[k][2]));
    if (line.fixed) line.points = [first];
  }
  return made;
}

function putInto({tracks, lines, traces}, k, values) {  // as sample k of a scene
  let at = 0;
  const point = () => [values[at++], values[at++], values[at++]];
  if (drawn) {
    for (const track of tracks) track.positions[k] = point();
    for (const name of facts.drawing.bodies) tracks.find((track) => track.name === name).rotations[k] = [point(), point(), point()];
    lines.forEach((line, j) => { const points = Array.from({length: facts.drawing.lines[j][1]}, point); if (!line.fixed) line.points[k] = points; });
  }
  traces.forEach((trace) => { const v = values[at++]; trace.values[k] = Number.isFinite(v) ? v : null; });
}

present = (t) => { putInto(scene, count, valuesOf(now.run.at(t))); return atSample(count); };  // the motion itself at any time
settle = (t) => t;

// ---------------------------------------------------------------- new values
const isSound = (run) => run.pieces.length > 0 && run.reached > facts.t0 && run.at(run.reached).z.every(Number.isFinite);

function recompute({settle = false} = {}) {  // the initial state, the motion and its picture; what was stays if there is none
  const began = performance.now(), z = Float64Array.from(now.z), say = (text) => { byId("message").textContent = text; };
  const moved = facts.sliders.filter(({kind}) => kind === "parameter");
  for (const {index, value} of moved) now.p[index] = value;
  now.p.set(runs.completed(Float64Array.from(facts.p), now.p, moved.map(({index}) => index)));
  for (const slider of facts.sliders) {
    if (slider.kind !== "parameter") z[slider.index + (slider.kind === "speed" ? facts.modes[0].nq : 0)] = slider.value;
  }
  const stuck = solver.makeConsistent(facts.t0, z, now.p, now.held);
  if (stuck) { say(`No consistent start: \u201c${stuck.name}\u201d is off by ${formatNumber(Math.abs(stuck.gap))}.`); return false; }
  const run = runs.follow(z, Float64Array.from(now.p), frames);
  if (!isSound(run)) { say(`No motion from here: ${run.problem || "the values are not finite"}.`); return false; }
  say(run.problem || run.ending ? `The motion ends at t = ${formatNumber(run.reached)} s: ${run.problem || run.ending}.` : "");
  now.z = z; now.run = run;
  showScene(sceneOf(run), !settle);
  if (strips.length) { updateStrips(); Object.assign(byId("seek"), {min: start, max: end}); paint(); }
  now.cost = performance.now() - began;
  byId("cost").textContent = `Computed and drawn in ${now.cost.toFixed(1)} ms, ${run.steps} steps${countOf(run)}.`;
  return true;
}

function countOf(run) {  // how often each event happened
  const counts = new Map();
  for (const {name} of run.happened) counts.set(name, (counts.get(name) || 0) + 1);
  return [...counts].map(([name, count]) => `, ${count} \u00d7 \u201c${name}\u201d`).join("");
}

function compare() {  // what the first run shows at the times of native samples, relative to the size of each value
  const {t, rows, pictures, every} = facts.native;
  const show = (good, text) => { byId("check").className = good ? "good" : "bad"; byId("check").textContent = text; };
  if (now.run.problem) {
    show(false, `Not compared: this page stops at t = ${formatNumber(now.run.reached)} s (${now.run.problem}), the native engine goes on.`);
    return NaN;
  }
  const shown = t.map((time) => (time <= now.run.reached ? now.run.at(time) : null));
  const pixels = shown.filter((_, k) => k % every === 0).map((state) => state && valuesOf(state).subarray(0, drawnNumbers));
  const apartIn = (wanted, found) => {
    const sizes = wanted[0].map((_, i) => Math.max(1, ...wanted.map((row) => Math.abs(row[i]))));
    return wanted.map((row, k) => (found[k] ? Math.max(0, ...row.map((v, i) => Math.abs(found[k][i] - v) / sizes[i])) : NaN));
  };
  const apart = apartIn(rows, shown.map((state) => state && state.z));
  apartIn(pictures, pixels).forEach((d, k) => { if (!(d <= apart[k * every])) apart[k * every] = d; });
  const worst = Math.max(...apart), until = apart.findIndex((d) => !(d <= 1e-9));
  if (until < 0) show(true, `Agrees with the native engine to ${formatNumber(worst, 2)} over ${formatNumber(facts.t_end - facts.t0)} s (start values of the page; states at ${rows.length} times between its steps, pictures at ${pictures.length}).`);
  else show(false, `Differs from the native engine by up to ${formatNumber(worst, 2)}, and by more than 10\u207b\u2079 from t = ${formatNumber(t[until])} s on. If the difference grows from there, the motion is sensitive to the last digits.`);
  return worst;
}

// ---------------------------------------------------------------- sliders
let waiting = false;
function later() {  // at most one motion a frame, of the latest values
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; recompute(); });
}

function setSlider(slider, value) {
  slider.value = value;
  slider.range.value = value;
  if (document.activeElement !== slider.box) slider.box.value = Number(value.toPrecision(6));
}

function makeSlider(slider) {
  const label = document.createElement("label"), name = document.createElement("span");
  const make = (type) => Object.assign(document.createElement("input"), {type, min: type === "range" ? slider.low : "", max: type === "range" ? slider.high : "", step: "any"});
  slider.range = make("range"); slider.box = make("number");
  name.textContent = slider.name;
  slider.range.setAttribute("aria-label", slider.name); slider.box.setAttribute("aria-label", slider.name + " as a number");
  label.append(name, slider.box, slider.range);
  slider.first = slider.value;
  setSlider(slider, slider.value);
  slider.range.addEventListener("input", () => { setSlider(slider, Number(slider.range.value)); later(); });
  slider.range.addEventListener("change", () => { if (recompute({settle: true})) layOut(); });
  slider.box.addEventListener("change", () => { const v = Number(slider.box.value); if (Number.isFinite(v) && slider.box.value !== "") { setSlider(slider, clamp(v, slider.low, slider.high)); if (recompute({settle: true})) layOut(); } });
  byId("sliders").append(label);
}

function reset() {
  now.z.set(facts.z); now.p.set(facts.p);
  for (const slider of facts.sliders) setSlider(slider, slider.first);
  if (recompute({settle: true})) layOut();
}

// ---------------------------------------------------------------- pulling at the mechanism
const angles = facts.sliders.filter((slider) => slider.kind === "coordinate");

function vertices(values) {  // all that is drawn of one instant, on the screen
  const seen = [];
  for (let at = 0; at < values.length; ) {
    if (at === 3 * facts.drawing.points.length) { at += 9 * facts.drawing.bodies.length; if (at >= values.length) break; }
    seen.push(view.project([values[at], values[at + 1], values[at + 2]])); at += 3;
  }
  return seen;
}

function startWith(values) {  // the consistent start with these slider coordinates; null if there is none
  const z = Float64Array.from(now.z);
  angles.forEach((slider, k) => { z[slider.index] = values[k]; });
  return solver.makeConsistent(facts.t0, z, now.p, now.held) ? null : z;
}

function pull(k, target) {  // Gauss-Newton steps of the slider coordinates that bring vertex k to the pointer
  const place = (values) => { const z = startWith(values); return z && vertices(solver.valuesAt("drawing", facts.t0, z, now.p))[k]; };
  let values = angles.map((slider) => slider.value);
  for (let step = 0; step < 4; step++) {
    const here = place(values);
    if (!here) return;
    const gap = [target.x - here[0], target.y - here[1]], J = angles.map((slider, j) => {
      const d = 1e-5 * (slider.high - slider.low), there = place(values.map((v, i) => (i === j ? v + d : v)));
      return there ? [(there[0] - here[0]) / d, (there[1] - here[1]) / d] : [0, 0];
    });
    // One coordinate at a time, the one that moves the vertex most towards the pointer, keeps this free of matrices.
    const gain = J.map((g) => { const square = g[0] ** 2 + g[1] ** 2; return square > 1e-12 ? (g[0] * gap[0] + g[1] * gap[1]) / square : 0; });
    const worth = J.map((g, j) => Math.abs(gain[j]) * Math.hypot(...g)), best = worth.indexOf(Math.max(...worth));
    if (!(worth[best] > 0.2)) break;
    const slider = angles[best], room = 0.1 * (slider.high - slider.low);
    const next = values.map((v, j) => (j === best ? clamp(v + clamp(gain[j], -room, room), slider.low, slider.high) : v));
    if (!place(next)) break;
    values = next;
  }
  angles.forEach((slider, j) => setSlider(slider, values[j]));
  later();
}

function listenToPulls() {
  let held = -1;
  const spot = (event) => { const box = canvas.getBoundingClientRect(); return {x: event.clientX - box.left, y: event.clientY - box.top}; };
  const near = (at) => {
    let best = -1, least = 20;
    vertices(solver.valuesAt("drawing", facts.t0, now.z, now.p)).forEach((p, k) => { const d = Math.hypot(p[0] - at.x, p[1] - at.y); if (d < least) { least = d; best = k; } });
    return best;
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (state.t !== start || event.button) return;
    held = near(spot(event));
    if (held < 0) return;
    pause(); canvas.setPointerCapture(event.pointerId); event.stopImmediatePropagation();
  }, true);
  canvas.addEventListener("pointermove", (event) => {
    if (held >= 0) { pull(held, spot(event)); event.stopImmediatePropagation(); }
    else if (!event.buttons) canvas.style.cursor = state.t === start && near(spot(event)) >= 0 ? "move" : "";
  }, true);
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { if (held >= 0) { held = -1; if (recompute({settle: true})) layOut(); } }, true);
}

function makeStanding() {  // the start alone
  const piece = runs.makePiece(solver, now.p, [{t: facts.t0, z: now.z, dz: new Float64Array(now.z.length)}]);
  return {...now.run, pieces: [piece], reached: facts.t0, at: (t) => ({...piece, t, z: now.z})};
}

function beginLive() {
  facts.sliders.forEach(makeSlider);
  byId("panel").addEventListener("submit", (event) => event.preventDefault());
  byId("reset").addEventListener("click", reset);
  now.run = runs.follow(now.z, Float64Array.from(now.p), frames, {patience: 20000});
  if (!isSound(now.run)) { byId("message").textContent = `No motion: ${now.run.problem || "the values are not finite"}.`; now.run = makeStanding(); }
  showScene(sceneOf(now.run));
  if (now.run.ending) byId("message").textContent = `The motion ends at t = ${formatNumber(now.run.reached)} s: ${now.run.ending}.`;
  if (angles.length && drawn) { listenToPulls(); byId("hint").textContent = "Drag a slider. Or go to t = 0 (Home key) and drag the mechanism itself."; }
  begin();
  compare();
}

// ---------------------------------------------------------------- motions with events and clocks
// facts.modes are the systems that a motion may pass through, the first one first, with a solver each. facts.events
// {name, direction, terminal, change} are zeros to look out for, facts.clocks {name, dt, start, change} tick; a change
// is {to: mode} or {kernel, targets: [{kind, index}]}. What happens is what `follow_events` in Python makes happen.
const STOPPED = 1e-9, EPSILON = 2 ** -52, NEAR = Array.from({length: 14}, (_, k) => 0.25 ** (15 - k)), QUARTERS = [0.25, 0.5, 0.75, 1];

// Instants at which something known of time bends or jumps, within (from, to); `pairs` are rate and offset of arguments.
function instantsOf(kinks, pairs, from, to) {
  const found = [];
  kinks.forEach(({knots, period}, k) => {
    const rate = pairs[2 * k], offset = pairs[2 * k + 1];
    if (rate === 0 || !Number.isFinite(rate) || !Number.isFinite(offset)) return;
    const low = Math.min(rate * from, rate * to) + offset, high = Math.max(rate * from, rate * to) + offset;
    const turn = (v) => (period === null ? 0 : Math.floor((v - knots[0]) / period));
    if ((turn(high) - turn(low) + 1) * knots.length > 1e5) return;
    for (let j = turn(low); j <= turn(high); j++) for (const knot of knots) found.push((knot + (period === null ? 0 : j * period) - offset) / rate);
  });
  const apart = 64 * EPSILON * Math.max(Math.abs(from), Math.abs(to));
  return found.filter((t) => t > from + apart && t < to - apart).sort((a, b) => a - b).filter((t, k, all) => !k || t - all[k - 1] > apart);
}

// Zeros of the event functions of a mode within steps: looked for on a cubic, located on steps that end there.
function makeWatch(solver, {watched, slacks}, events, p, t, z, fresh, before) {
  const read = (at, state) => Float64Array.from(solver.observe("watch", at, state, p));
  const signOf = (k, old, v) => (old === 0 && Math.abs(v) <= slacks[k] ? 0 : Math.sign(v));
  const crosses = (k, sign, v) => { const d = events[watched[k]].direction; return (sign < 0 && v >= 0 && d >= 0) || (sign > 0 && v <= 0 && d <= 0); };
  let starts = read(t, z), first = true;
  const signs = watched.map((e, k) => (fresh.has(e) ? 0 : signOf(k, 0, starts[k]) || before.get(e) || 0)), firsts = [...signs];
  const goOn = (k, sign) => { signs[k] = sign; firsts[k] = firsts[k] || sign; };

  function isSuspect({t, step, here, rates, next, ahead}, ends) {
    const now = [...signs], place = new Float64Array(here.length);
    let suspect = first && signs.includes(0);
    for (const s of QUARTERS) {
      const a = s * s * (3 - 2 * s), b = s * (1 - s);
      if (s < 1) for (let i = 0; i < place.length; i++) place[i] = here[i] + a * (next[i] - here[i]) + step * b * ((1 - s) * rates[i] - s * ahead[i]);
      (s < 1 ? read(t + s * step, place) : ends).forEach((v, k) => { if (crosses(k, now[k], v)) suspect = true; now[k] = signOf(k, now[k], v); });
    }
    if (!suspect) now.forEach((sign, k) => goOn(k, sign));
    return suspect;
  }

  function locate(k, left, right, valueAt, resolution) {  // Chandrupatla, Adv. Eng. Softw. 28 (1997) 145-149
    let [b, fb] = left, [a, fa] = right, [c, fc] = left, share = 0.5, best = a;
    for (let round = 0; round < 200 && fa !== 0; round++) {
      const s = a + share * (b - a), fs = valueAt(s)[k];
      if (fs > 0 === fa > 0) [c, fc] = [a, fa]; else [c, fc, b, fb] = [b, fb, a, fa];
      [a, fa] = [s, fs];
      best = Math.abs(fa) < Math.abs(fb) ? a : b;
      const limit = resolution / Math.abs(b - a);
      if (limit > 0.5) break;
      const xi = (a - b) / (c - b), phi = (fa - fb) / (fc - fb);
      share = 0.5;
      if (phi * phi < xi && (1 - phi) ** 2 < 1 - xi) share = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb);
      share = Math.min(1 - limit, Math.max(limit, share));
    }
    return fa === 0 ? a : best;
  }

  function look(move) {  // {t, z, which} of the first zero in a step, null if there is none
    const {t, step, then, next, between} = move, ends = read(then, next);
    const resolution = 2 * EPSILON * Math.max(1, Math.abs(then) / step), place = new Float64Array(next.length);
    const stateAt = (s) => (s === 1 ? next : between(s, place)), timeAt = (s) => (s === 1 ? then : t + s * step);
    const valuesAt = (s) => { if (s === 1) return ends; const there = stateAt(s); return there ? read(timeAt(s), there) : starts.map(() => NaN); };
    if (isSuspect(move, ends)) {
      let left = 0, values = starts;
      for (const right of first ? [...NEAR, ...QUARTERS] : QUARTERS) {
        const after = valuesAt(right), roots = after.map((v, k) => (crosses(k, signs[k], v) ? locate(k, [left, values[k]], [right, v], valuesAt, resolution) : Infinity));
        const earliest = Math.min(...roots);
        if (earliest < Infinity) {
          const z = Float64Array.from(stateAt(earliest) || next), there = read(timeAt(earliest), z);
          const which = watched.filter((_, k) => roots[k] - earliest <= 4 * resolution || (roots[k] < Infinity && Math.abs(there[k]) <= slacks[k]));
          return {t: timeAt(earliest), z, which};
        }
        after.forEach((v, k) => goOn(k, signOf(k, signs[k], v)));
        left = right; values = after;
      }
    }
    starts = ends; first = false;
    return null;
  }

  const byEvent = (values) => new Map(watched.map((e, k) => [e, values[k]]));
  return {look, signs: () => byEvent(signs), firsts: () => byEvent(firsts)};
}

function makeSchedule(clocks, from) {  // when clocks tick next; ticks are counted, so that they do not drift
  const isBy = (t, tick) => tick <= t + 16 * EPSILON * Math.max(Math.abs(t), Math.abs(tick));
  const hands = clocks.map((clock) => {
    const start = clock.start === null ? from : clock.start, number = Math.max(Math.ceil((from - start) / clock.dt), 0);
    return {clock, start, number: number && isBy(start + (number - 1) * clock.dt, from) && isBy(from, start + (number - 1) * clock.dt) ? number - 1 : number};
  });
  const tick = (hand) => hand.start + hand.number * hand.clock.dt;
  return {
    next: () => Math.min(Infinity, ...hands.map(tick)),
    due: (t) => hands.filter((hand) => isBy(t, tick(hand))).map((hand) => { hand.number++; return hand.clock; }),
  };
}

function makeRuns(facts, kernels) {
  const solvers = facts.modes.map((mode, k) => makeSolver(mode, facts.tableau, kernels[k]));

  // All parameters after some have changed: those given in terms of others follow them, if they did (`followers.py`).
  function completed(before, after, changed) {
    const {followers} = facts.modes[0], p = Float64Array.from(after), same = (a, b) => Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b));
    if (!followers.length) return p;
    const stated = (p) => Float64Array.from(solvers[0].valuesAt("followers", facts.t0, facts.z, p)), first = stated(before);
    followers.forEach((place, k) => { if (!changed.includes(place) && same(before[place], first[k])) p[place] = stated(p)[k]; });
    return p;
  }

  function change(now, {name, change: what}) {  // the place after an event; {problem} if there is none
    const after = {...now, z: Float64Array.from(now.z)};
    let given = [], problem = "";
    if ("to" in what) after.mode = what.to;
    else {
      if (!kernels[now.mode][what.kernel]) return {problem: `\u201c${name}\u201d cannot be evaluated here`};
      const values = Float64Array.from(solvers[now.mode].observe(what.kernel, now.t, now.z, now.p));
      if (!values.every(Number.isFinite)) return {problem: `\u201c${name}\u201d: a new value is not finite`};
      after.p = Float64Array.from(now.p);
      given = what.targets.map((target, k) => ({...target, value: values[k]}));
      for (const {kind, index, value} of given) if (kind === "parameter") after.p[index] = value;
      after.p = completed(now.p, after.p, given.filter(({kind}) => kind === "parameter").map(({index}) => index));
      given = given.filter(({kind}) => kind !== "parameter");
    }
    problem = solvers[after.mode].jump(now.t, after.z, after.p, given, "to" in what ? 1e-8 : Infinity);
    return problem ? {problem: `\u201c${name}\u201d: ${problem}`} : after;
  }

  function makePace(from, to) {  // whether changes come ever faster, so that they would never end
    const times = new Map();
    return (event, t) => {
      for (const key of ["", event]) times.set(key, [...(times.get(key) || [from]), t]);
      const all = times.get(""), waits = times.get(event).slice(1).map((v, k) => v - times.get(event)[k]), recent = waits.slice(-5);
      if (all.length >= 200 && t - all[all.length - 200] < 1e-6 * (to - from)) return true;
      return recent.length > 4 && recent.every((v, k) => !k || v < recent[k - 1]) && recent[4] < 1e-5 * Math.max(...waits);
    };
  }

  // The sign that the expression of an event may not have next, if its change stopped it or turned it back, else 0
  // (`turning_back.py`): an expression that goes on through zero was too soon to be seen, as when a ball does not rebound.
  function forbiddenSide(e, before, after) {
    if (!facts.modes[after.mode].watched.includes(e)) return 0;
    const [was, is] = [before, after].map(({mode, t, z, p}) => solvers[mode].observe("watch_rates", t, z, p)[facts.modes[mode].watched.indexOf(e)]);
    return was !== 0 && Math.sign(was) * is <= STOPPED * Math.abs(was) ? Math.sign(was) : 0;
  }

  function makePiece(solver, p, nodes) {  // the motion between two changes: the states at which steps end, and any other
    const at = (t) => {
      let low = 0, high = nodes.length - 1;
      while (low < high) { const mid = (low + high + 1) >> 1; if (nodes[mid].t <= t) low = mid; else high = mid - 1; }
      return solver.nodeIn(nodes[low], t, p);
    };
    return {solver, p, nodes, at};
  }

  // A motion, as far as it goes, in pieces; steps end at the given times. `at(t)` is the motion itself at any time: the
  // state {t, z, dz, solver, p}, of two at a change the one before it.
  function follow(state, p, times, {patience = 4000} = {}) {
    const until = performance.now() + patience, from = times[0], to = times[times.length - 1], schedule = makeSchedule(facts.clocks, from), accumulates = makePace(from, to);
    const pieces = [], happened = [];
    let now = {t: from, z: Float64Array.from(state), p, mode: 0}, fresh = new Set(), before = new Map(), first = 0, steps = 0;
    let turned = [], turn = null;  // events that may have stopped their expressions or turned them back; before and after that
    const at = (t) => { const piece = pieces.find(({nodes}) => nodes[nodes.length - 1].t >= t) || pieces[pieces.length - 1]; return {...piece, ...piece.at(t)}; };
    const ended = (problem, ending = "") => ({pieces, at, happened, steps, problem, ending, reached: now.t});
    const occur = (items) => {
      for (const item of items) {
        const after = change(now, item);
        if (after.problem) return after.problem;
        happened.push({name: item.name, t: now.t});
        now = after;
      }
      return "";
    };
    const wentThrough = (firsts) => {
      const signs = turned.map((e) => [e, firsts.get(e)]), onwards = signs.filter(([e, sign]) => sign && [0, sign].includes(facts.events[e].direction));
      turned = signs.filter(([, sign]) => sign === 0).map(([e]) => e);
      return onwards.some(([e, sign]) => forbiddenSide(e, ...turn) === sign);
    };
    for (;;) {
      const ticked = occur(schedule.due(now.t));
      if (ticked) return ended(ticked);
      const solver = solvers[now.mode], mode = facts.modes[now.mode], end = Math.min(schedule.next(), to);
      const marks = [now.t, ...times.filter((t) => t > now.t && t < end), end];
      const stops = mode.kinks.length ? instantsOf(mode.kinks, solver.valuesAt("kinks", now.t, now.z, now.p), now.t, end) : [];
      stops.push(...mode.instants.filter((t) => t > now.t && t < end));
      const watch = mode.watched.length ? makeWatch(solver, mode, facts.events, now.p, now.t, now.z, fresh, before) : null;
      const run = solver.integrate(now.z, now.p, marks, {until, first, stops, watch});
      if (wentThrough(watch ? watch.firsts() : new Map())) return ended("events come ever faster");
      const {t, z} = run.nodes[run.nodes.length - 1];
      pieces.push(makePiece(solver, now.p, run.nodes.filter((node, k, all) => !k || node.t > all[k - 1].t)));
      steps += run.steps; first = run.h;
      now = {...now, t, z: Float64Array.from(z)};
      if (run.problem) return ended(run.problem);
      if (performance.now() > until) return ended("it took too long");
      if (!run.found) {
        if (end === to) return ended("");
        fresh = new Set(); before = watch ? watch.signs() : new Map();
        continue;
      }
      const items = run.found.which.map((e) => facts.events[e]), terminal = items.find((item) => item.terminal);
      if (terminal) { happened.push({name: terminal.name, t: now.t}); return ended("", `ended by \u201c${terminal.name}\u201d`); }
      const was = now, stuck = occur(items);
      if (stuck) return ended(stuck);
      turned = run.found.which.filter((e) => facts.events[e].change); turn = [was, now];
      if (items.some((item) => accumulates(item.name, now.t))) return ended("events come ever faster");
      if (now.t >= to) return ended("");
      fresh = new Set(run.found.which); before = new Map();
    }
  }

  return {first: solvers[0], follow, makePiece, completed};
}

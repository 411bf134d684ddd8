// ---------------------------------------------------------------- the mechanics of the page
// Kernels made from the model read x = (t, q, u, p) and write a column: motion (q', u', power, la, quality), dynamics,
// residual (phi, psi), assembly, speeds, invariant, energy, drawing, outputs, and the least moves onto the constraints.
// Kernels of expressions (events, what they change) read w = (x, q', u', power, la).
// Notation: M u' = f + W^T la, A u' = b, phi(q, t) = 0, psi(q, u, t) = 0; W = A if all reactions are ideal.
function makeSolver(facts, tableau, kernels) {
  const {nq, nu, np, nv, nc, ni, parameters} = facts, n = nq + nu, TRUSTED = 1e-4;
  const x = new Float64Array(1 + n + parameters), q = x.subarray(1, 1 + nq), u = x.subarray(1 + nq, 1 + n);
  const sizes = facts.sizes, out = {}, z = x.subarray(1, 1 + n);
  for (const name in sizes) out[name] = new Float64Array(sizes[name]);
  const call = (name) => { kernels[name](x, out[name]); return out[name]; };
  const largest = (a, from, size) => { let m = 0; for (let i = from; i < from + size; i++) { const v = Math.abs(a[i]); if (!(v <= m)) m = v; } return m; };

  const parts = {};
  if (kernels.dynamics) {
    let at = 0;
    for (const [name, size] of [["qdot", nq], ["M", nu * nu], ["f", nu], ["A", nc * nu], ["b", nc], ["W", facts.ideal ? 0 : nc * nu]]) { parts[name] = out.dynamics.subarray(at, at + size); at += size; }
  }

  const solveLaws = kernels.iteration ? makeLaws(facts, kernels.iteration) : null;
  const stuck = facts.ideal ? "the mass matrix is singular" : "no reactions fulfil the laws here";
  let solved = null, source = "";  // (u', la) or u' at the state whose rates were asked for last, and what found it
  const setState = (t, state) => { x[0] = t; for (let i = 0; i < n; i++) x[1 + i] = state[i]; };  // faster than `set` on few numbers

  function rates(t, state, dz) {  // (q', u') at a state; the unrolled solve where its pivots can be trusted
    setState(t, state);
    if (kernels.motion) {
      const m = call("motion");
      if (m[n + 1 + nc] > TRUSTED && Number.isFinite(m[n])) {
        for (let i = 0; i < n; i++) dz[i] = m[i];
        source = "motion";
        return true;
      }
    }
    call("dynamics");
    source = solveLaws ? "laws" : "nearest";
    solved = solveLaws ? solveLaws(x, parts.b) : nearest(nu, nc, parts.M, parts.f, parts.A, parts.b, facts.singular);
    if (!solved) return false;
    for (let i = 0; i < nq; i++) dz[i] = parts.qdot[i];
    for (let i = 0; i < nu; i++) dz[nq + i] = solved[i];
    return true;
  }

  function multipliers() {  // la (nc) at the state whose rates were asked for last
    if (source === "motion") return out.motion.subarray(n + 1, n + 1 + nc);
    return source === "laws" ? solved.subarray(nu) : balancing(solved);
  }

  function balancing(udot) {  // la (nc) of M u' = f + A^T la, the least of them if constraints are redundant
    const r = new Float64Array(nu), transposed = new Float64Array(nu * nc);
    for (let i = 0; i < nu; i++) {
      r[i] = -parts.f[i];
      for (let j = 0; j < nu; j++) r[i] += parts.M[i * nu + j] * udot[j];
      for (let k = 0; k < nc; k++) transposed[i * nc + k] = parts.A[k * nu + i];
    }
    return nearest(nc, nu, null, null, transposed, r);
  }

  const scratch = new Float64Array(n), w = new Float64Array(x.length + n + 1 + nc);
  function observe(name, t, state, p) {  // a kernel of w at a state
    x[0] = t; z.set(state); x.set(p, 1 + n);
    w.fill(0);
    if (facts.reads[name] && rates(t, state, scratch)) { w.set(scratch, x.length); w.set(multipliers(), x.length + n + 1); }
    w.set(x);
    kernels[name](w, out[name]);
    return out[name];
  }

  function restoreInvariants() {
    for (let k = 0; ni && k < 20; k++) {
      const h = call("invariant");
      if (largest(h, 0, ni) <= 4e-16) break;
      for (let r = 0; r < ni; r++) {
        let norm = 0;
        for (let j = 0; j < nq; j++) norm += h[ni + r * nq + j] ** 2;
        if (norm > 0) for (let j = 0; j < nq; j++) q[j] -= h[r] / norm * h[ni + r * nq + j];
      }
    }
  }

  function moveBy(name, rows, first) {  // the least move in the mass metric that cancels the residuals to first order
    const size = name === "onto_positions" ? nq : nu;
    if (kernels[name]) { const s = call(name); if (s[size] > TRUSTED) return s; }
    call("dynamics");
    const gap = new Float64Array(rows);
    for (let k = 0; k < rows; k++) gap[k] = -out.residual[first + k];
    const s = nearest(nu, rows, parts.M, null, parts.A, gap, facts.singular);
    if (!s || name === "onto_velocities") return s;
    const kept = Float64Array.from(u);
    u.set(s); const moved = call("displacement"); u.set(kept);
    return moved;
  }

  function iterate(name, target, first, rows, enough) {
    let before = largest(out.residual, first, rows);
    for (let k = 0; k < 20; k++) {
      const s = moveBy(name, rows, first);
      if (!s) return false;
      for (let i = 0; i < target.length; i++) target[i] += s[i];
      if (target === q) restoreInvariants();
      call("residual");
      const after = largest(out.residual, first, rows);
      if (after <= enough) return true;
      if (!(after <= 0.97 * before)) return after <= 1e-6;
      before = after;
    }
    return before <= 1e-6;
  }

  function project(t, state, tolerance = 1e-12) {  // positions, then velocities, onto the constraints
    setState(t, state);
    restoreInvariants();
    let held = true;
    if (np + nv > 0) {
      call("residual");
      if (np && largest(out.residual, 0, np) > tolerance) held = iterate("onto_positions", q, 0, np, 1e-2 * tolerance);
      if (held && largest(out.residual, np, np + nv) > tolerance) held = iterate("onto_velocities", u, np, np + nv, 1e-2 * tolerance);
    }
    for (let i = 0; i < n; i++) state[i] = z[i];
    return held;
  }

  // ------------------------------------------------------------ consistent initial states
  // Newton's method on rows (m, n) from the present values: held variables stay, the others make the least move.
  function seek(target, held, read, allowed) {
    const free = [...target.keys()].filter((k) => !held.has(k));
    let {gap, J, columns} = read(), size = largest(gap, 0, gap.length);
    for (let k = 0; k < 60 && size > 1e-14; k++) {
      const Jf = new Float64Array(gap.length * free.length), b = new Float64Array(gap.length), from = Float64Array.from(target);
      for (let r = 0; r < gap.length; r++) { b[r] = -gap[r]; free.forEach((c, j) => { Jf[r * free.length + j] = J[r * columns + c]; }); }
      const s = nearest(free.length, gap.length, null, null, Jf, b);
      let better = false;
      for (let cut = 1; cut > 1e-4 && !better; cut /= 2) {
        free.forEach((c, j) => { target[c] = from[c] + cut * s[j]; });
        ({gap, J, columns} = read());
        const now = largest(gap, 0, gap.length);
        better = now < size;
        if (better) size = now;
      }
      if (!better) { target.set(from); ({gap, J, columns} = read()); break; }
    }
    return size <= allowed ? null : gap;
  }

  function closePositions(held) {  // q onto the constraints, the held ones fixed; null or what is left
    const rows = np + ni, positions = () => {
      const a = call("assembly");
      return {gap: Float64Array.from(a.subarray(0, rows)), J: Float64Array.from(a.subarray(rows)), columns: nq};
    };
    return rows ? seek(q, new Set(held), positions, 1e-9) : null;
  }

  // The state with held values, from the present one; returns "" or which constraint is in the way. facts.held says
  // which of q and u were given; rates of coordinates that were given are met by additional rows.
  function makeConsistent(t, state, p, held) {
    x[0] = t; z.set(state); x.set(p, 1 + n);
    const open = closePositions(held.q);
    if (open) return worst(open);
    const wanted = Object.entries(held.rates), m = np + nv, speeds = () => {
      const a = call("speeds"), gap = new Float64Array(m + wanted.length), J = new Float64Array(gap.length * nu);
      gap.set(a.subarray(0, m)); J.set(a.subarray(m + nq, m + nq + m * nu));
      wanted.forEach(([k, value], j) => { gap[m + j] = a[m + Number(k)] - value; J.set(a.subarray(m + nq + (m + Number(k)) * nu, m + nq + (m + Number(k) + 1) * nu), (m + j) * nu); });
      return {gap, J, columns: nu};
    };
    const slow = m + wanted.length ? seek(u, new Set(held.u), speeds, 1e-9) : null;
    state.set(z);
    return slow ? worst(slow) : "";
  }

  // The state just after an event: given values {kind, index, value} hold, positions that are off by at most `allowed`
  // are closed, and the impulse of the constraints makes the speeds consistent, M (u+ - u-) = W^T La + E^T J,
  // psi(u+) = 0, E u+ = what is given of them (`dalembert.initial.impact`). Returns "" or what is in the way.
  function jump(t, state, p, given, allowed = Infinity) {
    x[0] = t; z.set(state); x.set(p, 1 + n);
    const moved = given.filter(({kind}) => kind === "coordinate"), pushed = given.filter(({kind}) => kind !== "coordinate");
    for (const {index, value} of moved) q[index] = value;
    const gap = np + ni ? largest(call("assembly"), 0, np + ni) : 0;
    const open = gap > allowed ? Float64Array.from(out.assembly.subarray(0, np + ni)) : gap > 1e-12 ? closePositions(moved.map(({index}) => index)) : null;
    if (open) { const at = worst(open); return `\u201c${at.name}\u201d is off by ${at.gap.toPrecision(2)}`; }
    const problem = np + nv + pushed.length ? strike(pushed) : "";
    state.set(z);
    return problem;
  }

  function strike(pushed) {
    const m = np + nv, rows = m + pushed.length, before = Float64Array.from(u), A = new Float64Array(rows * nu), left = new Float64Array(rows), b = new Float64Array(rows);
    const look = () => {  // A and what is left of A u = ...
      const s = call("speeds");
      left.set(s.subarray(0, m)); A.set(s.subarray(m + nq, m + nq + m * nu));
      pushed.forEach(({kind, index, value}, j) => {
        const row = A.subarray((m + j) * nu, (m + j + 1) * nu);
        if (kind === "speed") { row.fill(0); row[index] = 1; left[m + j] = u[index] - value; }
        else { row.set(s.subarray(m + nq + (m + index) * nu, m + nq + (m + index + 1) * nu)); left[m + j] = s[m + index] - value; }
      });
      return largest(left, 0, rows);
    };
    for (let k = 0; k < 30; k++) {
      look();
      for (let r = 0; r < rows; r++) { b[r] = -left[r]; for (let i = 0; i < nu; i++) b[r] += A[r * nu + i] * (u[i] - before[i]); }
      call("dynamics");
      const step = facts.ideal ? nearest(nu, rows, parts.M, null, A, b, facts.singular) : push(A, m, pushed.length, b);
      if (!step) return "no impulse makes the speeds consistent";
      let way = 0, size = 0;
      for (let i = 0; i < nu; i++) { const next = before[i] + step[i]; way = Math.max(way, Math.abs(next - u[i])); size = Math.max(size, Math.abs(next)); u[i] = next; }
      if (way <= 1e-15 * (1 + size)) break;
    }
    for (const {kind, index, value} of pushed) if (kind === "speed") u[index] = value;
    return look() <= 1e-9 ? "" : "no impulse makes the speeds consistent";
  }

  function push(A, m, more, b) {  // s of M s = W^T La + E^T J with (A; E) s = b, the reactions along W
    const rows = m + more, size = nu + rows, K = new Float64Array(size * size), right = new Float64Array(size);
    right.set(b, nu);
    for (let i = 0; i < nu; i++) {
      for (let j = 0; j < nu; j++) K[i * size + j] = parts.M[i * nu + j];
      for (let r = 0; r < rows; r++) { K[i * size + nu + r] = -(r < m ? parts.W[r * nu + i] : A[r * nu + i]); K[(nu + r) * size + i] = A[r * nu + i]; }
    }
    return solveBalanced(size, K, right) > 0 ? right.subarray(0, nu) : null;
  }

  function worst(gap) {
    let k = 0;
    gap.forEach((v, i) => { if (!(Math.abs(v) <= Math.abs(gap[k]))) k = i; });
    return {name: facts.constraints[k] || "a rate or an invariant", gap: gap[k]};
  }

  // ------------------------------------------------------------ Runge-Kutta steps with projection
  const {A, b, c, error} = tableau, stages = b.length, K = A.map(() => new Float64Array(n)), stage = new Float64Array(n);
  const A_ = A.map((row) => row.map((a, j) => [a, j]).filter(([a]) => a !== 0));
  const b_ = b.map((w, j) => [w, j]).filter(([w]) => w !== 0);

  function combine(target, from, h, weights) {
    for (let i = 0; i < n; i++) { let s = 0; for (let m = 0; m < weights.length; m++) s += weights[m][0] * K[weights[m][1]][i]; target[i] = from[i] + h * s; }
  }

  function errorNorm(h, from, to, rtol, atol) {  // Hairer, Norsett, Wanner, eq. (II.10.17)
    let e5 = 0, e3 = 0;
    for (let i = 0; i < n; i++) {
      let fifth = 0, third = 0;
      for (let j = 0; j < stages; j++) { fifth += error[0][j] * K[j][i]; third += error[1][j] * K[j][i]; }
      const scale = h / (atol + rtol * Math.max(Math.abs(from[i]), Math.abs(to[i])));
      e5 += (fifth * scale) ** 2; e3 += (third * scale) ** 2;
    }
    const below = e5 + 0.01 * e3;
    return below === 0 ? 0 : e5 / Math.sqrt(below * n);
  }

  function tryStep(t, from, step, to) {  // whether there is a state at the end of a step; K[0] holds the rates at its start
    for (let i = 1; i < stages; i++) { combine(stage, from, step, A_[i]); if (!rates(t + c[i] * step, stage, K[i])) return false; }
    combine(to, from, step, b_);
    return true;
  }

  // The states {t, z, dz} at which steps end, from the first one on; steps end at the given times and at `stops`.
  // A `watch` is asked after each step whether something happened in it: what it `found` ends the run. `first` is the
  // length of the first step, `until` the time on the clock at which patience ends.
  function integrate(state, p, times, {rtol = 1e-12, atol = 1e-13, until = Infinity, first = 0, stops = [], watch = null} = {}) {
    x.set(p, 1 + n);
    const here = Float64Array.from(state), next = new Float64Array(n), ahead = new Float64Array(n);
    const asked = new Set(times), marks = [...times, ...stops.filter((s) => !asked.has(s))].sort((a, b) => a - b);
    let t = times[0], h = first || Math.min(1e-3 * (times[times.length - 1] - t), 1e-2), steps = 0, found = null;
    let problem = rates(t, here, K[0]) ? "" : stuck;
    const nodes = [], keep = () => nodes.push({t, z: Float64Array.from(here), dz: Float64Array.from(K[0])});
    keep();
    for (let k = 1; k < marks.length && !problem && !found; k++) {
      while (t < marks[k] && !problem && !found) {
        const left = marks[k] - t, step = left / Math.max(1, Math.ceil(left / h - 1e-9)), last = step >= left;
        const size = tryStep(t, here, step, next) ? errorNorm(step, here, next, rtol, atol) : NaN;
        const factor = size <= 1e-8 ? 5 : clampStep(0.9 * size ** -0.125);
        if (!(size <= 1)) { h = step * (Number.isFinite(factor) ? Math.min(factor, 0.9) : 0.2); if (!(h > 1e-13 * Math.max(1, Math.abs(t)))) problem = "the steps became too small"; continue; }
        const then = last ? marks[k] : t + step;
        if (!project(then, next)) { problem = "the constraints could not be held"; break; }
        if (!rates(then, next, ahead)) { problem = stuck; break; }
        if (watch) {
          const between = (s, to) => (tryStep(t, here, s * step, to) && project(t + s * step, to) ? to : null);
          found = watch.look({t, step, then, here, rates: K[0], next, ahead, between});
          if (found) { t = found.t; here.set(found.z); rates(t, here, K[0]); keep(); break; }
        }
        t = then;
        for (let i = 0; i < n; i++) { here[i] = next[i]; K[0][i] = ahead[i]; }
        keep();
        h = last && step < 0.999 * h ? Math.max(h, step * factor) : step * factor;
        if ((++steps & 255) === 0 && performance.now() > until) problem = "it took too long";
      }
    }
    return {nodes, steps, problem, found, h};
  }

  // The node {t, z, dz} at a time within the step that begins at one: the end of a shorter step of the method, projected.
  function nodeIn(node, t, p) {
    const z = Float64Array.from(node.z), dz = Float64Array.from(node.dz);
    if (t === node.t) return {t, z, dz};
    x.set(p, 1 + n); K[0].set(dz);
    if (tryStep(node.t, node.z, t - node.t, z)) { project(t, z); rates(t, z, dz); }
    return {t, z, dz};
  }

  const clampStep = (f) => Math.min(5, Math.max(0.2, f));

  function valuesAt(name, t, state, p) {  // a kernel of x at a state
    x[0] = t; z.set(state); x.set(p, 1 + n);
    return call(name);
  }

  function outputsAt(t, state, p) {  // those that contain neither accelerations nor multipliers, which stay zero here
    const y = new Float64Array(x.length + nu + nc);
    x[0] = t; z.set(state); x.set(p, 1 + n); y.set(x);
    kernels.outputs(y, out.outputs);
    return out.outputs;
  }

  const violation = (t, state, p) => (np + nv ? largest(valuesAt("residual", t, state, p), 0, 2 * np + nv) : 0);
  return {makeConsistent, integrate, nodeIn, jump, observe, valuesAt, outputsAt, violation};
}

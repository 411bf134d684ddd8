// ---------------------------------------------------------------- the mechanics of the page
// Kernels made from the model read x = (t, q, u, p) and write a column: motion (q', u', power, la, quality), dynamics,
// residual (phi, psi), assembly, speeds, invariant, energy, drawing, outputs, and the least moves onto the constraints.
// Notation: M u' = f + A^T la, A u' = b, phi(q, t) = 0, psi(q, u, t) = 0.
function makeSolver(facts, kernels) {
  const {nq, nu, np, nv, nc, ni, parameters} = facts, n = nq + nu, TRUSTED = 1e-4, RANK = 1e-9;
  const x = new Float64Array(1 + n + parameters), q = x.subarray(1, 1 + nq), u = x.subarray(1 + nq, 1 + n);
  const sizes = facts.sizes, out = {}, z = x.subarray(1, 1 + n);
  for (const name in sizes) out[name] = new Float64Array(sizes[name]);
  const call = (name) => { kernels[name](x, out[name]); return out[name]; };
  const largest = (a, from, size) => { let m = 0; for (let i = from; i < from + size; i++) { const v = Math.abs(a[i]); if (!(v <= m)) m = v; } return m; };

  // x (nu) with x - M^-1 f least in the metric M and A x = b, for any rank of A (nc, nu); M null: the unit matrix.
  // Columns of L^-1 A^T are made orthonormal in pivot order, each twice, as one pass leaves what round-off left.
  function nearest(nu, nc, M, f, A, b, augment = false) {
    const y = new Float64Array(nu), W = [], L = M ? Float64Array.from(M.subarray(0, nu * nu)) : null;
    if (f) y.set(f);
    if (L && augment && nc) {  // M + w A^T A changes nothing because A x = b, and is positive definite
      let trace = 1e-300, square = 1e-300;
      for (let i = 0; i < nu; i++) trace += L[i * nu + i];
      for (let i = 0; i < nc * nu; i++) square += A[i] * A[i];
      for (let k = 0; k < nc; k++) for (let i = 0; i < nu; i++) {
        const w = trace / square * A[k * nu + i];
        for (let j = 0; j < nu; j++) L[i * nu + j] += w * A[k * nu + j];
        y[i] += w * b[k];
      }
    }
    if (L) for (let i = 0; i < nu; i++) for (let j = 0; j <= i; j++) {  // M = L L^T
      let s = L[i * nu + j];
      for (let k = 0; k < j; k++) s -= L[i * nu + k] * L[j * nu + k];
      if (i === j) { if (!(s > 0)) return null; L[i * nu + i] = Math.sqrt(s); } else L[i * nu + j] = s / L[j * nu + j];
    }
    const forward = (v) => { if (L) for (let i = 0; i < nu; i++) { for (let j = 0; j < i; j++) v[i] -= L[i * nu + j] * v[j]; v[i] /= L[i * nu + i]; } return v; };
    const dot = (a, c) => { let s = 0; for (let i = 0; i < nu; i++) s += a[i] * c[i]; return s; };
    forward(y);
    for (let k = 0; k < nc; k++) {
      const column = forward(Float64Array.from(A.subarray(k * nu, k * nu + nu))), size = Math.sqrt(dot(column, column));
      if (size > 0) for (let i = 0; i < nu; i++) column[i] /= size;
      W.push({column, size, k, left: size > 0 ? 1 : 0, R: [], gap: size > 0 ? b[k] / size - dot(column, y) : 0});
    }
    const basis = [];
    while (W.length) {
      W.sort((a, c) => c.left - a.left);
      const w = W.shift();
      if (!(w.left > RANK)) break;
      const v = w.column, row = new Float64Array(basis.length);
      for (let pass = 0; pass < 2; pass++) basis.forEach((e, j) => { const s = dot(e.v, v); row[j] += s; for (let i = 0; i < nu; i++) v[i] -= s * e.v[i]; });
      const length = Math.sqrt(dot(v, v));
      if (!(length > RANK)) continue;
      for (let i = 0; i < nu; i++) v[i] /= length;
      let s = w.gap;
      basis.forEach((e, j) => { s -= row[j] * e.amount; });
      basis.push({v, amount: s / length});
      for (const other of W) { let rest = 1; for (const e of basis) rest -= dot(e.v, other.column) ** 2; other.left = Math.sqrt(Math.max(rest, 0)); }
    }
    for (const e of basis) for (let i = 0; i < nu; i++) y[i] += e.amount * e.v[i];
    if (L) for (let i = nu - 1; i >= 0; i--) { for (let j = i + 1; j < nu; j++) y[i] -= L[j * nu + i] * y[j]; y[i] /= L[i * nu + i]; }
    return y;
  }

  const parts = {};
  if (kernels.dynamics) {
    let at = 0;
    for (const [name, size] of [["qdot", nq], ["M", nu * nu], ["f", nu], ["A", nc * nu], ["b", nc]]) { parts[name] = out.dynamics.subarray(at, at + size); at += size; }
  }

  function rates(t, state, dz) {  // (q', u') at a state; the unrolled solve where its pivots can be trusted
    x[0] = t; z.set(state);
    if (kernels.motion) {
      const m = call("motion");
      if (m[n + 1 + nc] > TRUSTED && Number.isFinite(m[n])) { for (let i = 0; i < n; i++) dz[i] = m[i]; return true; }
    }
    call("dynamics");
    const udot = nearest(nu, nc, parts.M, parts.f, parts.A, parts.b, facts.singular);
    if (!udot) return false;
    dz.set(parts.qdot); dz.set(udot, nq);
    return true;
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
    x[0] = t; z.set(state);
    restoreInvariants();
    let held = true;
    if (np + nv > 0) {
      call("residual");
      if (np && largest(out.residual, 0, np) > tolerance) held = iterate("onto_positions", q, 0, np, 1e-2 * tolerance);
      if (held && largest(out.residual, np, np + nv) > tolerance) held = iterate("onto_velocities", u, np, np + nv, 1e-2 * tolerance);
    }
    state.set(z);
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

  // The state with held values, from the present one; returns "" or which constraint is in the way. facts.held says
  // which of q and u were given; rates of coordinates that were given are met by additional rows.
  function makeConsistent(t, state, p, held) {
    x[0] = t; z.set(state); x.set(p, 1 + n);
    const rows = np + ni, positions = () => {
      const a = call("assembly");
      return {gap: Float64Array.from(a.subarray(0, rows)), J: Float64Array.from(a.subarray(rows)), columns: nq};
    };
    const stuck = rows ? seek(q, new Set(held.q), positions, 1e-9) : null;
    if (stuck) return worst(stuck);
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

  function worst(gap) {
    let k = 0;
    gap.forEach((v, i) => { if (!(Math.abs(v) <= Math.abs(gap[k]))) k = i; });
    return {name: facts.constraints[k] || "a rate or an invariant", gap: gap[k]};
  }

  // ------------------------------------------------------------ Runge-Kutta steps with projection
  const {A, b, c, error} = facts.tableau, stages = b.length, K = A.map(() => new Float64Array(n));
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

  // States (times.length, n) at the given times, as far as they were reached; steps end at these times.
  function integrate(state, p, times, {rtol = 1e-12, atol = 1e-13, patience = 4000} = {}) {
    x.set(p, 1 + n);
    const rows = [Float64Array.from(state)], here = Float64Array.from(state), next = new Float64Array(n), stage = new Float64Array(n);
    const began = performance.now();
    let t = times[0], h = Math.min(1e-3 * (times[times.length - 1] - t), 1e-2), steps = 0, problem = rates(t, here, K[0]) ? "" : "the mass matrix is singular";
    for (let k = 1; k < times.length && !problem; k++) {
      while (t < times[k] && !problem) {
        const left = times[k] - t, step = left / Math.max(1, Math.ceil(left / h - 1e-9)), last = step >= left;
        let sound = true;
        for (let i = 1; i < stages && sound; i++) { combine(stage, here, step, A_[i]); sound = rates(t + c[i] * step, stage, K[i]); }
        combine(next, here, step, b_);
        const size = sound ? errorNorm(step, here, next, rtol, atol) : NaN;
        const factor = size <= 1e-8 ? 5 : clampStep(0.9 * size ** -0.125);
        if (!(size <= 1)) { h = step * (Number.isFinite(factor) ? Math.min(factor, 0.9) : 0.2); if (!(h > 1e-13 * Math.max(1, Math.abs(t)))) problem = "the steps became too small"; continue; }
        t = last ? times[k] : t + step;
        if (!project(t, next)) { problem = "the constraints could not be held"; break; }
        here.set(next);
        if (!rates(t, here, K[0])) problem = "the mass matrix is singular";
        h = last && step < 0.999 * h ? Math.max(h, step * factor) : step * factor;
        if ((++steps & 255) === 0 && performance.now() - began > patience) problem = "it took too long";
      }
      if (!problem) rows.push(Float64Array.from(here));
    }
    return {rows, steps, problem, reached: t};
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
  return {makeConsistent, integrate, valuesAt, outputsAt, violation, project, nearest};
}

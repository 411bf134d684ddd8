// ---------------------------------------------------------------- reactions that follow laws
// M u' = f + W^T la - F^T |la| with A u' = b, constraints not linear in u' and laws of the unknowns: Newton's method on
// (u', la) together, as `law_loops` in Python has it. It starts without the laws and without friction.
// The function (x, b) -> (u', la), valid until it is called again, null where there is no solution. Its kernel reads (x, u', la, stage, b) and writes
// the residuals R (n) and their gradients (n, n) first; at stage 0 unknowns stay at their starts.
function makeLaws(facts, kernel) {
  const n = facts.nu + facts.nc, nx = 1 + facts.nq + facts.nu + facts.parameters;
  const input = new Float64Array(nx + n + 1 + facts.nc), out = new Float64Array(facts.sizes.iteration), unknowns = input.subarray(nx, nx + n);
  const K = new Float64Array(n * n), step = new Float64Array(n), scale = new Float64Array(n);

  function evaluate() {  // the largest residual, each relative to its scale
    kernel(input, out);
    let worst = 0;
    let zero = 0;  // or NaN
    for (let i = 0; i < n * (n + 1); i++) zero += 0 * out[i];
    if (zero !== 0) return Infinity;
    for (let i = 0; i < n; i++) { const v = Math.abs(out[i]) * scale[i]; if (v > worst) worst = v; }
    return worst;
  }

  function findStep() {
    for (let i = 0; i < n; i++) {
      let top = 0;
      for (let j = 0; j < n; j++) { const v = Math.abs(out[n + i * n + j]); if (v > top) top = v; }
      scale[i] = top > 0 ? 1 / top : 1;
      step[i] = -out[i];
    }
    for (let i = 0; i < n * n; i++) K[i] = out[n + i];
    return solveBalanced(n, K, step) > 0;
  }

  function moveOn(before) {  // the step, or half of it, ...; the length of the way relative to the unknowns
    let way = 0, size = 0, part = 1;
    for (let i = 0; i < n; i++) { unknowns[i] += step[i]; way += Math.abs(step[i]); size += Math.abs(unknowns[i]); }
    for (let k = 0; k < 30; k++) {
      const after = evaluate();
      if (after < Infinity && (after <= before * (1 - 1e-4 * part) || way <= 1e-9 * size || k > 8)) return size > 0 ? part * way / size : 0;
      part *= 0.5;
      for (let i = 0; i < n; i++) unknowns[i] -= part * step[i];
    }
    return Infinity;
  }

  function holds(tolerance, least) {  // whether every equation is met, beside the largest term in it
    for (let i = 0; i < n; i++) {
      let size = least;
      for (let j = 0; j < n; j++) { const v = Math.abs(out[n + i * n + j] * unknowns[j]); if (v > size) size = v; }
      if (!(Math.abs(out[i]) <= tolerance * size)) return false;
    }
    return true;
  }

  return (x, b) => {
    for (let i = 0; i < nx; i++) input[i] = x[i];
    for (let i = 0; i < n; i++) { unknowns[i] = 0; scale[i] = 1; }
    for (let i = 0; i < facts.nc; i++) input[nx + n + 1 + i] = b[i];
    input[nx + n] = 0;
    if (!(evaluate() < Infinity) || !findStep()) return null;
    for (let i = 0; i < n; i++) unknowns[i] = step[i];
    input[nx + n] = 1;
    if (!(evaluate() < Infinity)) return null;
    for (let k = 0, last = Infinity; k < 60; k++) {
      if (!findStep()) return null;
      let before = 0;
      for (let i = 0; i < n; i++) before = Math.max(before, Math.abs(out[i]) * scale[i]);
      const way = moveOn(before);
      if (way <= 1e-14 || (way <= 1e-9 && way >= 0.5 * last)) return holds(1e-9, 1) ? unknowns : null;
      if (way === Infinity) return null;
      if (holds(4.5e-16, 0)) return unknowns;  // to round-off: laws linear in la are solved by one step
      last = way;
    }
    return null;
  };
}

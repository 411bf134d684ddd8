// ---------------------------------------------------------------- linear equations
const RANK = 1e-9;  // what is left of a unit column that is independent of others, at least

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

let columnScales = new Float64Array(16);  // of the matrix that is solved

function solveBalanced(n, K, x) {  // x of K x = x in place, rows and columns scaled; the smallest pivot beside the largest, or 0
  if (columnScales.length < n) columnScales = new Float64Array(2 * n);
  const column = columnScales;
  for (let i = 0; i < n; i++) {
    let top = 0;
    for (let j = 0; j < n; j++) { const v = Math.abs(K[i * n + j]); if (v > top) top = v; }
    const s = top > 0 ? 1 / top : 1;
    for (let j = 0; j < n; j++) K[i * n + j] *= s;
    x[i] *= s;
  }
  for (let j = 0; j < n; j++) {
    let top = 0;
    for (let i = 0; i < n; i++) { const v = Math.abs(K[i * n + j]); if (v > top) top = v; }
    column[j] = top > 0 ? 1 / top : 1;
    for (let i = 0; i < n; i++) K[i * n + j] *= column[j];
  }
  let least = Infinity, most = 0;
  for (let k = 0; k < n; k++) {
    let pivot = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(K[i * n + k]) > Math.abs(K[pivot * n + k])) pivot = i;
    const size = Math.abs(K[pivot * n + k]);
    least = Math.min(least, size); most = Math.max(most, size);
    if (!(size > 1e-14 * most)) return 0;
    if (pivot !== k) {
      for (let j = 0; j < n; j++) { const v = K[k * n + j]; K[k * n + j] = K[pivot * n + j]; K[pivot * n + j] = v; }
      const v = x[k]; x[k] = x[pivot]; x[pivot] = v;
    }
    for (let i = k + 1; i < n; i++) {
      const l = K[i * n + k] / K[k * n + k];
      if (l === 0) continue;
      for (let j = k + 1; j < n; j++) K[i * n + j] -= l * K[k * n + j];
      x[i] -= l * x[k];
    }
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let j = i + 1; j < n; j++) x[i] -= K[i * n + j] * x[j];
    x[i] /= K[i * n + i];
  }
  for (let j = 0; j < n; j++) x[j] *= column[j];
  return least / most;
}

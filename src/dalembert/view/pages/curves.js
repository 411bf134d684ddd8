// ---------------------------------------------------------------- curves over time
// A plot has a brush, a box {left, right, top, bottom} in pixels, and ranges in time and value.
function rangeOf(low, high, room = 0) {  // with some room where nothing changes
  if (!(low <= high)) { low = 0; high = 1; }
  if (!(high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high)))) { const pad = room || 0.1 * Math.abs(high) || 1; low -= pad; high += pad; }
  return [low, high];
}

function strokeLine(c, x0, y0, x1, y1) { c.beginPath(); c.moveTo(x0, y0); c.lineTo(x1, y1); c.stroke(); }

// null leaves a gap; samples between which the values are not known are dots. Noise has no curves.
function strokeCurve(c, values, x, y, colour, lineWidth, {first = 0, last = values.length - 1, noise = false} = {}) {
  c.strokeStyle = colour; c.lineWidth = lineWidth; c.lineJoin = c.lineCap = "round"; c.beginPath();
  for (let i = first, broken = true; i <= last && i < count; i++) {
    const v = values[i], from = times[i - 1];
    if (v === null) { broken = true; continue; }
    if (broken || coarse.has(i - 1)) c.moveTo(x(times[i]), y(v));
    else for (let m = 1, parts = noise ? 1 : clamp(Math.round((x(times[i]) - x(from)) / 2), 1, 200); m < parts; m++) c.lineTo(x(mix(from, times[i], m / parts)), y(valueAt(values, between(i - 1, m / parts))));
    c.lineTo(x(times[i]), y(v));
    broken = false;
  }
  c.stroke();
}

function labelTimes(c, from, to, {left, right, y, apart, wide}, x, mark = null) {  // ticks of time; the last with its unit
  const pace = niceStep((to - from || 1) * apart / Math.max(right - left, apart));
  c.textAlign = "center"; c.textBaseline = "alphabetic";
  for (const t of ticksBetween(from, to, pace)) {
    const label = formatTick(t, pace) + (t + pace > to ? " s" : "");
    if (mark) mark(x(t));
    c.fillText(label, Math.min(x(t), wide - 1 - c.measureText(label).width / 2), y);
  }
}

function valueAt(values, at, noise = false) {  // null in a gap
  if (!at.w || values[at.i] === null || values[at.j] === null) return at.w ? null : values[at.i];
  const known = !noise && at.w.every((w, k) => !w || values[at.i - 1 + k] !== null);
  return known ? combine(at, (m) => values[m]) : mix(values[at.i], values[at.j], at.s);
}

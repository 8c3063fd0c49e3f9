// @ts-check
// Small drawings: a scale, intervals with their marks, histograms, spans. No number is made here.

/**
 * Round numbers between two ends.
 * @param {number} low
 * @param {number} high
 * @param {number} most
 */
function ticks(low, high, most) {
  const rough = (high - low || 1) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) found.push(at * step + 0); // never −0
  return { step, found };
}

/**
 * Write a tick with no more digits than its step needs.
 * @param {number} value
 * @param {number} step
 */
function tickText(value, step) {
  if (Math.abs(value) >= 1e5 || (step < 0.0005 && step > 0)) return general(value, 3).replaceAll("-", MINUS);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return (Object.is(value, -0) || Math.abs(value) < step / 1e6 ? 0 : value).toFixed(digits).replace("-", MINUS);
}

/**
 * @param {number[]} values
 * @param {number} pad share of the span
 * @returns {[number, number]}
 */
function extent(values, pad) {
  const known = values.filter((value) => Number.isFinite(value));
  if (!known.length) return [0, 1];
  const low = known.reduce((one, other) => Math.min(one, other));
  const high = known.reduce((one, other) => Math.max(one, other));
  const room = (high - low || Math.abs(high) || 1) * pad;
  return [low - room, high + room];
}

/**
 * @param {[number, number]} domain
 * @param {[number, number]} range
 */
function scale([low, high], [from, to]) {
  return (value) => round(from + ((value - low) / (high - low || 1)) * (to - from));
}

/**
 * How wide a chart is drawn, of so many beside each other: as wide as it stands there, for letters of one size.
 * @param {number} many
 * @param {number} most
 */
function roomFor(many, most) {
  const room = document.documentElement.clientWidth - 70;
  return Math.round(Math.max(290, Math.min(most, room > 830 ? room / many - 12 * many : room)));
}

/**
 * The intervals of one row: val filled and above, train hollow and below, the baseline's val mean dashed.
 * @param {Data} data
 * @param {number} candidate
 * @param {{s: any, isHollow: boolean}[]} shown
 * @param {[number, number]} domain
 * @param {number | null} baseline
 */
function intervals(data, candidate, shown, domain, baseline) {
  const x = scale(domain, [6, 234]);
  const { colour } = lookOf(data, candidate);
  const height = 36;
  const parts = shown.map(({ s, isHollow }, at) => {
    const y = shown.length === 1 ? height / 2 : at ? 26 : 11;
    const line = s.ci && svg("line", { class: `ci ${colour}${isHollow ? " thin" : ""}`, x1: x(s.ci[0]), x2: x(s.ci[1]), y1: y, y2: y });
    return [line, s.mean !== null && mark(data, candidate, x(s.mean), y, 5, isHollow)];
  });
  const dashed = baseline !== null && svg("line", { class: "dashed", x1: x(baseline), x2: x(baseline), y1: 0, y2: height });
  const label = shown.map(({ s, isHollow }) => `${isHollow ? "train" : "mean"} ${number(s.mean)}, 95 % CI ${ends(s.ci)}`).join("; ");
  return svg("svg", { class: "intervals", viewBox: `0 0 240 ${height}`, role: "img", "aria-label": label }, dashed, ...parts.flat());
}

/**
 * The scale above a column of intervals.
 * @param {[number, number]} domain
 */
function axisOf(domain) {
  const x = scale(domain, [6, 234]);
  const { step, found } = ticks(domain[0], domain[1], 4);
  const texts = found.map((value) => svg("text", { x: x(value), y: 11, "text-anchor": "middle" }, tickText(value, step)));
  return svg("svg", { class: "intervals axis", viewBox: "0 0 240 14", "aria-hidden": "true" }, ...texts);
}

/**
 * How often what stands in equal steps.
 * @param {number[]} values
 * @param {number} most steps on each side of 0
 */
function histogram(values, most) {
  const known = values.filter((value) => Number.isFinite(value));
  const reach = known.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) || 1;
  const { step } = ticks(0, reach, most);
  const side = Math.max(1, Math.round(reach / step + 0.49));
  const counts = new Array(2 * side + 1).fill(0);
  for (const value of known) counts[Math.max(0, Math.min(2 * side, Math.round(value / step + 1e-9) + side))] += 1;
  const top = Math.max(1, ...counts);
  const width = 480 / counts.length;
  const bars = counts.map((many, at) => {
    const height = many ? Math.max(1.5, (64 * many) / top) : 0;
    const kind = at < side ? "fill-worse" : at > side ? "fill-better" : "fill-same";
    const title = `${tickText((at - side) * step, step)}: ${count(many, "example")}`;
    return svg("rect", { class: kind, x: round(at * width + 0.5), y: round(70 - height), width: round(width - 1), height: round(height) }, svg("title", null, title));
  });
  const low = svg("text", { x: 0, y: 84 }, tickText(-side * step, step));
  const middle = svg("text", { x: 240, y: 84, "text-anchor": "middle" }, "difference B − A: 0");
  const high = svg("text", { x: 480, y: 84, "text-anchor": "end" }, `+${tickText(side * step, step)}`);
  const label = "How many examples differ by how much";
  return svg("svg", { class: "chart", viewBox: "0 0 480 88", role: "img", "aria-label": label },
    ...bars, svg("line", { class: "axis-line", x1: 0, x2: 480, y1: 70, y2: 70 }), low, middle, high);
}

/**
 * An estimate with its interval on a shared scale.
 * @param {number} value
 * @param {number[] | null} ci
 * @param {[number, number]} domain
 * @param {number} zero
 */
function estimate(value, ci, domain, zero) {
  const x = scale(domain, [4, 136]);
  return svg("svg", { class: "estimate", viewBox: "0 0 140 16", "aria-hidden": "true" },
    svg("line", { class: "dashed", x1: x(zero), x2: x(zero), y1: 0, y2: 16 }),
    ci && svg("line", { class: "ci k-plain", x1: x(ci[0]), x2: x(ci[1]), y1: 8, y2: 8 }),
    svg("circle", { class: "fill-accent", cx: x(value), cy: 8, r: 3.5 }));
}

/**
 * How often which number was said, in equal steps; the means of val and train stand in it.
 * @param {number[] | null} counts
 * @param {any} here
 * @param {any} train
 * @param {[number, number]} domain
 * @param {string} colour
 */
function spread(counts, here, train, domain, colour) {
  const x = scale(domain, [4, 136]);
  const known = counts || [];
  const top = Math.max(1, ...known);
  const step = (domain[1] - domain[0]) / (known.length || 1);
  const bars = known.map((many, at) => {
    const height = many ? Math.max(1.5, (26 * many) / top) : 0;
    const from = domain[0] + at * step;
    const title = `${number(from)} to ${number(from + step)}: ${count(many, "value")}`;
    const width = step > 0 ? 132 / known.length - 0.5 : 6;
    return many > 0 && svg("rect", { class: "fill-same", x: step > 0 ? x(from) : 67, y: round(32 - height), width: round(width), height: round(height) }, svg("title", null, title));
  });
  const place = (mean) => (step > 0 || !counts ? x(mean) : 70);
  const line = (kind, mean) => mean !== null && mean !== undefined && svg("line", { class: `${kind} ${colour}`, x1: place(mean), x2: place(mean), y1: 2, y2: 34 });
  return svg("svg", { class: "spread", viewBox: "0 0 140 36", role: "img", "aria-label": `from ${number(here.min)} to ${number(here.max)}, mean ${number(here.mean)}` },
    ...bars, svg("line", { class: "axis-line", x1: 4, x2: 136, y1: 32, y2: 32 }), line("train-mark", train?.mean), line("mean-mark", here.mean));
}

// @ts-check
// Signs that mean the same everywhere: a candidate's shape and colour, marks of differences, bars.

const MARKS = {
  better: "▲", worse: "▼", hint_better: "△", hint_worse: "▽", no_difference: "·", not_shown: "·", too_few: "·",
};
const HINTS = { better: "hint_better", worse: "hint_worse" };
const POINTS = { "✓": "good", "✕": "bad", "!": "alert", "▲": "good", "▼": "bad" };
const OVERFIT = {
  overfits: ["✕", "overfits", "bad"],
  part_lost: ["!", "part lost", "bad"],
  undecided: ["?", "undecided", "quiet"],
  kept: ["✓", "kept", "good"],
  no_gain: ["·", "no train gain", "quiet"],
};
const COLOURS = 7;
const SHAPES = ["square", "triangle", "diamond", "cross", "tip"];

/**
 * @param {string} shape
 * @param {number} x
 * @param {number} y
 * @param {number} r
 */
function outline(shape, x, y, r) {
  const at = (points) => `M${points.map(([dx, dy]) => `${round(x + dx * r)} ${round(y + dy * r)}`).join("L")}Z`;
  switch (shape) {
    case "square": return at([[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]]);
    case "triangle": return at([[0, -1.1], [1.05, 0.85], [-1.05, 0.85]]);
    case "tip": return at([[0, 1.1], [1.05, -0.85], [-1.05, -0.85]]);
    case "diamond": return at([[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]]);
    case "cross": return at([[-1, -0.5], [-0.5, -1], [0, -0.5], [0.5, -1], [1, -0.5], [0.5, 0], [1, 0.5], [0.5, 1], [0, 0.5], [-0.5, 1], [-1, 0.5], [-0.5, 0]]);
    default: return `M${round(x - r)} ${round(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  }
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 100) / 100;
}

/**
 * The look of a candidate, or of a bench's model: its colour and its shape.
 * @param {Data} data
 * @param {number} at
 */
function lookOf(data, at) {
  if (!data.isBench && data.against(at) < 0) return { colour: "k0", shape: "circle" };
  if (data.isDiff) return { colour: `k${1 + (((at - 1) / 2) % COLOURS)}`, shape: SHAPES[((at - 1) / 2) % SHAPES.length] };
  const place = data.isBench || at < data.baseline ? at : at - 1;
  return { colour: `k${1 + (place % COLOURS)}`, shape: SHAPES[place % SHAPES.length] };
}

/**
 * @param {Data} data
 * @param {number} at
 * @param {number} x
 * @param {number} y
 * @param {number} r
 * @param {boolean} [isHollow]
 */
function mark(data, at, x, y, r, isHollow) {
  const { colour, shape } = lookOf(data, at);
  return svg("path", { class: `mark ${colour}${isHollow ? " hollow" : ""}`, d: outline(shape, x, y, r) });
}

/**
 * A name with its sign.
 * @param {Data} data
 * @param {number} at
 */
function named(data, at) {
  const names = data.isBench ? data.axes.evaluators : data.axes.candidates;
  const sign = svg("svg", { class: "sign", viewBox: "0 0 14 14", "aria-hidden": "true" }, mark(data, at, 7, 7, 5));
  return h("span", { class: "named", title: names[at] }, sign, said(names[at], "name"));
}

/** @param {any} d a difference of summary.json */
function markOf(d) {
  const holds = ["surely", undefined].includes(d.despite_failures) && (d.over_all_rows?.mark ?? "better") === "better";
  const isSure = d.mark !== "better" || holds;
  return isSure ? d.mark : "hint_better";
}

/**
 * A difference with its mark; blue and ▲ is better, vermilion and ▼ worse.
 * @param {any} d
 * @param {boolean} [isHint] whether more is known that makes a hint of it
 */
function differenceOf(d, isHint) {
  if (!d || d.diff === null) return h("span", { class: "quiet" }, DASH);
  const sign = isHint ? HINTS[markOf(d)] || markOf(d) : markOf(d);
  const kind = sign === "better" ? "better" : sign === "worse" ? "worse" : "plain";
  const label = sign.replace("_", " ");
  return h("span", { class: kind }, h("span", { class: "sign-text", title: label }, MARKS[sign] || "·"), ` ${signed(d.diff)}`);
}

/**
 * What leaked confirms nothing, also where it was kept.
 * @param {Data} data
 */
function confirmsNothing(data) {
  return data.summary.verdict?.state === "leaked";
}

/**
 * Whether the better one of two is none for certain: a search chose among many on this split, and the verdict
 * does not call it better. Train always chose; val did where it steered, or where a test set decides.
 * @param {Data} data
 * @param {any} d
 * @param {string} a
 * @param {string} b
 * @param {string} split
 */
function isHintOnly(data, d, a, b, split) {
  const better = { better: b, worse: a }[d?.mark];
  const chose = split === "train" || data.summary.verdict.state === "steered" || (split === "val" && data.axes.splits.includes("test"));
  return Boolean(data.head.search) && chose && better !== undefined && better !== data.summary.baseline && better !== data.summary.verdict.winner;
}

/**
 * A row's difference from the baseline.
 * @param {Data} data
 * @param {any} row
 * @param {string} split
 */
function againstBaseline(data, row, split) {
  const d = row.vs_baseline[split];
  return differenceOf(d, isHintOnly(data, d, data.summary.baseline, row.candidate, split));
}

/**
 * Better, same and worse pairs as one bar.
 * @param {any} d
 */
function pairsBar(d) {
  const total = d.wins + d.ties + d.losses || 1;
  const parts = [[d.wins, "fill-better"], [d.ties, "fill-same"], [d.losses, "fill-worse"]];
  let x = 0;
  const bars = parts.map(([many, kind]) => {
    const width = (100 * many) / total;
    x += width;
    return svg("rect", { class: kind, x: round(x - width), y: 0, width: round(width), height: 8 });
  });
  const label = `${d.wins} better, ${d.ties} the same, ${d.losses} worse`;
  return h(
    "div",
    { class: "pairs" },
    svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": label }, ...bars),
    h("span", { class: "small" }, `${whole(d.wins)} · ${whole(d.ties)} · ${whole(d.losses)}`),
  );
}

// @ts-check
// The verdict and its points: first what could change the decision.

const MOST_POINTS = 5;
const DECISIVE = "✕!▼?"; // marks of what could change a decision, as in the terminal
const MOST_DECISIVE = 3;

/**
 * @param {any} verdict
 * @param {App} app
 */
function verdictOf(verdict, app) {
  const isFinal = app.data.isOver && app.data.isWhole;
  const { candidates, evaluators } = app.data.axes;
  const bold = new Set([...candidates, ...evaluators, ...(app.data.isDiff ? candidates.map((name) => name.slice(4)) : [])]);
  const [first, rest] = parted(inOrder(verdict.points)).map((points) => points.map((point) =>
    h("li", { class: POINTS[point.mark] || "quiet-mark" }, h("span", { class: "point", "aria-hidden": "true" }, point.mark), h("span", null, emphasised(point.text, bold))),
  ));
  const failed = app.data.summary.units.failed;
  const { skipped } = app.data.summary.units;
  const seeSkips = skipped > 0 && h("li", null, h("span", { class: "point" }, "→"), link(app, { tab: "examples", show: "skipped", sp: app.data.axes.splits.length }, `See ${count(skipped, "skipped call")}`));
  const see = failed > 0 && h("li", null, h("span", { class: "point" }, "→"), link(app, { tab: "failures" }, `See ${count(failed, "failure")}`));
  return h(
    "section",
    { class: `card verdict ${isFinal ? verdict.state || "single" : "so-far"}`, "aria-label": "Verdict" },
    h("p", { class: "headline" }, emphasised(`${verdict.text}.`, bold)),
    (first.length > 0 || see || seeSkips) && h("ul", { class: "points" }, first, see, seeSkips),
    rest.length > 0 && h("details", null, h("summary", null, count(rest.length, "more point")), h("ul", { class: "points" }, rest)),
  );
}

/** The points that are read at once, and those that wait: what could change the decision goes before the rest. */
function parted(points) {
  const decisive = points.filter((point) => DECISIVE.includes(point.mark)).slice(0, MOST_DECISIVE);
  const others = points.filter((point) => !DECISIVE.includes(point.mark)).slice(0, MOST_POINTS - decisive.length);
  const isFirst = (point) => decisive.includes(point) || others.includes(point);
  return [points.filter(isFirst), points.filter((point) => !isFirst(point))];
}

/** What takes from every number its worth comes first, the rest in its order. */
function inOrder(points) {
  const isFirst = (point) => /^Every .* score is 0 \(all/.test(point.text);
  return [...points.filter(isFirst), ...points.filter((point) => !isFirst(point))];
}

/**
 * Put names and signed numbers in bold.
 * @param {string} text
 * @param {Set<string>} names
 */
function emphasised(text, names) {
  return text.split(/(\s+)/).map((word, at, words) => {
    const bare = word.replace(/[.,;:)]+$/, "");
    const isEnd = /^(CI|to|and)$/.test(words[at - 2] || ""); // of an interval
    const isBold = names.has(bare) || (/^[+−]\d+\.\d+$/.test(bare) && !isEnd);
    return isBold ? [h("b", null, bare), word.slice(bare.length)] : word;
  });
}

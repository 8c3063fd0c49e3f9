// @ts-check
// A against B, example by example: equal places are one bubble, so 100,000 examples draw as fast as 50.

const BINS = 40;
const LARGEST = 14; // px, the radius of the bubble with the most examples
const LEFT = 56; // of it, where the names of the ticks stand

/**
 * @param {[number, number][]} pairs
 * @param {string} nameA
 * @param {string} nameB
 */
function scatter(pairs, nameA, nameB) {
  const size = 420;
  const domain = extent(pairs.flat(), 0.04);
  const x = scale(domain, [LEFT, size - 8]);
  const y = scale(domain, [size - 46, 8]);
  const bubbles = binned(pairs, domain);
  const top = Math.max(1, ...bubbles.map((one) => one.many));
  return svg("svg", { class: "chart square", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": `${nameB} against ${nameA}, example by example` },
    gridLines(domain, x, y, size),
    svg("line", { class: "dashed", x1: x(domain[0]), y1: y(domain[0]), x2: x(domain[1]), y2: y(domain[1]) }),
    bubbles.map((one) => bubble(one, top, x, y)),
    svg("text", { class: "bold", x: size / 2 + 20, y: size - 6, "text-anchor": "middle" }, cut(nameA, 44)),
    svg("text", { class: "bold", transform: `translate(12 ${size / 2 - 20}) rotate(-90)`, "text-anchor": "middle" }, cut(nameB, 44)));
}

/**
 * Scores of 0 and 1 have four places, which are numbers and no drawing.
 * @param {[number, number][]} pairs
 * @param {string} nameA
 * @param {string} nameB
 */
function twoByTwo(pairs, nameA, nameB) {
  const cell = (a, b) => {
    const many = pairs.filter((pair) => pair[0] === a && pair[1] === b).length;
    const kind = b > a ? "gain" : b < a ? "loss" : "";
    return h("td", { class: `num ${kind}` }, h("b", { class: "big" }, whole(many)), below(percent(many / pairs.length)), below(b > a ? "B better" : b < a ? "B worse" : "the same"));
  };
  const head = (name, value) => h("th", { scope: "col", class: "num" }, cut(name, 30), ` = ${value}`);
  const row = (a) => h("tr", null, h("th", { scope: "row" }, cut(nameA, 30), ` = ${a}`), cell(a, 1), cell(a, 0));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "How often which score" }, h("table", { class: "four" }, h("thead", null, h("tr", null, h("td", null, ""), head(nameB, 1), head(nameB, 0))), h("tbody", null, row(1), row(0))));
}

/** @param {[number, number][]} pairs */
function isOfTwo(pairs) {
  return pairs.every(([a, b]) => (a === 0 || a === 1) && (b === 0 || b === 1));
}

/**
 * @param {[number, number][]} pairs
 * @param {[number, number]} domain
 */
function binned(pairs, [low, high]) {
  const width = (high - low) / BINS;
  /** @type {Map<string, {many: number, a: number, b: number, better: number, worse: number}>} */
  const bins = new Map();
  for (const [a, b] of pairs) {
    const isFew = pairs.length <= 400; // then each has its own place
    const key = isFew ? `${a} ${b}` : `${Math.floor((a - low) / width)} ${Math.floor((b - low) / width)}`;
    const bin = bins.get(key) || { many: 0, a, b, better: 0, worse: 0 };
    bin.many += 1;
    bin.better += Number(b > a);
    bin.worse += Number(b < a);
    bins.set(key, bin);
  }
  return [...bins.values()].sort((one, other) => other.many - one.many);
}

function bubble(one, top, x, y) {
  const r = top === 1 ? 4.5 : Math.max(1.5, LARGEST * Math.sqrt(one.many / top)); // its area is how many there are
  const kind = one.better > one.worse ? "fill-better" : one.worse > one.better ? "fill-worse" : "fill-even";
  const title = `A ${short(one.a)}, B ${short(one.b)}: ${count(one.many, "example")}`;
  return svg("circle", { class: `bubble ${kind}`, cx: x(one.a), cy: y(one.b), r: round(r) }, svg("title", null, title));
}

function gridLines(domain, x, y, size) {
  const { step, found } = ticks(domain[0], domain[1], 6);
  return found.map((value) => [
    svg("line", { class: "grid-line", x1: x(value), x2: x(value), y1: 8, y2: size - 46 }),
    svg("line", { class: "grid-line", x1: LEFT, x2: size - 8, y1: y(value), y2: y(value) }),
    svg("text", { x: x(value), y: size - 28, "text-anchor": "middle" }, tickText(value, step)),
    svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, tickText(value, step)),
  ]);
}

/**
 * @param {string} text
 * @param {number} most
 */
function cut(text, most) {
  const signs = Array.from(text);
  return signs.length <= most ? text : `${signs.slice(0, most - 1).join("")}…`;
}

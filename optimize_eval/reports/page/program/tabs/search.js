// @ts-check
// The search that a run ended: how its best mean grew with the calls, and which candidate was made of which.

const MOST_FOUND = 100;

/** @param {Data} data */
function searchOf(data) {
  const { search } = data.head;
  const told = `${whole(search.calls)} of at most ${whole(search.budget)} calls; means of ${search.goal} as the search saw them, which chose by them`;
  return h("section", { class: "card", "aria-label": "The search" },
    h("div", { class: "card-head" }, h("h2", null, "The search"), h("span", { class: "legend" }, told)),
    search.curve.length > 1 && curveOf(search),
    foundTable(search));
}

/** Draw the best mean against the calls, in steps. */
function curveOf(search) {
  const [first, last] = [search.curve[0], search.curve[search.curve.length - 1]];
  const domain = extent(search.curve.map(([, best]) => best), 0.08);
  const x = scale([0, Math.max(search.calls, last[0], 1)], [64, 628]);
  const y = scale(domain, [188, 12]);
  const { step, found } = ticks(domain[0], domain[1], 4);
  const lines = found.map((value) => [
    svg("line", { class: "grid-line", x1: 64, x2: 628, y1: y(value), y2: y(value) }),
    svg("text", { x: 58, y: y(value) + 4, "text-anchor": "end" }, tickText(value, step)),
  ]);
  const ends = [...search.curve.slice(1).map(([calls]) => calls), search.calls];
  const steps = search.curve.map(([calls, best], at) => [
    svg("line", { class: "ci k1", x1: x(calls), x2: x(Math.max(calls, ends[at])), y1: y(best), y2: y(best) }),
    at > 0 && svg("line", { class: "ci k1 thin", x1: x(calls), x2: x(calls), y1: y(search.curve[at - 1][1]), y2: y(best) }),
  ]);
  const label = `The best mean against calls, from ${number(first[1])} at ${whole(first[0])} to ${number(last[1])} at ${whole(last[0])}`;
  return svg("svg", { class: "chart", viewBox: "0 0 640 232", role: "img", "aria-label": label },
    lines,
    steps,
    svg("text", { x: 64, y: 206, "text-anchor": "middle" }, "0"),
    svg("text", { x: 628, y: 206, "text-anchor": "end" }, whole(search.calls)),
    svg("text", { class: "bold", x: 346, y: 226, "text-anchor": "middle" }, "calls of the search"));
}

/** List the candidates that the deciding examples saw, each with that which it was made of. */
function foundTable(search) {
  const way = new Set(search.lineage);
  const rows = search.candidates.slice(0, MOST_FOUND).map((one) =>
    h("tr", null,
      h("th", { scope: "row" }, said(one.name)),
      h("td", null, way.has(one.name) ? "→" : ""),
      h("td", null, said(one.parents.join(", ") || DASH)),
      h("td", null, said(one.proposer || DASH)),
      h("td", { class: "num" }, number(one.search_mean)),
      h("td", { class: "num" }, whole(one.calls))));
  const more = search.candidates.length - MOST_FOUND;
  return h("details", { open: search.candidates.length <= 12 },
    h("summary", null, `${count(search.candidates.length, "candidate")}, → marks the way to the best`),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Candidates of the search" },
      h("table", { class: "board" },
        h("thead", null, h("tr", null, ["Candidate", "Way", "Made from", "By"].map((text) => h("th", { scope: "col" }, text)), ["mean in the search", "found at call"].map((text) => h("th", { scope: "col", class: "num" }, text)))),
        h("tbody", null, rows))),
    more > 0 && h("p", { class: "note" }, `… and ${count(more, "more candidate")}: see search.json`));
}

// @ts-check
// The search that a run ended, or that has no run yet: each candidate's mean against calls, what it was made
// of, and how its text differs.

const MOST_FOUND = 500;
const MOST_NAMED_FOUND = 14; // all of so many have their names in the chart

/** @typedef {{name: string, parents: string[], proposer: string | null, note?: string | null, calls: number, search_mean: number, text?: string | Record<string, string>}} Found */

/** The place of the best in the search, which the way from the seed leads to. */
function bestFound(search) {
  const name = search.lineage[search.lineage.length - 1];
  return Math.max(0, search.candidates.findIndex((one) => one.name === name));
}

/** @param {App} app */
function searchTab(app) {
  const { data } = app;
  const { search } = data.head;
  return [
    data.isSearch && [verdictOf(data.summary.verdict, app), data.isOver && section("", "Resume it", resumption(data.head.commands.resume))],
    search.candidates.length > 0 && [
      h("section", { class: "card", "aria-label": "The search" },
        h("div", { class: "card-head" }, h("h2", null, "Every candidate of the search"), h("span", { class: "legend" }, seenOf(search))),
        foundChart(app, roomFor(1, 1400), 300), keyOfChart()),
      h("div", { class: "found" }, foundTable(app), textCard(app)),
    ],
  ];
}

/** @param {string} text which is not kept where a path of one machine is in it */
function resumption(text) {
  return text ? command(text) : h("p", { class: "note" }, "The command that started it resumes it.");
}

/** What stands on the overview of a search: its chart, and how the best differs from the seed. */
function searchCards(app) {
  const { search } = app.data.head;
  if (search.candidates.length < 2) return null;
  const best = bestFound(search);
  const all = link(app, { tab: "search", node: best, vs: "parent" }, `All ${whole(search.candidates.length)} candidates, and how each text differs →`);
  return h("div", { class: "two" },
    h("section", { class: "card", "aria-label": "The search" }, h("h2", null, "The search"), h("p", { class: "note" }, seenOf(search)), foundChart(app, roomFor(2, 700), 260), keyOfChart(), h("p", { class: "note" }, all)),
    best > 0 && h("section", { class: "card" }, h("h2", null, "What changed: ", said(search.candidates[0].name), " → ", said(search.candidates[best].name)), changesOf(search.candidates[0], search.candidates[best])));
}

function seenOf(search) {
  return `${whole(search.calls)} of at most ${count(search.budget, "call")}; means of ${search.goal} in the search, which chose by them`;
}

function keyOfChart() {
  return h("p", { class: "small note" }, "● on the way to the best ○ others · a line leads to what a candidate was made from · ", term("best", "steps: the best so far"), " · a click shows the text");
}

/**
 * Draw the candidates by the call at which they were found and by their means.
 * @param {App} app
 * @param {number} width
 * @param {number} height
 */
function foundChart(app, width, height) {
  const { search } = app.data.head;
  /** @type {Found[]} */
  const found = search.candidates;
  const [right, bottom] = [width - 14, height - 44];
  const domain = extent(found.map((one) => one.search_mean), 0.12);
  const x = scale([0, Math.max(search.calls, found[found.length - 1].calls, 1)], [64, right]);
  const y = scale(domain, [bottom, 12]);
  const place = new Map(found.map((one, at) => [one.name, at]));
  const way = new Set(search.lineage);
  const edges = found.flatMap((one) => one.parents.map((name) => edge(one, found[place.get(name) ?? 0], way, x, y)));
  const label = `Candidates of the search by calls and mean, from ${number(found[0].search_mean)} to ${number(Math.max(...found.map((one) => one.search_mean)))}`;
  return svg("svg", { class: "chart wide", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    bestSoFar(search, x, y),
    axesOf(domain, search.calls, x, y, [64, right, bottom]),
    edges,
    found.map((one, at) => dot(app, one, at, way.has(one.name), x, y)),
    namesOf(app, found, way, x, y, right));
}

/** The best mean so far, as steps over the calls. */
function bestSoFar(search, x, y) {
  const { curve } = search;
  if (!curve.length) return null;
  const steps = curve.map(([calls, best]) => `H${x(calls)}V${y(best)}`).join("");
  return svg("path", { class: "best-line", d: `M${x(curve[0][0])} ${y(curve[0][1])}${steps}H${x(Math.max(search.calls, curve[curve.length - 1][0]))}` });
}

function axesOf(domain, calls, x, y, [left, right, bottom]) {
  const across = ticks(domain[0], domain[1], 4);
  const along = ticks(0, calls, 6);
  return [
    across.found.map((value) => [
      svg("line", { class: "grid-line", x1: left, x2: right, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, tickText(value, across.step)),
    ]),
    along.found.map((value) => svg("text", { x: x(value), y: bottom + 17, "text-anchor": x(value) > right - 16 ? "end" : "middle" }, whole(value))),
    svg("text", { class: "bold", x: (left + right) / 2, y: bottom + 37, "text-anchor": "middle" }, "calls of the search"),
  ];
}

function edge(one, parent, way, x, y) {
  const isWay = way.has(one.name) && way.has(parent.name);
  return svg("line", { class: `edge${isWay ? " way" : ""}`, x1: x(parent.calls), y1: y(parent.search_mean), x2: x(one.calls), y2: y(one.search_mean) });
}

function dot(app, one, at, isWay, x, y) {
  const go = () => app.set({ tab: "search", node: at });
  const isHere = app.state.tab === "search" && at === app.state.node;
  const made = one.parents.length ? `, made from ${one.parents.join(" and ")}${one.proposer ? ` by ${one.proposer}` : ""}` : ", the seed";
  const [cx, cy] = [x(one.calls), y(one.search_mean)];
  return svg("g", { class: `node${isWay ? " way" : ""}`, "data-node": at, on: { click: go } },
    svg("title", null, `${one.name}: ${number(one.search_mean)} after ${count(one.calls, "call")}${made}`),
    svg("circle", { class: "reach", cx, cy, r: 10 }),
    isHere && svg("circle", { class: "ring", cx, cy, r: 8.5 }),
    svg("circle", { class: "dot", cx, cy, r: 4.5 }));
}

/** Names beside their dots. */
function namesOf(app, found, way, x, y, right) {
  const isNamed = (one, at) => found.length <= MOST_NAMED_FOUND || way.has(one.name) || at === app.state.node;
  const marks = found.map((one, at) => ({ x: x(one.calls), y: y(one.search_mean), texts: isNamed(one, at) ? [cut(one.name, 18)] : [] }));
  return placesOfNames(marks, [64, right]).map((place, at) => place && svg("text", { class: `label ${way.has(found[at].name) ? "k1" : "k-plain"}`, x: place.x, y: place.y }, place.text));
}

/** List the candidates that the deciding examples saw, each with that which it was made of. */
function foundTable(app) {
  const { data, state } = app;
  const { search } = data.head;
  const way = new Set(search.lineage);
  const rows = search.candidates.slice(0, MOST_FOUND).map((one, at) =>
    h("tr", { class: at === state.node ? "here" : null },
      h("th", { scope: "row" }, h("button", { type: "button", class: "pick", "aria-pressed": String(at === state.node), on: { click: () => app.set({ node: at }) } }, h("span", { class: "way-sign" }, way.has(one.name) ? "●" : "○"), " ", said(one.name))),
      h("td", { class: "num" }, number(one.search_mean)),
      h("td", null, one.parents.length ? said(one.parents.join(", ")) : h("span", { class: "quiet" }, "the seed")),
      h("td", { class: "w3" }, said(one.proposer || DASH, "cut")),
      h("td", { class: "num" }, whole(one.calls))));
  const more = search.candidates.length - MOST_FOUND;
  const heads = [["", "Candidate"], ["num", "Mean"], ["", "Made from"], ["w3", "By"], ["num", "At call"]];
  return h("section", { class: "card" }, h("h2", null, count(search.candidates.length, "candidate")),
    h("div", { class: "scroll tall keeps-scroll", tabindex: 0, role: "region", "aria-label": "Candidates of the search" },
      h("table", { class: "board" },
        h("thead", null, h("tr", null, heads.map(([kind, text]) => h("th", { scope: "col", class: kind }, text)))),
        h("tbody", null, rows))),
    more > 0 && h("p", { class: "note" }, `… and ${count(more, "more candidate")}: see search.json`));
}

/** The text of the candidate that is looked at, against that which it was made of, or against the seed. */
function textCard(app) {
  const { data, state } = app;
  const { search } = data.head;
  /** @type {Found} */
  const one = search.candidates[state.node] || search.candidates[0];
  const find = (name) => search.candidates.find((other) => other.name === name);
  const others = one.parents.map(find).filter(Boolean);
  const seed = search.candidates[0];
  const choices = [
    ...others.map((parent, at) => ({ vs: at ? "other" : "parent", name: `made from ${parent.name}`, of: parent })),
    ...(one === seed || others[0] === seed ? [] : [{ vs: "seed", name: "the seed", of: seed }]),
    { vs: "text", name: "nothing: the whole text", of: null },
  ];
  const chosen = Math.max(0, choices.findIndex((choice) => choice.vs === state.vs));
  const { of } = choices[chosen];
  return h("section", { class: "card text-of-found" },
    h("div", { class: "card-head" }, h("h2", null, said(one.name), of && [" against ", said(of.name)]), segments("Against", choices.map((choice) => choice.name), chosen, (at) => app.set({ vs: choices[at].vs }))),
    one.note && h("p", { class: "reason" }, h("b", null, said(one.proposer || "The proposer"), ": "), said(one.note)),
    of ? changesOf(of, one) : wholeText(one));
}

/** @param {Found} one @returns {[string, string][]} its parts: one without a name, or several with one each */
function partsOf(one) {
  return typeof one.text === "string" ? [["", one.text]] : Object.entries(one.text || {});
}

const NO_TEXT = "There was no room for its text in this page: see search.json.";

/** @param {Found} one */
function wholeText(one) {
  if (one.text === undefined) return h("p", { class: "note" }, NO_TEXT);
  return partsOf(one).map(([name, text]) => [name && h("h3", null, said(name)), h("pre", { class: "text", role: "group", tabindex: 0, "aria-label": "text of the candidate" }, said(text))]);
}

/** @param {Found} before @param {Found} after */
function changesOf(before, after) {
  if (before.text === undefined || after.text === undefined) return h("p", { class: "note" }, NO_TEXT);
  const old = new Map(partsOf(before));
  const changed = partsOf(after).filter(([name, text]) => text !== old.get(name));
  if (!changed.length) return h("p", { class: "note" }, "The same text.");
  return changed.map(([name, text]) => [name && h("h3", null, said(name)), shownDiff(old.get(name) || "", text, true)]);
}

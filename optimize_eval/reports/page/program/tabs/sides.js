// @ts-check
// What evaluators said beside their scores: a row for each dotted key, a column for each candidate.

const MOST_LISTS = 4;
const MOST_LOWEST = 4;

/** @param {App} app */
function sidesTab(app) {
  const { data, state } = app;
  const evaluator = data.axes.evaluators[state.ev];
  const model = data.axes.task_models[state.tm];
  const split = data.axes.splits[Math.min(state.sp, data.axes.splits.length - 1)];
  const train = trainOf(data, split);
  const cells = data.summary.side_info.filter((one) => one.evaluator === evaluator && one.task_model === model);
  const at = (candidate, name) => cells.find((one) => one.candidate === candidate && one.split === name)?.keys || {};
  const places = data.isDiff ? [state.a, state.b] : data.isBench ? [0] : shownColumns(app, data.systems(state.ev));
  const columns = places.map((place) => ({ place, candidate: data.axes.candidates[place] })).map((one) => ({ ...one, here: at(one.candidate, split), there: train ? at(one.candidate, train) : {} }));
  const keys = [...new Set(columns.flatMap((column) => Object.keys(column.here)))].sort();
  const legend = train ? `bars, line and bold: ${split} · dashed: ${train} · drift: a shift from train to val beyond 3 standard errors` : "";
  const more = data.isDiff ? 0 : data.axes.candidates.length - columns.length;
  return [
    h("div", { class: "toolbar" }, data.isDiff && pairChooser(app), data.isBench && segments("Model", data.axes.evaluators, state.ev, (ev) => app.set({ ev })), usualControls(app, { both: false }), h("span", { class: "legend" }, legend)),
    keys.length
      ? h("section", { class: "card" }, sidesTable(app, keys, columns, data.axes.splits.indexOf(split)), more > 0 && h("p", { class: "note" }, `The baseline, B and the best are shown; ${count(more, "more candidate")}: see summary.json`))
      : h("p", { class: "note" }, said(evaluator), ` said nothing beside its scores on ${split}.`),
    columns.length > 0 && lowest(app, columns, split),
  ];
}

function sidesTable(app, keys, columns, split) {
  const { data } = app;
  const heads = columns.map(({ place }) => h("th", { scope: "col" }, named(data, data.isBench ? app.state.ev : place)));
  const hasDrift = data.axes.splits.includes("train") && data.axes.splits.includes("val");
  const rows = keys.map((key) => {
    const values = columns.map(({ here }) => here[key]).filter(Boolean);
    const drawn = data.head.histograms.find((one) => one.key === key && one.evaluator === app.state.ev && one.task_model === app.state.tm);
    const countsOf = (place) => drawn?.cells.find(([candidate, of]) => candidate === place && of === split)?.[2] || null;
    const domain = drawn?.ends || domainOfKey(columns, key);
    return h("tr", null,
      h("th", { scope: "row" }, h("code", null, said(key)), below(`${kindOf(values[0])}, ${count(values.reduce((sum, one) => sum + one.n, 0), "value")}`), hasDrift && h("span", { class: "in-narrow" }, driftOf(app, key))),
      hasDrift && h("td", { class: "w3" }, driftOf(app, key)),
      columns.map(({ here, there, place }) => h("td", null, keyCell(here[key], there[key], domain, lookOf(data, data.isBench ? app.state.ev : place).colour, countsOf(place)))));
  });
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Side info" },
    h("table", { class: "sides" }, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Key"), hasDrift && h("th", { scope: "col", class: "w3" }, term("drift", "Drift")), heads)), h("tbody", null, rows)));
}

function kindOf(value) {
  if (value.numbers) return "number";
  if (value.booleans) return "yes or no";
  if (value.lists) return "list";
  return value.texts || value.long_texts ? "text" : "other";
}

/** @returns {[number, number]} */
function domainOfKey(columns, key) {
  const numbers = columns.flatMap(({ here, there }) => [here[key]?.numbers, there[key]?.numbers]).filter(Boolean);
  return extent(numbers.flatMap((one) => [one.min, one.max]), 0);
}

function keyCell(here, train, domain, colour, counts) {
  if (!here) return h("span", { class: "quiet" }, DASH);
  if (here.numbers) {
    const before = train?.numbers?.mean != null ? h("span", { class: "quiet" }, ` train ${number(train.numbers.mean)}`) : null;
    return [spread(counts, here.numbers, train?.numbers, domain, colour), h("div", null, h("b", null, number(here.numbers.mean)), before)];
  }
  if (here.booleans) return rateCell(here.booleans, train?.booleans, colour);
  if (here.texts) {
    const top = here.texts.top.slice(0, 3).map((one) => h("tr", null, h("td", null, said(one.value, "cut")), h("td", { class: "num" }, h("b", null, percent(one.count / here.texts.n)))));
    const more = here.texts.distinct > 3 && below(`${whole(here.texts.distinct)} different`);
    return [h("table", { class: "tops" }, h("tbody", null, top)), more];
  }
  if (here.long_texts) return h("span", { class: "quiet" }, `${count(here.long_texts.n, "long text")}`);
  if (here.lists) return [h("b", null, number(here.lists.mean)), h("span", { class: "quiet" }, " items on average")];
  return h("span", { class: "quiet" }, `${whole(here.n)} values`);
}

function rateCell(here, train, colour) {
  const bar = svg("svg", { class: "span", viewBox: "0 0 140 22", "aria-hidden": "true" },
    svg("rect", { class: "fill-none", x: 0.5, y: 5.5, width: 139, height: 11 }),
    svg("rect", { class: "fill-same", x: 0.5, y: 5.5, width: round(139 * here.rate), height: 11 }),
    train && svg("line", { class: `train-mark ${colour}`, x1: round(0.5 + 139 * train.rate), x2: round(0.5 + 139 * train.rate), y1: 1, y2: 21 }));
  return [bar, h("div", null, h("b", null, `${percent(here.rate)} true`), train && h("span", { class: "quiet" }, ` train ${percent(train.rate)}`))];
}

/** The largest shift of a key, over candidates. */
function driftOf(app, key) {
  const { data, state } = app;
  const found = data.head.drifts.filter((one) => one.key === key && one.evaluator === data.axes.evaluators[state.ev] && one.task_model === data.axes.task_models[state.tm]);
  if (!found.length) return h("span", { class: "quiet" }, "none");
  const most = found.reduce((one, other) => (Math.abs(other.shift) > Math.abs(one.shift) ? other : one));
  const shift = most.unit === "sd" ? `${most.shift.toFixed(2)} sd` : `${most.shift.toFixed(0)} points`;
  return [h("b", { class: "bad" }, `${most.shift > 0 ? "+" : ""}${shift}`.replace("-", MINUS)), below([said(most.candidate), ", val − train"])];
}

/** The lowest scores of each candidate, with what was said of them, however short. */
function lowest(app, columns, split) {
  const { data, state } = app;
  if (!data.isRead) return null;
  const place = data.axes.splits.indexOf(split);
  const examples = data.examples.filter((example) => example.split === place);
  const systems = data.systems(state.ev);
  const lists = columns.slice(0, MOST_LISTS).map(({ place: by }) => lowestOf(app, data.isBench ? systems[state.ev] : systems[by], by, examples, split));
  if (!lists.some(Boolean)) return null;
  const left = columns.length - MOST_LISTS;
  return h("section", { class: "card" }, h("h2", null, `Lowest ${split} scores and what the evaluator said`), h("div", { class: "lists" }, lists),
    left > 0 && h("p", { class: "note" }, `… and of ${count(left, "more candidate")}: Examples, sorted by a candidate's scores, has them.`));
}

function lowestOf(app, system, by, examples, split) {
  const { data, state } = app;
  const scored = examples.map((example) => ({ example, value: data.value(system, state.tm, example) })).filter(({ value }) => value.outcome === SCORED);
  const chosen = scored.sort((one, other) => one.value.score - other.value.score || one.example.place - other.example.place).slice(0, MOST_LOWEST);
  const items = chosen.map(({ example, value }) => {
    const reason = h("span", { class: "reason cut" }, app.knownReason(example, system));
    app.reasonLater(example, system, reason);
    return h("li", null, h("button", { type: "button", class: "worst-row low", on: { click: () => app.openLine(example.split, example.line, by) } },
      h("span", { class: "where" }, short(value.score)), h("span", { class: "input cut" }, example.line === null ? system.name : `${split} ${example.line}`), reason));
  });
  return items.length > 0 && h("div", null, h("h3", null, named(data, data.isBench ? state.ev : by)), h("ol", { class: "worst" }, items));
}

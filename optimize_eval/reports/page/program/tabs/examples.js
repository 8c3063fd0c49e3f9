// @ts-check
// Every example as a row: sorted, filtered, searched; Enter or a click tells all of it.

const MOST_COLUMNS = 8;
const SHOWN = { all: "all examples", worse: "B worse than A", better: "B better than A", differs: "not all alike", failed: "with failures", skipped: "with skips" };

/** @param {App} app */
function examplesTab(app) {
  const { data, state } = app;
  if (!data.isRead) return [h("p", { class: "note" }, "Reading the records …")];
  const systems = data.systems(state.ev);
  const rows = chosenRows(app, systems);
  const search = h("input", {
    type: "search", id: "search", value: state.q, placeholder: "Search examples ( / )", title: "Words, and conditions such as score<0.5, kind=timeout, field.topic=refund, info.tone~kind", "aria-label": "Search examples",
    on: { input: (event) => app.set({ q: event.target.value, row: -1 }, { isTyping: true }) },
  });
  const names = systems.map((one) => one.name);
  const hasPair = names.length > 1;
  const sorts = sortsOf(systems, hasPair);
  const shows = SHOWS.filter((name) => name !== "skipped" || data.summary.units.skipped > 0);
  return [
    h("div", { class: "toolbar" }, search, segments("Show", ["Scores", hasReplies(data) ? "Replies" : "Reasons"], VIEWS.indexOf(state.view), (at) => app.set({ view: VIEWS[at] })), behindAWord(app, [usualControls(app),
      chooser("Which", shows.map((name) => SHOWN[name]), shows.indexOf(state.show), (at) => app.set({ show: shows[at], row: -1 })),
      data.isDiff ? pairChooser(app) : hasPair && [chooser("A", names, state.a, (a) => app.set({ a })), chooser("B", names, state.b, (b) => app.set({ b }))],
      chooser("Sort", sorts.map(([, name]) => name), sorts.findIndex(([key]) => key === state.sort), (at) => app.set({ sort: sorts[at][0] })),
      filterControls(app), saveControls(app, rows), state.view === "replies" && columnControls(app, replyColumns(data))])),
    h("p", { class: "note status", role: "status" }, statusOf(app, rows.length, names)),
    state.view === "replies" ? repliesGrid(app, rows) : exampleGrid(app, rows, systems, hasPair),
  ];
}

/** On a phone controls wait behind a word, or they would stand before the first row. @param {App} app @param {Child[]} controls */
function behindAWord(app, controls) {
  if (!matchMedia("(max-width: 560px)").matches) return controls;
  return h("details", { class: "folded", open: app.isUnfolded, on: { toggle: (event) => event.target === event.currentTarget && (app.isUnfolded = event.currentTarget.open) } }, h("summary", null, "Choose, sort, save"), h("div", { class: "toolbar" }, controls));
}

function sortsOf(systems, hasPair) {
  const of = systems.map((one, at) => [`s${at}`, `${one.name}, lowest first`]);
  const pair = hasPair ? [["delta", "B − A, losses first"], ["-delta", "B − A, gains first"]] : [];
  return [...pair, ["line", "line"], ["-line", "line, last first"], ["example", "text"], ["-example", "text, z first"], ...of, ...systems.map((one, at) => [`-s${at}`, `${one.name}, highest first`])];
}

function statusOf(app, many, names) {
  const { data, state } = app;
  const total = state.sp < data.axes.splits.length ? data.axes.sizes[state.sp] : data.examples.length;
  const sort = sortsOf(names.map((name) => ({ name })), true).find(([key]) => key === state.sort)?.[1] || "";
  const of = state.sort.endsWith("delta") ? ` (${data.isDiff ? names[state.b].slice(4) : `B ${names[state.b]}, A ${names[state.a]}`})` : "";
  const repeats = data.axes.repeats > 1 ? ` · means of ${data.axes.repeats} repeats` : "";
  const columns = state.view === "replies" ? columnsTold(app) : names.length > MOST_COLUMNS ? ` · ${MOST_COLUMNS} of ${whole(names.length)} columns: A, B and the best` : "";
  return `${whole(many)} of ${count(total, "example")} · sorted by ${sort}${of}${repeats}${columns}${lookedFor(app)}`;
}

function columnsTold(app) {
  const columns = replyColumns(app.data);
  const many = chosenColumns(app, columns).length;
  return many < columns.length ? ` · ${many} of ${count(columns.length, "column")}${app.state.cols ? "" : ": A, B and the best"}` : "";
}

/**
 * @param {App} app
 * @param {System[]} systems
 * @returns {{example: Example, values: Value[], delta: number}[]}
 */
function chosenRows(app, systems) {
  const { data, state } = app;
  const query = queryOf(state.q);
  const ofScores = query.terms.filter(isOfScores);
  const isDeep = query.terms.length > ofScores.length; // then only what is told of an example says
  const key = query.words || isDeep ? [query.words, ...query.terms.map((term) => term.text), state.b, state.tm].join("\n") : "";
  const found = app.finder.lookFor(key, (told) => meetsTold(app, query, told));
  const rows = [];
  for (const example of data.examples) {
    if (state.sp < data.axes.splits.length && example.split !== state.sp) continue;
    if (key && !(!isDeep && example.search.includes(query.words)) && !found.numbers.has(data.number(example))) continue;
    const values = systems.map((one) => data.value(one, state.tm, example));
    const delta = data.delta(state.a, state.b, values[state.a], values[state.b]);
    if (isShown(state.show, values, delta) && meetsScores(app, ofScores, { example, values, delta })) rows.push({ example, values, delta });
  }
  return sortedExamples(rows, state.sort);
}

function isShown(show, values, delta) {
  switch (show) {
    case "worse": return delta < -1e-12;
    case "better": return delta > 1e-12;
    case "failed": return values.some((one) => one.outcome === FAILED);
    case "skipped": return values.some((one) => one.outcome === SKIPPED);
    case "differs": return new Set(values.filter((one) => one.outcome === SCORED).map((one) => one.score)).size > 1;
    default: return true;
  }
}

/**
 * @param {any[]} rows
 * @param {string} sort
 */
function sortedExamples(rows, sort) {
  const isDown = sort.startsWith("-");
  const key = sort.replace("-", "");
  const place = (row) => row.example.split * 1e9 + row.example.place;
  if (key === "line") return isDown ? rows.reverse() : rows;
  if (key === "example") {
    rows.sort((one, other) => (one.example.text < other.example.text ? -1 : 1) * (isDown ? -1 : 1));
    return rows;
  }
  const of = key === "delta" ? (row) => row.delta : (row) => row.values[Number(key.slice(1))]?.score ?? NaN;
  const last = (value) => (Number.isNaN(value) ? Infinity : isDown ? -value : value);
  return rows.sort((one, other) => {
    const [first, second] = [last(of(one)), last(of(other))];
    return first < second ? -1 : first > second ? 1 : place(one) - place(other);
  });
}

/** What stands in a cell: a score over a bar, or why there is none. */
function valueCell(value, domain) {
  if (value.outcome === FAILED) return h("span", { class: "failure small" }, "failed");
  if (value.outcome === SKIPPED) return h("span", { class: "quiet small" }, "skipped");
  if (value.outcome === NOT_RUN) return h("span", { class: "quiet" }, DASH);
  const share = Math.max(0, Math.min(1, (value.score - domain[0]) / (domain[1] - domain[0] || 1)));
  const bar = h("span", { class: "bar" });
  bar.style.setProperty("width", `${round(share * 100)}%`);
  return [h("span", { class: "value" }, short(value.score)), h("span", { class: "rail" }, bar)];
}

function deltaCell(delta) {
  if (Number.isNaN(delta)) return h("span", { class: "quiet" }, DASH);
  return h("span", { class: delta > 1e-12 ? "better" : delta < -1e-12 ? "worse" : "plain" }, signedShort(delta));
}

/**
 * From where to where bars reach: 0 to 1, or as far as the scores go.
 * @param {App} app
 * @param {any[]} rows
 */
function domainOf(app, rows) {
  const { data, state } = app;
  const range = data.summary.score_ranges?.[data.axes.evaluators[state.ev]];
  if (range === "unit" || data.isBench) return [0, 1];
  const known = rows.flatMap((row) => row.values.map((one) => one.score));
  return extent(known, 0);
}

/** How far what was said was searched; nothing where all of it was. */
function lookedFor(app) {
  const { finder: { found }, state } = app;
  if (!state.q.trim()) return "";
  if (!found.isDone) return " · searching all that was said …";
  return found.without ? ` · of ${count(found.without, "example")} only the beginning was searched, for the rest is not in this page` : "";
}

/**
 * Which columns there is room for: A, B, then the best by the mean that decides; they keep their order.
 * @param {App} app
 * @param {System[]} systems
 */
function shownColumns(app, systems) {
  const { state } = app;
  if (systems.length <= MOST_COLUMNS) return [...systems.keys()];
  return [...new Set([state.a, state.b, ...bestFirst(app, systems)])].slice(0, MOST_COLUMNS).sort((one, other) => one - other);
}

function bestFirst(app, systems) {
  const { data, state } = app;
  const of = new Map(data.isBench
    ? (data.head.boards[""]?.models || []).map((model) => [model.adapter, model.overall_score])
    : data.summary.rows.filter((row) => row.evaluator === data.axes.evaluators[state.ev] && row.task_model === data.axes.task_models[state.tm]).map((row) => [row.candidate, row.splits[data.summary.decided_on]?.mean]));
  const mean = (at) => of.get(systems[at].name) ?? -Infinity;
  return [...systems.keys()].sort((one, other) => mean(other) - mean(one) || one - other);
}

function exampleGrid(app, rows, systems, hasPair) {
  const { data, state } = app;
  const domain = domainOf(app, rows);
  const shown = shownColumns(app, systems);
  const sortBy = (key) => app.set({ sort: state.sort === key ? `-${key}` : key });
  const hasText = data.examples.some((example) => example.text);
  const text = (example) => said(hasText ? example.text : example.name);
  return app.gridOf({
    label: "Examples", sort: state.sort, sortBy, items: rows, empty: "No example is like that.",
    columns: [
      { name: "split", head: data.isBench ? "file" : "split", kind: "narrow w3", cell: ({ example }) => said(data.axes.splits[example.split], "cut") },
      { name: "line", head: "line", kind: "line", sort: "line", cell: ({ example }) => example.line ?? DASH },
      { name: "example", head: "example", kind: "text", sort: "example", cell: ({ example }) => text(example) },
      ...shown.map((at) => ({ name: `s${at}`, head: named(data, at), title: systems[at].name, kind: at === state.a || at === state.b ? "score" : "score w2", sort: `s${at}`, cell: (row) => valueCell(row.values[at], domain) })),
      ...(hasPair ? [{ name: "delta", head: "Δ B−A", kind: "delta", sort: "delta", cell: (row) => deltaCell(row.delta) }] : []),
    ],
  });
}

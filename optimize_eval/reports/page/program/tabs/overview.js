// @ts-check
// The leaderboard of one evaluator, candidates by models, what carries over, what got worse, how far the run can see.

/** @param {App} app */
function overview(app) {
  const { data } = app;
  if (data.isBench) return benchOverview(app);
  if (data.isDiff) return diffOverview(app);
  const rows = rowsOf(app);
  const hasOthers = rows.length > 1 && data.isWhole;
  return [
    verdictOf(data.summary.verdict, app),
    rows.length > 0 && leaderboard(app, rows),
    modelsMatrix(app),
    spendingCard(data),
    metricsCards(app),
    data.head.search && searchCards(app),
    h("div", { class: "two" }, hasOthers && carryOver(app, rows), data.isWhole && worstOf(app, rows)),
  ];
}

/**
 * The rows of the evaluator and model in focus, the best first.
 * @param {App} app
 */
function rowsOf(app) {
  const { data, state } = app;
  const evaluator = data.axes.evaluators[state.ev];
  const model = data.axes.task_models[state.tm];
  const rows = data.summary.rows.filter((row) => row.evaluator === evaluator && row.task_model === model);
  return sortedRows(rows, data.summary);
}

/**
 * @param {App} app
 * @param {any[]} rows
 */
function leaderboard(app, rows) {
  const { data, state } = app;
  const split = data.summary.decided_on;
  const columns = columnsOf(app, rows, split);
  const heads = columns.map((column) => h("th", { scope: "col", class: column.kind }, column.head, column.below && h("span", { class: "below" }, column.below)));
  const lines = rows.map((row) => {
    const isBaseline = row.candidate === data.summary.baseline;
    const [first, ...rest] = columns;
    return h("tr", { class: isBaseline && rows.length > 1 ? "baseline" : null },
      h("th", { scope: "row", class: first.kind }, first.cell(row)),
      rest.map((column) => h("td", { class: column.kind }, column.cell(row))));
  });
  const leftOut = `failed ${data.summary.units.skipped ? "and skipped " : ""}calls are in no mean`;
  const legend = rows.length > 1 && data.isWhole && !confirmsNothing(data) ? [term("marks", "▲▼ clear after correction · △▽ only a hint"), " · ", term("baseline", "dashed: baseline"), ` · ${leftOut}`] : leftOut;
  const chosen = data.head.search ? "Δ and p are not corrected for the search's choice · " : "";
  return h(
    "section",
    { class: "card" },
    h("div", { class: "card-head" }, h("h2", null, "Leaderboard: ", said(data.axes.evaluators[state.ev])), usualControls(app, { split: false }), h("span", { class: "legend" }, chosen, legend)),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Leaderboard" }, h("table", { class: "board" }, h("thead", null, h("tr", null, heads)), h("tbody", null, lines))),
    latencyOf(app),
  );
}

/** Every candidate with every model, in one look; a click brings the model into focus. */
function modelsMatrix(app) {
  const { data, state } = app;
  const { axes, summary } = data;
  const models = axes.task_models.map((name, tm) => ({ name, tm })).filter(({ name }) => name !== null);
  if (models.length < 2) return null;
  const evaluator = axes.evaluators[state.ev];
  const split = summary.decided_on;
  const known = summary.rows.filter((row) => row.evaluator === evaluator);
  const domain = summary.score_ranges?.[evaluator] === "unit" ? [0, 1] : extent(known.map((row) => row.splits[split].mean ?? NaN), 0);
  const cell = (candidate, model, tm) => {
    const taken = takenBy(data, state.ev, axes.candidates.indexOf(candidate), tm);
    const s = known.find((row) => row.candidate === candidate && row.task_model === model)?.splits[split];
    if (!s || s.mean === null) return h("td", { class: "num" }, h("span", { class: s?.failed ? "failure" : "quiet" }, s?.failed ? "failed" : DASH));
    const share = (s.mean - domain[0]) / (domain[1] - domain[0] || 1);
    return h("td", { class: `num heat-${Math.round(Math.max(0, Math.min(1, share)) * 10)}` }, h("b", null, lowestLink(app, s.mean, { b: axes.candidates.indexOf(candidate), tm })), below(ends(s.ci)), below(costOf(taken)), below(paceOf(taken)));
  };
  const heads = models.map(({ name, tm }) => h("th", { scope: "col", class: "num" }, tm === state.tm ? said(name) : link(app, { tm }, said(name))));
  const lines = axes.candidates.map((name, at) => h("tr", null, h("th", { scope: "row", class: "who" }, named(data, at)), models.map((one) => cell(name, one.name, one.tm))));
  return h("section", { class: "card" },
    h("div", { class: "card-head" }, h("h2", null, "Candidate × model: ", said(evaluator)), h("span", { class: "legend" }, `${meanOf(split)}, 95 % CI · the stronger the colour, the higher`)),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Candidate by model" }, h("table", { class: "heat" }, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Candidate"), heads)), h("tbody", null, lines))));
}

/** A mean that leads to what it is of, the lowest scores first. @param {App} app @param {number | null} mean @param {Partial<State>} look */
function lowestLink(app, mean, look) {
  if (mean === null) return h("span", { class: "quiet" }, "no score");
  const { axes, summary } = app.data;
  const b = look.b === app.state.a ? app.state.b : look.b; // A's own mean leaves B as it is
  const to = { tab: "examples", q: "", show: "all", sp: Math.max(0, axes.splits.indexOf(summary.decided_on)), sort: `s${look.b}`, row: -1, ...look, b };
  return h("span", { class: "goes", title: "The examples, the lowest scores first" }, link(app, to, number(mean)));
}

/** @param {string} split */
function meanOf(split) {
  return split === "single" ? "mean" : `${split} mean`;
}

/** What a split's own train split is, if it has one. */
function trainOf(data, split) {
  return split !== "train" && data.axes.splits.includes("train") ? "train" : null;
}

/**
 * @param {App} app
 * @param {any[]} rows
 * @param {string} split
 */
function columnsOf(app, rows, split) {
  const { data, state } = app;
  const train = trainOf(data, split);
  const at = (row) => data.axes.candidates.indexOf(row.candidate);
  const d = (row) => row.vs_baseline?.[split];
  const compared = rows.length > 1 && data.isWhole; // no comparison before the end
  const means = rows.flatMap((row) => (train ? [split, train] : [split]).flatMap((name) => row.splits[name].ci || [row.splits[name].mean ?? NaN]));
  const domain = extent(means, 0.02);
  const baseline = compared ? rows.find((row) => row.candidate === data.summary.baseline)?.splits[split].mean ?? null : null;
  const shown = (row) => [{ s: row.splits[split], isHollow: false }, ...(train ? [{ s: row.splits[train], isHollow: true }] : [])];
  return [
    { kind: "who", head: "Candidate", cell: (row) => [named(data, at(row)), compared && train && row.overfit && h("span", { class: "in-narrow small" }, overfitWord(row.overfit))] },
    { kind: "num mean", head: term("mean", meanOf(split)), below: term("ci", "95 % CI"), cell: (row) => [h("b", { class: "big" }, lowestLink(app, row.splits[split].mean, { b: at(row) })), below(ends(row.splits[split].ci))] },
    { kind: "plot", head: h("span", { class: "key" }, train ? `● ${split} ○ ${train}` : `● ${meanOf(split)}`, axisOf(domain)), cell: (row) => intervals(data, at(row), shown(row), domain, baseline) },
    ...(compared ? comparedColumns(data, split, train, d) : []),
    { kind: "num", head: term("failed", "Failed"), below: "all splits", cell: (row) => failedCell(app, row) },
    ...(data.summary.units.skipped ? [{ kind: "num", head: term("skipped", "Skipped"), below: "all splits", cell: skippedCell }] : []),
    ...(data.run.models?.length ? [{ kind: "num w2", head: term("cost", "Cost of a reply"), below: "time: p50, p95", cell: (row) => tookCell(data, state.ev, at(row), state.tm) }] : []),
    ...otherColumns(app, split, compared),
  ];
}

function comparedColumns(data, split, train, d) {
  const dash = () => h("span", { class: "quiet" }, DASH);
  const hasPairs = (row) => d(row) && d(row).n_pairs > 0;
  const p = (one) => pValue(one.p_holm ?? one.p);
  const evidence = (one, row) => (one.ci ? [intervalOf(data, row.evaluator, one.ci), h("span", { class: "w1" }, ` · ${p(one)}`)] : p(one));
  const columns = [
    { kind: "num", head: term("delta", `Δ ${split} against baseline`), below: [term("ci", "95 % CI"), h("span", { class: "w1" }, " · ", term("p", "p (Holm)"))], cell: (row) => (hasPairs(row) ? [h("b", { class: "big" }, againstBaseline(data, row, split)), below(evidence(d(row), row))] : dash()) },
    { kind: "w2", head: term("pairs", "better · same · worse"), below: `${split} pairs`, cell: (row) => (hasPairs(row) ? pairsBar(d(row)) : dash()) },
  ];
  if (!train) return columns;
  return [
    ...columns,
    { kind: "num w2", head: `Δ ${train}`, below: "mean", cell: (row) => (row.vs_baseline ? [againstBaseline(data, row, train), below(`mean ${number(row.splits[train].mean)}`)] : [dash(), row.splits[train].mean !== null && below(`mean ${number(row.splits[train].mean)}`)]) },
    { kind: "w3", head: term("overfit", "Overfit?"), below: "lost gain: Δ train − Δ val", cell: (row) => (row.overfit ? overfitCell(row.overfit) : dash()) },
  ];
}

function overfitWord(lost) {
  const [sign, text, kind] = OVERFIT[lost.state] || ["·", "too few", "quiet"];
  return h("b", { class: kind }, `${sign} `, term(lost.state in GLOSSARY ? lost.state : "few", text));
}

function overfitCell(lost) {
  return [overfitWord(lost), below(lost.ci ? `${signed(lost.value)} (${interval(lost.ci)})` : signed(lost.value))];
}

/** @param {...Child} text */
function below(...text) {
  return h("span", { class: "below" }, text);
}

function tookCell(data, evaluator, candidate, tm) {
  const taken = takenBy(data, evaluator, candidate, tm);
  return [costOf(taken) || DASH, below(paceOf(taken))];
}

function skippedCell(row) {
  const many = Object.values(row.splits).reduce((sum, s) => sum + s.skipped, 0);
  return many ? h("b", null, whole(many)) : h("span", { class: "quiet" }, "0");
}

function failedCell(app, row) {
  const splits = Object.values(row.splits);
  const failed = splits.reduce((sum, s) => sum + s.failed, 0);
  if (!failed) return h("span", { class: "quiet" }, "0");
  const calls = splits.reduce((sum, s) => sum + s.failed + s.scored, 0);
  return [link(app, { tab: "failures" }, h("b", { class: "failure" }, whole(failed))), below(percent(failed / calls))];
}

function otherColumns(app, split, compared) {
  const { data, state } = app;
  const model = data.axes.task_models[state.tm];
  const find = (name, row) => data.summary.rows.find((one) => one.evaluator === name && one.task_model === model && one.candidate === row.candidate);
  return data.axes.evaluators
    .filter((_name, at) => at !== state.ev)
    .map((name) => ({
      kind: "num other",
      head: said(name, "cut"),
      below: compared ? `Δ ${split}` : meanOf(split),
      cell: (row) => {
        const other = find(name, row);
        const d = other?.vs_baseline?.[split];
        if (!other) return DASH;
        return d && compared ? [againstBaseline(data, other, split), below(intervalOf(data, name, d.ci))] : [number(other.splits[split].mean), below(ends(other.splits[split].ci))];
      },
    }));
}

function latencyOf(app) {
  const { data, state } = app;
  const name = data.axes.evaluators[state.ev];
  const parts = data.summary.latency.filter((one) => one.evaluator === name && one.n);
  if (!parts.length) return null;
  const told = parts.map((one) => `${one.split === "single" ? "" : `${one.split} `}p50 ${duration(one.p50)}, p95 ${duration(one.p95)}, max ${duration(one.max)}`);
  return h("p", { class: "small note" }, term("pace", "Time of a call"), ` to ${name}: ${told.join(" · ")}`);
}

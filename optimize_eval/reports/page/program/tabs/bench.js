// @ts-check
// A leaderboard of models: overall with intervals, and each task's score as a field of a heat table.

const MOST_MODEL_PAIRS = 20;

/** @param {App} app */
function benchOverview(app) {
  const { data } = app;
  const boards = Object.entries(data.head.boards);
  if (!boards.length) return [verdictOf(data.summary.verdict, app), h("p", { class: "note" }, "There is no leaderboard until every call is done.")];
  return [...boards.map(([metric, board]) => [
    metric && h("h2", null, "By ", said(metric)),
    verdictOf(board.verdict, app),
    modelsTable(app, board),
    heatTable(app, board),
    pairwise(app, board),
  ]), spendingCard(data), metricsCards(app)];
}

function modelsTable(app, board) {
  const { data } = app;
  const at = (model) => data.axes.evaluators.indexOf(model.adapter);
  const domain = extent(board.models.flatMap((model) => model.ci || [model.overall_score ?? NaN]), 0.03);
  const categories = [...new Set(board.models.flatMap((model) => model.categories.map((one) => one.category)))];
  const hasSkips = board.models.some((model) => model.skipped);
  const score = (model, name) => model.categories.find((one) => one.category === name);
  const line = (model) => h("tr", null,
    h("th", { scope: "row", class: "who" }, at(model) >= 0 ? named(data, at(model)) : said(model.adapter)),
    h("td", { class: "num mean" }, h("b", { class: "big" }, at(model) < 0 ? number(model.overall_score) : lowestLink(app, model.overall_score, { b: at(model), sp: data.axes.splits.length })), below(ends(model.ci))),
    h("td", { class: "plot" }, at(model) >= 0 && intervals(data, at(model), [{ s: { mean: model.overall_score, ci: model.ci }, isHollow: false }], domain, null)),
    h("td", { class: "num" }, model.failed ? link(app, { tab: "failures" }, h("b", { class: "failure" }, whole(model.failed))) : h("span", { class: "quiet" }, "0")),
    hasSkips && h("td", { class: "num" }, whole(model.skipped || 0)),
    h("td", { class: "num w2" }, tookCell(data, at(model), 0, 0)),
    h("td", { class: "num w2" }, model.win_rate == null ? DASH : percent(model.win_rate)),
    categories.length > 1 && categories.map((name) => h("td", { class: "num w1" }, number(score(model, name)?.score))));
  return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", null, "Leaderboard"), h("span", { class: "legend" }, "mean over tasks, 95 % CI")),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Leaderboard" }, h("table", { class: "board" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Model"), h("th", { scope: "col", class: "num" }, term("mean", "Score"), below(term("ci", "95 % CI"))), h("th", { scope: "col", class: "plot" }, h("span", { class: "key" }, "● score", axisOf(domain))), h("th", { scope: "col", class: "num" }, term("failed", "Failed")), hasSkips && h("th", { scope: "col", class: "num" }, term("skipped", "Skipped")), h("th", { scope: "col", class: "num w2" }, term("cost", "Cost of a reply"), below("time: p50, p95")), h("th", { scope: "col", class: "num w2" }, term("win", "Win rate")), categories.length > 1 && categories.map((name) => h("th", { scope: "col", class: "num w1" }, said(name, "cut"))))),
      h("tbody", null, board.models.map(line)))));
}

/** The largest differences between two models. */
function pairwise(app, board) {
  const { data } = app;
  const at = (name) => data.axes.evaluators.indexOf(name);
  const known = (board.pairs || []).filter((pair) => pair.diff !== null && at(pair.a) >= 0 && at(pair.b) >= 0);
  if (!known.length) return null;
  const shown = known.sort((one, other) => Math.abs(other.diff) - Math.abs(one.diff)).slice(0, MOST_MODEL_PAIRS);
  const line = (pair) => h("tr", null,
    h("th", { scope: "row" }, named(data, at(pair.b)), h("span", { class: "quiet" }, " against "), named(data, at(pair.a))),
    h("td", { class: "num" }, h("b", null, differenceOf(pair)), below([interval(pair.ci), pValue(pair.p_holm ?? pair.p)].filter(Boolean).join(" · "))),
    h("td", { class: "w2" }, pairsBar(pair)),
    h("td", { class: "num w3" }, link(app, { tab: "compare", a: at(pair.a), b: at(pair.b), sp: data.axes.splits.length }, "compare")));
  const more = known.length - shown.length;
  return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", null, "Pairwise"), h("span", { class: "legend" }, "largest differences first; 95 % CI, p (Holm)")),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Pairwise" }, h("table", { class: "board" }, h("tbody", null, shown.map(line)))),
    more > 0 && h("p", { class: "note" }, `… and ${count(more, "more pair")}: see leaderboard.json`));
}

function heatTable(app, board) {
  const { data } = app;
  const tasks = board.models[0]?.tasks || [];
  const at = (model) => data.axes.evaluators.indexOf(model.adapter);
  if (!tasks.length) return null;
  const of = board.models.map((model) => new Map(model.tasks.map((task) => [task.task, task])));
  const lines = tasks.slice(0, 1000).map((task) => h("tr", null,
    h("th", { scope: "row" }, said(task.task, "cut"), below(said(task.category))),
    h("td", { class: "w2 quiet" }, said(task.metric_id ?? "")),
    of.map((known, place) => heat(app, known.get(task.task), at(board.models[place])))));
  const more = tasks.length - 1000;
  const heads = board.models.map((model) => h("th", { scope: "col", class: "num" }, data.axes.evaluators.includes(model.adapter) ? named(data, data.axes.evaluators.indexOf(model.adapter)) : said(model.adapter)));
  return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", null, "Task × model"), h("span", { class: "legend" }, "the stronger the colour, the higher")),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Task by model" }, h("table", { class: "heat" }, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Task"), h("th", { scope: "col", class: "w2" }, "Metric"), heads)), h("tbody", null, lines))),
    more > 0 && h("p", { class: "note" }, `… and ${count(more, "more task")}: see leaderboard.json`));
}

/** A task's score of a model; it leads to its examples, the lowest first. */
function heat(app, task, at) {
  if (!task || task.score === null || task.score === undefined) return h("td", { class: "num" }, h("span", { class: task?.failed ? "failure" : "quiet" }, task?.failed ? "failed" : task?.skipped ? "skipped" : DASH));
  const step = Math.round(Math.max(0, Math.min(1, task.score)) * 10);
  const { splits } = app.data.axes;
  const sp = splits.findIndex((name) => name === task.task || name.startsWith(`${task.task}.`));
  return h("td", { class: `num heat-${step}` }, at < 0 ? number(task.score) : lowestLink(app, task.score, { b: at, sp: sp < 0 ? splits.length : sp }), task.n > 1 && below(`n ${whole(task.n)}`));
}

// @ts-check
// Two leaderboards against each other: the models, the tasks that moved, the predictions that are others now.

const MOST_MOVED = 200;

/** @param {App} app */
function boardsOverview(app) {
  const { diff } = app.data.head;
  return [verdictOf(app.data.summary.verdict, app), modelsOfDiff(diff), diff.models.map((model) => movedTasks(model)), metricsOfDiff(diff), comparedBoards(diff)];
}

function modelOf(model) {
  return model.model === model.model_in_a ? said(model.model) : [said(model.model_in_a), " → ", said(model.model)];
}

/** A table that scrolls where it is too wide. */
function wideTable(label, heads, lines) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, h("table", { class: "board" },
    h("thead", null, h("tr", null, heads.map(([kind, head, under]) => h("th", { scope: "col", class: kind }, head, under && below(under))))),
    h("tbody", null, lines)));
}

function changed(d) {
  return [h("b", { class: "big" }, differenceOf(d)), d.diff !== null && d.ci && below(evidenceOf(d))];
}

function modelsOfDiff(diff) {
  const domain = extent([0, ...diff.models.flatMap(({ overall }) => [overall.diff ?? 0, ...(overall.ci || [])])], 0.03);
  const heads = [["who", "Model"], ["num", "Δ B − A", term("ci", "95 % CI")], ["w1", term("interval", "Interval")], ["num w3", "A → B"], ["num w3", "Failed calls", "A → B"], ["num w2", "Other predictions"]];
  const models = [...diff.models].sort((one, other) => (one.overall.diff ?? 0) - (other.overall.diff ?? 0));
  const lines = models.map((model) => h("tr", null,
    h("th", { scope: "row", class: "who" }, modelOf(model)),
    h("td", { class: "num" }, changed(model.overall)),
    h("td", { class: "w1" }, model.overall.diff !== null && estimate(model.overall.diff, model.overall.ci, domain, 0)),
    h("td", { class: "num w3" }, fromTo(model.overall.a, model.overall.b)),
    h("td", { class: "num w3" }, `${whole(model.failed_calls.a)} → ${whole(model.failed_calls.b)}`),
    h("td", { class: "num w2" }, model.predictions_changed === null ? DASH : whole(model.predictions_changed))));
  return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", null, "Models: B against A"), h("span", { class: "legend" }, term("marks", "▲▼ clear after correction · △▽ only a hint"))), wideTable("Models", heads, lines));
}

/** The tasks of a model that moved, the largest losses first. */
function movedTasks(model) {
  const lost = (task) => task.diff ?? -Infinity;
  const moved = model.tasks.filter((task) => task.a !== task.b || task.predictions_changed).sort((one, other) => lost(one) - lost(other));
  if (!moved.length) return null;
  const heads = [["who", "Task"], ["num", "Δ B − A", "95 % CI"], ["num w3", "A → B"], ["num w2", "Other predictions"], ["num w2", "Fixed · newly failing"]];
  const lines = moved.slice(0, MOST_MOVED).map((task) => h("tr", null,
    h("th", { scope: "row", class: "who" }, said(task.task), below(said(task.metric_id ?? ""))),
    h("td", { class: "num" }, changed(task)),
    h("td", { class: "num w3" }, fromTo(task.a, task.b)),
    h("td", { class: "num w2" }, task.predictions_changed === null ? DASH : whole(task.predictions_changed)),
    h("td", { class: "num w2" }, task.fixed === null ? DASH : `${whole(task.fixed)} · ${whole(task.newly_failing)}`)));
  const more = moved.length - lines.length;
  return h("section", { class: "card" }, h("h2", null, modelOf(model), ": tasks that moved"), wideTable(`${model.model}: tasks that moved`, heads, lines),
    more > 0 && h("p", { class: "note" }, `… and ${count(more, "more task")}: see diff --json`));
}

function comparedBoards(diff) {
  const only = (one) => Object.entries(one).flatMap(([name, values]) => (values.length ? [`${name}: ${values.join(", ")}`] : [])).join("; ");
  return section("", "What is compared", rowsOfFacts([["A, before", diff.a.run], ["B, after", diff.b.run], ["only in A", only(diff.only_in_a)], ["only in B", only(diff.only_in_b)]], (value) => said(value)));
}

/** @param {App} app */
function predictionsTab(app) {
  const models = app.data.head.diff.models.filter((model) => model.changed.length);
  if (!models.length) {
    const isKnown = app.data.head.diff.models.some((model) => model.predictions_changed !== null);
    const isPaired = app.data.head.diff.models.some((model) => model.paired);
    const lacking = isPaired ? "These boards have no predictions, only scores." : "The boards have no examples: `bench --include-per-example` keeps them.";
    return [h("p", { class: "note" }, isKnown ? "Every prediction is the same on both boards." : lacking)];
  }
  return models.map((model) => {
    const more = model.predictions_changed - model.changed.length;
    return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", null, modelOf(model), `: ${count(model.predictions_changed, "other prediction")}`), h("span", { class: "legend" }, "largest losses first")),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${model.model}: predictions` }, h("table", { class: "predictions" },
        h("thead", null, h("tr", null, ["Task", "A", "B"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", null, model.changed.map((one) => h("tr", null, h("th", { scope: "row" }, said(one.task), below(said(one.id))), prediction(one.a, null), prediction(one.b, one.a)))))),
      more > 0 && h("p", { class: "note" }, `… and ${count(more, "more prediction")}: see diff --json`));
  });
}

function prediction(one, before) {
  if (one.score === null) return h("td", null, h("span", { class: "failure" }, said(one.error || "no score")));
  const kind = before?.score == null || one.score === before.score ? null : one.score > before.score ? "better" : "worse";
  return h("td", null, h("b", { class: kind }, number(one.score)), h("div", { class: "predicted" }, said(one.prediction)));
}

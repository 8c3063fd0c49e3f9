// @ts-check
// Two runs against each other: the verdict, what is compared, each row, the largest losses with both reasons.

const MOST_DIFF_ROWS = 60;
const MOST_TEXTS = 3;
const MOST_LOSSES = 3; // rows whose examples are listed

/** @param {App} app */
function diffOverview(app) {
  const { diff } = app.data.head;
  const { evaluators, task_models: models } = app.data.axes;
  const tables = evaluators.flatMap((evaluator) => models.map((model) => ({
    name: model === null ? evaluator : `${evaluator} · ${model}`,
    rows: diff.rows.filter((row) => row.evaluator === evaluator && row.task_model === model),
  })));
  return [
    verdictOf(app.data.summary.verdict, app),
    changedTexts(app.data),
    tables.map(({ name, rows }) => rowsOfDiff(app, name, rows)),
    metricsOfDiff(diff),
    lossesOf(app, diff),
    sidesOf(diff),
  ];
}

/** What changed in the texts of candidates from A to B, the most prominent first. @param {Data} data */
function changedTexts(data) {
  const pairs = data.run.candidates.flatMap((one, at) => (at % 2 ? [[data.run.candidates[at - 1], one, at]] : []));
  const known = pairs.filter(([before, after]) => before.text !== undefined && after.text !== undefined);
  const changed = known.filter(([before, after]) => before.text !== after.text);
  if (!changed.length) return known.length > 0 && section("", "What changed in the text", h("p", { class: "note" }, `Nothing: ${known.length === pairs.length ? "the candidates have" : "those whose texts are known have"} the same text in A and B.`));
  const shown = changed.slice(0, MOST_TEXTS).map(([before, after, at]) => [pairs.length > 1 && h("h3", null, said(data.axes.candidates[at].slice(4))), shownDiff(before.text, after.text, true)]);
  const more = changed.length - MOST_TEXTS;
  return h("section", { class: "card changed" }, h("h2", null, "What changed in the text"), shown, more > 0 && h("p", { class: "note" }, `… and ${count(more, "more candidate")}: Reproduce has them.`));
}

/** Where a row's candidate stands among those of the page: that of B, one after that of A. */
function placeOf(app, row) {
  return app.data.axes.candidates.indexOf(`B · ${row.candidate}`);
}

/** What is looked at when a row is chosen. */
function lookAt(app, row) {
  const { axes } = app.data;
  const b = placeOf(app, row);
  return { ev: axes.evaluators.indexOf(row.evaluator), tm: axes.task_models.indexOf(row.task_model), sp: axes.splits.indexOf(row.split), a: b - 1, b };
}

function whoOf(row) {
  const [a, b] = row.shown;
  return a === b ? said(b) : [said(a), " → ", said(b)];
}

/** A difference of a diff, by the mark that its words have. */
function changeOf(sign, diff) {
  if (diff === null || diff === undefined) return h("span", { class: "quiet" }, DASH);
  const kind = sign === "▲" ? "better" : sign === "▼" ? "worse" : "plain";
  return h("span", { class: kind }, sign, ` ${signed(diff)}`);
}

function fromTo(a, b) {
  return a === null || b === null ? DASH : `${number(a)} → ${number(b)}`;
}

function rowsOfDiff(app, name, rows) {
  const shown = rows.slice(0, MOST_DIFF_ROWS);
  const domain = extent([0, ...shown.flatMap((row) => [row.diff ?? 0, ...(row.ci || [])])], 0.03);
  const isOne = app.data.axes.splits.length === 1;
  const line = (row) => h("tr", null,
    h("th", { scope: "row", class: "who" }, link(app, { tab: "compare", ...lookAt(app, row) }, whoOf(row))),
    !isOne && h("td", null, said(row.split)),
    h("td", { class: "num" }, h("b", { class: "big" }, changeOf(row.sign, row.diff)), row.se > 0 && below(evidenceOf(row))),
    h("td", { class: "w1" }, row.diff !== null && estimate(row.diff, row.ci, domain, 0)),
    h("td", { class: "num w3" }, fromTo(row.means.a, row.means.b)),
    h("td", { class: "w2" }, pairsBar(row)),
    h("td", { class: "num w3" }, failingOf(row)));
  const heads = [["who", "Candidate"], ...(isOne ? [] : [["", "Split"]]), ["num", "Δ B − A", [term("ci", "95 % CI"), h("span", { class: "w1" }, " · ", term("p", "p (Holm)"))]], ["w1", term("interval", "Interval")], ["num w3", "A → B"], ["w2", "better · same · worse"], ["num w3", "Failing", "A → B"]];
  const more = rows.length - shown.length;
  return h("section", { class: "card" },
    h("div", { class: "card-head" }, h("h2", null, said(name), ": B against A"), h("span", { class: "legend" }, term("marks", "▲▼ clear after correction · △▽ only a hint"))),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${name}: B against A` }, h("table", { class: "board" },
      h("thead", null, h("tr", null, heads.map(([kind, head, under]) => h("th", { scope: "col", class: kind }, head, under && below(under))))),
      h("tbody", null, shown.map(line)))),
    more > 0 && h("p", { class: "note" }, `… and ${count(more, "more row")}: see diff --json`));
}

function evidenceOf(one) {
  return one.ci ? [interval(one.ci), h("span", { class: "w1" }, ` · ${pValue(one.p_holm ?? one.p)}`)] : pValue(one.p_holm ?? one.p);
}

/** How many examples fail in A, and in B. */
function failingOf(row) {
  const [a, b] = [row.fixed + row.failing_in_both, row.newly_failing + row.failing_in_both];
  return a + b === 0 ? h("span", { class: "quiet" }, "0") : h("span", { class: b > a ? "failure" : null }, `${whole(a)} → ${whole(b)}`);
}

/** The examples that lost most: of the first row, and of other regressions. */
function lossesOf(app, diff) {
  const rows = diff.rows.filter((row) => row.worst.length);
  const shown = rows.filter((row, at) => at === 0 || row.is_regression).slice(0, MOST_LOSSES);
  if (!shown.length) return section("", "Largest losses", h("p", { class: "note" }, "No example lost."));
  const parts = shown.map((row) => h("div", null,
    h("h3", null, whoOf(row), ` on ${row.evaluator}`),
    h("ol", { class: "worst" }, row.worst.map((one) => lossOf(app, row, one))),
    h("p", { class: "note" }, link(app, { tab: "compare", ...lookAt(app, row) }, `All ${count(row.regressed, "loss").replace("losss", "losses")} →`))));
  return h("section", { class: "card losses" }, h("h2", null, "Largest losses"), h("div", { class: "lists" }, parts));
}

function lossOf(app, row, { split, a, b }) {
  const look = lookAt(app, row);
  const open = () => {
    app.set(look);
    app.openLine(app.data.axes.splits.indexOf(split), b.line, look.b);
  };
  const scores = `${a.score === null ? DASH : short(a.score)} → ${b.score === null ? b.kind || DASH : short(b.score)}`;
  const input = h("span", { class: "input cut" });
  app.whenRead.then(() => {
    const at = app.data.axes.splits.indexOf(split);
    const example = app.data.examples.find((one) => one.split === at && one.line === b.line);
    if (example) replace(input, said(plainly(example.text) || example.name));
  });
  const told = (side, one) => (one.message || one.reason) && h("span", { class: "reason cut" }, `${side}: `, said(one.message || one.reason));
  return h("li", null, h("button", { type: "button", class: "worst-row low", on: { click: open } },
    h("span", { class: "where" }, b.line === null ? "" : `${split} ${b.line}`),
    input, h("span", { class: `num${b.score === null ? " failure" : ""}` }, scores), told("B", b), told("A", a)));
}

/** Which the two runs are, and what only one of them has. */
function sidesOf(diff) {
  const run = ({ run: place, created_at: begun, owed }) => [said(place), begun && below(moment(begun)), owed ? below(`${count(owed, "call")} owed`) : null];
  const only = (one) => Object.entries(one).flatMap(([name, values]) => (name === "examples"
    ? Object.entries(values).map(([split, many]) => `${count(many, "example")} of ${split}`)
    : values.length ? [`${name.replace("_", " ")}: ${values.map((value) => value ?? "none").join(", ")}`] : []));
  const told = [["A, before", run(diff.a)], ["B, after", run(diff.b)],
    ["only in A", only(diff.only_in_a).join("; ")], ["only in B", only(diff.only_in_b).join("; ")]];
  return section("", "What is compared", rowsOfFacts(told, (value) => (typeof value === "string" ? said(value) : value)));
}

/**
 * The candidates that are compared, each in both runs, as one choice.
 * @param {App} app
 */
function pairChooser(app) {
  const names = app.data.axes.candidates.filter((_name, at) => at % 2).map((name) => name.slice(4));
  return names.length > 1 && chooser("Candidate", names, Math.floor(app.state.b / 2), (at) => app.set({ a: 2 * at, b: 2 * at + 1, by: 2 * at + 1 }));
}

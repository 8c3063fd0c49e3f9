// @ts-check
// What the run was made of: commands, versions, digests, and each candidate's text against the baseline's.

/** @param {App} app */
function reproduceTab(app) {
  const { data } = app;
  const { commands } = data.head;
  if (data.isDiff || data.isOfBoards) return reproduceDiff(data, commands);
  return [
    h("section", { class: "card" }, h("h2", null, "See it again, and check it"),
      commands.run && [h("p", { class: "note" }, "The command of the run; again, it resumes it:"), command(commands.run), h("p", { class: "note" }, "Its report:")],
      command(commands.report), h("p", { class: "note" }, "Computes every number anew in another way and compares it with summary.json:"), command(commands.check),
      h("p", { class: "note" }, "All records, one a line:"), command(commands.records)),
    h("div", { class: "two" }, facts(data), inputs(data)),
    data.isBench ? null : data.run.candidates.map((one, at) => candidateCard(data, one, at)),
  ];
}

function reproduceDiff(data, commands) {
  return [
    h("section", { class: "card" }, h("h2", null, "See it again"), command(commands.report),
      h("p", { class: "note" }, "All numbers as one JSON value:"), command(commands.json),
      data.isDiff && [h("p", { class: "note" }, "All records of A, and of B, one a line:"), commands.records.map(command)]),
    data.isDiff && inputs(data),
    data.isDiff && data.run.candidates.map((one, at) => at % 2 === 1 && candidateCard(data, one, at)),
  ];
}

function facts(data) {
  const { run, summary, axes } = data;
  const settings = run.settings || {};
  const told = [
    ["run", data.head.title],
    ["note", run.note],
    ["begun", run.created_at && moment(run.created_at)],
    ["calls", `${whole(summary.units.total - summary.units.owed)} of ${whole(summary.units.total)}`],
    ["baseline", data.isBench ? null : summary.baseline],
    ["task models", axes.task_models.filter((name) => name !== null).join(", ")],
    ["repeats", axes.repeats],
    ["seed", run.seed],
    ["sample", settings.sample], ["limit", settings.limit],
    ["clusters by", run.cluster_by],
    ["groups by", (run.group_by || []).join(", ")],
    ["optimize-eval", run.version],
    ["plan", run.plan],
  ];
  return section("", "Run", rowsOfFacts(told, (value) => said(value)));
}

function inputs(data) {
  const { run } = data;
  const evaluators = [...run.evaluators, ...(run.additions || [])];
  const files = evaluators.flatMap((one) => [[data.isBench ? `${one.name}` : `-e ${one.name}=${one.text}`, one.sha256], ...(one.files || []).map((file) => [`  ${file.name}`, file.sha256])]);
  const candidates = data.isBench ? [] : run.candidates.map((one) => [one.name, one.sha256 || (one.field ? `field ${one.field}` : "")]);
  const splits = run.splits.map((one, at) => [`${one.file || one.name} (${one.file ? `${one.name}, ` : ""}${count(data.axes.sizes[at], "example")})`, "one for each line, in run.json"]);
  return section("", "Inputs", h("p", { class: "note" }, "sha256; a run goes on only with inputs that are the same."), rowsOfFacts([...candidates, ...splits, ...files], (value) => h("code", { class: "cut", title: value }, said(value))));
}

function rowsOfFacts(told, shown) {
  const known = told.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("table", { class: "facts" }, h("tbody", null, known.map(([name, value]) => h("tr", null, h("th", { scope: "row" }, said(name)), h("td", null, shown(value))))));
}

function candidateCard(data, one, at) {
  const base = data.run.candidates[data.against(at)];
  const isCompared = base?.text !== undefined && one.text !== undefined;
  const size = one.bytes !== undefined ? h("span", { class: "legend" }, `${count(one.bytes, "byte")}${isCompared ? `, changes against ${data.isDiff ? "A" : "the baseline"}` : ""}`) : null;
  if (data.isDiff && isCompared && one.text === base.text) return sameCard(data, one, at);
  const text = one.text === undefined
    ? h("p", { class: "note" }, one.field ? `The field ${one.field} of each example.` : "There was no room for the text, in run.json or in this page; its sha256 stands above.")
    : isCompared ? shownDiff(base.text, one.text) : h("pre", { class: "text", role: "group", tabindex: 0, "aria-label": "text of the candidate" }, said(one.text));
  return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", null, named(data, at)), size), text);
}

/** A candidate that has the same text in both runs. */
function sameCard(data, one, at) {
  return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", null, named(data, at)), h("span", { class: "legend" }, "the same text in A and B")),
    h("pre", { class: "text", role: "group", tabindex: 0, "aria-label": "text of the candidate" }, said(one.text)));
}

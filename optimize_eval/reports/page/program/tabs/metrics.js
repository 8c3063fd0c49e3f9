// @ts-check
// The metrics of tasks in YAML: a table for each scorer, and how many rows its numbers are of.

const MOST_METRICS = 100;

/** @param {App} app */
function metricsCards(app) {
  const { metrics, decided_on: split } = app.data.summary;
  if (!metrics?.length) return null;
  const decided = new Set(metrics.filter((one) => one.split === split).map((one) => one.evaluator));
  const shown = metrics.filter((one) => one.split === split || !decided.has(one.evaluator));
  const names = [...new Set(shown.map((one) => `${one.evaluator}\n${one.split}`))];
  return names.map((name) => metricsCard(shown.filter((one) => `${one.evaluator}\n${one.split}` === name)));
}

/** @param {any[]} entries of one scorer: its candidates and models */
function metricsCard(entries) {
  const [first] = entries;
  const lines = entries.flatMap((one) => one.metrics.flatMap((metric) => Object.entries(metric.values).map((named) => ({ one, metric, named }))));
  const hasMissing = lines.some(({ metric }) => metric.missing || metric.left_out);
  const head = (text, kind = "num") => h("th", { scope: "col", class: kind }, text);
  const line = ({ one, metric, named: [name, value] }) => h("tr", null,
    h("th", { scope: "row" }, said(name)),
    entries.length > 1 && h("td", null, said(whose(one, entries))),
    h("td", { class: "num" }, h("b", null, value === null ? "not defined" : number(value))),
    h("td", { class: "num" }, whole(metric.n)),
    hasMissing && h("td", { class: "num" }, whole((metric.missing || 0) + (metric.left_out || 0))));
  return h("section", { class: "card" },
    h("div", { class: "card-head" }, h("h2", null, "Metrics: ", said(first.display_name || first.evaluator)), h("span", { class: "legend" }, said(`${first.evaluator} · ${first.split}`))),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Metrics of ${first.evaluator}` }, h("table", { class: "board" },
      h("thead", null, h("tr", null, head("Metric", ""), entries.length > 1 && head("Of", ""), head("Value"), head("Rows"), hasMissing && head("Missing"))),
      h("tbody", null, lines.slice(0, MOST_METRICS).map(line)))),
    lines.length > MOST_METRICS && h("p", { class: "note" }, `… and ${count(lines.length - MOST_METRICS, "more number")}: see summary.json`),
    entries.flatMap((one) => remarksOn(one, entries)).map((text) => h("p", { class: "note" }, said(text))));
}

/** Name candidate and model where there are others. */
function whose(one, entries) {
  const differs = (key) => new Set(entries.map((other) => other[key])).size > 1;
  return [differs("candidate") && one.candidate, differs("task_model") && one.task_model].filter(Boolean).join(" with ");
}

/** Say how many rows the numbers are of, and what went wrong. */
function remarksOn(one, entries) {
  const who = whose(one, entries);
  const rules = Object.entries(one.excluded_by || {}).map(([rule, many]) => `${rule} ${whole(many)}`);
  const others = [one.n_excluded && `${whole(one.n_excluded)} excluded (${rules.join(", ")})`, one.n_failed && `${whole(one.n_failed)} failed`].filter(Boolean);
  const rows = others.length ? [`${whole(one.n_scored)} of ${count(one.n_total, "row")} count: ${others.join(", ")}`] : [];
  const problems = [one.problem, ...one.metrics.map((metric) => metric.problem), ...(one.rule_faults || []).map((fault) => `${fault.rule} left ${count(fault.count, "row")} in, to which it cannot be applied: ${fault.message}`)];
  return [...rows, ...problems.filter(Boolean)].map((text) => (who ? `${who}: ${text}` : text));
}

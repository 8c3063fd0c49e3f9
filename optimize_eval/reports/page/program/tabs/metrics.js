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
    first.description && h("p", { class: "note" }, said(first.description)),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Metrics of ${first.evaluator}` }, h("table", { class: "board" },
      h("thead", null, h("tr", null, head("Metric", ""), entries.length > 1 && head("Of", ""), head("Value"), head("Rows"), hasMissing && head("Missing"))),
      h("tbody", null, lines.slice(0, MOST_METRICS).map(line)))),
    lines.length > MOST_METRICS && h("p", { class: "note" }, `… and ${count(lines.length - MOST_METRICS, "more number")}: see summary.json`),
    remarksOn(entries).map((text) => h("p", { class: "note" }, said(text))));
}

/** Name candidate and model where there are others. */
function whose(one, entries) {
  const differs = (key) => new Set(entries.map((other) => other[key])).size > 1;
  return [differs("candidate") && one.candidate, differs("task_model") && one.task_model].filter(Boolean).join(" with ");
}

/** Say how many rows numbers are of, and where the others are. */
function countedRows(one) {
  const rules = Object.entries(one.excluded_by || {}).map(([rule, many]) => `${rule} ${whole(many)}`);
  const others = [one.n_excluded && `${whole(one.n_excluded)} excluded (${rules.join(", ")})`, one.n_failed && `${whole(one.n_failed)} failed`].filter(Boolean);
  const told = `${whole(one.n_scored)} of ${count(one.n_total, "row")} count`;
  return others.length ? `${told}: ${others.join(", ")}` : told;
}

/** Put remarks together: what is the same of several stands once, with their names, or for all of them. */
function remarksOn(entries, remarksOf = remarks) {
  /** @type {Map<string, any[]>} */
  const ofWhom = new Map();
  for (const one of entries) for (const text of remarksOf(one)) ofWhom.set(text, [...(ofWhom.get(text) || []), one]);
  return [...ofWhom].map(([text, whom]) => (whom.length < entries.length ? `${whom.map((one) => whose(one, entries)).join(", ")}: ${text}` : text));
}

/** Say how many rows the numbers are of, and what went wrong. */
function remarks(one) {
  const rows = one.n_excluded || one.n_failed ? [countedRows(one)] : [];
  const problems = [one.problem, ...one.metrics.map((metric) => metric.problem), ...(one.rule_faults || []).map((fault) => faultOf(fault, one.split))];
  return [...rows, ...problems.filter(Boolean)];
}

/** Say which rows a rule leaves in, as it cannot be applied to them. */
function faultOf(fault, split) {
  const at = fault.line === null ? split : `${split} ${fault.line}`;
  const rows = `${count(fault.count, "row")}, which ${fault.count === 1 ? "stays" : "stay"} in`;
  return `the rule ${fault.rule} cannot be applied to ${rows}; the first is ${at}: ${fault.message}`;
}

/**
 * Metrics of two runs or benches: each number of A beside that of B; scorers without a change are named alone.
 * @param {any} diff
 */
function metricsOfDiff(diff) {
  const metrics = diff.metrics || [];
  const names = [...new Set(metrics.map((one) => `${one.evaluator}\n${one.split}`))];
  const scorers = names.map((name) => metrics.filter((one) => `${one.evaluator}\n${one.split}` === name));
  const moved = scorers.filter((entries) => entries.some(hasMoved));
  const same = [...new Set(scorers.filter((entries) => !entries.some(hasMoved)).map(([first]) => first.evaluator))];
  return [
    moved.map(metricsDiffCard),
    same.length > 0 && section("", "Metrics", h("p", { class: "note" }, "No metric of ", said(same.join(", ")), " has changed.")),
  ];
}

function hasMoved(one) {
  const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  return !isSame(one.a, one.b) || one.metrics.some((metric) => !isSame(metric.a, metric.b));
}

/** @param {any[]} entries of one scorer: its candidates and models */
function metricsDiffCard(entries) {
  const [first] = entries;
  const lines = entries.flatMap((one) => one.metrics.map((metric) => ({ one, metric })));
  const rows = ({ a, b }) => (a && b && a.n === b.n ? whole(a.n) : `${a ? whole(a.n) : DASH} → ${b ? whole(b.n) : DASH}`);
  const heads = [["", "Metric"], ...(entries.length > 1 ? [["", "Of"]] : []), ["num", "Δ B − A"], ["num", "A → B"], ["num", "Rows"]];
  const line = ({ one, metric }) => h("tr", null,
    h("th", { scope: "row" }, said(metric.name)),
    entries.length > 1 && h("td", null, said(whose(one, entries))),
    h("td", { class: "num" }, metric.diff === null ? DASH : h("b", null, signed(metric.diff))),
    h("td", { class: "num" }, `${metricOf(metric.a)} → ${metricOf(metric.b)}`),
    h("td", { class: "num" }, rows(metric)));
  return h("section", { class: "card" },
    h("div", { class: "card-head" }, h("h2", null, "Metrics: ", said(first.display_name || first.evaluator), ", B against A"), h("span", { class: "legend" }, said(`${first.evaluator} · ${first.split}`))),
    wideTable(`Metrics of ${first.evaluator}`, heads, lines.slice(0, MOST_METRICS).map(line)),
    lines.length > MOST_METRICS && h("p", { class: "note" }, `… and ${count(lines.length - MOST_METRICS, "more number")}: see diff --json`),
    remarksOn(entries, remarksOnDiff).map((text) => h("p", { class: "note" }, said(text))));
}

function metricOf(one) {
  return !one ? DASH : one.value === null ? "not defined" : number(one.value);
}

/** Say of each side how many rows its numbers are of, and what went wrong. */
function remarksOnDiff(one) {
  const of = (side, rows, other) => {
    if (!rows) return [`${side} has no such scorer`];
    const isTold = rows.n_excluded || rows.n_failed || (other && other.n_total !== rows.n_total);
    const wrong = [...(rows.rule_faults || []), ...(rows.problems || [])];
    return [...(isTold ? [`${side}: ${countedRows(rows)}`] : []), ...wrong.map((what) => `${side}: ${what}`)];
  };
  return [...of("A", one.a, one.b), ...of("B", one.b, one.a)];
}

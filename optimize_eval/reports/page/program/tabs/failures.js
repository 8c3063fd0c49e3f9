// @ts-check
// What failed: how often by evaluator, kind and candidate, and for each group its message and one stderr; then what was skipped.

const MOST_LINES_SHOWN = 12;
const MOST_FAILING = 12; // candidates with a column
const SKIP_KIND = "skipped";

/** @param {App} app */
function failuresTab(app) {
  const { data } = app;
  const { units, failures } = data.summary;
  const skips = grouped((data.summary.skips || []).map((one) => ({ ...one, kind: SKIP_KIND }))).map((group) => failureCard(app, group));
  if (!failures.length) return [section("", "", h("p", { class: "headline" }, "No call failed."), h("p", { class: "note" }, `${count(units.scored, "call")} gave a score${units.skipped ? `, ${whole(units.skipped)} were skipped` : ""}.`)), skips];
  const groups = grouped(failures);
  return [
    h("section", { class: "card" },
      h("div", { class: "card-head" }, h("h2", null, `${whole(units.failed)} of ${count(units.total, "call")} failed (${percent(units.failed / units.total)})`), h("span", { class: "legend" }, "no failure counts as a score of 0")),
      matrix(app, failures),
      !data.isDiff && h("p", { class: "note" }, "The same command again calls only what failed or is missing.")),
    groups.map((group) => failureCard(app, group)),
    skips,
  ];
}

function matrix(app, failures) {
  const { data } = app;
  const names = data.isBench ? [] : data.axes.candidates;
  const kinds = [...new Map(failures.map((one) => [`${one.evaluator}\n${one.kind}`, one])).values()];
  const failing = names.map((name, at) => ({ name, at })).filter(({ name }) => names.length <= 8 || failures.some((one) => one.candidate === name));
  const shown = failing.slice(0, MOST_FAILING);
  const more = failing.length - shown.length;
  const calls = (evaluator, candidate) => data.summary.rows.filter((row) => row.evaluator === evaluator && (!candidate || row.candidate === candidate)).flatMap((row) => Object.values(row.splits)).reduce((sum, s) => sum + s.scored + s.failed, 0);
  const cell = (kind, name) => {
    const many = failures.filter((one) => one.evaluator === kind.evaluator && one.kind === kind.kind && (!name || one.candidate === name)).reduce((sum, one) => sum + one.count, 0);
    if (!many) return h("span", { class: "quiet" }, "0");
    const share = many / (calls(kind.evaluator, name) || many);
    return [h("b", { class: share > 0.01 ? "failure" : null }, whole(many)), below(percent(share))];
  };
  const heads = shown.length ? shown.map(({ at }) => h("th", { scope: "col", class: "num" }, named(data, at))) : h("th", { scope: "col", class: "num" }, "Calls");
  return [h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Failures" },
    h("table", { class: "matrix" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, data.isBench ? "Model" : "Evaluator"), h("th", { scope: "col" }, "Kind"), heads)),
      h("tbody", null, kinds.map((kind) => h("tr", null, h("th", { scope: "row" }, said(kind.evaluator)), h("td", null, kind.kind.replaceAll("_", " ")),
        shown.length ? shown.map(({ name }) => h("td", { class: "num" }, cell(kind, name))) : h("td", { class: "num" }, cell(kind, ""))))))),
    more > 0 && h("p", { class: "note" }, `… and calls of ${count(more, "more candidate")} failed: the groups below name them`)];
}

/** Put together what failed alike, the most frequent first. */
function grouped(failures) {
  /** @type {Map<string, any>} */
  const groups = new Map();
  for (const one of failures) {
    const key = [one.evaluator, one.kind, one.excluded_by ? "" : one.first_message].join("\n");
    const group = groups.get(key) || { ...one, count: 0, of: new Map(), rules: new Map(), places: [] };
    for (const [rule, rows] of Object.entries(one.excluded_by || {})) group.rules.set(rule, (group.rules.get(rule) || 0) + rows);
    group.count += one.count;
    group.of.set(one.candidate, (group.of.get(one.candidate) || 0) + one.count);
    group.places.push(...one.lines.map((line) => ({ split: one.split, line, candidate: one.candidate })));
    groups.set(key, group);
  }
  return [...groups.values()].sort((one, other) => other.count - one.count);
}

/** The rules that left rows out, each with its rows where there are several, or what the first call said. */
function reason(group) {
  const rules = [...group.rules].sort(([, one], [, other]) => other - one);
  if (!rules.length) return group.first_message;
  return `left out by ${rules.map(([rule, rows]) => (rules.length > 1 ? `${rule} ${whole(rows)}` : rule)).join(", ")}`;
}

function failureCard(app, group) {
  const { data } = app;
  const pills = data.isBench ? [] : [...group.of].map(([name, many]) => h("span", { class: "pill" }, said(name), ` ${whole(many)}`));
  const lines = [...new Map(group.places.filter((one) => one.line !== null).map((one) => [`${one.split} ${one.line}`, one])).values()];
  const decides = (one) => Number(one.split === data.summary.decided_on);
  const places = lines.sort((one, other) => decides(other) - decides(one));
  const by = (one) => Math.max(0, (data.isBench ? data.axes.evaluators.indexOf(group.evaluator) : data.axes.candidates.indexOf(one.candidate)));
  const go = (one) => h("button", { type: "button", class: "as-link", on: { click: () => app.openLine(data.axes.splits.indexOf(one.split), one.line, by(one)) } }, `${data.isBench ? "line" : one.split} ${one.line}`);
  const tail = h("div", null);
  if (places[0] || group.places[0]) stderrOf(app, group, group.places[0]).then((text) => text && replace(tail, h("pre", { class: "text", role: "group", tabindex: 0, "aria-label": "stderr" }, said(text))), () => null);
  return h("section", { class: "card" },
    h("div", { class: "card-head" }, h("h2", null, h("span", { class: group.kind === SKIP_KIND ? null : "failure" }, group.kind.replaceAll("_", " ")), ` × ${whole(group.count)}`), h("span", { class: "quiet" }, said(group.evaluator)), h("span", { class: "pills" }, pills)),
    h("p", null, said(reason(group))),
    group.first_side_info && h("p", { class: "quiet" }, said(group.first_side_info)),
    tail,
    places.length > 0 && h("p", { class: "note" }, "for example ", places.slice(0, MOST_LINES_SHOWN).map((one) => [go(one), " "])));
}

/** One stderr of a group, of the first of its calls that has one. */
async function stderrOf(app, group, place) {
  const { data } = app;
  const split = data.axes.splits.indexOf(place.split);
  await app.whenRead;
  const example = data.examples.find((one) => one.split === split && one.line === place.line);
  const told = example && (await data.details(example));
  const records = told?.records || [];
  const evaluator = data.axes.evaluators.indexOf(group.evaluator);
  return records.find(([of, , , , record]) => of === evaluator && record.stderr)?.[4].stderr;
}

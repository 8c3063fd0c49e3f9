// @ts-check
// All that is known of one example: who scored what, the example, what each evaluator said, and the command.

const MOST_ROWS_OPEN = 6;
const REASONS = ["reasoning", "reason", "explanation", "message", "feedback"];

/**
 * The text by which an evaluator explains its score: one that is called so, else its longest.
 * @param {any} info
 * @param {string} [reply] which explains nothing
 * @returns {[string, string] | null}
 */
function reasonOf(info, reply) {
  const texts = Object.entries(info || {}).filter(([, value]) => typeof value === "string" && value && value !== reply);
  const known = REASONS.map((name) => texts.find(([key]) => key.toLowerCase() === name)).find(Boolean);
  const longest = texts.sort((one, other) => other[1].length - one[1].length)[0];
  return /** @type {any} */ (known || (longest && longest[1].length > 30 ? longest : null));
}

/** A reason with its key, where that does not say that it is one. */
function worded(reason) {
  if (!reason) return "";
  return REASONS.includes(reason[0].toLowerCase()) ? reason[1] : `${reason[0]}: ${reason[1]}`;
}

/**
 * @param {App} app
 * @param {Example} example
 * @param {(step: number) => void} walk
 * @param {() => void} close
 */
function drawer(app, example, walk, close) {
  const { data } = app;
  const where = data.isBench ? "line" : `${data.axes.splits[example.split]} line`;
  const title = example.line === null ? "Without an example" : `${where} ${example.line}`;
  const body = h("div", { class: "drawer-body" }, h("p", { class: "note" }, "Opening …"));
  const button = (label, text, press) => h("button", { type: "button", class: "icon", "aria-label": label, title: label, on: { click: press } }, text);
  app.data.details(example).then(
    (told) => replace(body, drawerBody(app, example, told)),
    (error) => replace(body, h("p", { class: "failure" }, `This part of the file cannot be read: ${error.message}`)),
  );
  return h("div", { class: "drawer", role: "dialog", "aria-label": title, tabindex: -1 },
    h("div", { class: "drawer-head" }, h("h2", null, title, example.name && h("span", { class: "quiet" }, " ", said(example.name))),
      h("span", { class: "buttons" }, button("Previous example", "↑", () => walk(-1)), button("Next example", "↓", () => walk(1)), button("Close", "✕", close))),
    body);
}

function drawerBody(app, example, told) {
  const { data, state } = app;
  const by = state.by;
  const isThere = told !== null;
  return [
    scoresTable(app, example),
    example.line !== null && h("section", { class: "inset" }, h("h3", null, "Example"), told?.example ? tree(told.example) : h("p", null, said(plainly(example.text) || example.name || "there is none"))),
    !told?.example && example.line !== null && !data.isOfOthers && h("p", { class: "note" }, "The example's file is not what was scored any more, or not where it was: this is how it began."),
    isThere && promptSent(told.prompts?.[by]),
    isThere && repliesOf(data, recordsOf(data, told, by, state), targetOf(told.example, data.targetFields)),
    isThere && otherReplies(app, told, example),
    isThere && h("h3", null, "What the evaluators said about ", named(data, by)),
    isThere ? recordsOf(data, told, by, state).map((one) => recordCard(app, one)) : h("div", null, h("p", { class: "note" }, "There was no room for what was said here. The whole of it:"), command(data.head.commands.full)),
    textAgainst(data, by),
    h("h3", null, data.isBench || data.run.models || data.isOfOthers || (data.isDiff && data.against(by) < 0) ? "Every record" : "Call just this one again"),
    commandsFor(app, example).map(command),
  ];
}

function scoresTable(app, example) {
  const { data, state } = app;
  const names = data.isBench ? data.axes.evaluators : data.axes.candidates;
  const evaluators = data.isBench ? ["score"] : data.axes.evaluators;
  const base = (at) => (!data.isBench ? data.against(at) : at === state.a || data.scorerOf(at) !== data.scorerOf(state.a) ? -1 : state.a);
  const value = (at, evaluator) => data.value({ name: "", evaluator: data.isBench ? at : evaluator, candidate: data.isBench ? 0 : at }, state.tm, example);
  const first = data.isBench ? 0 : state.ev;
  const rows = names.map((name, at) =>
    h("tr", { class: at === state.by ? "here" : null },
      h("th", { scope: "row" }, h("button", { type: "button", class: "pick", "aria-pressed": String(at === state.by), on: { click: () => app.set({ by: at }) } }, named(data, at))),
      evaluators.map((_name, evaluator) => h("td", { class: "num" }, plainValue(value(at, evaluator)))),
      names.length > 1 && h("td", { class: "num" }, base(at) < 0 ? h("span", { class: "quiet" }, DASH) : deltaCell(value(at, first).score - value(base(at), first).score))));
  const isLong = names.length > MOST_ROWS_OPEN;
  const table = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Scores" }, h("table", { class: "scores" },
    h("thead", null, h("tr", null, h("th", { scope: "col" }, data.isBench ? (names.some((_name, at) => data.scorerOf(at)) ? "Model, scorer" : "Model") : "Candidate"), evaluators.map((name) => h("th", { scope: "col", class: "num" }, said(name))), names.length > 1 && h("th", { scope: "col", class: "num" }, "Δ ", said(evaluators[first])))),
    h("tbody", null, rows)));
  return isLong ? h("details", null, h("summary", null, `Scores of all ${whole(names.length)} on this example`), table) : table;
}

function plainValue(value) {
  if (value.outcome === SCORED) return number(value.score);
  return h("span", { class: value.outcome === FAILED ? "failure" : "quiet" }, ["not run", "", "failed", "skipped"][value.outcome]);
}

function recordsOf(data, told, by, state) {
  return told.records
    .filter(([evaluator, candidate, model]) => (data.isBench ? evaluator === by : candidate === by) && model === state.tm)
    .map(([evaluator, candidate, model, repeat, record]) => ({ evaluator, candidate, model, repeat, record }));
}

/** The messages that a model was sent: the prompt with the example's fields in it. */
function promptSent(messages) {
  if (!messages) return null;
  return h("details", { class: "sent", open: true }, h("summary", null, "The prompt as sent"), messages.map(([role, content]) => h("section", { class: "inset" }, h("h3", null, said(role)), h("p", { class: "reason sent-text", role: "group", tabindex: 0, "aria-label": role }, said(content)))));
}

/** What a model replied, once for all evaluators that were shown it. */
function repliesOf(data, records, wanted) {
  const replies = new Map(records.filter(({ record }) => replyIn(data, record) !== undefined).map((one) => [one.repeat, one]));
  return [...replies.values()].map(({ repeat, record, model, evaluator }) => h("section", { class: "inset reply" },
    h("h3", null, said(data.isBench ? data.axes.evaluators[evaluator] : data.axes.task_models[model] ?? "The model"), ` replied${data.axes.repeats > 1 ? `, repeat ${repeat}` : ""}`, record.marks && [" · ", said(record.marks)]), h("p", { class: "reason" }, said(replyIn(data, record))),
    record.extracted !== undefined && [h("h4", null, `what --extract ${data.run.settings?.extract ?? ""} took of it`), h("p", { class: "reason" }, record.extracted ? said(record.extracted) : h("span", { class: "quiet" }, "nothing: it was scored as an empty text"))],
    wanted && [h("h4", null, "wanted (", said(wanted.name), ")"), h("p", { class: "reason" }, said(wanted.text))],
    spentOn(records.filter((one) => one.repeat === repeat).flatMap((one) => (one.record.usage || []).filter((usage) => usage.of === "reply")))));
}

/** What all candidates and models replied to this example, with the score of the evaluator in focus. */
function otherReplies(app, told, example) {
  const { data, state } = app;
  const known = new Map();
  const isModel = (evaluator) => data.run.models?.some((one) => one.name === data.axes.evaluators[evaluator]);
  for (const [evaluator, candidate, model, repeat, record] of told.records) {
    const reply = replyIn(data, record);
    if (reply === undefined || repeat !== 1 || (data.isBench && !isModel(evaluator))) continue;
    const at = data.isBench ? evaluator : candidate;
    known.set(`${at} ${model}`, { at, evaluator: data.isBench ? evaluator : state.ev, candidate, model, reply });
  }
  if (known.size < 2) return null;
  const value = ({ evaluator, candidate, model }) => data.value({ name: "", evaluator, candidate }, model, example);
  const item = (one) => h("section", { class: "inset reply" },
    h("p", { class: "said-head" }, named(data, one.at), " ", !data.isBench && h("span", { class: "quiet" }, "with ", said(data.axes.task_models[one.model] ?? "the model"), " "), h("b", null, plainValue(value(one)))),
    h("p", { class: "reason" }, said(one.reply)));
  return h("details", { class: "all-replies" }, h("summary", null, `All ${whole(known.size)} replies to this example`, !data.isBench && [", with the score of ", said(data.axes.evaluators[state.ev])]), [...known.values()].map(item));
}

/** How the text of the candidate differs from that which it is compared with. */
function textAgainst(data, by) {
  const [one, base] = data.isBench ? [] : [data.run.candidates[by], data.run.candidates[data.against(by)]];
  if (one?.text === undefined || base?.text === undefined || one.text === base.text) return null;
  return h("details", null, h("summary", null, "How its text differs from ", said(data.isDiff ? "A" : base.name)), shownDiff(base.text, one.text, true));
}

function recordCard(app, { evaluator, repeat, record, candidate }) {
  const { data } = app;
  const reply = replyIn(data, record);
  const reason = record.kind ? null : reasonOf(record.side_info, reply);
  const rest = Object.fromEntries(Object.entries(record.side_info || {}).filter(([key, said_]) => key !== reason?.[0] && said_ !== reply));
  const value = data.unit(evaluator, candidate, app.state.tm, data.examples[app.state.row], repeat);
  const attempts = record.attempts > 1 ? ` · ${count(record.attempts, "attempt")}` : "";
  return h("section", { class: `inset${record.kind ? " failed" : ""}` },
    h("p", { class: "said-head" }, h("b", null, said(data.axes.evaluators[evaluator])), " ", h("b", { class: "big" }, plainValue(value)),
      h("span", { class: "quiet small" }, ` ${duration(value.seconds)}${data.axes.repeats > 1 ? ` · repeat ${repeat}` : ""}${attempts}`)),
    record.kind && h("p", { class: "failure" }, h("b", null, record.kind), ": ", said(record.message)),
    !record.kind && record.message && h("p", null, h("b", null, "skipped"), ": ", said(record.message)),
    reason && h("p", { class: "reason" }, said(worded(reason))),
    spentOn(record.usage?.filter((usage) => usage.of !== "reply")),
    Object.keys(rest).length > 0 && [h("h4", null, reason ? "also said" : "side info"), tree(rest)],
    record.stderr && [h("h4", null, "stderr"), h("pre", { class: "text", role: "group", tabindex: 0, "aria-label": "stderr" }, said(record.stderr))]);
}

/**
 * A value as a tree: objects by their keys, lists by their places.
 * @param {any} value
 * @param {number} [depth]
 */
function tree(value, depth = 0) {
  if (value instanceof Exact) return h("span", { class: "is-number" }, value.digits);
  if (value === null || typeof value !== "object") return leaf(value);
  const entries = Array.isArray(value) ? value.map((item, at) => [String(at), item]) : Object.entries(value);
  if (!entries.length) return h("span", { class: "quiet" }, Array.isArray(value) ? "[ ]" : "{ }");
  if (depth > 12) return leaf(JSON.stringify(value));
  const shown = entries.slice(0, 200).map(([key, item]) => [h("dt", null, said(key)), h("dd", null, tree(item, depth + 1))]);
  const more = entries.length - 200;
  return h("dl", { class: "tree" }, shown, more > 0 && [h("dt", null, "…"), h("dd", { class: "quiet" }, `${whole(more)} more`)]);
}

function leaf(value) {
  if (typeof value === "number") return h("span", { class: "is-number" }, String(value).replace("-", MINUS));
  if (typeof value === "boolean" || value === null) return h("span", { class: "is-word" }, String(value));
  return h("span", { class: "is-text" }, said(value));
}

/** @param {App} app @param {Example} example */
function commandsFor(app, example) {
  const { data, state } = app;
  const { commands } = data.head;
  const file = commands.splits[example.split];
  if (data.isDiff && data.against(state.by) < 0) return [commands.records[0]];
  if (data.isDiff && (!file || data.run.models)) return [commands.records[1]];
  if (data.isBench || data.run.models || (example.line !== null && !file)) return [commands.records];
  const candidate = commands.candidates[state.by] || "CANDIDATE";
  const about = example.line === null ? "" : ` --example ${file}:${example.line}`;
  return [`optimize-eval score ${candidate} -e ${commands.evaluators[state.ev]}${about}`];
}

// @ts-check
// What is listed as a file: each record of the examples that the filter left, in their order, as csv or as jsonl.

const SAVED = ["evaluator", "candidate", "task_model", "split", "line", "id", "repeat", "outcome", "score", "kind", "message", "seconds", "reply", "side_info", "example"];
const OUTCOMES = ["not run", "scored", "failed", "skipped"];
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/; // what a spreadsheet would compute
const MOST_PREPARED = 5000; // rows of paper

/** Buttons that save or print what is listed. @param {App} app @param {any[]} rows */
function saveControls(app, rows) {
  const button = (text, title, press) => {
    const made = h("button", { type: "button", class: "copy", title, on: { click: () => {
      replace(made, "…");
      press().then(() => replace(made, text), () => replace(made, "failed"));
    } } }, text);
    return made;
  };
  return h("span", { class: "control saves", role: "group", "aria-label": "Save what is listed" },
    ["csv", "jsonl"].map((format) => button(format, `Save every record of the ${count(rows.length, "example")} listed as ${format}`, () => save(app, rows, format))),
    button("print", `Print the ${count(rows.length, "example")} listed`, () => paper(app, rows)));
}

/** @param {App} app @param {any[]} rows @param {string} format */
async function save(app, rows, format) {
  const parts = format === "csv" ? [`${SAVED.join()}\r\n`] : [];
  for (const { example } of rows) {
    for (const record of await recordsToSave(app, example)) parts.push(format === "csv" ? csvLine(record) : `${jsonOf(record)}\n`);
  }
  const file = new Blob(/** @type {BlobPart[]} */ (parts), { type: "text/plain" });
  const link_ = /** @type {HTMLAnchorElement} */ (h("a", { download: `${app.data.head.title}-${rows.length}.${format}` }));
  link_.href = URL.createObjectURL(file);
  link_.click();
  setTimeout(() => URL.revokeObjectURL(link_.href), 60_000);
}

/** The records of an example, as `report --format jsonl` names their parts; of one without details its scores. */
async function recordsToSave(app, example) {
  const { data } = app;
  const { axes } = data;
  const told = await data.details(example).catch(() => null);
  const known = told?.records || [...data.starts.keys()].map((key) => key.split(",").map(Number)).filter((key) => key[3] === example.split).flatMap(([e, c, m]) => Array.from({ length: axes.repeats }, (_one, at) => [e, c, m, at + 1, {}]));
  return known.map(([evaluator, candidate, model, repeat, record]) => {
    const value = data.unit(evaluator, candidate, model, example, repeat);
    return {
      evaluator: axes.evaluators[evaluator], candidate: data.isBench ? undefined : axes.candidates[candidate], task_model: axes.task_models[model] ?? undefined,
      split: axes.splits[example.split], line: example.line, id: example.name || undefined, repeat, outcome: OUTCOMES[value.outcome], score: Number.isNaN(value.score) ? null : value.score,
      kind: record.kind, message: record.message, seconds: Math.round(value.seconds * 1e6) / 1e6, reply: record.reply, side_info: record.side_info, example: told?.example ?? undefined,
    };
  });
}

function jsonOf(value) {
  const raw = /** @type {any} */ (JSON).rawJSON;
  return JSON.stringify(value, (_key, item) => (item instanceof Exact ? (raw ? raw(item.digits) : item.digits) : item));
}

function csvLine(record) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const shown = visible(typeof value === "string" ? value : jsonOf(value));
    const safe = FORMULA.test(shown) ? `'${shown}` : shown;
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return `${SAVED.map((name) => cell(record[name])).join()}\r\n`;
}

/** Read what is told of all rows first: paper waits for nothing. @param {App} app @param {any[]} rows */
async function paper(app, rows) {
  app.data.keeps = Infinity;
  for (const { example } of rows.slice(0, MOST_PREPARED)) await app.data.details(example).catch(() => null);
  app.data.keeps = MOST_OPEN;
  window.print();
}

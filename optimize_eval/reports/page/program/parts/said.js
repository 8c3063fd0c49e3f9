// @ts-check
// What an example asks and wants, and what was replied to it, wherever these stand.

const ASKED = ["prompt", "question", "input", "query", "text", "message", "task"];
const TARGET_FIELD = /--target-field(?:=|\s+)(?:'([^']+)'|"([^"]+)"|([^\s'"]+))/;
const TARGETS = ["target", "targets", "expected", "expected_output", "ideal", "reference", "answer"];
const OUTPUT = "output"; // what other tools' systems said, in the side info of their first evaluator

/** Whether a model replied to a prompt, or the columns are models. @param {Data} data */
function hasReplies(data) {
  return data.isBench || Boolean(data.run.models?.length) || (data.isOfOthers && data.summary.side_info.some((one) => OUTPUT in one.keys));
}

/** What was replied, as a record has it. @param {Data} data */
function replyIn(data, record) {
  const output = data.isOfOthers ? record.side_info?.[OUTPUT] : undefined;
  return record.reply ?? (typeof output === "string" ? output : undefined);
}

/** What a candidate, or a bench's model, replied to an example, as it was scored. @returns {string | undefined} */
function replyTo(data, told, system, model) {
  const records = (told?.records || []).filter(([evaluator, candidate, tm]) => candidate === system.candidate && tm === model && (!data.isBench || evaluator === system.evaluator));
  return records.map((one) => one[4].extracted ?? replyIn(data, one[4])).find((text) => text !== undefined);
}

/** A reply beside its target, where an evaluator gives no reason. */
function repliedFor(data, told, reply) {
  if (reply === undefined) return "";
  const target = targetOf(told.example, data.targetFields);
  return `${target ? `${target.name}: ${clipped(target.text)} · ` : ""}reply: ${clipped(reply) || "nothing"}`;
}

/** Where examples have their target: the fields that evaluators were told to read, then the usual ones. @param {any} run */
function targetFields(run) {
  const named = (run.evaluators || []).map((one) => TARGET_FIELD.exec(one.text || "")).filter(Boolean).map(([, ...found]) => found.find(Boolean));
  return [...named, ...TARGETS];
}

/** What an example asks, by the names that such fields have. */
function askedIn(example) {
  const name = example && typeof example === "object" ? ASKED.find((key) => typeof example[key] === "string") : undefined;
  return name === undefined ? "" : clipped(example[name]);
}

/** What an example says that should be replied. */
function targetOf(example, names) {
  const name = example && typeof example === "object" ? names.find((key) => example[key] !== undefined && example[key] !== null) : undefined;
  if (name === undefined) return null;
  const value = example[name];
  const text = (one) => (typeof one === "string" ? one : one instanceof Exact ? one.digits : JSON.stringify(one));
  return { name, text: Array.isArray(value) ? value.map(text).join(" or ") : text(value) };
}

/** An object of a few words as these words. @param {string} text */
function plainly(text) {
  if (!text.startsWith("{")) return text;
  try {
    const values = Object.values(JSON.parse(text));
    return values.every((value) => value === null || typeof value !== "object") ? values.join(" · ") : text;
  } catch {
    return text; // its beginning alone
  }
}

// @ts-check
// What the search field says: words, and conditions such as score<0.5, kind=timeout, field.topic=refund, info.tone~kind.

const TERM = /^(score|a\.score|delta|kind|(?:field|info|score)\.[^=<>!~]+)(!=|<=|>=|=|<|>|~)(.*)$/;
const OPERATORS = ["=", "!=", "<", "<=", ">", ">=", "~"];
const OPERATOR_NAMES = ["is", "is not", "below", "at most", "above", "at least", "holds"];

/** @typedef {{name: string, sign: string, value: string, text: string}} Term */
/** @typedef {{words: string, terms: Term[]}} Query */

/**
 * Part a search into words, which are one phrase, and conditions; quotes hold a value with blanks together.
 * @param {string} text
 * @returns {Query}
 */
function queryOf(text) {
  /** @type {Term[]} */
  const terms = [];
  const words = [];
  for (const part of text.match(/(?:[^\s"]|"[^"]*"?)+/g) || []) {
    const found = part.match(TERM);
    if (found) terms.push({ name: found[1].replaceAll('"', ""), sign: found[2], value: found[3].replaceAll('"', "").toLowerCase(), text: part });
    else words.push(part);
  }
  return { words: (terms.length ? words.join(" ") : text).toLowerCase().trim(), terms };
}

/**
 * @param {Term} term
 * @param {any} value
 */
function isMet({ sign, value: wanted }, value) {
  if (value === undefined || value === null || Number.isNaN(value)) return sign === "!=";
  const text = (typeof value === "object" && !(value instanceof Exact) ? JSON.stringify(value) : value instanceof Exact ? value.digits : String(value)).toLowerCase();
  if (sign === "~") return text.includes(wanted);
  const isNumber = wanted !== "" && Number.isFinite(Number(wanted)) && text !== "" && Number.isFinite(Number(text));
  const order = isNumber ? Number(text) - Number(wanted) : text < wanted ? -1 : Number(text > wanted);
  switch (sign) {
    case "=": return order === 0;
    case "!=": return order !== 0;
    case "<": return order < 0;
    case "<=": return order <= 0;
    case ">": return order > 0;
    default: return order >= 0;
  }
}

/** Whether a condition is about scores alone, which are always at hand. @param {Term} term */
function isOfScores({ name }) {
  return name === "delta" || name.endsWith("score") || name.startsWith("score.");
}

/**
 * Whether a row's scores are as the conditions want them: B's, A's, or what B has more.
 * @param {App} app
 * @param {Term[]} terms
 */
function meetsScores(app, terms, { example, values, delta }) {
  const { data, state } = app;
  const scoreOf = ({ name }) => {
    if (name === "delta") return delta;
    if (name === "a.score") return values[state.a].score;
    const evaluator = data.axes.evaluators.indexOf(name.slice("score.".length));
    return name === "score" || data.isBench ? values[state.b].score : evaluator < 0 ? NaN : data.value({ name: "", evaluator, candidate: state.b }, state.tm, example).score;
  };
  return terms.every((term) => isMet(term, scoreOf(term)));
}

/** The value at a dotted path, or under a key that has the dots itself. */
function valueAt(value, path) {
  if (value === null || typeof value !== "object") return undefined;
  if (Object.hasOwn(value, path)) return value[path];
  const dot = path.indexOf(".");
  return dot < 0 ? undefined : valueAt(value[path.slice(0, dot)], path.slice(dot + 1));
}

/**
 * Whether what is told of an example is as the other conditions want it, and has the words.
 * @param {App} app
 * @param {Query} query
 */
function meetsTold(app, query, told) {
  const { data, state } = app;
  const ofB = told.records.filter(([evaluator, candidate, model]) => (data.isBench ? evaluator === state.b : candidate === state.b) && model === state.tm);
  const isTrue = (term) => {
    const { name } = term;
    if (name === "kind") return told.records.some((record) => record[4].kind !== undefined && isMet(term, record[4].kind));
    if (name.startsWith("field.")) return isMet(term, valueAt(told.example, name.slice("field.".length)));
    const said = ofB.map((record) => valueAt(record[4].side_info, name.slice("info.".length)));
    return term.sign === "!=" ? said.every((value) => isMet(term, value)) : said.some((value) => isMet(term, value));
  };
  return query.terms.filter((term) => !isOfScores(term)).every(isTrue) && (!query.words || holds([told.example, told.records.map((record) => record[4])], query.words));
}

/** Conditions to choose from, by their names and in words. @returns {[string, string][]} */
function knownConditions(app) {
  const { data, state } = app;
  const evaluator = data.axes.evaluators[data.isBench ? state.b : state.ev];
  const keys = new Set(data.summary.side_info.filter((one) => one.evaluator === evaluator).flatMap((one) => Object.keys(one.keys)));
  const others = data.isBench ? [] : data.axes.evaluators.filter((_name, at) => at !== state.ev);
  return [["score", "score of B"], ["a.score", "score of A"], ["delta", "B − A"], ...others.map((name) => /** @type {[string, string]} */ ([`score.${name}`, `score of B by ${name}`])),
    ["kind", "failure kind"], ...[...data.fields].map((name) => /** @type {[string, string]} */ ([`field.${name}`, `field ${name}`])),
    ...[...keys].sort().slice(0, 100).map((name) => /** @type {[string, string]} */ ([`info.${name}`, `side info ${name}`]))];
}

/**
 * A condition put together by choosing, and those that hold, each with a button that takes it away.
 * @param {App} app
 */
function filterControls(app) {
  const { state } = app;
  const known = knownConditions(app);
  const at = { name: 0, sign: 2 };
  const value = /** @type {HTMLInputElement} */ (h("input", { type: "text", class: "wished", "aria-label": "Value", placeholder: "value", on: { keydown: (event) => event.key === "Enter" && add() } }));
  const add = () => {
    const quoted = (text) => (/\s/.test(text) ? `"${text}"` : text);
    app.set({ q: `${state.q} ${quoted(known[at.name][0])}${OPERATORS[at.sign]}${quoted(value.value.trim().replaceAll('"', ""))}`.trim(), row: -1 });
  };
  const { terms } = queryOf(state.q);
  const without = (term) => app.set({ q: state.q.replace(term.text, "").replace(/\s+/g, " ").trim(), row: -1 });
  const chips = terms.map((term) => h("button", { type: "button", class: "pill", "aria-label": `Take away ${term.text}`, on: { click: () => without(term) } }, said(term.text), " ✕"));
  return h("details", { class: "choose filter", open: app.isFiltering, on: { toggle: (event) => (app.isFiltering = event.currentTarget.open) } },
    h("summary", null, terms.length ? count(terms.length, "filter") : "Filter"),
    h("div", { class: "boxes" },
      h("div", { class: "toolbar" }, chooser("Only", known.map(([, name]) => name), 0, (to) => (at.name = to)), chooser("that", OPERATOR_NAMES, 2, (to) => (at.sign = to)), value,
        h("button", { type: "button", class: "copy", on: { click: add } }, "Add")),
      chips.length > 0 && h("p", null, chips),
      h("p", { class: "small quiet" }, "Typed, the same is score<0.5, delta<0, kind=timeout, field.topic=refund or info.tone~kind, beside words to search for.")));
}

// @ts-check
// The grid of replies: a row for each example, a column for each prompt with each model, what was replied and its scores.

const REPLY_HEIGHT = 104; // px of a row
const REPLY_WIDTH = 250; // px of a column, at least
const MOST_CLIPPED = 420; // letters of a reply in a cell
const MOST_NARROW = 240; // of one beside many others: what is laid out is what scrolling takes
const MANY_COLUMNS = 4;
const BEFORE_CHANGE = 40; // letters before the first word that differs

/** @typedef {{at: number, candidate: number, tm: number, evaluators: number[], name: string}} ReplyColumn */

/**
 * Every column that there is: candidates with models, or models of a bench with all of their scorers.
 * @param {Data} data
 * @returns {ReplyColumn[]}
 */
function replyColumns(data) {
  const { evaluators, candidates, task_models: models } = data.axes;
  if (data.isBench) {
    const isOf = (name, other) => other === name || (data.scorerOf(evaluators.indexOf(other)) && other.startsWith(`${name}.`));
    return evaluators.flatMap((name, at) => (data.scorerOf(at) ? [] : [{ at, candidate: 0, tm: 0, name, evaluators: evaluators.flatMap((other, place) => (isOf(name, other) ? [place] : [])) }]));
  }
  return candidates.flatMap((name, at) => models.map((model, tm) => ({ at, candidate: at, tm, evaluators: [...evaluators.keys()], name: models.length > 1 ? `${name} · ${model}` : name })));
}

/** The place of A's or B's column, with the model in focus. */
function columnOf(app, columns, at) {
  return Math.max(0, columns.findIndex((one) => one.at === at && (app.data.isBench || one.tm === app.state.tm)));
}

/** The mean that decides of each column, by the evaluator in focus. */
function columnMeans(app, columns) {
  const { data, state } = app;
  const { evaluators, candidates, task_models: models } = data.axes;
  if (data.isBench) {
    const board = new Map((data.head.boards[""]?.models || []).map((model) => [model.adapter, model.overall_score]));
    return columns.map((one) => board.get(one.name) ?? -Infinity);
  }
  const rows = new Map(data.summary.rows.filter((row) => row.evaluator === evaluators[state.ev]).map((row) => [`${row.candidate}\n${row.task_model}`, row]));
  return columns.map((one) => rows.get(`${candidates[one.candidate]}\n${models[one.tm]}`)?.splits[data.summary.decided_on]?.mean ?? -Infinity);
}

/**
 * The columns that are shown, by their places: those that were chosen, A and B, or A, B and the best.
 * @param {App} app
 * @param {ReplyColumn[]} columns
 */
function chosenColumns(app, columns) {
  const { state } = app;
  const pair = [...new Set([columnOf(app, columns, state.a), columnOf(app, columns, state.b)])];
  if (state.cols === "ab") return pair;
  const chosen = state.cols.split(",").filter(Boolean).map(Number).filter((at) => at < columns.length);
  if (chosen.length) return chosen;
  const means = columnMeans(app, columns);
  const best = [...columns.keys()].sort((one, other) => means[other] - means[one] || one - other);
  const shown = new Set([...new Set([...pair, ...best])].slice(0, MOST_COLUMNS));
  return best.filter((at) => shown.has(at));
}

/** What is chosen among columns: the best, A and B, or one by one. */
function columnControls(app, columns) {
  const { state } = app;
  const shown = chosenColumns(app, columns);
  if (columns.length < 2) return null;
  const best = columns.length > MOST_COLUMNS ? `A, B and the best` : "all";
  const places = ["", "ab"];
  const at = places.indexOf(state.cols);
  const names = [best, "A and B, differences marked", ...(at < 0 ? ["chosen"] : [])];
  const toggle = (place) => {
    const next = shown.includes(place) ? shown.filter((one) => one !== place) : [...shown, place];
    app.set({ cols: next.length ? next.slice(0, 40).join(",") : "" });
  };
  const box = (one, place) => h("label", { class: "box" }, h("input", { type: "checkbox", checked: shown.includes(place), on: { change: () => toggle(place) } }), " ", said(one.name));
  const list = h("details", { class: "choose", open: app.isChoosing, on: { toggle: (event) => (app.isChoosing = event.currentTarget.open) } }, h("summary", null, "Choose columns"), h("div", { class: "boxes" }, columns.slice(0, 200).map(box)));
  return [chooser("Columns", names, at < 0 ? 2 : at, (place) => place < 2 && app.set({ cols: places[place] })), columns.length > 2 && list];
}

/** @param {App} app @param {any[]} rows */
function repliesGrid(app, rows) {
  const { data, state } = app;
  const columns = replyColumns(data);
  const shown = chosenColumns(app, columns);
  const of = state.cols === "ab" && shown.length === 2 ? shown[0] : -1;
  const hasText = data.examples.some((example) => example.text);
  const most = shown.length > MANY_COLUMNS ? MOST_NARROW : MOST_CLIPPED;
  const domains = data.axes.evaluators.map((_name, at) => chipDomain(data, at));
  const across = { at: columnOf(app, columns, state.row < 0 ? state.b : state.by), go: (at) => (app.column = columns[at]) };
  if (!shown.includes(across.at)) [across.at] = shown;
  app.column = columns[across.at];
  const sortOf = (one) => (data.isBench || one.tm === state.tm ? `s${one.at}` : undefined);
  const cell = ({ example }, one) => replyCell(app, example, one, of < 0 || one === columns[of] ? null : columns[of], domains, most);
  const fill = async ({ example }, row) => {
    const told = await data.details(example).catch(() => null);
    if (row.isConnected) shown.forEach((at) => replace(row.querySelector(`[data-across="${at}"]`), cell({ example }, columns[at])));
    showAsked(row, told?.example);
    showTarget(row, wantedIn(data, told));
  };
  const isFull = ({ example }, row) => {
    const told = data.known(example);
    if (told) showTarget(row, wantedIn(data, told));
    return Boolean(told);
  };
  setTimeout(() => data.warm(rows.map((row) => row.example)), 300);
  return app.gridOf({
    label: "Replies", sort: state.sort, sortBy: (key) => app.set({ sort: state.sort === key ? `-${key}` : key }), items: rows, fill, isFull, across,
    height: REPLY_HEIGHT, width: 350 + shown.length * (REPLY_WIDTH + 14), empty: "No example is like that.",
    columns: [
      { name: "example", head: "example", kind: "asked", sort: "line", cell: ({ example }) => askedCell(data, example, hasText) },
      { name: "target", head: "target", kind: "wanted w3", cell: ({ example }) => h("span", { class: "clip" }, wantedIn(data, data.known(example))) },
      ...shown.map((at) => ({ name: `c${at}`, across: at, sort: sortOf(columns[at]), title: columns[at].name, kind: "reply", head: headOf(data, columns[at]), cell: (row) => cell(row, columns[at]) })),
    ],
  });
}

function headOf(data, column) {
  const model = !data.isBench && data.axes.task_models.length > 1 ? h("span", { class: "quiet" }, " · ", said(data.axes.task_models[column.tm] ?? "none")) : null;
  return [named(data, column.at), model];
}

function askedCell(data, example, hasText) {
  const where = `${data.isBench || data.axes.splits.length > 1 ? `${data.axes.splits[example.split]} ` : "line "}${example.line ?? DASH}`;
  const text = hasText ? plainly(example.text) : askedIn(data.known(example)?.example);
  return [h("span", { class: "below" }, said(where), example.name && [" · ", said(example.name)]), h("span", { class: "clip asked-text" }, said(text || (hasText ? DASH : example.name) || DASH))];
}

/** Put what is asked into a row whose example has no more than a name in run.json. */
function showAsked(row, example) {
  const cell = row.isConnected && row.querySelector(".asked-text");
  if (cell && askedIn(example) && cell.textContent === example.id) replace(cell, said(askedIn(example)));
}

function wantedIn(data, told) {
  const target = targetOf(told?.example, data.targetFields);
  return target ? said(clipped(target.text)) : null;
}

/** Put the target into a row when it is known; the column is there where one of them has a target. */
function showTarget(row, wanted) {
  if (!wanted || !row.isConnected) return;
  replace(row.querySelector(".wanted"), h("span", { class: "clip" }, wanted));
  row.closest(".grid")?.classList.add("has-target");
}

/** Which range a chip's colour goes over. @returns {[number, number]} */
function chipDomain(data, evaluator) {
  const range = data.summary.score_ranges?.[data.axes.evaluators[evaluator]];
  if (range === "unit" || data.isBench) return [0, 1];
  return extent(data.summary.rows.filter((row) => row.evaluator === data.axes.evaluators[evaluator]).flatMap((row) => Object.values(row.splits).map((s) => s.mean ?? NaN)), 0.5);
}

/**
 * @param {App} app
 * @param {Example} example
 * @param {ReplyColumn} column
 * @param {ReplyColumn | null} other whose reply it is held against
 * @param {[number, number][]} domains
 * @param {number} most letters of a reply
 */
function replyCell(app, example, column, other, domains, most) {
  const { data, state } = app;
  const told = data.known(example);
  const many = column.evaluators.length > 1;
  const chips = column.evaluators.map((evaluator) => chip(data.value({ name: "", evaluator, candidate: column.candidate }, column.tm, example), domains[evaluator], many && (data.isBench ? data.scorerOf(evaluator) || "score" : data.axes.evaluators[evaluator])));
  const { reply, reason, usage } = saidIn(data, told, column, data.isBench ? column.at : state.ev);
  const before = other && saidIn(data, told, other, data.isBench ? other.at : state.ev).reply;
  const text = told === undefined ? "…" : reply === undefined ? null : changedWords(before, reply, most);
  const seconds = Math.max(...column.evaluators.map((evaluator) => data.value({ name: "", evaluator, candidate: column.candidate }, column.tm, example).seconds));
  return [h("div", { class: "chips" }, chips), text && h("div", { class: "clip" }, said(text)), told && h("div", { class: `reason ${text ? "cut" : "clip"}` }, [tookShort(usage, seconds), reason && said(clipped(reason))].filter(Boolean).flatMap((part, at) => (at ? [" · ", part] : [part])))];
}

function chip(value, domain, name) {
  const share = (value.score - domain[0]) / (domain[1] - domain[0] || 1);
  const kind = value.outcome === FAILED ? "chip-failed" : value.outcome !== SCORED ? "chip-none" : share < 0.34 ? "chip-low" : share > 0.66 ? "chip-high" : "chip-mid";
  const text = value.outcome === FAILED ? "failed" : value.outcome === SKIPPED ? "skipped" : value.outcome === NOT_RUN ? DASH : short(value.score);
  return h("span", { class: `chip ${kind}`, title: name || null }, name && [said(cut(name, 18)), " "], h("b", null, text));
}

/** What was replied in a column, and the reason or failure of the evaluator in focus, else of the first that has one. */
function saidIn(data, told, column, evaluator) {
  const records = (told?.records || []).filter(([of, candidate, model, repeat]) => column.evaluators.includes(of) && candidate === column.candidate && model === column.tm && repeat === 1);
  const first = records.find(([of]) => of === evaluator) || records[0];
  const reply = records.map((one) => replyIn(data, one[4])).find((text) => text !== undefined);
  return { reply, usage: records.flatMap((one) => one[4].usage || []), reason: first && (first[4].message || worded(reasonOf(first[4].side_info, reply))) };
}

/** @param {string} text */
function clipped(text, most = MOST_CLIPPED) {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/**
 * A reply with the words marked that another one does not have, from shortly before the first of them.
 * @param {string | undefined | null} before
 * @param {string} reply
 * @param {number} most
 */
function changedWords(before, reply, most) {
  if (typeof before !== "string" || before === reply) return clipped(reply, most);
  let start = 0;
  while (start < reply.length && reply[start] === before[start]) start += 1;
  start = Math.max(0, start - BEFORE_CHANGE);
  const [old, now] = [before, reply].map((text) => wordsOf(text.slice(start, start + 2 * MOST_CLIPPED)));
  const shown = aligned(old, now).filter(([sign]) => sign !== MINUS).map(([sign, word]) => (sign === "+" && word.trim() ? h("b", { class: "word" }, word) : word));
  return [start > 0 && "…", shown];
}

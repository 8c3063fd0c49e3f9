// @ts-check
// Two candidates against each other: the difference and its interval, every pair, by field, losses first.

/** @param {App} app */
function compareTab(app) {
  const { data, state } = app;
  const names = data.isBench ? data.axes.evaluators : data.axes.candidates;
  if (!data.isWhole) return [h("p", { class: "note" }, "No comparison before the end: stopping at a good moment would make chance look like progress.")];
  if (names.length < 2) return [h("p", { class: "note" }, "There is nothing to compare with: the run has one candidate.")];
  if (!data.isRead) return [h("p", { class: "note" }, "Reading the records …")];
  const swap = () => app.set({ a: state.b, b: state.a });
  const systems = data.systems(state.ev);
  const rows = comparedRows(app, systems);
  const pairs = rows.filter((row) => !Number.isNaN(row.delta)).map((row) => /** @type {[number, number]} */ ([row.values[0].score, row.values[1].score]));
  return [
    h("div", { class: "toolbar" },
      data.isDiff ? pairChooser(app) : [chooser("A", names, state.a, (a) => app.set({ a })),
        h("button", { type: "button", class: "icon", "aria-label": "Swap A and B", title: "Swap A and B", on: { click: swap } }, "⇄"),
        chooser("B", names, state.b, (b) => app.set({ b }))], usualControls(app)),
    h("div", { class: "versus" },
      h("section", { class: "card" }, h("h2", null, said(names[state.b]), " against ", said(names[state.a])),
        differenceText(app, rows),
        pairs.length > 0 && drawnPairs(pairs, axisName(data, state.a, "A"), axisName(data, state.b, "B")),
        byField(app)),
      h("section", { class: "card fills" }, h("h2", null, "Largest losses and gains"), comparedGrid(app, rows, names))),
  ];
}

function drawnPairs(pairs, a, b) {
  if (isOfTwo(pairs)) return twoByTwo(pairs, a, b);
  return [scatter(pairs, a, b), h("p", { class: "small quiet" }, "Above the dashed line B is better, below it worse. The area of a bubble is how many examples it stands for."), histogram(pairs.map((pair) => pair[1] - pair[0]), 8)];
}

/** A name with its side; in a diff it has that already. */
function axisName(data, at, side) {
  const names = data.isBench ? data.axes.evaluators : data.axes.candidates;
  return data.isDiff ? names[at] : `${cut(names[at], 40)} (${side})`;
}

function comparedRows(app, systems) {
  const { data, state } = app;
  const rows = [];
  for (const example of data.examples) {
    if (state.sp < data.axes.splits.length && example.split !== state.sp) continue;
    const values = [data.value(systems[state.a], state.tm, example), data.value(systems[state.b], state.tm, example)];
    rows.push({ example, values, delta: data.delta(state.a, state.b, values[0], values[1]) });
  }
  return lossesThenGains(sortedExamples(rows, "delta"));
}

/** Losses, the largest first, then gains, the largest first, then pairs that are the same or have no score. */
function lossesThenGains(sorted) {
  const losses = sorted.filter((row) => row.delta < -1e-12);
  const gains = sorted.filter((row) => row.delta > 1e-12).reverse();
  return [...losses, ...gains, ...sorted.filter((row) => !(Math.abs(row.delta) > 1e-12))];
}

/** The difference as summary.json has it; for a pair that it has the other way round, turned. */
function pairOf(app) {
  const { data, state } = app;
  const names = data.isBench ? data.axes.evaluators : data.axes.candidates;
  const [a, b] = [names[state.a], names[state.b]];
  const pairs = pairsInFocus(app);
  const straight = pairs.find((pair) => pair.a === a && pair.b === b);
  if (straight) return straight;
  const turned = pairs.find((pair) => pair.a === b && pair.b === a);
  return turned ? turnedRound(turned) : null;
}

/** The pairs of the evaluator, model and split in focus; a board has those over all of its files. */
function pairsInFocus(app) {
  const { data, state } = app;
  const { axes, summary, head } = data;
  if (data.isBench) return state.sp === axes.splits.length ? head.boards[""]?.pairs || [] : [];
  const [evaluator, model, split] = [axes.evaluators[state.ev], axes.task_models[state.tm], axes.splits[state.sp]];
  return summary.pairs.filter((pair) => pair.evaluator === evaluator && pair.task_model === model && pair.split === split);
}

function turnedRound(pair) {
  const other = { better: "worse", worse: "better", hint_better: "hint_worse", hint_worse: "hint_better" };
  const ci = pair.ci && [-pair.ci[1], -pair.ci[0]];
  const diff = pair.diff === null ? null : -pair.diff;
  return { ...pair, a: pair.b, b: pair.a, diff, ci, wins: pair.losses, losses: pair.wins, mark: other[pair.mark] || pair.mark };
}

function differenceText(app, rows) {
  const { data, state } = app;
  if (state.a === state.b) return h("p", { class: "note" }, "A and B are the same.");
  if (data.scorerOf(state.a) !== data.scorerOf(state.b)) return h("p", { class: "note" }, "A and B are scored by different scorers: their scores are not subtracted.");
  const d = pairOf(app);
  if (!d) return countsOf(rows, data.isBench || state.sp >= data.axes.splits.length ? "" : "No difference of this pair is in summary.json.");
  const others = d.p_holm !== null && data.axes.candidates.length > 2 && !data.isDiff && !data.isBench;
  const p = `${pValue(d.p_holm ?? d.p)}${others ? ", Holm over all pairs" : ""}`;
  const evidence = d.ci ? `(95 % CI ${intervalOf(data, data.axes.evaluators[state.ev], d.ci)}, ${p})` : `(${p})`;
  return [
    h("p", { class: "headline" }, h("b", null, differenceOf(d, isHintOnly(data, d, data.axes.candidates[state.a], data.axes.candidates[state.b], data.axes.splits[state.sp]))), ` ${evidence} over ${count(d.n_pairs, "pair")}.`),
    h("p", null, h("b", { class: "better" }, `${whole(d.wins)} better`), ` · ${whole(d.ties)} the same · `, h("b", { class: "worse" }, `${whole(d.losses)} worse`), d.dropped ? ` · ${count(d.dropped, "pair")} without a score on both sides` : ""),
  ];
}

function countsOf(rows, note) {
  const [better, worse] = [rows.filter((row) => row.delta > 1e-12).length, rows.filter((row) => row.delta < -1e-12).length];
  const same = rows.filter((row) => Math.abs(row.delta) <= 1e-12).length;
  return [note && h("p", { class: "note" }, note), h("p", null, h("b", { class: "better" }, `${whole(better)} better`), ` · ${whole(same)} the same · `, h("b", { class: "worse" }, `${whole(worse)} worse`))];
}

/** The difference by field of the example, worst first; summary.json has it against the baseline. */
function byField(app) {
  const { data, state } = app;
  const split = data.axes.splits[state.sp];
  const row = data.summary.rows.find((one) => one.evaluator === data.axes.evaluators[state.ev] && one.task_model === data.axes.task_models[state.tm] && one.candidate === data.axes.candidates[state.b]);
  const groups = Object.entries(row?.groups || {}).flatMap(([name, group]) => {
    const d = group.vs_baseline?.[split];
    return d && d.diff !== null ? [{ name, d }] : [];
  });
  if (!groups.length || data.isBench) return null;
  if (state.a !== data.baseline) return h("p", { class: "note" }, "By field: choose the baseline as A.");
  groups.sort((one, other) => one.d.diff - other.d.diff);
  const domain = extent([0, ...groups.flatMap(({ d }) => [d.diff, ...(d.ci || [])])], 0.03);
  const line = ({ name, d }) => {
    const [field, ...value] = name.split("=");
    return h("tr", null,
      h("th", { scope: "row" }, h("span", { class: "quiet" }, `${field} `), said(value.join("="))),
      h("td", null, estimate(d.diff, d.ci, domain, 0)),
      h("td", { class: "num" }, signed(d.diff)), h("td", { class: "num quiet" }, `n ${whole(d.n_pairs)}`));
  };
  return [h("h3", null, "By field of the example, worst first"), h("table", { class: "fields" }, h("tbody", null, groups.map(line)))];
}

function comparedGrid(app, rows, names) {
  const { data, state } = app;
  const domain = domainOf(app, rows);
  const systems = data.systems(state.ev);
  const fill = ({ example }, row) => app.reasonLater(example, systems[state.b], row.querySelector(".reason"));
  return app.gridOf({
    label: "Examples by difference", items: rows, fill, empty: "No example is in both.",
    columns: [
      { name: "split", head: data.isBench ? "file" : "split", kind: "narrow w3", cell: ({ example }) => said(data.axes.splits[example.split], "cut") },
      { name: "line", head: "line", kind: "line", cell: ({ example }) => example.line ?? DASH },
      { name: "example", head: "example", kind: "text", cell: ({ example }) => said(example.text || example.name) },
      { name: "reason", head: [hasReplies(data) ? "reason or reply of " : "reason for ", said(names[state.b])], kind: "text w2", cell: ({ example }) => h("span", { class: "reason" }, app.knownReason(example, systems[state.b])) },
      { name: "a", head: named(data, state.a), kind: "score", cell: (row) => valueCell(row.values[0], domain) },
      { name: "b", head: named(data, state.b), kind: "score", cell: (row) => valueCell(row.values[1], domain) },
      { name: "delta", head: "Δ B−A", kind: "delta", cell: (row) => deltaCell(row.delta) },
    ],
  });
}

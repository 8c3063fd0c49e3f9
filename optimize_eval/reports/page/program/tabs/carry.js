// @ts-check
// Does the gain carry over to held-out data? And where the leader got worse, in the evaluator's own words.

const MOST_NAMED = 6;
const MOST_WORST = 7;
const MOST_WORSE_ROWS = 3;

/**
 * @param {App} app
 * @param {any[]} rows
 */
function carryOver(app, rows) {
  const { data } = app;
  const split = data.summary.decided_on;
  const train = trainOf(data, split);
  const isKnown = (row, name) => row.vs_baseline?.[name]?.diff != null;
  const shown = train ? rows.filter((row) => isKnown(row, split) && isKnown(row, train)) : [];
  const reach = data.head.search ? null : reachOf(app); // a search's verdict says it, corrected for its choice
  if (!train || !shown.length) return reach && section("", "How small a difference this run can find", reach);
  const crosses = shown.map((row) => ({ row, x: row.vs_baseline[train], y: row.vs_baseline[split] }));
  const other = confirmsNothing(data) ? split : "held-out data";
  return section("", `Does the gain carry over to ${other}?`, carryChart(data, crosses, split, train), reach);
}

function carryChart(data, crosses, split, train) {
  const values = crosses.flatMap(({ x, y }) => [x.diff, y.diff, ...(x.ci || []), ...(y.ci || []), 0]);
  const domain = extent(values, 0.06);
  const right = roomFor(2, 640) - 12;
  const x = scale(domain, [64, right]);
  const y = scale(domain, [332, 12]);
  const { step, found } = ticks(domain[0], domain[1], 6);
  const plus = (value) => (value > step / 1e6 ? `+${tickText(value, step)}` : tickText(value, step));
  const lines = found.map((value) => [
    svg("line", { class: "grid-line", x1: x(value), x2: x(value), y1: 12, y2: 332 }),
    svg("line", { class: "grid-line", x1: 64, x2: right, y1: y(value), y2: y(value) }),
    svg("text", { x: x(value), y: 350, "text-anchor": x(value) > right - 16 ? "end" : "middle" }, plus(value)),
    svg("text", { x: 58, y: y(value) + 4, "text-anchor": "end" }, plus(value)),
  ]);
  return svg("svg", { class: "chart", viewBox: `0 0 ${right + 12} 384`, role: "img", "aria-label": `Gain on ${train} against gain on ${split}, for each candidate` },
    lines,
    svg("line", { class: "axis-line", x1: x(0), x2: x(0), y1: 12, y2: 332 }),
    svg("line", { class: "axis-line", x1: 64, x2: right, y1: y(0), y2: y(0) }),
    svg("line", { class: "dashed", x1: x(domain[0]), y1: y(domain[0]), x2: x(domain[1]), y2: y(domain[1]) }),
    svg("text", { class: "italic", x: right - 28, y: 26, "text-anchor": "end" }, "on this line the gain carries over fully"),
    crosses.map((one) => cross(data, one, x, y)),
    labels(data, crosses, x, y, right),
    svg("text", { class: "bold", x: (right + 64) / 2, y: 376, "text-anchor": "middle" }, `Δ ${train} against baseline`),
    svg("text", { class: "bold", transform: "translate(12 172) rotate(-90)", "text-anchor": "middle" }, `Δ ${split} against baseline`));
}

function cross(data, { row, x: dx, y: dy }, x, y) {
  const at = data.axes.candidates.indexOf(row.candidate);
  const { colour } = lookOf(data, at);
  const [cx, cy] = [x(dx.diff), y(dy.diff)];
  return [
    row.overfit?.state === "overfits" && svg("line", { class: "drop", x1: cx, x2: cx, y1: y(dx.diff), y2: cy }),
    dx.ci && svg("line", { class: `ci ${colour}`, x1: x(dx.ci[0]), x2: x(dx.ci[1]), y1: cy, y2: cy }),
    dy.ci && svg("line", { class: `ci ${colour}`, x1: cx, x2: cx, y1: y(dy.ci[0]), y2: y(dy.ci[1]) }),
    svg("g", null, svg("title", null, `${row.candidate}: train ${signed(dx.diff)}, ${data.summary.decided_on} ${signed(dy.diff)}`), mark(data, at, cx, cy, 7)),
  ];
}

/** Names beside their crosses. */
function labels(data, crosses, x, y, right) {
  const marks = crosses.map(({ row, x: dx, y: dy }, at) => {
    const lost = row.overfit?.state === "overfits" ? ` ✕ overfits, ${number(row.overfit.value)} lost` : "";
    const name = cut(row.candidate, 26);
    return { x: x(dx.diff), y: y(dy.diff), texts: at < MOST_NAMED ? [name + lost, name] : [] };
  });
  const places = placesOfNames(marks, [64, right]);
  return crosses.map(({ row }, at) => {
    const place = places[at];
    const { colour } = lookOf(data, data.axes.candidates.indexOf(row.candidate));
    return place && svg("text", { class: `label ${colour}`, x: place.x, y: place.y }, place.text);
  });
}

/** @param {App} app */
function reachOf(app) {
  const { data, state } = app;
  const split = data.summary.decided_on;
  const model = data.axes.task_models[state.tm];
  const leader = leaderOf(data);
  const found = data.axes.evaluators.flatMap((name) => {
    const row = data.summary.rows.find((one) => one.evaluator === name && one.candidate === leader && one.task_model === model);
    const d = row?.vs_baseline?.[split];
    return d && d.mde !== null ? [{ name, d }] : [];
  });
  if (!found.length) return null;
  const parts = found.map(({ name, d }, at) => [at ? ", " : "", h("b", null, number(d.mde)), ` on ${name} (${count(d.n_pairs, "pair")})`]);
  return h("p", { class: "note" }, `A difference on ${split} of this size would be found in about 80 of 100 such runs: `, parts, ".");
}

/**
 * Where the leader got worse, and those that are worse than the baseline; where nobody is above that, who is below it.
 * @param {App} app
 * @param {any[]} rows
 */
function worstOf(app, rows) {
  const { summary } = app.data;
  const leader = rows.find((row) => row.candidate === leaderOf(app.data)) || rows[0];
  if (!leader) return null;
  const against = (row) => row.vs_baseline?.[summary.decided_on] || { diff: 0 };
  const leads = leader.candidate === summary.baseline || against(leader).diff < 0;
  const worse = rows.filter((row) => row !== leader && against(row).diff < 0 && (leads || /worse$/.test(against(row).mark)));
  worse.sort((one, other) => against(one).diff - against(other).diff);
  return [leader, ...worse.slice(0, MOST_WORSE_ROWS)].map((row) => worstOfRow(app, row));
}

/**
 * @param {App} app
 * @param {any} leader
 */
function worstOfRow(app, leader) {
  const { data } = app;
  const { summary } = data;
  const isBaseline = leader.candidate === summary.baseline;
  const entries = leader.worst.filter((one) => one.line !== null).slice(0, MOST_WORST);
  const split = summary.decided_on;
  const losses = leader.vs_baseline?.[split]?.losses || 0;
  const b = data.axes.candidates.indexOf(leader.candidate);
  const to = { tab: "examples", a: data.baseline, b, sp: data.axes.splits.indexOf(split), q: "", row: -1 };
  const title = isBaseline ? ["Lowest scores: ", said(leader.candidate)] : ["Regressions first: ", said(leader.candidate), ` on ${split}`];
  if (!entries.length && !losses) {
    const isCompared = leader.vs_baseline?.[split]?.n_pairs > 0;
    const below = [said(leader.candidate), " is below ", said(summary.baseline), ` on no example of ${split}.`];
    const apart = [`No example of ${split} has a score of both `, said(leader.candidate), " and ", said(summary.baseline), ": they cannot be compared."];
    const none = isBaseline ? null : h("p", { class: "note" }, isCompared ? below : apart);
    const lowest = isCompared && h("p", { class: "note" }, link(app, { ...to, show: "all", sort: `s${b}` }, "Its examples, lowest first →"));
    return none && h("section", { class: "card" }, h("h2", null, title), none, lowest);
  }
  const all = isBaseline
    ? link(app, { ...to, show: "all", sort: `s${b}` }, "All examples, lowest first →")
    : link(app, { ...to, show: "worse", sort: "delta" }, `All ${count(losses, "regression")} →`);
  return h("section", { class: "card" }, h("h2", null, title), h("ol", { class: "worst" }, entries.map((one) => worstItem(app, one, isBaseline, b))), h("p", { class: "note" }, all));
}

function worstItem(app, one, isBaseline, b) {
  const { data } = app;
  const split = data.axes.splits.indexOf(one.split);
  const change = isBaseline ? null : one.score - one.baseline;
  const open = () => app.openLine(split, one.line, b);
  const reason = (one.text || hasReplies(data)) && h("span", { class: "reason cut" }, said(one.text || ""));
  if (reason) app.whenRead.then(() => nameKey(app, one, b, reason));
  const scores = isBaseline ? short(one.score) : `${short(one.baseline)} → ${short(one.score)}`;
  return h("li", null,
    h("button", { type: "button", class: "worst-row", on: { click: open } },
      change !== null && h("b", { class: change < 0 ? "worse delta" : "plain delta" }, signedShort(change)),
      h("span", { class: "where" }, `${one.split} ${one.line}`),
      h("span", { class: "input cut" }, said(one.input || one.name || "")),
      h("span", { class: "num" }, scores),
      reason));
}

/** Put its key before what an evaluator said, where that is called no reason: it may be the target. */
function nameKey(app, one, b, reason) {
  const { data, state } = app;
  const split = data.axes.splits.indexOf(one.split);
  const example = data.examples.find((other) => other.split === split && other.line === one.line);
  if (example) app.reasonLater(example, { name: "", evaluator: state.ev, candidate: b }, reason);
}

/** @param {number} change */
function signedShort(change) {
  const shown = Math.abs(change) < 1e-12 ? 0 : change;
  return (shown > 0 ? "+" : "") + short(shown);
}

// @ts-check
// What calls of models took: tokens, money and time, of the run, by who took them, of a candidate, and of one record.

/** Tokens and money of calls of models, by who took them; nothing where no model was called. */
function spendingCard(data) {
  const { spent } = data.summary;
  if (!spent?.run.calls) return null;
  const parts = [["model", spent.models], ["evaluator", spent.evaluators], ["candidate", spent.candidates]];
  const lines = parts.flatMap(([what, of]) => Object.entries(of).map(([name, total]) => spendingLine(h("span", null, h("span", { class: "quiet" }, `${what} `), said(name)), total)));
  const heads = ["", "Calls", "Tokens in", "Tokens out", "Money"].map((name, at) => h("th", { scope: "col", class: at ? "num" : null }, name || "Of"));
  return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", null, "Tokens and money"), h("span", { class: "legend" }, "all calls of models, repeated and failed ones too")),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Tokens and money" }, h("table", { class: "board spent" }, h("thead", null, h("tr", null, heads)), h("tbody", null, spendingLine("all", spent.run), lines))));
}

function spendingLine(who, total) {
  const tokens = (many) => (total.without_tokens === total.calls ? DASH : whole(many));
  return h("tr", null, h("th", { scope: "row" }, who), h("td", { class: "num" }, whole(total.calls)), h("td", { class: "num" }, tokens(total.prompt_tokens)), h("td", { class: "num" }, tokens(total.completion_tokens)), h("td", { class: "num" }, total.without_cost === total.calls ? DASH : money(total.cost)));
}

/**
 * What the replies to a candidate took, with a model, or of a bench's column; null where nothing is known.
 * @param {Data} data
 * @param {number} evaluator
 * @param {number} candidate
 * @param {number} tm
 */
function takenBy(data, evaluator, candidate, tm) {
  const { isBench, head } = data;
  const all = (head.taken || []).filter(({ of: [e, c, m] }) => c === candidate && m === tm && (!isBench || e === evaluator));
  return all.find((one) => one.calls > 0) || all.find(({ of: [e] }) => e === evaluator) || null;
}

/** What one call costs, by the thousand; else its tokens. */
function costOf(taken) {
  if (!taken?.calls) return "";
  if (taken.without_cost < taken.calls) return `${money((1000 * taken.cost) / (taken.calls - taken.without_cost))} per 1,000`;
  const known = taken.calls - taken.without_tokens;
  return known > 0 ? `${whole(Math.round(taken.prompt_tokens / known))} + ${whole(Math.round(taken.completion_tokens / known))} tokens` : "";
}

/** How long a reply took: the median, and what 19 of 20 stay below. */
function paceOf(taken) {
  return taken?.p50 !== undefined ? `${duration(taken.p50)}, p95 ${duration(taken.p95)}` : DASH;
}

/** @param {number} dollars */
function money(dollars) {
  if (dollars > 0 && dollars < 0.0001) return `$${dollars.toFixed(Math.min(20, 2 - Math.floor(Math.log10(dollars)))).replace(/0+$/, "")}`;
  return `$${dollars >= 100 ? dollars.toFixed(2) : general(dollars, 3)}`;
}

/** What one reply took, in a few letters. */
function tookShort(usage, seconds) {
  const of = (usage || []).filter((one) => one.of === "reply");
  const cost = of.reduce((sum, one) => sum + (one.cost || 0), 0);
  const tokens = of.reduce((sum, one) => sum + (one.prompt_tokens || 0) + (one.completion_tokens || 0), 0);
  const time = of.length ? of.reduce((sum, one) => sum + (one.seconds || 0), 0) : seconds;
  return [time > 0 && duration(time), cost > 0 ? money(cost) : tokens > 0 && `${whole(tokens)} tokens`].filter(Boolean).join(" · ");
}

/** What the calls of models for one record took. */
function spentOn(usage) {
  if (!usage?.length) return null;
  const sum = (key) => usage.reduce((all, one) => all + (one[key] || 0), 0);
  const told = [usage.length === 1 ? "1 call of a model" : `${whole(usage.length)} calls of models`, usage.some((one) => one.prompt_tokens !== undefined) && `${whole(sum("prompt_tokens"))} + ${whole(sum("completion_tokens"))} tokens`, usage.some((one) => one.cost !== undefined) && money(sum("cost")), sum("seconds") > 0 && duration(sum("seconds"))];
  return h("p", { class: "small quiet" }, told.filter(Boolean).join(" · "));
}

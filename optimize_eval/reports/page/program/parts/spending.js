// @ts-check
// What calls of models took: tokens and money, of the run, by who took them, and of one record.

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

/** @param {number} dollars */
function money(dollars) {
  return `$${dollars >= 100 ? dollars.toFixed(2) : general(dollars, 3)}`;
}

/** What the calls of models for one record took. */
function spentOn(usage) {
  if (!usage?.length) return null;
  const sum = (key) => usage.reduce((all, one) => all + (one[key] || 0), 0);
  const told = [usage.length === 1 ? "1 call of a model" : `${whole(usage.length)} calls of models`, usage.some((one) => one.prompt_tokens !== undefined) && `${whole(sum("prompt_tokens"))} + ${whole(sum("completion_tokens"))} tokens`, usage.some((one) => one.cost !== undefined) && money(sum("cost"))];
  return h("p", { class: "small quiet" }, told.filter(Boolean).join(" · "));
}

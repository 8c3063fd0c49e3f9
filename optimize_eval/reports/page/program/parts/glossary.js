// @ts-check
// What words of the page mean, on hover and on focus: one line each; docs/glossary.md has all of them.

const GLOSSARY = {
  mean: "The average score over the examples; failed and skipped calls are in no mean.",
  ci: "95 % confidence interval: in 95 of 100 runs like this it holds the true value.",
  delta: "The candidate's mean minus the baseline's, over the examples that both have scores of.",
  p: "How often chance alone would give a difference at least as large; corrected for the number of comparisons (Holm).",
  pairs: "Examples on which the candidate scores higher than the baseline, the same, or lower.",
  overfit: "How much of the gain on train is missing on held-out examples; overfits: no gain is left there.",
  overfits: "It is clearly better on train than on held-out examples, where it shows no clear gain.",
  part_lost: "Part of the gain on train is clearly missing on held-out examples; the rest is there.",
  kept: "More than half of the gain on train is there on held-out examples, too.",
  undecided: "The examples are too few to say how much of the gain on train carries over.",
  no_gain: "Train shows no clear gain, so there is none that could be lost.",
  few: "There are too few examples to say anything.",
  pace: "p50: half of the calls take less; p95: 95 of 100 do.",
  failed: "Calls that gave no score: an error, a timeout, an answer that cannot be read. They count as no number.",
  skipped: "Examples to which the evaluator said that it does not apply.",
  cost: "What 1,000 replies of the model cost, or the tokens of one (sent + replied); half of the replies take less than p50, 95 % less than p95.",
  baseline: "The candidate that the others are compared with.",
  marks: "▲▼: a difference that holds after correction for all comparisons. △▽: a hint that may still be chance.",
  win: "The share of tasks on which the model beats the others, over all of them.",
  drift: "A key whose values differ between train and val by more than 3 standard errors.",
  best: "The best mean that the search had seen after so many calls.",
  interval: "The dot is the difference, the line its 95 % confidence interval, dashed is no difference.",
};

/**
 * A word with its line of the glossary.
 * @param {keyof GLOSSARY} name
 * @param {...Child} text
 */
function term(name, ...text) {
  return h("span", { class: "term", tabindex: 0, "data-gloss": name }, ...text);
}

/** Show the line of what is pointed at or has the focus, until it is left or Escape is pressed. */
function showGlossary() {
  const line = h("div", { class: "gloss", id: "gloss", role: "tooltip", hidden: true });
  document.body.append(line);
  const show = (event) => {
    const word = event.target instanceof Element ? event.target.closest(".term") : null;
    line.hidden = !word;
    if (!word) return;
    replace(line, GLOSSARY[word.getAttribute("data-gloss") || ""]);
    word.setAttribute("aria-describedby", "gloss");
    const box = word.getBoundingClientRect();
    const room = document.documentElement.clientWidth - line.offsetWidth - 8;
    line.style.setProperty("left", `${Math.max(8, Math.min(room, box.left))}px`);
    const below = box.bottom + 6;
    const top = below + line.offsetHeight > window.innerHeight ? box.top - line.offsetHeight - 6 : below;
    line.style.setProperty("top", `${Math.max(4, top)}px`);
  };
  const hide = () => (line.hidden = true);
  document.addEventListener("mouseover", show);
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, true);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
}

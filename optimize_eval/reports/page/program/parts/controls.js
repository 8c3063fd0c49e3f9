// @ts-check
// What is pressed, chosen and typed: each control writes one thing of the state.

/**
 * A row of buttons of which one is pressed.
 * @param {string} label
 * @param {string[]} names
 * @param {number} chosen
 * @param {(at: number) => void} choose
 */
function segments(label, names, chosen, choose) {
  if (names.length < 2) return null;
  if (names.length > 6) return chooser(label, names, chosen, choose);
  return h(
    "div",
    { class: "control", role: "group", "aria-label": label },
    h("span", { class: "label" }, label),
    h(
      "span",
      { class: "segments" },
      names.map((name, at) =>
        h("button", { type: "button", "aria-pressed": String(at === chosen), on: { click: () => choose(at) } }, said(name)),
      ),
    ),
  );
}

/**
 * A list to choose from.
 * @param {string} label
 * @param {string[]} names
 * @param {number} chosen
 * @param {(at: number) => void} choose
 */
function chooser(label, names, chosen, choose) {
  const select = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      { on: { change: (event) => choose(event.target.selectedIndex) } },
      names.map((name, at) => h("option", { value: at, selected: at === chosen }, name)),
    )
  );
  return h("label", { class: "control" }, h("span", { class: "label" }, label), select);
}

/**
 * A command to paste, with a button that copies it.
 * @param {string} text
 */
function command(text) {
  const button = h("button", { type: "button", class: "copy" }, "copy");
  button.addEventListener("click", () => {
    copied(text).then((isDone) => replace(button, isDone ? "copied" : "select it"));
    setTimeout(() => replace(button, "copy"), 1500);
  });
  return h("div", { class: "command" }, h("pre", { role: "group", tabindex: 0, "aria-label": "command" }, h("code", null, text)), button);
}

/** @param {string} text */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {App} app
 * @param {{split?: boolean, both?: boolean}} [which]
 */
function usualControls(app, which = {}) {
  const { data, state } = app;
  const { axes, isBench } = data;
  const models = axes.task_models.map((name) => name ?? "none");
  const splits = which.both === false ? axes.splits : [...axes.splits, axes.splits.length === 2 ? "both" : "all"];
  return [
    !isBench && segments("Evaluator", axes.evaluators, state.ev, (ev) => app.set({ ev })),
    !isBench && segments("Model", models, state.tm, (tm) => app.set({ tm })),
    which.split !== false && axes.splits.length > 1 && segments(isBench ? "File" : "Split", splits, state.sp, (sp) => app.set({ sp })),
  ];
}

/**
 * A link to another look at the run.
 * @param {App} app
 * @param {Partial<State>} patch
 * @param {...Child} text
 */
function link(app, patch, ...text) {
  const target = app.address.write({ ...app.state, ...patch });
  const go = (event) => {
    event.preventDefault();
    app.set(patch, { from: event.currentTarget });
  };
  return h("a", { href: target, on: { click: go } }, ...text);
}

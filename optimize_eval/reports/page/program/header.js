// @ts-check
// The line at the top: what run this is, the tabs, light or dark; and how focus outlives a redraw.

/** @param {App} app */
function drawHeader(app) {
  const { data, state } = app;
  const { units } = data.summary;
  const sizes = data.axes.splits.map((name, at) => (data.axes.splits[0] === "single" ? "" : `${whole(data.axes.sizes[at])} ${name}`)).filter(Boolean);
  const told = [
    data.run.created_at && moment(data.run.created_at),
    sizes.length > 3 ? count(data.axes.sizes.reduce((sum, one) => sum + one, 0), "example") : sizes.length && `${sizes.join(" + ")} examples`,
    units.total > 0 && count(units.total - units.owed, "call"),
    typeof data.run.note === "string" && data.run.note && visible(data.run.note),
  ];
  replace(
    app.header,
    h("div", { class: "title" }, app.isListed && h("a", { href: "?" }, "← All runs"), h("h1", null, said(data.head.title)), h("span", { class: "quiet" }, told.filter(Boolean).join(" · "))),
    h("div", { class: "tabs", role: "tablist", "aria-label": "Parts of the report", on: { keydown: (event) => tabKey(app, event) } }, app.tabs.map((tab) => tabButton(app, tab, units.failed))),
    h("button", { type: "button", class: "icon theme", "aria-label": "Light or dark", title: "Light or dark", on: { click: () => app.set({ theme: nextTheme(state.theme) }) } }, "◐"),
    progressOf(app),
  );
  const here = /** @type {HTMLElement} */ (document.getElementById(`tab-${state.tab}`));
  const row = /** @type {HTMLElement} */ (here.parentElement);
  row.scrollLeft = here.offsetLeft - row.offsetLeft - 20; // in a narrow window they do not all fit
}

function tabButton(app, tab, failed) {
  const isHere = app.state.tab === tab.name;
  const badge = tab.name === "failures" && failed > 0 && h("span", { class: "badge" }, whole(failed));
  return h("button", {
    type: "button", role: "tab", id: `tab-${tab.name}`, "aria-selected": String(isHere), tabindex: isHere ? 0 : -1,
    "aria-controls": isHere ? `panel-${tab.name}` : undefined, on: { click: () => app.set({ tab: tab.name, row: -1 }) },
  }, tab.title, badge);
}

/** @param {App} app @param {KeyboardEvent} event */
function tabKey(app, event) {
  const { tabs } = app;
  const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -tabs.length, End: tabs.length };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const here = tabs.findIndex((tab) => tab.name === app.state.tab);
  const isStep = Math.abs(steps[event.key]) === 1;
  const to = isStep ? (here + steps[event.key] + tabs.length) % tabs.length : event.key === "Home" ? 0 : tabs.length - 1;
  app.set({ tab: tabs[to].name, row: -1 });
  document.getElementById(`tab-${tabs[to].name}`)?.focus();
}

/** @param {string} theme */
function nextTheme(theme) {
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  return isDark ? "light" : "dark";
}

/**
 * Where the focus is, as the way down from the top: the same element is found again after a redraw.
 * @param {Element | null} element
 * @param {Element} [root]
 */
function focusPath(element, root = document.body) {
  const path = [];
  for (let at = element; at && at !== root; at = at.parentElement) {
    if (!at.parentElement) return null;
    path.unshift([...at.parentElement.children].indexOf(at));
  }
  return element && element !== root ? { path, tag: element.tagName } : null;
}

/**
 * @param {{path: number[], tag: string}} held
 * @param {Element} [root]
 */
function focusAt({ path, tag }, root = document.body) {
  /** @type {Element | undefined} */
  let at = root;
  for (const place of path) at = at?.children[place];
  if (at instanceof HTMLElement && at.tagName === tag && at !== document.activeElement) at.focus({ preventScroll: true });
}

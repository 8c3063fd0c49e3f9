// @ts-check
// The page as a whole: tabs, the state and its address, keys, the drawer beside a grid.

/** @typedef {{name: string, title: string, draw: (app: App) => Child}} Tab */

/** @type {Tab[]} */
const TABS = [
  { name: "overview", title: "Overview", draw: overview },
  { name: "compare", title: "Compare", draw: compareTab },
  { name: "examples", title: "Examples", draw: examplesTab },
  { name: "side-info", title: "Side info", draw: sidesTab },
  { name: "failures", title: "Failures", draw: failuresTab },
  { name: "reproduce", title: "Reproduce", draw: reproduceTab },
];

/** @type {Tab} of runs that a search ended */
const SEARCH_TAB = { name: "search", title: "Search", draw: searchTab };

/** @type {Tab[]} of two leaderboards, which have no records */
const TABS_OF_BOARDS = [
  { name: "overview", title: "Overview", draw: boardsOverview },
  { name: "predictions", title: "Predictions", draw: predictionsTab },
  { name: "reproduce", title: "Reproduce", draw: reproduceTab },
];

/** @param {Data} data */
function tabsOf(data) {
  if (data.isSearch) return [SEARCH_TAB];
  if (data.isOfBoards) return TABS_OF_BOARDS;
  return data.head.search ? [TABS[0], SEARCH_TAB, ...TABS.slice(1)] : TABS;
}

class App {
  /** @param {Data} data @param {boolean} [isListed] whether its server has other runs */
  constructor(data, isListed = false) {
    this.data = data;
    this.isListed = isListed;
    /** @type {Pace | null} */
    this.pace = null;
    this.finder = new Finder(data, () => this.state.tab === "examples" && this.draw(true));
    this.isFiltering = false; // whether conditions are chosen
    this.isChoosing = false; // whether the list of columns is open
    this.isUnfolded = false; // whether a phone has its controls open
    /** @type {ReplyColumn | null} */
    this.column = null; // in focus, of the grid of replies
    this.lost = ""; // why a server says nothing any more
    this.tabs = tabsOf(data);
    this.address = new Address(this.data, this.tabs.map((tab) => tab.name));
    this.state = this.address.read();
    /** @type {Grid | null} */
    this.grid = null;
    /** @type {HTMLElement | null} */
    this.drawer = null;
    this.whenRead = new Promise((resolve) => (this.wasRead = resolve));
    this.main = h("main", { id: "main", tabindex: -1 });
    this.header = h("header", { class: "top" });
    document.body.append(h("a", { class: "skip", href: "#main", on: { click: (event) => this.skip(event) } }, "Skip to the content"), this.header, this.main);
    window.addEventListener("popstate", () => this.goTo(this.address.read()));
    window.addEventListener("hashchange", () => this.goTo(this.address.read()));
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("beforeprint", () => this.main.querySelectorAll(".verdict details").forEach((rest) => rest.setAttribute("open", "")));
    showGlossary();
    this.draw();
  }

  skip(event) {
    event.preventDefault();
    this.main.focus();
  }

  /**
   * Change what is looked at.
   * @param {Partial<State>} patch
   * @param {{isTyping?: boolean, isWalking?: boolean, from?: any}} [how]
   */
  set(patch, how = {}) {
    const isFar = patch.tab !== undefined && patch.tab !== this.state.tab;
    const isOpening = this.state.row < 0 && (patch.row ?? -1) >= 0; // on a phone, Back closes what covers the page
    const isOnlyRow = Object.entries(patch).every(([name, value]) => name === "row" || name === "by" || value === this.state[name]);
    this.state = { ...this.state, ...patch };
    const to = this.address.write(this.state);
    if (isFar || isOpening) history.pushState(null, "", to);
    else history.replaceState(null, "", to);
    if (isOnlyRow) this.drawDrawer();
    else this.draw(how.isTyping);
    if (isFar) {
      window.scrollTo(0, 0);
      this.main.focus({ preventScroll: true });
    }
  }

  /** @param {State} state */
  goTo(state) {
    if (this.address.write(state) === this.address.write(this.state)) return;
    this.state = state;
    this.draw();
  }

  /** @param {boolean} [isTyping] */
  draw(isTyping) {
    const held = focusPath(document.activeElement);
    const { scrollTop = 0, scrollLeft = 0 } = this.grid?.element || {};
    document.documentElement.dataset.theme = this.state.theme;
    this.grid = null;
    document.body.classList.toggle("fits", this.state.tab === "examples");
    drawHeader(this);
    const tab = this.tabs.find((one) => one.name === this.state.tab) || this.tabs[0];
    const scrolled = this.main.querySelector(".keeps-scroll")?.scrollTop || 0;
    const children = [tab.draw(this)];
    if (isTyping) this.redrawAround(children);
    else replace(this.main, h("div", { class: `tab ${tab.name}`, role: "tabpanel", id: `panel-${tab.name}`, "aria-label": tab.title }, children));
    const keeps = this.main.querySelector(".keeps-scroll");
    if (keeps && scrolled) keeps.scrollTop = scrolled;
    this.drawDrawer();
    this.showGrid(scrollLeft, scrollTop); // the drawer takes room
    if (held) focusAt(held);
  }

  /** Draw the rows of a new grid; the one whose drawer is open is in sight, where the last grid had it. */
  showGrid(left, top) {
    if (this.state.row >= 0) {
      this.grid?.element.scroll(left, top);
      this.grid?.show();
    } else this.grid?.later();
  }

  /** Keep the field that is typed into; what it filters is drawn anew. */
  redrawAround(children) {
    const fresh = h("div", null, children);
    const panel = this.main.firstElementChild;
    for (const name of [".status", ".saves", ".grid"]) panel?.querySelector(name)?.replaceWith(/** @type {Element} */ (fresh.querySelector(name)));
  }

  /** @param {any} given */
  gridOf(given) {
    const places = new Map(given.items.map((item, at) => [this.data.number(item.example), at]));
    this.places = places;
    this.grid = new Grid({
      ...given,
      at: places.get(this.state.row) ?? 0,
      walk: (at) => this.state.row >= 0 && this.set({ row: this.data.number(given.items[at].example) }),
      open: (at) => this.set({ row: this.data.number(given.items[at].example), ...this.whoseRow(given) }),
    });
    return this.grid.element;
  }

  /** Whose record is opened: that of the column in focus, else B's. */
  whoseRow(given) {
    if (given.across && this.column) return { by: this.column.at, tm: this.column.tm };
    return { by: this.state.row < 0 ? this.state.b : this.state.by };
  }

  /**
   * @param {number} split
   * @param {number | null} line
   * @param {number} by
   */
  openLine(split, line, by) {
    this.opener = document.activeElement;
    this.whenRead.then(() => {
      const example = this.data.examples.find((one) => one.split === split && one.line === line);
      if (example) this.set({ row: this.data.number(example), by });
    });
  }

  drawDrawer() {
    const example = this.data.examples[this.state.row];
    const wasOpen = this.drawer;
    const hadFocus = wasOpen?.contains(document.activeElement);
    const held = wasOpen && hadFocus ? focusPath(document.activeElement, wasOpen) : null;
    const scrolled = wasOpen?.querySelector(".drawer-body")?.scrollTop || 0;
    wasOpen?.remove();
    this.drawer = null;
    document.body.classList.toggle("has-drawer", Boolean(example));
    if (!example) return;
    this.drawer = drawer(this, example, (step) => this.walk(step), () => this.close());
    document.body.append(this.drawer);
    if (held) focusAt(held, this.drawer);
    if (!wasOpen || (hadFocus && !this.drawer.contains(document.activeElement))) this.drawer.focus({ preventScroll: true });
    const body = this.drawer.querySelector(".drawer-body");
    if (body && wasOpen) requestAnimationFrame(() => (body.scrollTop = scrolled));
  }

  /** @param {number} step */
  walk(step) {
    if (this.grid) {
      const at = this.places?.get(this.state.row);
      this.grid.go(at === undefined ? 0 : at + step);
    } else {
      this.set({ row: Math.max(0, Math.min(this.data.examples.length - 1, this.state.row + step)) });
    }
  }

  close() {
    this.set({ row: -1 });
    const back = this.grid?.element || this.opener;
    if (back instanceof HTMLElement && back.isConnected) back.focus();
    else this.main.focus();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const isTyping = event.target instanceof Element && event.target.matches("input, select, textarea");
    if (event.key === "Escape" && this.drawer) {
      event.preventDefault();
      this.close();
    } else if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      if (this.state.tab !== "examples" && this.tabs.some((tab) => tab.name === "examples")) this.set({ tab: "examples" });
      document.getElementById("search")?.focus();
    } else if (this.drawer?.contains(document.activeElement) && !isTyping && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.walk(event.key === "ArrowDown" ? 1 : -1);
    }
  }

  /** The reason for a score, if it was read before; null where it was not. */
  knownReason(example, system) {
    const text = this.data.reasons.get([this.data.number(example), system.evaluator, system.candidate, this.state.tm].join());
    return text === undefined ? null : said(text);
  }

  /** Put the reason for a score into a row when it is known, if the row is still there. */
  async reasonLater(example, system, cell) {
    const model = this.state.tm;
    const key = [this.data.number(example), system.evaluator, system.candidate, model].join();
    if (this.data.reasons.has(key)) {
      replace(cell, this.knownReason(example, system));
      return;
    }
    const told = await this.data.details(example).catch(() => null);
    const record = told?.records.find((one) => one[0] === system.evaluator && one[1] === system.candidate && one[2] === model)?.[4];
    const reply = replyTo(this.data, told, system, model);
    this.data.reasons.set(key, record?.message || worded(reasonOf(record?.side_info, reply)) || repliedFor(this.data, told, reply));
    if (cell.isConnected && told) replace(cell, said(this.data.reasons.get(key)));
  }

  async read() {
    await this.data.read();
    this.wasRead(null);
    if (["compare", "examples", "side-info"].includes(this.state.tab) || this.state.row >= 0) this.draw();
    document.documentElement.dataset.ready = "yes";
  }
}

// @ts-check
// A table of any length of which only the rows in sight exist. One tab stop; keys walk it.

const ROW = 26; // px, as in the style
const FILL_AFTER = 50; // ms without a scroll
const MOST_PRINTED = 5000; // rows
const SPARE = 8; // rows above and below

/**
 * @typedef {{name: string, head: Child, title?: string, kind: string, cell: (item: any) => Child, sort?: string}} Column
 */

class Grid {
  /**
   * @param {{label: string, columns: Column[], items: any[], at: number, sort?: string,
   *   sortBy?: (key: string) => void, walk: (at: number) => void, open: (at: number) => void,
   *   fill?: (item: any, row: HTMLElement) => Promise<void>, empty: string}} given
   */
  constructor(given) {
    this.given = given;
    this.items = given.items;
    this.at = given.at;
    this.body = h("div", { class: "grid-body", role: "rowgroup" });
    this.head = h("div", { class: "grid-row grid-head", role: "row" }, given.columns.map((column) => this.header(column)));
    this.element = h(
      "div",
      {
        class: "grid", role: "grid", tabindex: 0, "aria-label": given.label,
        "aria-rowcount": this.items.length + 1, "aria-colcount": given.columns.length,
        on: { keydown: (event) => this.key(event), scroll: () => this.later(), click: (event) => this.click(event) },
      },
      h("div", { role: "rowgroup", class: "grid-top" }, this.head),
      this.body,
      !this.items.length && h("p", { class: "empty" }, given.empty),
    );
    this.body.style.setProperty("height", `${this.items.length * ROW}px`);
    this.watch = new ResizeObserver(() => this.later());
    this.watch.observe(this.element);
    const paper = matchMedia("print");
    paper.addEventListener("change", () => this.element.isConnected && (paper.matches ? this.drawAll() : this.draw()));
  }

  /** Draw the rows in sight and all others, for paper; of very many, as many as anybody prints. */
  drawAll() {
    const many = Math.min(this.items.length, MOST_PRINTED);
    const left = this.items.length - many;
    const more = left > 0 && h("p", { class: "empty" }, `… and ${count(left, "more row")}, which are not printed`);
    this.body.replaceChildren(...Array.from({ length: many }, (_row, at) => this.row(at)));
    if (more) this.body.append(more);
  }

  /** @param {Column} column */
  header(column) {
    const isSorted = column.sort && this.given.sort?.replace("-", "") === column.sort;
    const down = this.given.sort?.startsWith("-");
    const sorted = isSorted ? (down ? "descending" : "ascending") : undefined;
    const sign = isSorted && h("span", { class: "sorted" }, down ? "▼" : "▲");
    return h(
      "div",
      { class: `cell ${column.kind}`, role: "columnheader", "aria-sort": sorted, title: column.title, "data-sort": column.sort },
      h("span", { class: "cut" }, column.head),
      sign,
    );
  }

  later() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.draw();
    });
  }

  draw() {
    if (matchMedia("print").matches) {
      this.drawAll();
      return;
    }
    const top = Math.max(0, Math.floor(this.element.scrollTop / ROW) - SPARE);
    const many = Math.ceil(this.element.clientHeight / ROW) + 2 * SPARE;
    const rows = [];
    for (let at = top; at < Math.min(this.items.length, top + many); at += 1) rows.push(this.row(at));
    this.body.replaceChildren(...rows);
    this.tell();
    if (this.given.fill) this.fillSoon(rows, top);
  }

  /**
   * Fill rows one after the other when nobody scrolls: each may have to open a part of the file.
   * @param {HTMLElement[]} rows
   * @param {number} top
   */
  fillSoon(rows, top) {
    clearTimeout(this.filling);
    const inSight = Math.max(0, Math.floor(this.element.scrollTop / ROW) - top);
    const order = [...rows.keys()].sort((one, other) => Number(one < inSight) - Number(other < inSight) || one - other);
    this.filling = setTimeout(async () => {
      for (const at of order) {
        if (rows[at].isConnected) await this.given.fill?.(this.items[top + at], rows[at]);
      }
    }, FILL_AFTER);
  }

  tell() {
    const isThere = this.body.querySelector(`#row-${this.at}`);
    if (isThere) this.element.setAttribute("aria-activedescendant", `row-${this.at}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  /** @param {number} at */
  row(at) {
    const item = this.items[at];
    const cells = this.given.columns.map((column) => h("div", { class: `cell ${column.kind}`, role: "gridcell" }, column.cell(item)));
    const isHere = at === this.at;
    const row = h("div", { class: `grid-row${isHere ? " here" : ""}`, role: "row", id: `row-${at}`, "aria-rowindex": at + 2, "aria-selected": String(isHere), "data-at": at }, cells);
    row.style.setProperty("top", `${at * ROW}px`);
    return row;
  }

  /** @param {any} event */
  click(event) {
    const sort = event.target.closest("[data-sort]")?.getAttribute("data-sort");
    if (sort) this.given.sortBy?.(sort);
    const at = event.target.closest("[data-at]")?.getAttribute("data-at");
    if (at === null || at === undefined) return;
    this.go(Number(at));
    this.given.open(this.at);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 2);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" && this.at >= 0) {
      event.preventDefault();
      this.given.open(this.at);
    } else if (event.key in steps) {
      event.preventDefault();
      this.go(this.at + steps[event.key]);
    }
  }

  /** @param {number} to */
  go(to) {
    if (!this.items.length) return;
    this.at = Math.max(0, Math.min(this.items.length - 1, to));
    this.show();
    this.given.walk(this.at);
  }

  show() {
    const above = this.at * ROW;
    const room = this.element.clientHeight - this.head.offsetHeight;
    if (above < this.element.scrollTop) this.element.scrollTop = above;
    if (above + ROW > this.element.scrollTop + room) this.element.scrollTop = above + ROW - room;
    this.draw();
  }
}

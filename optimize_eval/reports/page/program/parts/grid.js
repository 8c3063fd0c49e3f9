// @ts-check
// A table of any length of which only the rows in sight exist. One tab stop; keys walk it.

const ROW = 26; // px
const FILL_AFTER = 50; // ms without a scroll
const FILL_FOR = 6; // ms of a frame
const MOST_PRINTED = 5000; // rows
const SPARE = 220; // px of rows above and below

/**
 * @typedef {{name: string, head: Child, title?: string, kind: string, cell: (item: any) => Child, sort?: string,
 *   across?: number}} Column one with `across` can be gone to by ← and →
 */

class Grid {
  /**
   * @param {{label: string, columns: Column[], items: any[], at: number, sort?: string,
   *   sortBy?: (key: string) => void, walk: (at: number) => void, open: (at: number) => void,
   *   fill?: (item: any, row: HTMLElement) => Promise<void>, empty: string, height?: number, width?: number,
   *   isFull?: (item: any, row: HTMLElement) => boolean,
   *   across?: {at: number, go: (at: number) => void}}} given
   */
  constructor(given) {
    this.given = given;
    this.items = given.items;
    this.at = given.at;
    this.height = given.height || ROW;
    /** @type {Map<number, HTMLElement>} that exist */
    this.rows = new Map();
    this.full = new WeakSet();
    this.seen = 0; // how far it was scrolled when it was drawn last
    this.body = h("div", { class: "grid-body", role: "rowgroup" });
    this.head = h("div", { class: "grid-row grid-head", role: "row" }, given.columns.map((column) => this.header(column)));
    this.element = h(
      "div",
      {
        class: `grid${given.height ? " of-replies" : ""}`, role: "grid", tabindex: 0, "aria-label": given.label,
        "aria-rowcount": this.items.length + 1, "aria-colcount": given.columns.length,
        on: { keydown: (event) => this.key(event), scroll: () => this.later(), click: (event) => this.click(event) },
      },
      h("div", { role: "rowgroup", class: "grid-top" }, this.head),
      this.body,
      !this.items.length && h("p", { class: "empty" }, given.empty),
    );
    this.body.style.setProperty("height", `${this.items.length * this.height}px`);
    if (given.width) for (const part of [this.body, this.head]) part.style.setProperty("min-width", `${given.width}px`);
    this.watch = new ResizeObserver(() => this.later());
    this.watch.observe(this.element);
    const paper = matchMedia("print");
    paper.addEventListener("change", () => this.element.isConnected && (paper.matches ? this.drawAll() : this.drawAnew()));
  }

  /** Draw the rows in sight and all others, for paper; of very many, as many as anybody prints. */
  drawAll() {
    const many = Math.min(this.items.length, MOST_PRINTED);
    const left = this.items.length - many;
    const more = left > 0 && h("p", { class: "empty" }, `… and ${count(left, "more row")}, which are not printed`);
    this.rows.clear();
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
      { class: `cell ${column.kind}`, role: "columnheader", "aria-sort": sorted, title: column.title, "data-sort": column.sort, "data-across": column.across },
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

  drawAnew() {
    this.rows.clear();
    this.body.replaceChildren();
    this.draw();
  }

  /** Draw the rows that have come in sight; those that stay are not made again. */
  draw() {
    if (matchMedia("print").matches) {
      this.drawAll();
      return;
    }
    const { scrollTop, clientHeight } = this.element;
    const isFar = Math.abs(scrollTop - this.seen) > 0.4 * clientHeight; // then what there is to read comes when it rests
    this.seen = scrollTop;
    const from = Math.max(0, Math.floor((scrollTop - SPARE) / this.height));
    const to = Math.min(this.items.length, Math.ceil((scrollTop + clientHeight + SPARE) / this.height));
    for (const [at, row] of this.rows) {
      if (at >= from && at < to) continue;
      row.remove();
      this.rows.delete(at);
    }
    const first = this.body.firstElementChild;
    const start = this.rows.size ? Math.min(...this.rows.keys()) : to;
    for (let at = from; at < to; at += 1) {
      if (this.rows.has(at)) continue;
      const row = this.row(at, isFar);
      this.body.insertBefore(row, at < start ? first : null);
      this.rows.set(at, row);
      if (!isFar && this.given.isFull?.(this.items[at], row)) this.full.add(row);
    }
    this.tell();
    if (this.given.fill) this.fillSoon();
  }

  /** Fill rows one after the other when nobody scrolls: each may have to open a part of the file. */
  fillSoon() {
    clearTimeout(this.filling);
    this.filling = setTimeout(() => this.fill(), FILL_AFTER);
  }

  async fill() {
    const inSight = Math.floor(this.element.scrollTop / this.height);
    const empty = [...this.rows].filter(([, row]) => !this.full.has(row));
    let begun = performance.now();
    for (const [at, row] of empty.sort(([one], [other]) => Number(one < inSight) - Number(other < inSight) || one - other)) {
      if (performance.now() - begun > FILL_FOR) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        begun = performance.now();
      }
      if (!row.isConnected || this.full.has(row)) continue;
      await this.given.fill?.(this.items[at], row);
      this.full.add(row);
    }
  }

  tell() {
    for (const [at, row] of this.rows) {
      if (row.classList.toggle("here", at === this.at) !== (row.getAttribute("aria-selected") === "true")) row.setAttribute("aria-selected", String(at === this.at));
    }
    const { across } = this.given;
    if (this.rows.has(this.at)) this.element.setAttribute("aria-activedescendant", across ? `cell-${this.at}-${across.at}` : `row-${this.at}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  /**
   * @param {number} at
   * @param {boolean} [isBare] whether its columns that can be gone to stay empty for now
   */
  row(at, isBare) {
    const item = this.items[at];
    const cells = this.given.columns.map((column) => h("div", { class: `cell ${column.kind}${column.across !== undefined && column.across === this.given.across?.at ? " across" : ""}`, role: "gridcell", id: column.across === undefined ? null : `cell-${at}-${column.across}`, "data-across": column.across }, isBare && column.across !== undefined ? null : column.cell(item)));
    const row = h("div", { class: "grid-row", role: "row", id: `row-${at}`, "aria-rowindex": at + 2, "aria-selected": "false", "data-at": at }, cells);
    row.style.setProperty("top", `${at * this.height}px`);
    return row;
  }

  /** @param {any} event */
  click(event) {
    const sort = event.target.closest("[data-sort]")?.getAttribute("data-sort");
    if (sort) this.given.sortBy?.(sort);
    const at = event.target.closest("[data-at]")?.getAttribute("data-at");
    if (at === null || at === undefined) return;
    const across = event.target.closest("[data-across]")?.getAttribute("data-across");
    if (across) this.given.across?.go(Number(across));
    this.go(Number(at));
    this.given.open(this.at);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const aside = { ArrowRight: 1, l: 1, ArrowLeft: -1, h: -1 }[event.key];
    if (aside && this.given.across) {
      event.preventDefault();
      this.aside(aside);
    } else if (event.key === "Enter" && this.at >= 0) {
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

  /**
   * Go to the next column on one side, and have it in sight.
   * @param {number} step
   */
  aside(step) {
    const heads = [...this.head.querySelectorAll("[data-across]")];
    const { across } = this.given;
    const here = heads.findIndex((head) => Number(head.getAttribute("data-across")) === across?.at);
    const to = heads[Math.max(0, Math.min(heads.length - 1, here + step))];
    if (!to || !across) return;
    across.at = Number(to.getAttribute("data-across"));
    across.go(across.at);
    this.tell();
    for (const cell of this.element.querySelectorAll("[data-across]")) cell.classList.toggle("across", cell.getAttribute("data-across") === String(across.at));
    to.scrollIntoView({ inline: "nearest", block: "nearest" });
  }

  show() {
    const above = this.at * this.height;
    const room = this.element.clientHeight - this.head.offsetHeight;
    if (above < this.element.scrollTop) this.element.scrollTop = above;
    if (above + this.height > this.element.scrollTop + room) this.element.scrollTop = above + this.height - room;
    this.draw();
  }
}

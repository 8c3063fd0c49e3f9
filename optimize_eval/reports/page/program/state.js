// @ts-check
// What is looked at stands in the address behind "#", so that a look can be sent; nonsense there is left out.

/**
 * @typedef {{tab: string, ev: number, tm: number, sp: number, a: number, b: number, q: string, show: string,
 *   sort: string, row: number, by: number, theme: string, node: number, vs: string, view: string, cols: string}} State
 */

const SHOWS = ["all", "worse", "better", "differs", "failed", "skipped"];
const THEMES = ["", "light", "dark"];
const VIEWS = ["scores", "replies"];
const COLUMNS = /^(ab|\d{1,4}(,\d{1,4}){0,39})?$/;
const AGAINST = ["parent", "other", "seed", "text"];

class Address {
  /**
   * @param {Data} data
   * @param {string[]} tabs
   */
  constructor(data, tabs) {
    this.data = data;
    this.tabs = tabs;
  }

  /** @returns {State} */
  usual() {
    const { axes, summary, isBench } = this.data;
    const { search } = this.data.head;
    const decided = isBench ? axes.splits.length : axes.splits.indexOf(summary.decided_on);
    const names = isBench ? axes.evaluators : axes.candidates;
    const a = isBench ? 0 : Math.max(0, this.data.baseline);
    const leader = names.indexOf(leaderOf(this.data));
    if (this.data.isDiff) return this.usualOfDiff(decided);
    const b = leader >= 0 && leader !== a ? leader : this.another(a, names.length);
    return {
      tab: this.tabs[0], ev: 0, tm: 0, sp: Math.max(0, decided), a, b, q: "", show: "all",
      sort: names.length > 1 ? "delta" : "line", row: -1, by: b, theme: "", node: search ? bestFound(search) : 0, vs: "parent",
      view: hasReplies(this.data) ? "replies" : "scores", cols: "",
    };
  }

  /**
   * Another column that can be compared with one, else itself.
   * @param {number} a
   * @param {number} many
   */
  another(a, many) {
    const others = [...Array(many).keys()].filter((at) => at !== a && this.data.scorerOf(at) === this.data.scorerOf(a));
    return others[0] ?? a;
  }

  /**
   * The first row of a diff is the one to know of.
   * @param {number} sp
   * @returns {State}
   */
  usualOfDiff(sp) {
    const [row] = this.data.head.diff.rows;
    const b = this.data.axes.candidates.indexOf(`B · ${row.candidate}`);
    return { tab: this.tabs[0], ev: this.data.axes.evaluators.indexOf(row.evaluator), tm: 0, sp, a: b - 1, b, q: "", show: "all", sort: "delta", row: -1, by: b, theme: "", node: 0, vs: "parent", view: hasReplies(this.data) ? "replies" : "scores", cols: "ab" };
  }

  /** @returns {State} */
  read() {
    const told = new URLSearchParams(location.hash.slice(1));
    const usual = this.usual();
    const { axes, isBench } = this.data;
    const systems = (isBench ? axes.evaluators : axes.candidates).length;
    const total = this.data.offsets[this.data.offsets.length - 1];
    const place = (name, most, least = 0) => {
      const text = told.get(name);
      const value = text && /^-?\d{1,9}$/.test(text) ? Number(text) : NaN;
      return value >= least && value < most ? value : usual[name];
    };
    const word = (name, known) => known.find((one) => one === told.get(name)) ?? usual[name];
    const sort = told.get("sort") || "";
    return {
      tab: word("tab", this.tabs),
      ev: place("ev", axes.evaluators.length),
      tm: place("tm", axes.task_models.length),
      sp: place("sp", axes.splits.length + 1), // one more: all of them
      a: place("a", systems),
      b: place("b", systems),
      q: (told.get("q") || "").slice(0, 400),
      show: word("show", SHOWS),
      sort: /^-?(line|delta|example|s\d{1,4})$/.test(sort) ? sort : usual.sort,
      row: place("row", total, -1),
      by: place("by", systems),
      theme: word("theme", THEMES),
      node: place("node", this.data.head.search?.candidates.length || 0),
      vs: word("vs", AGAINST),
      view: word("view", VIEWS),
      cols: COLUMNS.test(told.get("cols") ?? usual.cols) ? told.get("cols") ?? usual.cols : usual.cols,
    };
  }

  /** @param {State} state */
  write(state) {
    const usual = this.usual();
    const told = new URLSearchParams();
    for (const [name, value] of Object.entries(state)) {
      if (value !== usual[name]) told.set(name, String(value));
    }
    return `#${told}`;
  }
}

/**
 * Name who stands first: the winner, else who has the highest mean of those that are compared.
 * @param {Data} data
 */
function leaderOf(data) {
  const { summary } = data;
  if (summary.verdict.winner) return summary.verdict.winner;
  const first = data.axes.evaluators[0];
  const rows = summary.rows.filter((row) => row.evaluator === first && row.candidate !== summary.baseline);
  return sortedRows(rows, summary)[0]?.candidate || "";
}

/**
 * @param {any[]} rows
 * @param {any} summary
 */
function sortedRows(rows, summary) {
  const mean = (row) => row.splits[summary.decided_on]?.mean ?? -Infinity;
  return [...rows].sort((one, other) => mean(other) - mean(one) || 0);
}

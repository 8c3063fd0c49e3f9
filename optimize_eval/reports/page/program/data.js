// @ts-check
// The run as the page has it: the head at once, columns and examples when they were read, details when opened.

const NOT_RUN = 0;
const SCORED = 1;
const FAILED = 2;
const SKIPPED = 3;
const NO_BLOCK = 0xffffffff;
const MOST_OPEN = 80; // blocks that are kept
const SPARE_OPEN = 8; // of them, for what is opened otherwise

/** @typedef {{name: string, evaluator: number, candidate: number}} System one column: a candidate, or a model */
/** @typedef {{split: number, place: number, line: number | null, name: string, text: string, search: string}} Example */
/** @typedef {{score: number, outcome: number, seconds: number}} Value */

class Data {
  /** @param {any} head */
  constructor(head) {
    /** @type {Map<string, number>} where the units of a cell begin */
    this.starts = new Map();
    /** @type {number[]} where the examples of a split begin */
    this.offsets = [];
    this.size = 0;
    this.scores = new Float64Array(0);
    this.seconds = new Float32Array(0);
    this.outcomes = new Uint8Array(0);
    this.take(head);
    /** @type {{bytes: (name: string) => Promise<ArrayBuffer | null>}} */
    this.source = FILE;
    /** @type {Map<string, Promise<any>>} */
    this.open = new Map();
    /** @type {Map<string, any>} of those the ones that were read */
    this.opened = new Map();
    /** @type {Map<string, string>} of records, by example, evaluator, candidate and model */
    this.reasons = new Map();
    this.isRead = false;
    this.keeps = MOST_OPEN;
    this.warming = {};
    /** @type {Set<string>} names of fields of examples, of those that were opened */
    this.fields = new Set(head.run.group_by || []);
    /** @type {Example[]} */
    this.examples = [];
    /** @type {Uint32Array} */
    this.blocks = new Uint32Array(0);
  }

  /**
   * Take a head: the first, or in a page that is served a newer one.
   * @param {any} head
   */
  take(head) {
    this.head = head;
    this.summary = head.summary;
    this.run = head.run;
    this.axes = head.axes;
    this.isBench = head.run.kind === "bench";
    this.isDiff = head.run.kind === "diff"; // of two runs: candidates are in pairs, that of A before that of B
    this.isOfBoards = head.run.kind === "board-diff";
    this.isOfOthers = Boolean(head.run.settings?.origin); // another tool scored
    this.targetFields = targetFields(head.run);
    this.isSearch = head.run.kind === "search"; // that has no run yet
    this.baseline = head.axes.candidates.indexOf(head.summary.baseline);
    this.offsets = head.axes.sizes.reduce((all, size) => [...all, all[all.length - 1] + size], [0]);
    this.starts = new Map();
    let start = 0;
    for (const key of head.cells) {
      this.starts.set(key.join(), start);
      start += head.axes.sizes[key[3]] * head.axes.repeats;
    }
    this.size = start;
    this.isOver = !head.live || head.live.state !== "running";
    this.isWhole = head.summary.units.owed === 0 || this.isDiff;
  }

  /** Read the columns and the examples; the overview needs neither. */
  async read() {
    const columns = await this.source.bytes("columns");
    const examples = await this.source.bytes("examples");
    const index = await this.source.bytes("index");
    if (!columns || !examples) throw new Error("the columns are not in this file");
    this.takeColumns(columns);
    this.takeExamples(JSON.parse(new TextDecoder().decode(examples)));
    this.blocks = index ? new Uint32Array(index) : new Uint32Array(this.examples.length).fill(NO_BLOCK);
    this.isRead = true;
  }

  /** @param {ArrayBuffer} columns */
  takeColumns(columns) {
    const size = this.size;
    this.scores = new Float64Array(columns, 0, size);
    this.seconds = new Float32Array(columns, size * 8, size);
    this.outcomes = new Uint8Array(columns, size * 12, size);
  }

  /** @param {{lines: (number | null)[], names: string[], inputs: string[]}[]} splits */
  takeExamples(splits) {
    this.examples = splits.flatMap((known, split) =>
      known.lines.map((line, place) => {
        const name = known.names[place] || "";
        const text = known.inputs[place] || "";
        return { split, place, line, name, text, search: `${name} ${text} ${line}`.toLowerCase() };
      }),
    );
  }

  /**
   * Whom a candidate is compared with; -1 for one that is the measure itself.
   * @param {number} at
   */
  against(at) {
    if (this.isDiff) return at % 2 ? at - 1 : -1;
    return at === this.baseline ? -1 : this.baseline;
  }

  /**
   * Whose scores a bench's column has, where that is not what its board is of.
   * @param {number} at
   * @returns {string}
   */
  scorerOf(at) {
    return (this.isBench && this.run.evaluators[at]?.scorer) || "";
  }

  /**
   * What one column has more than another; scores of different scorers are on no common scale.
   * @param {number} a
   * @param {number} b
   * @param {Value | undefined} before
   * @param {Value | undefined} after
   */
  delta(a, b, before, after) {
    return before && after && this.scorerOf(a) === this.scorerOf(b) ? after.score - before.score : NaN;
  }

  /** @returns {System[]} the columns of grids: candidates, or a bench's models */
  systems(evaluator) {
    const names = this.isBench ? this.axes.evaluators : this.axes.candidates;
    return names.map((name, at) => ({
      name,
      evaluator: this.isBench ? at : evaluator,
      candidate: this.isBench ? 0 : at,
    }));
  }

  /**
   * @param {System} system
   * @param {number} model
   * @param {Example} example
   * @returns {Value} of all repeats their mean, of which the count of scored ones decides the outcome
   */
  value(system, model, example) {
    const start = this.starts.get([system.evaluator, system.candidate, model, example.split].join());
    if (start === undefined || !this.outcomes.length) return { score: NaN, outcome: NOT_RUN, seconds: 0 };
    const repeats = this.axes.repeats;
    const at = start + example.place * repeats;
    if (repeats === 1) return { score: this.scores[at], outcome: this.outcomes[at], seconds: this.seconds[at] };
    return this.overRepeats(at, repeats);
  }

  /**
   * @param {number} at
   * @param {number} repeats
   */
  overRepeats(at, repeats) {
    const outcomes = this.outcomes.subarray(at, at + repeats);
    const scores = this.scores.subarray(at, at + repeats).filter((score) => !Number.isNaN(score));
    const outcome = scores.length ? SCORED : outcomes.includes(FAILED) ? FAILED : Math.max(...outcomes);
    const score = scores.length ? scores.reduce((sum, one) => sum + one, 0) / scores.length : NaN;
    return { score, outcome, seconds: this.seconds[at] };
  }

  /**
   * One record's score, outcome and seconds.
   * @param {number} evaluator
   * @param {number} candidate
   * @param {number} model
   * @param {Example} example
   * @param {number} repeat
   * @returns {Value}
   */
  unit(evaluator, candidate, model, example, repeat) {
    const at = (this.starts.get([evaluator, candidate, model, example.split].join()) ?? 0) + example.place * this.axes.repeats + repeat - 1;
    return { score: this.scores[at], outcome: this.outcomes[at], seconds: this.seconds[at] };
  }

  /** @param {Example} example */
  number(example) {
    return this.offsets[example.split] + example.place;
  }

  /**
   * What is known of an example in full: itself and every record; null where there is no room for it here.
   * @param {Example} example
   */
  async details(example) {
    const name = this.blockOf(example);
    return name === null ? null : this.toldIn(await this.block(name), example);
  }

  /**
   * The same where it was opened already, without waiting; undefined where it was not.
   * @param {Example} example
   */
  known(example) {
    const name = this.blockOf(example);
    return name === null ? null : this.opened.has(name) ? this.toldIn(this.opened.get(name), example) : undefined;
  }

  /** @param {Example} example */
  blockOf(example) {
    if (this.head.live) return `block/${example.split}/${example.place}`;
    const block = this.isRead ? this.blocks[this.number(example)] : NO_BLOCK;
    return block === NO_BLOCK ? null : `block-${block}`;
  }

  toldIn(block, example) {
    return block?.[`${example.split}:${example.place}`] || null;
  }

  /** @param {string} name */
  block(name) {
    const known = this.open.get(name) || this.source.bytes(name).then(parsed);
    this.open.delete(name);
    this.open.set(name, known); // the newest is the last
    known.then((block) => this.open.has(name) && this.keep(name, block), () => this.open.delete(name));
    for (const oldest of [...this.open.keys()].slice(0, Math.max(0, this.open.size - this.keeps))) {
      this.open.delete(oldest);
      this.opened.delete(oldest);
    }
    return known;
  }

  keep(name, block) {
    this.opened.set(name, block);
    for (const { example } of Object.values(block || {}).slice(0, 3)) {
      if (example && typeof example === "object" && this.fields.size < 100) Object.keys(example).forEach((field) => this.fields.add(field));
    }
  }

  /** Open what is told of examples, as far as it is kept, a part at a time, for who scrolls later; a server is not asked. */
  async warm(examples) {
    const names = this.head.live ? [] : [...new Set(examples.map((example) => this.blockOf(example)))].filter((name) => name && !this.open.has(name));
    const turn = (this.warming = {}); // the newest list alone is read ahead
    for (const name of names.slice(0, Math.max(0, MOST_OPEN - SPARE_OPEN - this.open.size))) {
      if (this.warming !== turn) return;
      await this.block(name).catch(() => null);
      await new Promise((resolve) => setTimeout(resolve, 8));
    }
  }
}

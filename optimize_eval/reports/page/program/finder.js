// @ts-check
// What is looked for in all that is known of examples, beside the page: part by part, until something else is.

const SEARCH_AFTER = 150; // ms without a key
const MOST_ASKED = 2000; // examples, each a question to the server

/** @typedef {{key: string, isIt: (told: any) => boolean, numbers: Set<number>, without: number, isDone: boolean}} Found_ */

class Finder {
  /** @param {Data} data @param {() => void} done */
  constructor(data, done) {
    this.data = data;
    this.done = done;
    /** @type {Found_} */
    this.found = { key: "", isIt: () => false, numbers: new Set(), without: 0, isDone: true };
  }

  /**
   * What was found so far in fields, replies, reasons and failures; the list is drawn anew when it is all.
   * @param {string} key names what is looked for; empty for nothing
   * @param {(told: any) => boolean} isIt
   */
  lookFor(key, isIt) {
    if (this.found.key !== key) {
      this.found = { key, isIt, numbers: new Set(), without: 0, isDone: !key };
      if (key) setTimeout((found) => this.look(found), SEARCH_AFTER, this.found);
    }
    return this.found;
  }

  /** @param {Found_} found */
  async look(found) {
    const { data } = this;
    const isFar = data.head.live && data.examples.length > MOST_ASKED;
    const order = [...data.examples].sort((one, other) => data.blocks[data.number(one)] - data.blocks[data.number(other)]);
    for (const example of isFar ? [] : order) {
      if (this.found !== found) return;
      const told = await data.details(example).catch(() => null);
      if (!told) found.without += 1;
      else if (found.isIt(told)) found.numbers.add(data.number(example));
    }
    if (isFar) found.without = data.examples.length;
    found.isDone = true;
    if (this.found === found) this.done();
  }
}

/** Return true if a text anywhere in a value, or a key, has what is searched for. */
function holds(value, query) {
  if (typeof value === "string") return value.toLowerCase().includes(query);
  if (value instanceof Exact) return value.digits.includes(query);
  if (value === null || typeof value !== "object") return value !== null && String(value).includes(query);
  return Object.entries(value).some(([key, item]) => (!Array.isArray(value) && key.toLowerCase().includes(query)) || holds(item, query));
}

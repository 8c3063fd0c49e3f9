// @ts-check
// Two texts line by line: what is in both, what only the second has, what only the first had; and in a line that
// was changed, which words.

const MOST_LINES = 1000;
const MOST_WORDS = 600;
const AROUND = 3; // lines that are alike and stay beside changes, where others are folded
const LEAST_ALIKE = 0.3; // of two lines; below that one was not made of the other

/** @typedef {{sign: string, text: string, words?: Child}} Line */

/**
 * @param {string} before
 * @param {string} after
 * @returns {Line[] | null} null where it would take too long
 */
function lineDiff(before, after) {
  const areLines = before.endsWith("\n") && after.endsWith("\n"); // then nothing stands behind the last
  const [old, now] = [before, after].map((text) => (areLines ? text.slice(0, -1) : text).split("\n"));
  if (old.length > MOST_LINES || now.length > MOST_LINES) return null;
  return aligned(old, now).map(([sign, text]) => ({ sign, text }));
}

/**
 * Put two lists beside each other: what both have, what was removed, what was added.
 * @param {string[]} old
 * @param {string[]} now
 * @returns {[string, string][]} signs and what they are of
 */
function aligned(old, now) {
  const same = longest(old, now);
  /** @type {[string, string][]} */
  const found = [];
  let [a, b] = [0, 0];
  while (a < old.length || b < now.length) {
    if (a < old.length && b < now.length && old[a] === now[b]) {
      found.push([" ", now[b]]);
      a += 1;
      b += 1;
    } else if (a < old.length && (b >= now.length || same[a + 1][b] >= same[a][b + 1])) {
      found.push([MINUS, old[a]]);
      a += 1;
    } else {
      found.push(["+", now[b]]);
      b += 1;
    }
  }
  return found;
}

/**
 * The lengths of the longest common parts from each place on.
 * @param {string[]} old
 * @param {string[]} now
 */
function longest(old, now) {
  const table = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let a = old.length - 1; a >= 0; a -= 1) {
    for (let b = now.length - 1; b >= 0; b -= 1) {
      table[a][b] = old[a] === now[b] ? table[a + 1][b + 1] + 1 : Math.max(table[a + 1][b], table[a][b + 1]);
    }
  }
  return table;
}

/**
 * Words, what stands between them, and each sign.
 * @param {string} text
 * @returns {string[]}
 */
function wordsOf(text) {
  return text.match(/\s+|[\p{L}\p{N}_]+|./gu) || [];
}

/**
 * Mark the words that differ in lines that were changed: the first removed belongs to the first added.
 * @param {Line[]} lines
 */
function markWords(lines) {
  for (let at = 0; at < lines.length; at += 1) {
    let added = at;
    while (lines[added]?.sign === MINUS) added += 1;
    for (let pair = 0; at + pair < added && lines[added + pair]?.sign === "+"; pair += 1) markPair(lines[at + pair], lines[added + pair]);
    at = Math.max(at, added - 1);
  }
}

/**
 * @param {Line} removed
 * @param {Line} added
 */
function markPair(removed, added) {
  const [old, now] = [wordsOf(removed.text), wordsOf(added.text)];
  if (old.length > MOST_WORDS || now.length > MOST_WORDS) return;
  const words = aligned(old, now);
  const alike = words.filter(([sign, word]) => sign === " " && word.trim()).length;
  if (alike < LEAST_ALIKE * Math.max(old.length, now.length) / 2) return; // every second is a space
  const shown = (mine) => words.filter(([sign]) => sign === " " || sign === mine).map(([sign, word]) => (sign === mine ? h("b", { class: "word" }, word) : word));
  removed.words = shown(MINUS);
  added.words = shown("+");
}

/**
 * Leave out lines that are alike and far from every change.
 * @param {Line[]} lines
 * @returns {Line[]}
 */
function folded(lines) {
  const isNear = (at) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((line) => line.sign !== " ");
  /** @type {Line[]} */
  const shown = [];
  let many = 0;
  const fold = () => {
    if (many) shown.push({ sign: "…", text: count(many, "unchanged line") });
    many = 0;
  };
  lines.forEach((line, at) => {
    if (!isNear(at)) {
      many += 1;
      return;
    }
    fold();
    shown.push(line);
  });
  fold();
  return shown;
}

/**
 * @param {string} before
 * @param {string} after
 * @param {boolean} [isFolded]
 */
function shownDiff(before, after, isFolded = false) {
  const lines = lineDiff(before, after);
  if (!lines) return h("pre", { class: "text", role: "group", tabindex: 0, "aria-label": "text" }, after);
  markWords(lines);
  const kinds = { "+": "added", [MINUS]: "removed", " ": "kept", "…": "folded" };
  return h(
    "pre",
    { class: "text diff", role: "group", tabindex: 0, "aria-label": "changed lines" },
    (isFolded ? folded(lines) : lines).map(({ sign, text, words }) => h("span", { class: `line ${kinds[sign]}${words ? " partly" : ""}` }, `${sign} `, said(words || text), "\n")),
  );
}

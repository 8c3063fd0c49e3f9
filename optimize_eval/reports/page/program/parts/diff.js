// @ts-check
// Two texts line by line: what is in both, what only the second has, what only the first had.

const MOST_LINES = 1000;

/**
 * @param {string} before
 * @param {string} after
 * @returns {{sign: string, text: string}[] | null} null where it would take too long
 */
function lineDiff(before, after) {
  const areLines = before.endsWith("\n") && after.endsWith("\n"); // then nothing stands behind the last
  const [old, now] = [before, after].map((text) => (areLines ? text.slice(0, -1) : text).split("\n"));
  if (old.length > MOST_LINES || now.length > MOST_LINES) return null;
  const same = longest(old, now);
  const lines = [];
  let [a, b] = [0, 0];
  while (a < old.length || b < now.length) {
    if (a < old.length && b < now.length && old[a] === now[b]) {
      lines.push({ sign: " ", text: now[b] });
      a += 1;
      b += 1;
    } else if (a < old.length && (b >= now.length || same[a + 1][b] >= same[a][b + 1])) {
      lines.push({ sign: MINUS, text: old[a] });
      a += 1;
    } else {
      lines.push({ sign: "+", text: now[b] });
      b += 1;
    }
  }
  return lines;
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
 * @param {string} before
 * @param {string} after
 */
function shownDiff(before, after) {
  const lines = lineDiff(before, after);
  if (!lines) return h("pre", { class: "text", role: "group", tabindex: 0, "aria-label": "text" }, after);
  const kinds = { "+": "added", [MINUS]: "removed", " ": "kept" };
  return h(
    "pre",
    { class: "text diff", role: "group", tabindex: 0, "aria-label": "changed lines" },
    lines.map(({ sign, text }) => h("span", { class: `line ${kinds[sign]}` }, `${sign} `, said(text), "\n")),
  );
}

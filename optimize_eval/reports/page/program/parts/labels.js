// @ts-check
// Names beside marks of a chart: each where it covers no mark and no other name, else it is left to the mark's title.

const LETTER = 8.4; // px of a letter of a name
const REACH = 8; // px from a mark's middle to its end
const STEPS = [-11, 19, -25, 33, -39, 47]; // px from a mark to the line of its name, the nearest first

/** @typedef {{x: number, y: number, texts: string[]}} Named a mark, and its name in full, then shorter; none for no name */
/** @typedef {{left: number, right: number, top: number, bottom: number}} Box */

/**
 * @param {Named[]} marks
 * @param {[number, number]} across between which names may stand
 * @returns {({x: number, y: number, text: string} | null)[]} where each name begins
 */
function placesOfNames(marks, [left, right]) {
  /** @type {Box[]} */
  const taken = marks.map(({ x, y }) => ({ left: x - REACH, right: x + REACH, top: y - REACH, bottom: y + REACH }));
  const isFree = (place) => place.x >= left && place.x + place.width <= right && place.y > 10 && !taken.some((box) => covers(box, boxOf(place)));
  return marks.map((mark_) => {
    const place = mark_.texts.flatMap((text) => placesAround(mark_, text)).find(isFree);
    if (place) taken.push(boxOf(place));
    return place || null;
  });
}

/** @param {Named} mark_ @param {string} text */
function placesAround({ x, y }, text) {
  const width = Array.from(text).length * LETTER;
  const starts = [x + REACH + 4, x - REACH - 4 - width, x - width / 2];
  return STEPS.flatMap((step) => starts.map((start) => ({ x: start, y: y + step, text, width })));
}

/** @returns {Box} */
function boxOf(place) {
  return { left: place.x, right: place.x + place.width, top: place.y - 11, bottom: place.y + 3 };
}

/** @param {Box} one @param {Box} other */
function covers(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

// @ts-check
// Numbers as words: the same digits as in the terminal.

const MINUS = "−";
const DASH = "–";

/**
 * Round as Python does, ties to even.
 * @param {number} value
 * @param {number} digits
 */
function fixed(value, digits) {
  const text = Math.abs(value).toFixed(digits);
  const sixteenths = Math.abs(value) * 16;
  const isTie = digits === 3 && Number.isInteger(sixteenths) && sixteenths % 2 === 1;
  const even = isTie && Number(text.slice(-1)) % 2 ? (Number(text) - 0.001).toFixed(3) : text;
  return value < 0 ? `-${even}` : even;
}

/**
 * Write with so many digits, as Python's "g" does.
 * @param {number} value
 * @param {number} digits
 */
function general(value, digits) {
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < digits) {
    const plain = value.toFixed(Math.max(0, digits - 1 - exponent));
    return plain.includes(".") ? plain.replace(/\.?0+$/, "") : plain;
  }
  const bare = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return `${bare}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** @param {number | null | undefined} value */
function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "unknown";
  const shown = Math.abs(value) < 1e-12 ? 0 : value;
  const isTiny = shown !== 0 && Math.abs(shown) < 0.0005;
  const text = isTiny ? general(shown, 1) : Math.abs(shown) < 1000 ? fixed(shown, 3) : general(shown, 4);
  return text.replaceAll("-", MINUS);
}

/** @param {number | null | undefined} value */
function signed(value) {
  const text = number(value);
  return text === "unknown" || text.startsWith(MINUS) ? text : `+${text}`;
}

/** @param {number[] | null | undefined} ci */
function interval(ci) {
  return ci ? `${signed(ci[0])} to ${signed(ci[1])}` : "";
}

/**
 * Leaves out what two scores from 0 to 1 cannot differ by.
 * @param {any} data @param {string} evaluator @param {number[] | null | undefined} ci
 */
function intervalOf(data, evaluator, ci) {
  const isUnit = data.summary.score_ranges?.[evaluator] === "unit";
  return interval(ci && isUnit ? [Math.max(-1, ci[0]), Math.min(1, ci[1])] : ci);
}

/** @param {number[] | null | undefined} ci */
function ends(ci) {
  return ci ? `${number(ci[0])} to ${number(ci[1])}` : "";
}

/** @param {number | null | undefined} p */
function pValue(p) {
  return p === null || p === undefined ? "p unknown" : p >= 0.001 ? `p = ${p.toFixed(3)}` : "p < 0.001";
}

/** @param {number} share */
function percent(share) {
  return `${(100 * share).toFixed(1).replace(/\.0$/, "")} %`;
}

/** @param {number} many */
function whole(many) {
  return many.toLocaleString("en-US");
}

/**
 * @param {number} many
 * @param {string} what
 */
function count(many, what) {
  return `${whole(many)} ${what}${many === 1 ? "" : "s"}`;
}

/** @param {number} seconds */
function duration(seconds) {
  if (seconds >= 100) return `${whole(Math.round(seconds))} s`;
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  return seconds >= 0.1 ? `${Math.round(seconds * 1000)} ms` : `${general(seconds * 1000, 2)} ms`;
}

/**
 * A record's score in a narrow cell: as many digits as it has, at most four behind the point.
 * @param {number} score
 */
function short(score) {
  if (Math.abs(score) >= 1e6 || (score !== 0 && Math.abs(score) < 0.0001)) return general(score, 3).replaceAll("-", MINUS);
  const text = String(Math.round(score * 10000) / 10000);
  const [before, after = ""] = text.split(".");
  return `${before}.${after.padEnd(2, "0")}`.replace("-", MINUS);
}

/** @param {string} time ISO 8601 */
function moment(time) {
  return time.replace("T", " ").replace(/:\d\d(\.\d+)?([+]00:00|Z)$/, " UTC");
}

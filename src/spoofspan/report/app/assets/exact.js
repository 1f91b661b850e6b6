// Exact arithmetic: times are whole nanoseconds in doubles (below 2^53), products of two of them are BigInts.

export const SECOND = 1e9;
export const LONGEST = Number.MAX_SAFE_INTEGER; // ns; 104 days

/** A reason not to give a number: what is wrong, where, and what to do. */
export class Refusal extends Error {
  /**
   * @param {string | string[]} problems
   * @param {string} remedy
   * @param {boolean} elsewhere the library may be able to do it; the page is not
   */
  constructor(problems, remedy = "", elsewhere = false) {
    const all = typeof problems === "string" ? [problems] : problems;
    const more = all.length > 20 ? [`... and ${all.length - 20} more`] : [];
    super([...all.slice(0, 20), ...more].join("\n") + (remedy && `\n${remedy}`));
    this.name = "Refusal";
    this.elsewhere = elsewhere;
  }
}

/**
 * Refuse what only the command line measures.
 * @param {string} what
 * @param {string} command
 * @returns {never}
 */
export function refuseHere(what, command) {
  throw new Refusal(what, `This page cannot do it; the command line can: ${command}`, true);
}

/**
 * Round to the nearest integer, halves to the even one, as NumPy's rint does.
 * @param {number} x
 */
export function rint(x) {
  if (Math.abs(x) >= 2 ** 52) return x;
  return x >= 0 ? x + 2 ** 52 - 2 ** 52 : x - 2 ** 52 + 2 ** 52 + 0;
}

/** @param {number[]} times */
export const longest = (times) => times.reduce((most, one) => Math.max(most, one), 0);

/**
 * Edge k of a grid, in ns.
 * @param {number} k
 * @param {number} spacing seconds
 */
export const gridEdge = (k, spacing) => rint(k * spacing * 1e9);

/**
 * Count the grid edges 0, 1, ... that lie before a time.
 * @param {number} time ns
 * @param {number} spacing seconds
 */
export function edgesBefore(time, spacing) {
  let count = Math.max(Math.ceil(time / (spacing * 1e9)), 0);
  if (count > 0 && gridEdge(count - 1, spacing) >= time) count -= 1;
  if (gridEdge(count, spacing) < time) count += 1;
  return count;
}

/**
 * Divide two integers and round once, to the nearest double.
 * @param {bigint} numerator not negative
 * @param {bigint} denominator positive
 */
export function ratio(numerator, denominator) {
  if (numerator === 0n) return 0;
  const shift = 64 - numerator.toString(2).length + denominator.toString(2).length;
  const scaled = shift > 0 ? numerator << BigInt(shift) : numerator;
  const divisor = shift > 0 ? denominator : denominator << BigInt(-shift);
  const quotient = scaled / divisor; // 64 or 65 bits: a last bit of 1 stands for any rest
  return Number(scaled % divisor ? quotient | 1n : quotient) * 2 ** -shift;
}

/**
 * A time as text, with at least three decimals and no more than it needs.
 * @param {number} ns
 */
export function secondsText(ns) {
  const sign = ns < 0 ? "-" : "";
  const digits = String(Math.abs(ns)).padStart(10, "0");
  const decimals = digits.slice(-9).replace(/0+$/, "").padEnd(3, "0");
  return `${sign}${digits.slice(0, -9)}.${decimals} s`;
}

/**
 * A double as Python prints it.
 * @param {number} x
 */
export function numberText(x) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
  if (Object.is(x, -0)) return "-0.0";
  const text = String(x);
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    const [mantissa, exponent] = x.toExponential().split("e");
    return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }
  return /[.]/.test(text) ? text : `${text}.0`;
}

/**
 * A short time in milliseconds, with all its decimals: 0.0125 is 12.5.
 * @param {number} seconds positive
 */
export function millisecondsText(seconds) {
  const [mantissa, exponent] = seconds.toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const before = Number(exponent) + 4; // digits before the point
  if (before >= digits.length) return digits.padEnd(before, "0");
  return before > 0 ? `${digits.slice(0, before)}.${digits.slice(before)}` : `0.${"0".repeat(-before)}${digits}`;
}

/**
 * A number with two decimals; the middle of two goes to the even one, as Python prints it.
 * @param {number} x
 */
export function twoDecimals(x) {
  const text = x.toFixed(2);
  const isMiddle = Math.abs(x * 8) % 2 === 1;
  return isMiddle && Number(text.at(-1)) % 2 ? (x - Math.sign(x) / 200).toFixed(2) : text;
}

/** @typedef {{value: string, seconds: number, utterances: number}} Touched how much a rule decided */

/**
 * Note how much time of an utterance a rule decided.
 * @param {Record<string, Touched & {ns: number}>} touched
 * @param {string} rule
 * @param {string} value
 * @param {number} ns
 */
export function touch(touched, rule, value, ns) {
  if (!ns) return;
  touched[rule] ??= { value, ns: 0, seconds: 0, utterances: 0 };
  touched[rule].ns += ns;
  touched[rule].seconds = touched[rule].ns / SECOND;
  touched[rule].utterances += 1;
}

/** What the rules of the library's defaults can decide, as it prints it. */
const DECIDED = {
  snap: (/** @type {string} */ where) => `between edges in ${where} closed`,
  overlong: (/** @type {string} */ where) => `of scores after the end of ${where} cut`,
  last_frame: (/** @type {string} */ where) => `of last frames past the end of ${where} cut`,
  slack: (/** @type {string} */ where) => `at the end of ${where} took the last score`,
};

/**
 * What a rule decided, in the words of the library.
 * @param {string} rule
 * @param {Touched} decided
 */
export function touchedText(rule, { seconds, utterances }) {
  const where = utterances === 1 ? "1 utterance" : `${utterances} utterances`;
  return `${seconds.toFixed(3)} s ${DECIDED[/** @type {keyof DECIDED} */ (rule)](where)} (rule: ${rule})`;
}

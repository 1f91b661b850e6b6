// Scores: what a system said, and rules 8 to 13 of docs/rules.md with the library's defaults.

import { gridEdge, LONGEST, longest, Refusal, refuseHere, rint, secondsText, touch } from "./exact.js";

/** @typedef {"bonafide" | "spoof"} Higher what high scores mean */

/**
 * @typedef {object} Scores rows offsets[i] to offsets[i + 1] belong to utterance i
 * @property {string[]} ids
 * @property {Float64Array} offsets
 * @property {Float64Array} values as given
 * @property {Higher} higher
 * @property {number | null} hop seconds; null for ranges
 * @property {Float64Array | null} starts of ranges, ns
 * @property {Float64Array | null} ends
 */

/**
 * @typedef {object} Runs score runs that fill [0, extent) of each utterance, so that each starts where the one before ends
 * @property {Scores} scores
 * @property {Float64Array} first the first row of each utterance
 * @property {Float64Array} used how many rows follow it
 * @property {number[]} extents
 * @property {Record<string, import("./exact.js").Touched & {ns: number}>} touched
 */

const LATE_ROWS = 2; // that may start after the end
const TAIL = 25_000_000; // ns
const LONG = 2e9; // ns of a hop or a resolution: from here on it may have been meant in milliseconds
const TOO_LONG = 3.6e12;
const FAR = 4; // durations
const MOST = 0.9;
const EVAL = "spoofspan eval REFERENCES SCORES";

/**
 * Check frames.
 * @param {string[]} ids
 * @param {number[] | Float64Array} offsets
 * @param {Float64Array} values
 * @param {number} hop seconds
 * @param {Higher} higher
 * @returns {Scores}
 */
export function frameScores(ids, offsets, values, hop, higher) {
  checkIds(ids);
  if (!(hop >= 1e-9 && hop * 1e9 <= LONGEST))
    throw new Refusal(`hop ${hop}: it must be positive`, "Give the spacing of the scores in seconds.");
  return { ids, offsets: Float64Array.from(offsets), values, higher, hop, starts: null, ends: null };
}

/**
 * Check ranges and sort them; empty ones are dropped.
 * @param {Map<string, [start: number, end: number, score: number][]>} rowsOf times in ns
 * @param {Higher} higher
 * @returns {Scores}
 */
export function rangeScores(rowsOf, higher) {
  const ids = [...rowsOf.keys()];
  checkIds(ids);
  const offsets = [0];
  /** @type {[number, number, number][]} */
  const all = [];
  for (const id of ids) {
    const rows = /** @type {[number, number, number][]} */ (rowsOf.get(id)).filter(([start, end]) => end !== start);
    const bad = rows.find(([start, end]) => end < start || start < 0 || end > LONGEST);
    if (bad)
      throw new Refusal(
        `utterance '${id}': a score lasts from ${secondsText(bad[0])} to ${secondsText(bad[1])}`,
        "Correct or drop it.",
      );
    rows.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    for (const row of rows) all.push(row);
    offsets.push(all.length);
  }
  const column = (/** @type {0 | 1 | 2} */ at) => Float64Array.from(all, (row) => row[at]);
  return {
    ids,
    offsets: Float64Array.from(offsets),
    values: column(2),
    higher,
    hop: null,
    starts: column(0),
    ends: column(1),
  };
}

/** @param {string[]} ids */
function checkIds(ids) {
  if (!ids.length) throw new Refusal("there is no score in the file; it is empty");
  const seen = new Set();
  const twice = ids.filter((id) => seen.has(id) || !seen.add(id));
  if (twice.length)
    throw new Refusal(
      twice.map((id) => `utterance '${id}' occurs more than once`),
      "Give each utterance one id.",
    );
}

/**
 * Refuse a hop or a resolution that was probably meant in milliseconds.
 * @param {number} ns
 * @param {number[]} extents
 * @param {string} name
 */
export function refuseMilliseconds(ns, extents, name) {
  const most = longest(extents);
  if (ns >= LONG && ns < TOO_LONG && most > 0 && most < ns) {
    throw new Refusal(
      `a ${name} of ${ns / 1e9} s is longer than every utterance (the longest has ${secondsText(most)})`,
      `It is given in seconds, and ${ns / 1e9} ms is ${ns / 1e12}.`,
    );
  }
}

/**
 * Rules 8 to 13: the rows inside each extent, which must cover it.
 * @param {Scores} scores
 * @param {number[]} extents of its utterances, ns
 * @returns {Runs}
 */
export function prepareScores(scores, extents) {
  return scores.hop === null ? prepareRanges(scores, extents) : prepareFrames(scores, scores.hop, extents);
}

/**
 * @param {Scores} scores
 * @param {number} hop
 * @param {number[]} extents
 */
function prepareFrames(scores, hop, extents) {
  const { ids, offsets } = scores;
  const used = new Float64Array(ids.length);
  const late = [];
  const missing = [];
  let several = false;
  const reach = [];
  /** @type {Runs["touched"]} */
  const touched = {};
  for (const [i, id] of ids.entries()) {
    const frames = offsets[i + 1] - offsets[i];
    several ||= frames > 1;
    used[i] = startsBefore(extents[i], hop, frames);
    reach.push(gridEdge(frames, hop));
    if (frames - used[i] > LATE_ROWS) late.push(tooLate(id, frames - used[i]));
    const last = gridEdge(used[i], hop);
    const tail = extents[i] - Math.min(last, extents[i]);
    if (tail > (used[i] ? rint((hop + TAIL / 1e9) * 1e9) : 0)) missing.push(uncovered(id, tail, extents[i]));
    touch(touched, "overlong", "cut", reach[i] - last);
    touch(touched, "last_frame", "use", used[i] ? Math.max(last - extents[i], 0) : 0);
    touch(touched, "slack", "held", tail);
  }
  if (several) refuseMilliseconds(hop * 1e9, extents, "hop");
  if (!isWhole(hop, longest(extents))) refuseOtherUnits(reach, extents);
  refuseUncovered(late, missing);
  return { scores, first: offsets, used, extents, touched };
}

/**
 * Whether frames lie at multiples of a whole number of ns, as the library tells.
 * @param {number} hop
 * @param {number} until ns
 */
function isWhole(hop, until) {
  const ns = rint(hop * 1e9);
  return until < 1e15 && Math.abs(hop * 1e9 - ns) <= ns * 2 ** -51;
}

/**
 * Count frames that start before a time.
 * @param {number} time
 * @param {number} hop
 * @param {number} frames
 */
function startsBefore(time, hop, frames) {
  let count = Math.min(Math.max(Math.ceil(time / (hop * 1e9)), 0), frames);
  while (count > 0 && gridEdge(count - 1, hop) >= time) count -= 1;
  while (count < frames && gridEdge(count, hop) < time) count += 1;
  return count;
}

const tooLate = (/** @type {string} */ id, /** @type {number} */ rows) =>
  `utterance '${id}': ${rows} scores start after its end`;
const uncovered = (/** @type {string} */ id, /** @type {number} */ ns, /** @type {number} */ extent) =>
  `utterance '${id}': ${secondsText(ns)} of ${secondsText(extent)} have no score`;

/**
 * @param {string[]} late
 * @param {string[]} missing
 */
function refuseUncovered(late, missing) {
  if (late.length) throw new Refusal(late, `Check hop and durations, or cut them: ${EVAL} --overlong cut`);
  if (missing.length)
    throw new Refusal(
      missing,
      `Check hop and durations, or state what that time counts as: ${EVAL} --uncovered hold (or bonafide, spoof, ignore, unanswered)`,
    );
}

/**
 * Scores that last many times as long as their utterances may be in another unit, about which the library knows more.
 * @param {number[]} lastEnds
 * @param {number[]} extents
 */
function refuseOtherUnits(lastEnds, extents) {
  const filled = extents.map((extent, i) => extent > 0 && lastEnds[i] > 0);
  const count = filled.filter(Boolean).length;
  const far = extents.filter((extent, i) => filled[i] && lastEnds[i] > FAR * extent).length;
  if (count && far >= MOST * count)
    refuseHere("most scores last more than four times as long as their utterances; are their times seconds?", EVAL);
}

/**
 * @param {Scores} scores
 * @param {number[]} extents
 */
function prepareRanges(scores, extents) {
  const { ids, offsets } = scores;
  const starts = /** @type {Float64Array} */ (scores.starts);
  const ends = /** @type {Float64Array} */ (scores.ends);
  const late = [];
  const missing = [];
  const overlaps = [];
  const used = new Float64Array(ids.length);
  const lastEnds = [];
  /** @type {Runs["touched"]} */
  const touched = {};
  for (const [i, id] of ids.entries()) {
    const [from, to] = [offsets[i], offsets[i + 1]];
    lastEnds.push(to > from ? ends[to - 1] : 0);
    // starts rise, so the rows inside come first
    let count = 0;
    while (from + count < to && starts[from + count] < extents[i]) count += 1;
    used[i] = count;
    if (to - from - count > LATE_ROWS) late.push(tooLate(id, to - from - count));
    let position = 0;
    let without = 0;
    for (let row = from; row < from + count; row++) {
      if (starts[row] < position)
        overlaps.push(
          `utterance '${id}': the score that starts at ${secondsText(starts[row])} overlaps the one before, which ends at ${secondsText(position)}`,
        );
      without += starts[row] - position;
      position = Math.min(ends[row], extents[i]);
    }
    const tail = extents[i] - position;
    if (count === 0 || tail > TAIL) without += tail;
    let lateTime = 0;
    for (let row = from + count; row < to; row++) lateTime += ends[row] - starts[row];
    touch(touched, "overlong", "cut", lateTime);
    touch(touched, "last_frame", "use", count ? Math.max(ends[from + count - 1] - extents[i], 0) : 0);
    touch(touched, "slack", "held", tail);
    if (without) missing.push(uncovered(id, without, extents[i]));
  }
  refuseOtherUnits(lastEnds, extents);
  if (overlaps.length)
    throw new Refusal(overlaps, `Scores overlap in time; say how: ${EVAL} --overlap min (or mean, centre)`);
  refuseUncovered(late, missing);
  return { scores, first: offsets, used, extents, touched };
}

/**
 * Where row k of an utterance ends.
 * @param {Runs} runs
 * @param {number} i
 * @param {number} k
 */
export function runEnd({ scores, first, used, extents }, i, k) {
  if (k === used[i] - 1) return extents[i];
  return scores.hop === null ? /** @type {Float64Array} */ (scores.ends)[first[i] + k] : gridEdge(k + 1, scores.hop);
}

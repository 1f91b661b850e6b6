// References: who is spoofed when, and rules 1 to 5 of docs/rules.md with the library's defaults.

import { LONGEST, Refusal, refuseHere, secondsText, touch } from "./exact.js";

export const BONA_FIDE = 0;
export const SPOOF = 1;
export const NONSPEECH = 2;
export const LABELS = ["bonafide", "spoof", "nonspeech"];

/** @typedef {[start: number, end: number, label: number]} Range times in ns */

/**
 * @typedef {object} References
 * @property {string[]} ids
 * @property {Range[][]} ranges of each utterance, sorted, none empty
 * @property {number[] | null} durations ns
 * @property {number} snap ns
 * @property {boolean} namesBothClasses
 */

/**
 * @typedef {object} Labelling runs of one label that fill [0, extent) of each utterance
 * @property {number[]} extents
 * @property {Int32Array} offsets
 * @property {Float64Array} ends
 * @property {Uint8Array} labels
 * @property {boolean} snapped whether the rule `snap` moved an edge of an utterance that is measured
 * @property {Record<string, import("./exact.js").Touched & {ns: number}>} touched
 */

const EVAL = "spoofspan eval REFERENCES SCORES";

/**
 * Check ranges as the library does when references are built.
 * @param {Map<string, Range[]>} rangesOf
 * @param {Map<string, number> | null} durationOf ns
 * @param {number} snap ns
 * @returns {References}
 */
export function makeReferences(rangesOf, durationOf, snap) {
  const ids = [...rangesOf.keys()];
  if (!ids.length) throw new Refusal("there is no reference in the file; it is empty or has comments only");
  const problems = [];
  const ranges = [];
  let bonaFide = false;
  let spoof = false;
  for (const id of ids) {
    const duration = durationOf?.get(id);
    if (durationOf && duration === undefined) problems.push(`utterance '${id}' has no duration`);
    if (duration !== undefined && !(duration > 0 && duration <= LONGEST)) {
      problems.push(`utterance '${id}': duration ${secondsText(duration)}`);
    }
    const rows = /** @type {Range[]} */ (rangesOf.get(id)).filter(([start, end]) => end > start);
    rows.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    for (const [start, end, label] of rows) {
      if (start < 0 || end > LONGEST) problems.push(`utterance '${id}': ${secondsText(start)} to ${secondsText(end)}`);
      bonaFide ||= label === BONA_FIDE;
      spoof ||= label === SPOOF;
    }
    problems.push(...contradictions(id, rows, snap));
    ranges.push(rows);
  }
  if (problems.length) throw new Refusal(problems, "Correct the references or the durations.");
  const durations = durationOf && ids.map((id) => /** @type {number} */ (durationOf.get(id)));
  return { ids, ranges, durations, snap, namesBothClasses: bonaFide && spoof };
}

/**
 * Ranges that give one time two labels, other than by edges that were rounded.
 * @param {string} id
 * @param {Range[]} rows sorted
 * @param {number} snap
 */
function contradictions(id, rows, snap) {
  if (!rows.some((row, i) => i && row[0] < rows[i - 1][1])) return [];
  /** @type {string[]} */
  const found = [];
  const text = (/** @type {Range} */ [start, end, label]) =>
    `${LABELS[label]} [${secondsText(start)}, ${secondsText(end)})`;
  const report = (/** @type {Range} */ a, /** @type {Range} */ b) =>
    found.push(`utterance '${id}': ${text(a)} and ${text(b)} overlap`);
  for (let i = 1; i < rows.length; i++) {
    if (rows[i - 1][0] === rows[i][0] && rows[i - 1][2] !== rows[i][2]) report(rows[i - 1], rows[i]);
  }
  if (found.length) return found;
  // of every label only the latest stretch can reach so far
  /** @type {Map<number, Range>} */
  const latest = new Map();
  for (const later of stretches(rows)) {
    for (const earlier of latest.values()) {
      const over = earlier[1] - later[0];
      if (earlier[2] !== later[2] && over > 0 && (over > snap || later[1] < earlier[1])) report(earlier, later);
    }
    latest.set(later[2], later);
  }
  return found;
}

/**
 * Rule 1: ranges of one label that overlap are one, and so are neighbours that touch.
 * @param {Range[]} rows sorted
 */
export function stretches(rows) {
  /** @type {Range[]} */
  const found = [];
  /** @type {Range[]} */
  const latest = [];
  for (const [start, end, label] of rows) {
    const own = latest[label];
    if (!own || start > own[1] || (start === own[1] && own !== found[found.length - 1])) {
      latest[label] = [start, end, label];
      found.push(latest[label]);
    } else {
      own[1] = Math.max(own[1], end);
    }
  }
  return found;
}

/**
 * Rule 1 where ranges of one label overlap in an utterance; otherwise its ranges as they are.
 * @param {Range[]} rows sorted
 */
export const merged = (rows) =>
  rows.some((row, i) => i && row[0] < rows[i - 1][1] && row[2] === rows[i - 1][2]) ? stretches(rows) : rows;

/**
 * Rules 1 to 5 with their defaults: a label for every instant, or a refusal.
 * @param {References} references
 * @returns {Labelling}
 */
export function labelReferences(references) {
  const { ids, snap, durations } = references;
  if (!durations && !references.namesBothClasses) {
    throw new Refusal(
      "the references list one class only and no durations, so the rest of each utterance is unknown",
      "Add a reco2dur file.",
    );
  }
  const past = [];
  const gaps = [];
  const overlaps = [];
  const nonspeech = [];
  const extents = [];
  const offsets = new Int32Array(ids.length + 1);
  const ends = [];
  const labels = [];
  let snapped = false;
  /** @type {Labelling["touched"]} */
  const touched = {};
  for (const [i, id] of ids.entries()) {
    let rows = merged(references.ranges[i]).map((row) => /** @type {Range} */ ([...row]));
    const lastEnd = rows.reduce((latest, row) => Math.max(latest, row[1]), 0);
    const extent = durations ? durations[i] : lastEnd;
    extents.push(extent);
    if (lastEnd - extent > snap || (rows.length && rows[rows.length - 1][0] >= extent)) {
      past.push(
        `utterance '${id}': a range ends at ${secondsText(lastEnd)}, past the duration of ${secondsText(extent)}`,
      );
      continue;
    }
    const joined = snap ? join(rows, extent, snap) : { rows, moved: 0 };
    touch(touched, "snap", `${snap}ns`, joined.moved);
    // an utterance without time is not measured
    snapped ||= joined.moved > 0 && extent > 0;
    rows = joined.rows;
    let position = 0;
    let without = 0;
    for (const [start, end, label] of rows) {
      if (start < position)
        overlaps.push(`utterance '${id}': two labels until ${secondsText(position)}, from ${secondsText(start)} on`);
      if (label === NONSPEECH) nonspeech.push(`utterance '${id}': ${secondsText(end - start)} of non-speech`);
      without += start - position;
      position = end;
      ends.push(end);
      labels.push(label);
    }
    without += extent - position;
    if (without) gaps.push(`utterance '${id}': ${secondsText(without)} without a label`);
    offsets[i + 1] = ends.length;
  }
  if (past.length)
    throw new Refusal(
      past,
      `Correct the durations, or state how long utterances are: ${EVAL} --extent cut-at-duration`,
    );
  if (overlaps.length) throw new Refusal(overlaps, "Correct the references.");
  if (gaps.length)
    throw new Refusal(gaps, `State what they are: ${EVAL} --gaps bonafide (or spoof, ignore, following)`);
  if (nonspeech.length)
    throw new Refusal(nonspeech, `State what it counts as: ${EVAL} --nonspeech ignore (or bonafide, spoof)`);
  if (extents.reduce((sum, extent) => sum + extent, 0) > LONGEST)
    refuseHere("the corpus lasts more than 2,500 hours", EVAL);
  return { extents, offsets, ends: Float64Array.from(ends), labels: Uint8Array.from(labels), snapped, touched };
}

/**
 * Rule 3: join edges that miss each other, 0 or the extent by at most `snap`.
 * @param {Range[]} before
 * @param {number} extent
 * @param {number} snap
 */
function join(before, extent, snap) {
  const rows = before.map((row) => /** @type {Range} */ ([...row]));
  for (let i = 1; i < rows.length; i++) {
    const miss = Math.abs(before[i][0] - before[i - 1][1]);
    if (miss > 0 && miss <= snap) rows[i - 1][1] = before[i][0];
  }
  const last = rows.length - 1;
  if (last >= 0 && before[0][0] <= snap) rows[0][0] = 0;
  if (last >= 0 && Math.abs(extent - before[last][1]) <= snap) rows[last][1] = extent;
  const moved = rows.reduce(
    (sum, row, i) => sum + Math.abs(row[0] - before[i][0]) + Math.abs(row[1] - before[i][1]),
    0,
  );
  const kept = rows.filter(([start, end]) => end > start);
  for (const row of kept) {
    row[0] = Math.min(row[0], extent);
    row[1] = Math.min(row[1], extent);
  }
  return { rows: kept.filter(([start, end]) => end > start), moved };
}

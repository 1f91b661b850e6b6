// Measures: bona fide and spoofed time (or points) under each score, and the EER of Eqs. 3 and 4, decided in integers.

import { edgesBefore, gridEdge, millisecondsText, Refusal, ratio, refuseHere, twoDecimals } from "./exact.js";
import { labelReferences, SPOOF } from "./references.js";
import { prepareScores, refuseMilliseconds, runEnd } from "./scores.js";

/** @typedef {import("./references.js").References} References */
/** @typedef {import("./references.js").Labelling} Labelling */
/** @typedef {import("./scores.js").Scores} Scores */
/** @typedef {import("./scores.js").Runs} Runs */

/**
 * @typedef {object} Overlay references and scores of the same utterances, in the order of the scores
 * @property {Labelling} labelling in the order of the references
 * @property {number[]} place of each utterance of the scores among the references
 * @property {Runs} runs
 * @property {string[]} measured the utterances that have any time
 */

/**
 * @typedef {object} Mass amounts of both classes under each score
 * @property {Float64Array} scores in bona fide polarity
 * @property {Float64Array} bonaFide
 * @property {Float64Array} spoof
 * @property {number} allBonaFide
 * @property {number} allSpoof
 * @property {"ns" | "points"} unit
 * @property {import("./scores.js").Higher} higher
 */

/**
 * @typedef {object} Measurement
 * @property {string} measure
 * @property {number} value
 * @property {number} threshold on the scale of the scores as given
 * @property {boolean} everything whether all is called spoof
 * @property {number} falsePositiveRate
 * @property {number} falseNegativeRate
 * @property {number} gap
 * @property {number} falsePositive ns or points
 * @property {number} falseNegative
 * @property {number} bonaFide
 * @property {number} spoof
 * @property {"ns" | "points"} unit
 * @property {string[]} notes
 * @property {string[]} warnings
 */

const COPIES_CHANGES = 20; // of the score, which are enough to tell that frames repeat it
const EVAL = "spoofspan eval REFERENCES SCORES";

/**
 * Rules 1 to 14 with their defaults.
 * @param {References} references
 * @param {Scores} scores
 * @returns {Overlay}
 */
export function overlay(references, scores) {
  const at = new Map(references.ids.map((id, i) => [id, i]));
  const place = [];
  const problems = [];
  for (const id of scores.ids) {
    const i = at.get(id);
    if (i === undefined) problems.push(`utterance '${id}' has scores but no references`);
    else place.push(i);
  }
  const scored = new Set(scores.ids);
  for (const id of references.ids) if (!scored.has(id)) problems.push(`utterance '${id}' has references but no scores`);
  if (problems.length)
    throw new Refusal(problems, `Complete the files, or measure the common utterances: ${EVAL} --partial`);
  const labelling = labelReferences(references);
  const extents = place.map((i) => labelling.extents[i]);
  const runs = prepareScores(scores, extents);
  const measured = scores.ids.filter((_, i) => extents[i] > 0);
  if (!measured.length) throw new Refusal("no utterance has any time to measure", "Check references and durations.");
  return { labelling, place, runs, measured };
}

/**
 * Measure by name, as the command line spells it.
 * @param {Overlay} laid
 * @param {string} measure
 * @returns {Measurement}
 */
export function measured(laid, measure) {
  const point = /^point-eer@(\d+(?:\.\d+)?)ms$/.exec(measure);
  const { scores, extents } = laid.runs;
  const notes = [];
  const warnings = [];
  let mass;
  if (measure === "range-eer") mass = rangeMass(laid);
  else if (measure === "utterance-eer") mass = pointMass(laid, null);
  else if (point) {
    const resolution = milliseconds(point[1]);
    refuseMilliseconds(resolution * 1e9, extents, "resolution");
    mass = pointMass(laid, resolution);
    notes.push(...resolutionNotes(resolution, scores));
  } else
    return refuseHere(
      `no measure '${measure}' here: range-eer, point-eer@20ms or utterance-eer`,
      `${EVAL} -m ${measure}`,
    );
  const found = equalErrorRate(mass);
  if (found.gap > 0.005) {
    warnings.push(
      `FPR and FNR differ by ${twoDecimals(100 * found.gap)} points at the nearest threshold (few distinct scores?); report the gap, or use eer_rule='interpolated'`,
    );
  }
  if (found.value > 0.5) {
    warnings.push(
      `an EER over 50 % (${twoDecimals(100 * found.value)} %) often means the wrong polarity; these scores were read with higher='${scores.higher}', and nothing was flipped; check as well which labels mean spoof`,
    );
  }
  return { measure, ...found, notes, warnings };
}

/**
 * What is said of points that are not finer than the resolution a system was trained at.
 * @param {number} resolution
 * @param {Scores} scores
 */
function resolutionNotes(resolution, scores) {
  const copied = copiedResolution(scores);
  const limit = copied ?? scores.hop;
  const notes = [];
  if (copied !== null && scores.hop !== null) {
    notes.push(
      `the scores are copies: each is repeated in ${Math.round(copied / scores.hop)} frames, so ${millisecondsText(copied)}ms is taken as the training resolution`,
    );
  }
  if (limit !== null && resolution > limit * (1 + 1e-9)) {
    const name = copied === null ? "scores' hop" : "training resolution";
    notes.push(
      `measured at ${millisecondsText(resolution)}ms, coarser than the ${name} of ${millisecondsText(limit)}ms: an easier task, not a better system`,
    );
  } else if (copied !== null && resolution >= copied * (1 - 1e-9)) {
    notes.push(
      `measured at the training resolution of ${millisecondsText(copied)}ms, where points hide part of the error; the paper recommends finer points, or the range EER`,
    );
  }
  return notes;
}

/**
 * The resolution in seconds of frames that repeat each score in blocks; null if they do not.
 * @param {Scores} scores
 */
function copiedResolution({ ids, offsets, values, hop }) {
  if (hop === null) return null;
  let block = 0;
  let changes = 0;
  for (let i = 0; i < ids.length && block !== 1; i++) {
    for (let row = offsets[i] + 1; row < offsets[i + 1]; row++) {
      if (values[row] === values[row - 1]) continue;
      changes += 1;
      for (let rest = row - offsets[i]; rest; ) [block, rest] = [rest, block % rest];
    }
  }
  return block > 1 && changes >= COPIES_CHANGES ? Number((block * hop).toFixed(9)) : null;
}

/**
 * Milliseconds as seconds, the double nearest to the text.
 * @param {string} text
 */
export function milliseconds(text) {
  const [whole, decimals = ""] = text.split(".");
  const seconds = ratio(BigInt(whole + decimals), 1000n * 10n ** BigInt(decimals.length));
  if (!seconds) throw new Refusal(`no resolution: ${text} ms`, "It must be positive.");
  return seconds;
}

/**
 * The time of both classes under each score.
 * @param {Overlay} laid
 * @returns {Mass}
 */
export function rangeMass({ labelling, place, runs }) {
  const total = runs.used.reduce((sum, one) => sum + one, 0);
  const mass = emptyMass(total, "ns", runs.scores.higher);
  const { ends, labels } = labelling;
  let out = 0;
  for (let i = 0; i < place.length; i++) {
    let label = labelling.offsets[place[i]];
    let position = 0;
    for (let k = 0; k < runs.used[i]; k++) {
      const end = runEnd(runs, i, k);
      let bonaFide = 0;
      let spoof = 0;
      while (position < end) {
        const stop = Math.min(end, ends[label]);
        if (labels[label] === SPOOF) spoof += stop - position;
        else bonaFide += stop - position;
        position = stop;
        if (stop === ends[label]) label += 1;
      }
      put(mass, out++, runs.scores.values[runs.first[i] + k], bonaFide, spoof);
    }
  }
  return mass;
}

/**
 * Points of a resolution, or one for each utterance: spoof if any of it is, with the lowest score that it overlaps.
 * @param {Overlay} laid
 * @param {number | null} resolution seconds
 * @returns {Mass}
 */
export function pointMass({ labelling, place, runs }, resolution) {
  const { extents, first, scores } = runs;
  const counts = extents.map((extent) => (resolution === null ? Number(extent > 0) : edgesBefore(extent, resolution)));
  const mass = emptyMass(
    counts.reduce((sum, one) => sum + one, 0),
    "points",
    scores.higher,
  );
  const { ends, labels } = labelling;
  const sign = scores.higher === "spoof" ? -1 : 1;
  let out = 0;
  for (let i = 0; i < place.length; i++) {
    let label = labelling.offsets[place[i]];
    let k = 0;
    let start = 0;
    for (let point = 1; point <= counts[i]; point++) {
      const end = resolution === null ? extents[i] : Math.min(gridEdge(point, resolution), extents[i]);
      while (ends[label] <= start) label += 1;
      let spoof = labels[label] === SPOOF;
      while (ends[label] < end) spoof = labels[++label] === SPOOF || spoof;
      while (runEnd(runs, i, k) <= start) k += 1;
      let lowest = sign * scores.values[first[i] + k];
      while (runEnd(runs, i, k) < end) lowest = Math.min(lowest, sign * scores.values[first[i] + ++k]);
      put(mass, out++, sign * lowest, spoof ? 0 : 1, spoof ? 1 : 0);
      start = end;
    }
  }
  return mass;
}

/**
 * @param {number} rows
 * @param {"ns" | "points"} unit
 * @param {import("./scores.js").Higher} higher
 * @returns {Mass}
 */
function emptyMass(rows, unit, higher) {
  const column = () => new Float64Array(rows);
  return { scores: column(), bonaFide: column(), spoof: column(), allBonaFide: 0, allSpoof: 0, unit, higher };
}

/**
 * @param {Mass} mass
 * @param {number} row
 * @param {number} score as given
 * @param {number} bonaFide
 * @param {number} spoof
 */
function put(mass, row, score, bonaFide, spoof) {
  mass.scores[row] = (mass.higher === "spoof" ? -score : score) + 0; // no negative zero
  mass.bonaFide[row] = bonaFide;
  mass.spoof[row] = spoof;
  mass.allBonaFide += bonaFide;
  mass.allSpoof += spoof;
}

/**
 * FPR - FNR times both denominators, if this much is called spoof.
 * @param {Mass} mass
 * @param {number} bonaFide
 * @param {number} spoof
 */
const difference = (mass, bonaFide, spoof) =>
  BigInt(bonaFide) * BigInt(mass.allSpoof) - BigInt(mass.allSpoof - spoof) * BigInt(mass.allBonaFide);

const magnitude = (/** @type {bigint} */ one) => (one < 0n ? -one : one);

/**
 * The EER under the rule `nearest`: the mean of both rates at the lowest threshold of least |FPR - FNR|.
 * @param {Mass} mass
 */
export function equalErrorRate(mass) {
  const { allBonaFide, allSpoof, unit, higher } = mass;
  for (const [amount, name] of /** @type {[number, string][]} */ ([
    [allBonaFide, "bona fide"],
    [allSpoof, "spoofed"],
  ])) {
    if (!amount)
      throw new Refusal(
        `there is no ${name} ${unit === "ns" ? "time" : "point"}, so the error rate has no value`,
        "Correct the labels, or measure utterances that have both classes.",
      );
  }
  const step = crossing(mass);
  // called spoof iff score < tau: at the step itself nothing of it, at the next score all of it
  const after = [step.bonaFide + step.bonaFideAt, step.spoof + step.spoofAt];
  const early =
    magnitude(difference(mass, step.bonaFide, step.spoof)) <= magnitude(difference(mass, after[0], after[1]));
  const [bonaFide, spoof] = early ? [step.bonaFide, step.spoof] : after;
  const everything = !early && step.next === null;
  const tau = early ? step.score : (step.next ?? Infinity);
  const threshold = (higher === "spoof" ? -tau : tau) + 0;
  const [falsePositive, falseNegative] = [BigInt(bonaFide), BigInt(allSpoof - spoof)];
  const [negatives, positives] = [BigInt(allBonaFide), BigInt(allSpoof)];
  return {
    value: ratio(falsePositive * positives + falseNegative * negatives, 2n * negatives * positives),
    threshold,
    everything,
    falsePositiveRate: ratio(falsePositive, negatives),
    falseNegativeRate: ratio(falseNegative, positives),
    gap: ratio(magnitude(falsePositive * positives - falseNegative * negatives), negatives * positives),
    falsePositive: bonaFide,
    falseNegative: allSpoof - spoof,
    bonaFide: allBonaFide,
    spoof: allSpoof,
    unit,
  };
}

const BINS = 1 << 16;

/**
 * The lowest score at whose inclusion FPR >= FNR, what lies below it and at it, and the next higher score.
 *
 * The bits of a double, with the sign turned, order as it does: four histograms of 16 bits each find the score, with
 * no sorting.
 * @param {Mass} mass
 */
function crossing(mass) {
  const { scores, bonaFide, spoof } = mass;
  const words = new Uint32Array(scores.buffer);
  /** @type {Uint32Array | null} */
  let rows = null;
  const below = [0, 0];
  const at = [0, 0];
  for (let level = 0; level < 4; level++) {
    const sums = [new Float64Array(BINS), new Float64Array(BINS)];
    /** @type {number} */
    const size = rows ? rows.length : scores.length;
    for (let j = 0; j < size; j++) {
      const row = rows ? rows[j] : j;
      const bin = digit(words, row, level);
      sums[0][bin] += bonaFide[row];
      sums[1][bin] += spoof[row];
    }
    let bin = 0;
    for (; bin < BINS; bin++) {
      if (!sums[0][bin] && !sums[1][bin]) continue;
      if (difference(mass, below[0] + sums[0][bin], below[1] + sums[1][bin]) >= 0n) break;
      below[0] += sums[0][bin];
      below[1] += sums[1][bin];
    }
    [at[0], at[1]] = [sums[0][bin], sums[1][bin]];
    let count = 0;
    /** @type {Uint32Array} */
    const found = new Uint32Array(size);
    for (let j = 0; j < size; j++) {
      const row = rows ? rows[j] : j;
      if (digit(words, row, level) === bin && bonaFide[row] + spoof[row] > 0) found[count++] = row;
    }
    rows = found.slice(0, count);
  }
  const score = scores[/** @type {Uint32Array} */ (rows)[0]];
  /** @type {number | null} */
  let next = null;
  for (let row = 0; row < scores.length; row++) {
    if (scores[row] > score && (next === null || scores[row] < next) && bonaFide[row] + spoof[row] > 0)
      next = scores[row];
  }
  return { score, next, bonaFide: below[0], spoof: below[1], bonaFideAt: at[0], spoofAt: at[1] };
}

/**
 * 16 bits of a double that orders as the double does.
 * @param {Uint32Array} words
 * @param {number} row
 * @param {number} level
 */
function digit(words, row, level) {
  const high = words[2 * row + 1];
  const word =
    level < 2 ? (high & 0x80000000 ? ~high : high ^ 0x80000000) : high & 0x80000000 ? ~words[2 * row] : words[2 * row];
  return level % 2 ? word & 0xffff : word >>> 16;
}

/**
 * Exact rates at thresholds that follow the curve: every score of a small corpus, those of a sample of a large one.
 * @param {Mass} mass
 * @param {number} most
 * @param {number} tau a threshold to include, on the scale of the scores as given
 */
export function curve(mass, most, tau) {
  const { scores, bonaFide, spoof, allBonaFide, allSpoof, higher } = mass;
  const step = Math.max(Math.floor(scores.length / most), 1);
  const sampled = new Float64Array(Math.ceil(scores.length / step) + 2);
  for (let j = 0; j * step < scores.length; j++) sampled[j] = scores[j * step];
  sampled[sampled.length - 2] = higher === "spoof" ? -tau : tau;
  sampled[sampled.length - 1] = Infinity;
  const edges = sampled.sort().filter((one, i) => !i || one !== sampled[i - 1]);
  const sums = [new Float64Array(edges.length), new Float64Array(edges.length)];
  for (let row = 0; row < scores.length; row++) {
    // the first threshold above a score calls it spoof
    let low = 0;
    let high = edges.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (edges[middle] > scores[row]) high = middle;
      else low = middle + 1;
    }
    sums[0][low] += bonaFide[row];
    sums[1][low] += spoof[row];
  }
  const thresholds = edges.map((one) => (higher === "spoof" ? -one : one));
  const falsePositiveRates = new Float64Array(edges.length);
  const falseNegativeRates = new Float64Array(edges.length);
  let called = 0;
  let caught = 0;
  for (let i = 0; i < edges.length; i++) {
    called += sums[0][i];
    caught += sums[1][i];
    falsePositiveRates[i] = called / allBonaFide;
    falseNegativeRates[i] = (allSpoof - caught) / allSpoof;
  }
  return { thresholds, false_positive_rates: falsePositiveRates, false_negative_rates: falseNegativeRates };
}

/**
 * The time of each utterance that is called wrongly at a threshold, by its place.
 * @param {Overlay} laid
 * @param {Mass} mass of ranges
 * @param {number} threshold on the scale of the scores as given
 */
export function errorTimes({ runs }, mass, threshold) {
  const tau = mass.higher === "spoof" ? -threshold : threshold;
  const errors = new Float64Array(runs.used.length);
  let row = 0;
  for (let i = 0; i < errors.length; i++) {
    for (let k = 0; k < runs.used[i]; k++, row++)
      errors[i] += mass.scores[row] < tau ? mass.bonaFide[row] : mass.spoof[row];
  }
  return errors;
}

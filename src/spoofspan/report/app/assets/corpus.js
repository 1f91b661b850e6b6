// A corpus from files to signed numbers: what the worker of the page does, and what the tests call.

import { numberText, Refusal, rint, SECOND } from "./exact.js";
import { curve, errorTimes, measured, overlay, rangeMass } from "./measures.js";
import { identify, readDurations, readReferences, readScores } from "./readers.js";
import { prepareScores, runEnd } from "./scores.js";
import { hashesOf, RULES_VERSION, scoresHash, shortSignature, sign } from "./signature.js";

/** @typedef {import("./text.js").Source} Source */
/** @typedef {import("./readers.js").Options} Options */
/** @typedef {{references: Source, durations: Source | null, scores: Source}} Files */
/** @typedef {{utterances: number, scores: number, distinct: number, hop: number | null, higher: string, hash: string}} Checked */

/**
 * @typedef {object} Corpus
 * @property {import("./references.js").References} references
 * @property {import("./measures.js").Overlay} laid
 * @property {import("./signature.js").Hashes} hashes
 */

/**
 * @typedef {object} Measured a measurement as in the JSON of `spoofspan eval`
 * @property {string} measure
 * @property {number} value
 * @property {number} threshold
 * @property {string} decision
 * @property {number} false_positive_rate
 * @property {number} false_negative_rate
 * @property {number} gap
 * @property {string} eer_rule
 * @property {string} convention
 * @property {number} utterances
 * @property {number} bona_fide
 * @property {number} spoof
 * @property {string} unit
 * @property {Record<string, number>} confusion seconds or points
 * @property {Record<string, import("./exact.js").Touched>} touched
 * @property {string[]} warnings
 * @property {string[]} notes
 * @property {{low: number | null, high: number | null, level: number} | null} interval
 * @property {Record<string, string>} rules
 * @property {Record<string, string>} hashes
 * @property {import("./signature.js").Signature} signature
 * @property {string} short_signature
 */

/**
 * @typedef {object} Timeline one utterance as the report page draws it, times in seconds
 * @property {string} id
 * @property {number} duration
 * @property {number[]} ends of its labels
 * @property {number[]} labels
 * @property {[]} attacks
 * @property {[{starts: Float64Array, ends: Float64Array, values: Float64Array}]} scores
 */

/**
 * @typedef {object} Curve
 * @property {Float64Array} thresholds
 * @property {Float64Array} false_positive_rates
 * @property {Float64Array} false_negative_rates
 * @property {number} start the place of the threshold that the page opens on
 * @property {number} bona_fide seconds
 * @property {number} spoof
 */

const RULES = {
  gaps: "error",
  snap: "auto",
  extent: "duration",
  nonspeech: "error",
  uncovered: "error",
  slack: "auto",
  overlong: "error",
  last_frame: "use",
  overlap: "error",
  regions: "all",
  collar: "0ns",
  collar_edges: "inside",
  partial: "False",
  utterances: "all",
};
const OF_POINTS = { label: "any", last_point: "use", pooling: "min" };
const MOST_THRESHOLDS = 4000;
const LOOKED_AT = 1 << 20; // scores, to count the distinct ones
const MOST_TIMELINES = 24;
const OUTERMOST = 0.001; // of the scores at either end, which the axis leaves out

/**
 * Read and check a corpus, and lay the references over the scores.
 * @param {Files} files
 * @param {Options} options
 * @returns {Promise<Corpus>}
 */
export async function openCorpus(files, options) {
  // the longest file first, while there is little that a collection of garbage visits
  const scores = await readScores(files.scores, await identify(files.scores), options);
  const durations = files.durations && (await readDurations(files.durations));
  const references = await readReferences(files.references, await identify(files.references), durations);
  const laid = overlay(references, scores);
  return { references, laid, hashes: await hashesOf(references, laid) };
}

/**
 * Check scores without labels: their utterances, and that they cover the durations under the default rules.
 * @param {{durations: Source, scores: Source}} files
 * @param {Options} options
 * @returns {Promise<Checked>}
 */
export async function checkScores(files, options) {
  const scores = await readScores(files.scores, await identify(files.scores), options);
  const durations = await readDurations(files.durations);
  const scored = new Set(scores.ids);
  const problems = [...durations.keys()]
    .filter((id) => !scored.has(id))
    .map((id) => `utterance '${id}' has a duration but no scores`);
  for (const id of scores.ids) if (!durations.has(id)) problems.push(`utterance '${id}' has scores but no duration`);
  if (problems.length) throw new Refusal(problems, "Complete the scores.");
  prepareScores(
    scores,
    scores.ids.map((id) => rint(/** @type {number} */ (durations.get(id)) * SECOND)),
  );
  return {
    utterances: scores.ids.length,
    scores: scores.values.length,
    distinct: new Set(scores.values.subarray(0, LOOKED_AT)).size,
    hop: scores.hop,
    higher: scores.higher,
    hash: await scoresHash(scores),
  };
}

/**
 * @param {Corpus} corpus
 * @param {string} measure
 * @param {string} version of spoofspan
 * @returns {Measured}
 */
export function measureCorpus({ references, laid, hashes }, measure, version) {
  const found = measured(laid, measure);
  const touched = Object.entries({ ...laid.labelling.touched, ...laid.runs.touched });
  const unit = found.unit === "ns" ? SECOND : 1;
  const less = laid.runs.scores.higher === "bonafide" ? "<" : ">";
  return {
    measure,
    value: found.value,
    threshold: found.threshold,
    decision: found.everything
      ? "everything is called spoof"
      : `spoof iff score ${less} ${numberText(found.threshold)}`,
    false_positive_rate: found.falsePositiveRate,
    false_negative_rate: found.falseNegativeRate,
    gap: found.gap,
    eer_rule: "nearest",
    convention: "default",
    utterances: hashes.count,
    bona_fide: found.bonaFide,
    spoof: found.spoof,
    unit: found.unit,
    confusion: {
      true_positive: (found.spoof - found.falseNegative) / unit,
      false_negative: found.falseNegative / unit,
      false_positive: found.falsePositive / unit,
      true_negative: (found.bonaFide - found.falsePositive) / unit,
      unanswered: 0,
    },
    touched: Object.fromEntries(
      touched.map(([rule, { value, seconds, utterances }]) => [rule, { value, seconds, utterances }]),
    ),
    warnings: found.warnings,
    notes: found.notes,
    interval: null,
    rules: { ...RULES, ...(measure === "range-eer" ? {} : OF_POINTS) },
    hashes: { references: hashes.references, utterances: hashes.utterances, scores: hashes.scores },
    signature: sign(measure, hashes, laid, references.snap),
    short_signature: shortSignature(measure, hashes, laid, references.snap, version),
  };
}

/**
 * The JSON of `spoofspan eval --format json`, which `spoofspan verify` reads.
 * @param {Measured[]} measurements
 * @param {string} version of spoofspan
 */
export function resultText(measurements, version) {
  // as Python writes infinities, which JSON has not
  const marked = (/** @type {string} */ _, /** @type {unknown} */ value) =>
    value === Infinity || value === -Infinity ? `@${value}` : value;
  const text = JSON.stringify({ spoofspan: version, rules_version: RULES_VERSION, measurements }, marked, 2);
  return `${text.replace(/"@(-?Infinity)"/g, "$1")}\n`;
}

/**
 * What is drawn: the error curve, the utterances with most error at a threshold, and the axis of their scores.
 * @param {Corpus} corpus
 * @param {number} threshold
 * @returns {{curve: Curve, timelines: Timeline[], axis: number[]}}
 */
export function drawn({ laid }, threshold) {
  const mass = rangeMass(laid);
  const errors = errorTimes(laid, mass, threshold);
  const worst = Array.from(errors.keys()).sort((a, b) => errors[b] - errors[a] || a - b);
  const timelines = worst.slice(0, MOST_TIMELINES).map((i) => timeline(laid, i));
  const finite = timelines.flatMap(({ scores }) => Array.from(scores[0].values)).filter(Number.isFinite);
  const sorted = Float64Array.from(finite).sort();
  const cut = Math.floor(sorted.length * OUTERMOST);
  const { thresholds, ...rates } = curve(mass, MOST_THRESHOLDS, threshold);
  return {
    curve: {
      thresholds,
      ...rates,
      start: thresholds.indexOf(threshold),
      bona_fide: mass.allBonaFide / SECOND,
      spoof: mass.allSpoof / SECOND,
    },
    timelines,
    axis: sorted.length ? [sorted[cut], sorted[sorted.length - 1 - cut]] : [0, 1],
  };
}

/**
 * @param {import("./measures.js").Overlay} laid
 * @param {number} i
 * @returns {Timeline}
 */
function timeline({ labelling, place, runs }, i) {
  const [from, to] = [labelling.offsets[place[i]], labelling.offsets[place[i] + 1]];
  const { first, used, scores, extents } = runs;
  const ends = Float64Array.from({ length: used[i] }, (_, k) => runEnd(runs, i, k) / SECOND);
  const starts = new Float64Array(used[i]);
  starts.set(ends.subarray(0, -1), 1);
  return {
    id: scores.ids[i],
    duration: extents[i] / SECOND,
    ends: Array.from(labelling.ends.subarray(from, to), (end) => end / SECOND),
    labels: Array.from(labelling.labels.subarray(from, to)),
    attacks: [],
    scores: [{ starts, ends, values: scores.values.slice(first[i], first[i] + used[i]) }],
  };
}

// Signatures: what a number was computed from. docs/rules.md says what they state, the library's hashes are the same.

import { gridEdge } from "./exact.js";
import { byCharacters, ContentHash } from "./hashing.js";
import { merged } from "./references.js";

/** @typedef {import("./measures.js").Overlay} Overlay */
/** @typedef {{comparable: string, input: string}} Signature */
/** @typedef {{references: string, scores: string, utterances: string, count: number}} Hashes */

export const RULES_VERSION = 2;
const OF_SCORES = ["uncovered:error", "slack:auto", "overlong:error", "last_frame:use", "overlap:error"];
const OF_POINTS = ["label:any", "last_point:use", "pooling:min"];
const MOST_CHARACTERS = 80;

/**
 * The places of ids in the order of their characters.
 * @param {string[]} ids
 */
function inOrder(ids) {
  // other characters than these are two units each, which sort differently
  const plain = ids.every((id) => /^[\0-\ud7ff]*$/.test(id));
  return ids
    .map((_, i) => i)
    .sort((a, b) => (plain ? Number(ids[a] > ids[b]) - Number(ids[a] < ids[b]) : byCharacters(ids[a], ids[b])));
}

/** @param {import("./references.js").References} references */
export async function referencesHash(references) {
  const hash = new ContentHash("references 2");
  const order = inOrder(references.ids);
  await hash.addTexts(
    "ids",
    order.map((i) => references.ids[i]),
  );
  const { durations } = references;
  if (durations)
    await hash.addIntegers(
      "durations",
      Float64Array.from(order, (i) => durations[i]),
    );
  const counts = new Float64Array(order.length);
  const [starts, ends, labels] = [[], [], []].map((one) => /** @type {number[]} */ (one));
  for (const [place, i] of order.entries()) {
    const rows = merged(references.ranges[i]);
    for (const [k, [start, end, label]] of rows.entries()) {
      const goesOn = k > 0 && rows[k - 1][1] === start && rows[k - 1][2] === label;
      if (!goesOn) {
        starts.push(start);
        labels.push(label);
        counts[place] += 1;
      }
      const next = rows[k + 1];
      if (!next || next[0] !== end || next[2] !== label) ends.push(end);
    }
  }
  await hash.addIntegers("counts", counts);
  await hash.addIntegers("starts", Float64Array.from(starts));
  await hash.addIntegers("ends", Float64Array.from(ends));
  await hash.addIntegers("labels", Float64Array.from(labels));
  return hash.digest();
}

/** @param {import("./scores.js").Scores} scores */
export async function scoresHash(scores) {
  const hash = new ContentHash("scores 1");
  const order = inOrder(scores.ids);
  await hash.addTexts(
    "ids",
    order.map((i) => scores.ids[i]),
  );
  const { values, offsets } = scores;
  const sign = scores.higher === "spoof" ? -1 : 1;
  const counts = new Float64Array(order.length);
  // where runs of one score begin, and what they are; the column is used again for the other ones
  const begins = new Uint8Array(values.length + 1);
  const column = new Float64Array(values.length);
  let count = 0;
  for (const [place, i] of order.entries()) {
    const before = count;
    for (let row = offsets[i]; row < offsets[i + 1]; row++) {
      const goesOn = row > offsets[i] && values[row] === values[row - 1] && touch(scores, row);
      if (goesOn) continue;
      begins[row] = 1;
      column[count++] = sign * values[row] + 0; // no negative zero
    }
    counts[place] = count - before;
  }
  await hash.addIntegers("counts", counts);
  await hash.addDoubles("scores", column.subarray(0, count));
  for (const k of [0, 1]) {
    const edges = k ? scores.ends : scores.starts;
    count = 0;
    for (const i of order) {
      const [from, to] = [offsets[i], offsets[i + 1]];
      for (let row = from; row < to; row++) {
        // a run starts where it begins, and ends where the next one begins
        if (k ? row + 1 < to && !begins[row + 1] : !begins[row]) continue;
        column[count++] = edges ? edges[row] : gridEdge(row - from + k, /** @type {number} */ (scores.hop));
      }
    }
    await hash.addIntegers(k ? "ends" : "starts", column.subarray(0, count));
  }
  return hash.digest();
}

/**
 * Whether a row starts where the one before ends, as frames do.
 * @param {import("./scores.js").Scores} scores
 * @param {number} row
 */
const touch = ({ starts, ends }, row) => !starts || starts[row] === /** @type {Float64Array} */ (ends)[row - 1];

/** @param {string[]} ids */
export async function utterancesHash(ids) {
  const hash = new ContentHash("utterances 1");
  await hash.addTexts(
    "ids",
    inOrder(ids).map((i) => ids[i]),
  );
  return hash.digest();
}

/**
 * The hashes that the measurements of a corpus share.
 * @param {import("./references.js").References} references
 * @param {Overlay} laid
 * @returns {Promise<Hashes>}
 */
export async function hashesOf(references, laid) {
  return {
    references: await referencesHash(references),
    scores: await scoresHash(laid.runs.scores),
    utterances: await utterancesHash(laid.measured),
    count: laid.measured.length,
  };
}

/**
 * @param {string} measure
 * @param {Hashes} hashes
 * @param {Overlay} laid
 * @param {number} snap ns
 * @returns {Signature}
 */
export function sign(measure, hashes, laid, snap) {
  const applied = laid.labelling.snapped ? [`snap:${snap}ns`] : [];
  const rules = [...applied, ...OF_SCORES, ...(measure === "range-eer" ? [] : OF_POINTS)];
  const hashed = [
    `rules:${RULES_VERSION}`,
    `references:${hashes.references}`,
    `utterances:${hashes.count}:${hashes.utterances}`,
  ];
  return { comparable: [measure, "nearest", ...rules, ...hashed].join("|"), input: `scores:${hashes.scores}` };
}

/**
 * The short form, for papers: at most 80 characters.
 * @param {string} measure
 * @param {Hashes} hashes
 * @param {Overlay} laid
 * @param {number} snap ns
 * @param {string} version of spoofspan
 */
export function shortSignature(measure, hashes, laid, snap, version) {
  const stated = laid.labelling.snapped ? [`snap:${snap / 1e6}ms`] : [];
  const release = `v${version.split(".").slice(0, 2).join(".")}`;
  const texts = [
    [8, true],
    [6, true],
    [8, false],
    [6, false],
    [4, false],
  ].map(([digits, eer]) => {
    const first = (/** @type {string} */ hash) => hash.slice(0, Number(digits));
    const settings = eer ? ["eer:nearest"] : [];
    const hashed = [
      `rules:${RULES_VERSION}`,
      `refs:${first(hashes.references)}`,
      `n:${hashes.count}`,
      `scores:${first(hashes.scores)}`,
    ];
    return [measure, "default", ...settings, ...stated, ...hashed, release].join("|");
  });
  return texts.find((text) => text.length <= MOST_CHARACTERS) ?? "";
}

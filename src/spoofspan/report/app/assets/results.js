// Result files: the JSON of `spoofspan eval`, verified against a corpus, and ranked where they are comparable.

import { Refusal } from "./exact.js";

/** @typedef {import("./corpus.js").Measured} Measured */
/** @typedef {{name: string, spoofspan: string, measurements: Measured[]}} Result */
/** @typedef {{name: string, stated: string, found: string}} Difference */

const NUMBERS = /** @type {const} */ ([
  "value",
  "threshold",
  "false_positive_rate",
  "false_negative_rate",
  "gap",
  "utterances",
  "bona_fide",
  "spoof",
]);
const HERE = /^(?:range-eer|utterance-eer|point-eer@\d+(?:\.\d+)?ms)$/;

/**
 * Read the JSON of eval; Python writes infinities, which JSON has not.
 * @param {string} name
 * @param {string} text
 * @returns {Result}
 */
export function readResult(name, text) {
  const plain = text.replace(/"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g, (one) =>
    one[0] === '"' ? one : one.replace("Infinity", "1e999").replace("NaN", "null"),
  );
  let content;
  try {
    content = JSON.parse(plain);
  } catch (error) {
    throw new Refusal(`${name}: it is no JSON (${error instanceof Error ? error.message : error})`);
  }
  const measurements = content?.measurements;
  if (!Array.isArray(measurements) || !measurements.length || !measurements.every(isSigned)) {
    throw new Refusal(
      `${name}: it is no result of one system`,
      "Write one: spoofspan eval REFERENCES SCORES --format json > RESULT.json",
    );
  }
  return { name, spoofspan: String(content.spoofspan ?? ""), measurements };
}

/** @param {any} one */
const isSigned = (one) =>
  typeof one?.measure === "string" &&
  typeof one?.signature?.comparable === "string" &&
  typeof one?.signature?.input === "string";

/**
 * The fields of the comparable part of a signature.
 * @param {string} comparable
 */
function fields(comparable) {
  const [measure, readOff, ...others] = comparable.split("|");
  return new Map([
    ["measure", measure],
    ["read off by", readOff],
    ...others.map(
      (one) => /** @type {[string, string]} */ ([one.slice(0, one.indexOf(":")), one.slice(one.indexOf(":") + 1)]),
    ),
  ]);
}

/**
 * The fields in which two comparable parts differ.
 * @param {string} stated
 * @param {string} found
 * @returns {Difference[]}
 */
export function signatureDifferences(stated, found) {
  const [one, two] = [fields(stated), fields(found)];
  const names = [...new Set([...one.keys(), ...two.keys()])];
  return names
    .filter((name) => one.get(name) !== two.get(name))
    .map((name) => ({ name, stated: one.get(name) ?? "nothing", found: two.get(name) ?? "nothing" }));
}

/**
 * The measures of a result that this page measures.
 * @param {Result} result
 */
export const repeatable = (result) =>
  result.measurements.map(({ measure }) => measure).filter((measure) => HERE.test(measure));

/**
 * Compare a result with the same measures on the corpus at hand.
 * @param {Result} result
 * @param {Measured[]} found
 */
export function verify(result, found) {
  const again = new Map(found.map((one) => [one.measure, one]));
  /** @type {string[]} */
  const left = [];
  /** @type {{measure: string, differences: Difference[]}[]} */
  const checked = [];
  for (const stated of result.measurements) {
    const own = again.get(stated.measure);
    if (!own) {
      left.push(stated.measure);
      continue;
    }
    const differences = signatureDifferences(stated.signature.comparable, own.signature.comparable);
    if (stated.signature.input !== own.signature.input)
      differences.push({ name: "input", stated: stated.signature.input, found: own.signature.input });
    // once a cause is known, the value alone says enough
    const compared = differences.length ? NUMBERS.slice(0, 1) : NUMBERS;
    for (const name of compared) {
      if (stated[name] !== own[name])
        differences.push({ name, stated: String(stated[name]), found: String(own[name]) });
    }
    checked.push({ measure: stated.measure, differences });
  }
  const confirmed = checked.length > 0 && checked.every(({ differences }) => !differences.length);
  return { confirmed, checked, left };
}

/**
 * Rank results by a measure. Most decide what is comparable; the others are refused, with what differs.
 * @param {Result[]} results
 * @param {string} measure
 */
export function ranked(results, measure) {
  const entries = [];
  /** @type {{name: string, reason: string}[]} */
  const refused = [];
  for (const { name, measurements } of results) {
    const own = measurements.find((one) => one.measure === measure);
    if (!own) refused.push({ name, reason: `it has no ${measure}` });
    else if (!Number.isFinite(own.value)) refused.push({ name, reason: `its ${measure} has no value` });
    else entries.push({ name, own });
  }
  const counts = new Map();
  for (const { own } of entries) counts.set(own.signature.comparable, (counts.get(own.signature.comparable) ?? 0) + 1);
  const [common = ""] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [];
  const comparable = entries.filter(({ own }) => own.signature.comparable === common);
  for (const { name, own } of entries) {
    const differences = signatureDifferences(own.signature.comparable, common);
    if (differences.length)
      refused.push({
        name,
        reason: differences.map((one) => `${one.name} is ${one.stated}, not ${one.found}`).join("; "),
      });
  }
  comparable.sort((a, b) => a.own.value - b.own.value || (a.name < b.name ? -1 : 1));
  const rows = comparable.map(({ name, own }) => ({
    // equal values share a rank
    rank: 1 + comparable.filter((one) => one.own.value < own.value).length,
    name,
    own,
    same: comparable
      .filter((one) => one.own.signature.input === own.signature.input && one.name !== name)
      .map((one) => one.name),
  }));
  return { common, rows, refused };
}

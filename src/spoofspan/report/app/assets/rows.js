// Rows for papers: a system and its measures as LaTeX and Markdown, with signatures.

import { twoDecimals } from "./exact.js";

/** @typedef {import("./corpus.js").Measured} Measured */

const LATEX = new Map([..."{}$&#%_"].map((one) => [one, `\\${one}`]));
LATEX.set("\\", "\\textbackslash{}")
  .set("^", "\\textasciicircum{}")
  .set("~", "\\textasciitilde{}")
  .set("<", "\\textless{}")
  .set(">", "\\textgreater{}");

const latex = (/** @type {string} */ text) => [...text].map((one) => LATEX.get(one) ?? one).join("");
const markdown = (/** @type {string} */ text) => text.replace(/[\\`*_{}[\]<>()#|]/g, "\\$&");
const percent = (/** @type {Measured} */ { value }) => twoDecimals(100 * value);

/**
 * The name of a measure as papers write it.
 * @param {string} measure
 */
export function title(measure) {
  const [family, resolution] = measure.split("@");
  const word = family === "range-eer" ? "Range EER" : family === "point-eer" ? "Point EER" : "Utterance EER";
  return resolution ? `${word}, ${resolution.replace("ms", " ms")}` : word;
}

/**
 * @param {string} system
 * @param {Measured[]} measurements
 */
export function latexRow(system, measurements) {
  const head = ["system", ...measurements.map(({ measure }) => `${title(measure)} \\%`)].join(" & ");
  const signatures = measurements.map(({ short_signature }) => `% signature ${short_signature}`);
  return [`${head} \\\\`, `${[latex(system), ...measurements.map(percent)].join(" & ")} \\\\`, ...signatures, ""].join(
    "\n",
  );
}

/**
 * @param {string} system
 * @param {Measured[]} measurements
 */
export function markdownRows(system, measurements) {
  const head = ["system", ...measurements.map(({ measure }) => `${title(measure)} %`)];
  const signatures = measurements.map(({ short_signature }) => `signature \`${short_signature}\`  `);
  const row = (/** @type {string[]} */ cells) => `| ${cells.join(" | ")} |`;
  return [
    row(head),
    `|---${"|---:".repeat(measurements.length)}|`,
    row([markdown(system), ...measurements.map(percent)]),
    "",
    ...signatures,
    "",
  ].join("\n");
}

// The worker of the page: reads and measures, so that the page stays awake. It answers every message by its number.

import { checkScores, drawn, measureCorpus, openCorpus, resultText } from "./corpus.js";
import { Refusal } from "./exact.js";
import { identify } from "./readers.js";
import { textOf } from "./text.js";

/** @typedef {import("./corpus.js").Corpus} Corpus */
/** @typedef {import("./text.js").Source} Source */

/** @type {Corpus | null} */
let corpus = null;

const TASKS = {
  /** @param {{source: Source}} message */
  async identify({ source }) {
    const kind = await identify(source);
    return { kind, text: kind === "result" ? await textOf(source) : null };
  },

  /** @param {{files: import("./corpus.js").Files, options: import("./readers.js").Options, measures: string[], version: string}} message */
  async measure({ files, options, measures, version }) {
    corpus = null;
    corpus = await openCorpus(files, options);
    const opened = corpus;
    const measurements = measures.map((measure) => measureCorpus(opened, measure, version));
    const { threshold } = measurements[0];
    return {
      measurements,
      json: resultText(measurements, version),
      higher: opened.laid.runs.scores.higher,
      ...drawn(opened, threshold),
    };
  },

  /** @param {{files: {durations: Source, scores: Source}, options: import("./readers.js").Options}} message */
  check: ({ files, options }) => checkScores(files, options),

  /** @param {{measures: string[], version: string}} message of measures that a result file states, on the corpus at hand */
  async again({ measures, version }) {
    const opened = corpus;
    if (!opened) throw new Refusal("there is no corpus to measure again", "Add references and scores.");
    return { measurements: measures.map((measure) => measureCorpus(opened, measure, version)) };
  },
};

self.addEventListener("message", async (event) => {
  const { number, task, ...message } = event.data;
  try {
    self.postMessage({ number, found: await TASKS[/** @type {keyof TASKS} */ (task)](message) });
  } catch (error) {
    const known = error instanceof Refusal;
    self.postMessage({
      number,
      refused: known ? error.message : `This page failed, which it should not: ${error}`,
      elsewhere: known && error.elsewhere,
    });
  }
});

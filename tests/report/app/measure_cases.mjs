// Measures the corpora of a folder (tests/report/app_corpora.py) with the modules of the page: a line of JSON for each.
import { openAsBlob } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, folder] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(modules, name)).href);
const { openCorpus, measureCorpus } = await load("corpus.js");
const { numberText } = await load("exact.js");

// numbers as text, since JSON has no infinities
const exactly = (_key, value) => (typeof value === "number" ? numberText(value) : value);
const refused = (error) => {
  if (error.name !== "Refusal") throw error;
  return { error: error.message, elsewhere: error.elsewhere };
};

for (const one of JSON.parse(await readFile(join(folder, "cases.json"), "utf-8"))) {
  const source = async (name) => name && { name, blob: await openAsBlob(join(folder, one.folder, name)) };
  const files = {
    references: await source(one.references),
    durations: await source(one.durations),
    scores: await source(one.scores),
  };
  const found = {};
  let corpus = null,
    reason = null;
  try {
    corpus = await openCorpus(files, one);
  } catch (error) {
    reason = refused(error);
  }
  for (const measure of one.measures) {
    try {
      found[measure] = reason ?? measureCorpus(corpus, measure, one.version);
    } catch (error) {
      found[measure] = refused(error);
    }
  }
  console.log(JSON.stringify(found, exactly));
}

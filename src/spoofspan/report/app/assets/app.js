// The page: files in, numbers out. It measures in a worker, and shows what that finds.

import { millisecondsText, numberText, Refusal, touchedText, twoDecimals } from "./exact.js";
import { ranked, readResult, repeatable, verify } from "./results.js";
import { latexRow, markdownRows } from "./rows.js";

/** @typedef {import("./text.js").Source} Source */
/** @typedef {import("./readers.js").Kind} Kind */
/** @typedef {import("./results.js").Result} Result */
/** @typedef {import("./corpus.js").Measured} Measured */
/** @typedef {{measurements: Measured[], json: string, higher: string, curve: import("./corpus.js").Curve, axis: number[], timelines: import("./corpus.js").Timeline[]}} Found */

// what the scripts of the report page offer, which this page has too
/**
 * @type {{data: {version: string, worker: string, demo: Record<string, string>, durations: string, usual?: {hop: number | null, higher: string | null}}, byId: (id: string) => any, bytesOf: (text: string) => Uint8Array<ArrayBuffer>,
 *   element: (tag: string, attributes?: Record<string, unknown> | null, ...children: (Node | string)[]) => HTMLElement,
 *   copyOn: (button: HTMLElement, text: () => string) => void, download: (name: string, text: string, type: string) => void,
 *   onRedraw: (again: () => void) => void, say: (text: string) => void, app?: unknown,
 *   state: {load: (systems: object[]) => void, choose: (number: number) => void, onThreshold: (then: () => void) => void},
 *   slider: {follow: (back: string) => void}, figures: {draw: () => void, move: () => void, showRates: () => void},
 *   timelines: {all: object[], load: (timelines: object[]) => void, list: (found: object[], count: number) => void, drawVisible: () => void}}}
 */
const page = /** @type {any} */ (window).spoofspan;
const { data, byId, element, figures, timelines } = page;
const FEW = 6; // timelines that are shown at once
const MANY_SCORES = 100; // from so many distinct ones on, nobody asks

/** @type {Record<Kind, "references" | "durations" | "scores" | "result" | null>} */
const ROLES = {
  rttm: "references",
  "reference-table": "references",
  durations: "durations",
  "unit-score": "scores",
  "wedefense-logits": "scores",
  "frame-score": "scores",
  "score-table": "scores",
  npz: "scores",
  result: "result",
};

/** @type {{references: Source | null, durations: Source | null, scores: Source | null}} */
const files = { references: null, durations: null, scores: null };
/** @type {Map<string, Result>} */
const results = new Map();
/** @type {Found | null} */
let found = null;
/** @type {import("./corpus.js").Checked | null} of scores without references */
let checked = null;
let shown = FEW;

// ------------------------------------------------------------------ the worker

const worker = new Worker(URL.createObjectURL(new Blob([data.worker], { type: "text/javascript" })));
/** @type {Map<number, {resolve: (found: any) => void, reject: (error: Refusal) => void}>} */
const waiting = new Map();
let sent = 0;

worker.addEventListener("message", ({ data: answer }) => {
  const one = waiting.get(answer.number);
  waiting.delete(answer.number);
  if ("refused" in answer) one?.reject(new Refusal(answer.refused, "", answer.elsewhere));
  else one?.resolve(answer.found);
});

/**
 * Let the worker do something.
 * @param {string} task
 * @param {Record<string, unknown>} message
 * @returns {Promise<any>}
 */
function ask(task, message) {
  const number = ++sent;
  worker.postMessage({ number, task, ...message });
  return new Promise((resolve, reject) => waiting.set(number, { resolve, reject }));
}

// ------------------------------------------------------------------ files

/** @param {Source[]} sources */
async function addFiles(sources) {
  const problems = [];
  for (const source of sources) {
    try {
      const { kind, text } = await ask("identify", { source });
      const role = ROLES[/** @type {Kind} */ (kind)];
      if (role === "result") results.set(source.name, readResult(source.name, text));
      else if (role) files[role] = source;
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  await measure(problems);
}

/** The measures that are asked for: those of the resolutions field between the other two. */
function measures() {
  const texts = byId("resolutions")
    .value.split(/[\s,;]+/)
    .filter(Boolean);
  const points = texts.map((/** @type {string} */ text) => {
    if (!/^\d+(\.\d+)?$/.test(text) || !(Number(text) > 0))
      throw new Refusal(`'${text}' is no resolution`, "Give milliseconds, such as 20, 160.");
    return `point-eer@${millisecondsText(Number(text) / 1000)}ms`;
  });
  return ["range-eer", ...new Set(points), "utterance-eer"];
}

/** Hop and polarity, where the page was told them. */
function options() {
  const text = byId("hop").value.trim().replace(/ *ms$/, "");
  if (text && !(Number(text) > 0))
    throw new Refusal(`'${text}' is no length of a frame`, "Give milliseconds, such as 20.");
  return { hop: text ? Number(text) / 1000 : null, higher: byId("higher").value || null, usual: data.usual };
}

let asked = 0;

/**
 * Measure the files at hand, and show everything anew.
 * @param {string[]} problems that were met before
 */
async function measure(problems = []) {
  const number = ++asked;
  found = checked = null;
  byId("busy").hidden = !(files.scores && (files.references || files.durations));
  byId("busy").textContent = files.references ? "Reading and measuring\u2026" : "Reading and checking\u2026";
  try {
    if (files.scores && files.durations && !files.references) {
      const answer = await ask("check", { files, options: options() });
      if (number !== asked) return;
      checked = answer;
      page.say("The scores were checked: nothing is wrong with them");
    } else if (files.references && files.scores) {
      const answer = await ask("measure", { files, options: options(), measures: measures(), version: data.version });
      if (number !== asked) return;
      found = answer;
      page.say(`range EER ${percent(answer.measurements[0].value)}`);
    }
  } catch (error) {
    if (number !== asked) return;
    problems.push(error instanceof Error ? error.message : String(error));
  }
  byId("busy").hidden = true;
  byId("problem").hidden = !problems.length;
  byId("problem").textContent = problems.join("\n\n");
  shown = FEW;
  show();
  await showVerified();
  showRanking();
  document.documentElement.dataset.measured = String(number);
}

const percent = (/** @type {number} */ share) => `${twoDecimals(100 * share)} %`;

function show() {
  const chosen = Object.entries(files).flatMap(([role, source]) =>
    source ? [element("li", {}, element("strong", {}, role), ` ${source.name}`)] : [],
  );
  const stated = [...results.keys()].map((name) => element("li", {}, element("strong", {}, "result"), ` ${name}`));
  byId("chosen").replaceChildren(...chosen, ...stated);
  for (const name of ["errors", "paper"]) byId(name).hidden = !found;
  byId("no-numbers").hidden = Boolean(found ?? checked);
  byId("numbers").replaceChildren(...(found ? numbers(found.measurements) : checked ? checkedScores(checked) : []));
  if (!found) return;
  draw();
  showRows();
  byId("signatures").replaceChildren(
    ...found.measurements.map(({ signature }) =>
      element("li", {}, element("code", {}, `${signature.comparable} || ${signature.input}`)),
    ),
  );
}

/**
 * A table that becomes a list on a narrow screen; columns in which nothing stands are left out.
 * @param {string[]} heads
 * @param {(string | Node)[][]} rows the first cell is the head of the row, and the last one is text
 * @param {string} caption
 */
function table(heads, rows, caption) {
  const kept = heads.map((_, i) => i).filter((i) => rows.some((cells) => cells[i] !== ""));
  const look = (/** @type {number} */ i) => (i === heads.length - 1 ? "words" : "number");
  const head = kept.map((i) => element("th", { scope: "col", class: i ? look(i) : "" }, heads[i]));
  const body = rows.map((cells) => {
    const others = kept.slice(1).map((i) => element("td", { "data-label": heads[i], class: look(i) }, cells[i]));
    return element("tr", {}, element("th", { scope: "row" }, cells[0]), ...others);
  });
  return element(
    "div",
    { class: "scroll table" },
    element(
      "table",
      {},
      element("caption", { class: "unseen" }, caption),
      element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...body),
    ),
  );
}

/** @param {import("./corpus.js").Checked} checked */
function checkedScores({ utterances, scores, distinct, hop, higher, hash }) {
  const facts = {
    utterances: utterances.toLocaleString("en"),
    scores: scores.toLocaleString("en"),
    ...(distinct < MANY_SCORES ? { "distinct scores": String(distinct) } : {}),
    "frame length": hop === null ? "ranges" : `${millisecondsText(hop)} ms`,
    "high scores mean": higher === "spoof" ? "spoof" : "bona fide",
    hash,
  };
  return [
    element(
      "p",
      { class: "confirmed" },
      "Checked without references: every utterance is there, and its scores cover it.",
    ),
    element(
      "dl",
      { class: "facts" },
      ...Object.entries(facts).map(([name, text]) =>
        element("div", {}, element("dt", {}, name), element("dd", {}, text)),
      ),
    ),
  ];
}

/** @param {Measured[]} measurements */
function numbers(measurements) {
  const rows = measurements.map((one) => {
    const value = element(
      "span",
      { class: "exact", "data-exact": numberText(one.value), title: numberText(one.value) },
      percent(one.value),
    );
    return [
      one.measure,
      value,
      percent(one.false_positive_rate),
      percent(one.false_negative_rate),
      percent(one.gap),
      one.decision,
    ];
  });
  const [first] = measurements;
  const touched = Object.entries(first.touched).map(([rule, decided]) => touchedText(rule, decided));
  const said = [
    ...new Set(measurements.flatMap((one) => [...one.warnings, ...one.notes].map((text) => `${one.measure}: ${text}`))),
  ];
  return [
    table(["measure", "EER", "FPR", "FNR", "gap", "decision"], rows, "Error rates"),
    element(
      "p",
      { class: "quiet" },
      [`${first.utterances.toLocaleString("en")} utterances, default rules, EER rule nearest`, ...touched].join("; "),
    ),
    ...said.map((text) => element("p", { class: "note" }, text)),
  ];
}

/** The curves and timelines of what was found, from its range EER on. */
function draw() {
  if (!found) return;
  const [range] = found.measurements;
  const { higher, curve, axis } = found;
  page.state.load([{ name: byId("system-name").value, eer: range.value, higher, curve, axis }]);
  timelines.load(found.timelines);
  figures.draw();
  page.state.choose(0);
  timelines.list(timelines.all, shown);
}

function showRows() {
  if (!found) return;
  byId("latex").textContent = latexRow(byId("system-name").value, found.measurements);
  byId("markdown").textContent = markdownRows(byId("system-name").value, found.measurements);
}

// ------------------------------------------------------------------ results

async function showVerified() {
  byId("no-results").hidden = results.size > 0;
  const parts = [];
  for (const result of found ? results.values() : []) {
    const { measurements } = await ask("again", { measures: repeatable(result), version: data.version });
    const { confirmed, checked, left } = verify(result, measurements);
    const verdict = element(
      "p",
      { class: confirmed ? "confirmed" : "not-confirmed" },
      `${confirmed ? "Confirmed" : checked.length ? "Not confirmed" : "Not checked"}: ${result.name}`,
    );
    const apart = checked.flatMap(({ measure, differences }) =>
      differences.map((one) => element("li", {}, `${measure}, ${one.name}: stated ${one.stated}, found ${one.found}`)),
    );
    const others = left.length
      ? [
          element(
            "p",
            { class: "quiet" },
            `Not measured here: ${left.join(", ")}. The command line verifies them: spoofspan verify ${result.name} REFERENCES SCORES`,
          ),
        ]
      : [];
    parts.push(verdict, ...(apart.length ? [element("ul", { class: "plain" }, ...apart)] : []), ...others);
  }
  byId("verified").replaceChildren(...parts);
}

function showRanking() {
  const all = [...results.values()];
  const known = [...new Set(all.flatMap(({ measurements }) => measurements.map(({ measure }) => measure)))].filter(
    (measure) => /-eer(@|$)/.test(measure),
  );
  byId("ranking").hidden = all.length < 2 || !known.length;
  if (byId("ranking").hidden) return;
  const select = byId("measure");
  const measure = known.includes(select.value) ? select.value : known[0];
  select.replaceChildren(...known.map((name) => element("option", name === measure ? { selected: "" } : {}, name)));
  const { common, rows, refused } = ranked(all, measure);
  const cells = rows.map(({ rank, name, own, same }) => {
    const interval =
      own.interval && own.interval.low !== null && own.interval.high !== null
        ? `${twoDecimals(100 * own.interval.low)} to ${twoDecimals(100 * own.interval.high)} %`
        : "";
    return [
      name,
      String(rank),
      percent(own.value),
      interval,
      same.length ? `the same scores as ${same.join(", ")}` : "",
    ];
  });
  byId("board").replaceChildren(
    table(["result", "rank", measure, "interval", "note"], cells, `Ranking by ${measure}`),
    element("p", { class: "signature quiet" }, "All of them state: ", element("code", {}, common)),
  );
  byId("refused").replaceChildren(
    ...(refused.length
      ? [
          element("p", {}, "Not comparable with these, and not ranked:"),
          element(
            "ul",
            { class: "plain" },
            ...refused.map(({ name, reason }) => element("li", {}, element("strong", {}, name), `: ${reason}`)),
          ),
        ]
      : []),
  );
}

// ------------------------------------------------------------------ controls

const asSources = (/** @type {Iterable<File>} */ list) => Array.from(list, (file) => ({ name: file.name, blob: file }));
byId("choose").addEventListener("change", () => addFiles(asSources(byId("choose").files)));
const packed = (/** @type {[string, string]} */ [name, text]) => ({ name, blob: new Blob([page.bytesOf(text)]) });
/** The durations that a challenge gives to its page. */
const given = data.durations ? packed(["reco2dur", data.durations]) : null;
files.durations = given;
const loadDemo = () => addFiles(Object.entries(data.demo).map(packed));
byId("demo")?.addEventListener("click", loadDemo);
byId("clear").addEventListener("click", () => {
  files.references = files.scores = null;
  files.durations = given;
  results.clear();
  byId("choose").value = "";
  measure();
});
for (const name of ["hop", "higher", "resolutions"]) byId(name).addEventListener("change", () => measure());
byId("system-name").addEventListener("input", showRows);
byId("measure").addEventListener("change", showRanking);
byId("more").addEventListener("click", () => {
  shown += FEW;
  timelines.list(timelines.all, shown);
});
page.copyOn(byId("copy-latex"), () => byId("latex").textContent);
page.copyOn(byId("copy-markdown"), () => byId("markdown").textContent);
byId("save").addEventListener("click", () => found && page.download("result.json", found.json, "application/json"));
page.slider.follow("to-eer");
page.state.onThreshold(() => {
  figures.showRates();
  requestAnimationFrame(() => {
    figures.move();
    timelines.drawVisible();
  });
});
page.onRedraw(() => {
  if (!found) return;
  figures.draw();
  timelines.drawVisible();
});

// files may be dropped anywhere: a browser would open them in place of the page
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    byId("drop").classList.toggle("over", kind === "dragover");
    const { dataTransfer } = /** @type {DragEvent} */ (event);
    if (kind === "drop" && dataTransfer) addFiles(asSources(dataTransfer.files));
  });
}

// for the tests, and for pages around this one
page.app = { addFiles, ask };
if (window.parent !== window) document.documentElement.classList.add("framed");
if (location.hash === "#open=demo") loadDemo();
else show();
document.documentElement.dataset.ready = "yes";

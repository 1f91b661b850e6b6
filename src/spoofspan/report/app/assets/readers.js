// Readers of references, durations and scores: the same files give the same corpus as in the library.

import { Refusal, refuseHere, rint, secondsText } from "./exact.js";
import { readArrays } from "./npz.js";
import { BONA_FIDE, makeReferences, NONSPEECH, SPOOF } from "./references.js";
import { frameScores, rangeScores } from "./scores.js";
import { eachLine, lineBlocks, plainNumber, textOf, UNUSUAL } from "./text.js";

/** @typedef {import("./text.js").Source} Source */
/** @typedef {import("./references.js").Range} Range */
/** @typedef {import("./scores.js").Higher} Higher */
/** @typedef {"rttm" | "durations" | "unit-score" | "wedefense-logits" | "frame-score" | "reference-table" | "score-table" | "npz" | "result"} Kind */
/** @typedef {{hop?: number | null, higher?: Higher | null, usual?: {hop?: number | null, higher?: Higher | null}}} Options what a file does not state itself, and what holds where nobody says it */

const TEXT_SNAP = 2_000_000; // ns
const DAY = 86_400; // s
const MOST_WHOLE = 1000; // s
const RATIO = 100;
const LOOKED_AT = 200; // lines
const WHOLE = /^\d+$/;
const WORDS = new Map([
  ...["bonafide", "bona-fide", "bona_fide", "genuine", "real"].map((word) => /** @type {const} */ ([word, BONA_FIDE])),
  ...["spoof", "fake"].map((word) => /** @type {const} */ ([word, SPOOF])),
  ...["nonspeech", "non-speech", "non_speech", "silence", "sil"].map(
    (word) => /** @type {const} */ ([word, NONSPEECH]),
  ),
]);
const ns = (/** @type {number} */ seconds) => rint(seconds * 1e9);

/**
 * Tell what a file holds by its first bytes.
 * @param {Source} source
 * @returns {Promise<Kind>}
 */
export async function identify(source) {
  const start = new Uint8Array(await source.blob.slice(0, 4).arrayBuffer());
  if (start[0] === 0x50 && start[1] === 0x4b) return "npz";
  const check = `spoofspan check ${source.name}`;
  if (start[0] === 0x50 && start[1] === 0x41)
    return refuseHere(`${source.name}: this page does not read Parquet`, `spoofspan convert ${source.name} SCORES.csv`);
  const first = (await lineBlocks(source).next()).value;
  if (!first) throw new Refusal(`${source.name}: the file is empty`);
  const head = new TextDecoder().decode(first.subarray(0, 1 << 16)).replace(/^\ufeff/, "");
  const lines = head.split(/\r?\n/).filter((line) => line.trim() && !line.startsWith(";;"));
  if (!lines.length) throw new Refusal(`${source.name}: the file is empty or has comments only`);
  const fields = lines[0].trim().split(/[ \t]+/);
  if (/^\s*[{[]/.test(head)) return "result";
  if (fields[0] === "SPEAKER" && (fields.length === 9 || fields.length === 10)) return "rttm";
  const names = lines[0].split(/[,\t]/).map((name) => name.trim());
  if (names.includes("utterance"))
    return names.includes("label") && names.includes("start") ? "reference-table" : "score-table";
  if (lines[0].includes(",")) refuseHere(`${source.name}: the first line does not name a column 'utterance'`, check);
  if (fields.length === 2 && plainNumber(fields[1]) !== null) return "durations";
  const numbers = fields.length > 2 && /^\d{1,15}$/.test(fields[1]) && plainNumber(fields[2]) !== null;
  if (numbers && lines[0].includes("\t") && (fields.length === 4 || fields.length === 5)) return "wedefense-logits";
  if (numbers && fields.length === 4 && plainNumber(fields[3]) !== null) return "unit-score";
  if (numbers && fields.length === 3 && lines.slice(0, LOOKED_AT).some(goesOn)) return "frame-score";
  return refuseHere(
    `${source.name}: this page reads RTTM, reco2dur, frame scores, CSV, npz and the JSON of eval, and this is none of them`,
    check,
  );
}

/**
 * Whether a line is of the frame after that of the line before: other lines of three fields look like frames too.
 * @param {string} line
 * @param {number} i
 * @param {string[]} lines
 */
function goesOn(line, i, lines) {
  const [one, two] = [lines[i - 1] ?? "", line].map((text) => text.trim().split(/[ \t]+/));
  return one[0] === two[0] && Number(one[1]) + 1 === Number(two[1]);
}

/**
 * The hop in seconds that a file name states; null if it does not.
 * @param {string} name
 */
export function hopInName(name) {
  const found = /unit(\d+\.?\d*)\.score|_(\d+\.?\d*)ms\.\w+/.exec(name);
  if (!found) return null;
  return found[1] ? Number(found[1]) : Number(found[2]) / 1000;
}

/**
 * What an option or the file itself says, which must agree.
 * @template T
 * @param {string} name
 * @param {string} what
 * @param {T | null | undefined} stated by the file
 * @param {T | null | undefined} given
 * @param {T | null | undefined} [usual] where neither says it
 */
function settled(name, what, stated, given, usual) {
  if (stated != null && given != null && stated !== given)
    throw new Refusal(
      `${name}: the file says ${what} ${stated}, and ${given} was chosen`,
      "Leave the choice out, or choose another file.",
    );
  const known = stated ?? given ?? usual;
  if (known == null) throw new Refusal(`${name}: the file does not say ${what}`, "Choose it beside the file.");
  return known;
}

const HOP = "how long a frame is:";
const HIGHER = "what high scores mean:";

// ---------------------------------------------------------------- durations and references

/**
 * @param {Source} source
 * @returns {Promise<Map<string, number>>} seconds
 */
export async function readDurations(source) {
  const known = new Map();
  const problems = [];
  await eachLine(source, "", (fields, line) => {
    const seconds = fields.length === 2 ? plainNumber(fields[1]) : null;
    if (seconds === null || !(seconds > 0 && seconds < Infinity))
      problems.push(`${source.name}:${line}: not '<utterance> <seconds>'`);
    else if ((known.get(fields[0]) ?? seconds) !== seconds)
      problems.push(`${source.name}:${line}: utterance '${fields[0]}' has two durations`);
    else known.set(fields[0], seconds);
  });
  if (!known.size) problems.push(`${source.name}: there is no duration in the file; it is empty`);
  if (problems.length) throw new Refusal(problems, "Correct the file of durations.");
  return known;
}

/**
 * @param {Source} source
 * @param {Kind} kind
 * @param {Map<string, number> | null} durations seconds
 */
export async function readReferences(source, kind, durations) {
  if (kind === "rttm") return readRttm(source, durations);
  if (kind === "reference-table") return readReferenceTable(source, durations);
  throw new Refusal(`${source.name}: it holds no references`);
}

/**
 * The class that a label means: a word for it, or an attack such as A07.
 * @param {string} label
 */
const classOf = (label) => WORDS.get(label.toLowerCase()) ?? (/^[A-Za-z]\d+$/.test(label) ? SPOOF : null);

/**
 * @param {Source} source
 * @param {Map<string, number> | null} durations
 */
async function readRttm(source, durations) {
  const problems = [];
  /** @type {Map<string, Range[]>} */
  const rangesOf = new Map();
  let whole = true;
  let last = 0;
  await eachLine(source, ";;", (fields, line) => {
    const problem = (/** @type {string} */ what) => problems.push(`${source.name}:${line}: ${what}`);
    if (fields[0] !== "SPEAKER" || fields.length < 9 || fields.length > 10) {
      problem("RTTM lines begin with SPEAKER and have 9 or 10 fields");
      return;
    }
    const [start, length] = [plainNumber(fields[3]), plainNumber(fields[4])];
    const label = classOf(fields[7]);
    whole &&= WHOLE.test(fields[3]) && WHOLE.test(fields[4]);
    if (start === null || length === null || !(Math.abs(start) <= DAY && Math.abs(length) <= DAY))
      problem("start or duration is no number of seconds");
    else if (start < 0 || length < 0) problem("start or duration is negative");
    else if (label === null)
      problem(`unknown label '${fields[7]}' (bonafide, spoof, nonspeech, or an attack such as A07)`);
    else {
      const end = start + length;
      const rows = rangesOf.get(fields[1]);
      if (rows) rows.push([ns(start), ns(end), label]);
      else rangesOf.set(fields[1], [[ns(start), ns(end), label]]);
      last = Math.max(last, end);
      if (durations && end > RATIO * (durations.get(fields[1]) ?? Infinity))
        problem(`the range ends at ${end} s, far past the duration; are these milliseconds or samples?`);
    }
  });
  if (!durations && whole && last > MOST_WHOLE)
    problems.push(`${source.name}: all times are whole numbers, up to ${last}; are these milliseconds or samples?`);
  if (problems.length) throw new Refusal(problems, "Correct the file.");
  // an utterance without any range is in the durations alone
  for (const id of durations?.keys() ?? []) if (!rangesOf.has(id)) rangesOf.set(id, []);
  return makeReferences(rangesOf, inNs(durations), TEXT_SNAP);
}

/** @param {Map<string, number> | null} durations */
const inNs = (durations) => durations && new Map([...durations].map(([id, seconds]) => [id, ns(seconds)]));

// ---------------------------------------------------------------- tables

/**
 * The rows of a table as text by their columns.
 * @param {Source} source
 * @param {string[]} known columns that are read here
 */
async function tableOf(source, known) {
  const text = (await textOf(source)).replace(/^\ufeff/, "");
  const check = `spoofspan check ${source.name}`;
  if (text.includes('"')) refuseHere(`${source.name}: this page reads tables without quotes`, check);
  if (UNUSUAL.test(text)) refuseHere(`${source.name}: it has unusual white space or control characters`, check);
  const lines = text.split(/\r?\n/);
  const header = lines.findIndex((line) => line.trim());
  const separator = lines[header].includes(",") ? "," : "\t";
  const names = lines[header].split(separator);
  const others = names.filter((name) => !known.includes(name));
  if (others.length)
    refuseHere(
      `${source.name}: this page reads tables with the columns ${known.join(", ")}, and this one has '${others[0]}'`,
      check,
    );
  if (new Set(names).size < names.length) throw new Refusal(`${source.name}: two columns have one name`);
  /** @type {string[][]} */
  const rows = [];
  for (let i = header + 1; i < lines.length; i++) {
    if (!lines[i]) continue;
    const cells = lines[i].split(separator);
    if (cells.length !== names.length)
      throw new Refusal(`${source.name}:${i + 1}: ${cells.length} cells, the header has ${names.length}`);
    rows.push(cells);
  }
  if (!rows.length) throw new Refusal(`${source.name}: the table has no rows`);
  const place = (/** @type {number} */ row) => `${source.name}, row ${row + 1}`;
  const column = (/** @type {string} */ name) => {
    const at = names.indexOf(name);
    return at < 0 ? null : rows.map((cells) => cells[at]);
  };
  const numbers = (/** @type {string} */ name) => {
    const cells = column(name);
    return cells?.map((cell, row) => {
      const value = plainNumber(cell.trim());
      if (value === null || Number.isNaN(value))
        throw new Refusal(
          `${place(row)}: ${name} '${cell}' is no number`,
          "Correct the table, or see whether the command line reads it.",
        );
      return value;
    });
  };
  const times = (/** @type {string} */ name) =>
    numbers(name)?.map((seconds, row) => {
      if (!(Math.abs(seconds) <= DAY)) throw new Refusal(`${place(row)}: ${name} is over a day (${seconds} s)`);
      return ns(seconds);
    }) ?? null;
  const ids = /** @type {string[]} */ (column("utterance"));
  const empty = ids.indexOf("");
  if (empty >= 0) throw new Refusal(`${place(empty)}: the utterance id is empty`);
  return { names, ids, place, column, numbers, times };
}

/**
 * @param {Source} source
 * @param {Map<string, number> | null} durations
 */
async function readReferenceTable(source, durations) {
  const table = await tableOf(source, ["utterance", "start", "end", "label", "attack", "kind", "duration"]);
  const [starts, ends, labels] = [table.times("start"), table.times("end"), table.column("label")];
  const lengths = table.times("duration");
  if (!starts || !ends || !labels)
    throw new Refusal(`${source.name}: references need the columns utterance, start, end and label`);
  if (durations && lengths)
    refuseHere(
      `${source.name}: both the table and a file give durations`,
      "spoofspan eval REFERENCES SCORES --durations reco2dur",
    );
  /** @type {Map<string, Range[]>} */
  const rangesOf = new Map();
  /** @type {Map<string, number>} */
  const lengthOf = new Map();
  const attacks = table.column("attack") ?? table.column("kind");
  for (const [row, id] of table.ids.entries()) {
    const label = classOf(labels[row]);
    if (label === null) {
      if (labels[row] === "0" || labels[row] === "1")
        refuseHere(`${source.name}: the labels are 0 and 1`, "spoofspan eval REFERENCES SCORES --spoof-label 1");
      throw new Refusal(
        `${table.place(row)}: unknown label '${labels[row]}' (bonafide, spoof, nonspeech, or an attack such as A07)`,
      );
    }
    if (attacks?.[row] && !WORDS.has(labels[row].toLowerCase()) && attacks[row] !== labels[row]) {
      throw new Refusal(
        `${table.place(row)}: the label is attack '${labels[row]}', but the column attack says '${attacks[row]}'`,
      );
    }
    if (starts[row] < 0 || ends[row] < starts[row])
      throw new Refusal(
        `${table.place(row)}: the range lasts from ${secondsText(starts[row])} to ${secondsText(ends[row])}`,
      );
    const rows = rangesOf.get(id) ?? [];
    if (!rows.length) rangesOf.set(id, rows);
    rows.push([starts[row], ends[row], label]);
    if (lengths) {
      if ((lengthOf.get(id) ?? lengths[row]) !== lengths[row])
        throw new Refusal(`${table.place(row)}: utterance '${id}' has two durations`);
      lengthOf.set(id, lengths[row]);
    }
  }
  for (const id of durations?.keys() ?? []) if (!rangesOf.has(id)) rangesOf.set(id, []);
  return makeReferences(rangesOf, lengths ? lengthOf : inNs(durations), TEXT_SNAP);
}

/**
 * @param {Source} source
 * @param {Options} options
 */
async function readScoreTable(source, options) {
  const table = await tableOf(source, ["utterance", "start", "end", "frame", "score", "hop", "higher"]);
  const scores = table.numbers("score");
  if (!scores) throw new Refusal(`${source.name}: scores need a column 'score'`);
  const words = [...new Set(table.column("higher") ?? [])];
  if (words.length > 1 || (words.length && words[0] !== "bonafide" && words[0] !== "spoof"))
    throw new Refusal(`${source.name}: the column 'higher' must say 'bonafide' or 'spoof', and one of them only`);
  const higher = settled(
    source.name,
    HIGHER,
    /** @type {Higher | undefined} */ (words[0]),
    options.higher,
    options.usual?.higher,
  );
  const [starts, ends, frames] = [table.times("start"), table.times("end"), table.column("frame")];
  if (starts && ends && !frames) {
    if (options.hop != null || table.column("hop"))
      throw new Refusal(`${source.name}: its scores have starts and ends, so a hop says nothing`, "Leave it out.");
    /** @type {Map<string, [number, number, number][]>} */
    const rowsOf = new Map();
    for (const [row, id] of table.ids.entries()) {
      const rows = rowsOf.get(id) ?? [];
      if (!rows.length) rowsOf.set(id, rows);
      rows.push([starts[row], ends[row], scores[row]]);
    }
    return rangeScores(rowsOf, higher);
  }
  if (!frames || starts || ends) throw new Refusal(`${source.name}: scores need the columns start and end, or frame`);
  const hops = [...new Set(table.numbers("hop") ?? [])];
  if (hops.length > 1)
    refuseHere(`${source.name}: its utterances have several hops`, "spoofspan eval REFERENCES SCORES");
  const hop = settled(source.name, HOP, hops[0], options.hop, options.usual?.hop);
  /** @type {string[]} */
  const ids = [];
  const offsets = [0];
  for (const [row, id] of table.ids.entries()) {
    if (id !== ids[ids.length - 1]) {
      ids.push(id);
      offsets.push(row);
    }
    offsets[ids.length] = row + 1;
    const expected = row - offsets[ids.length - 1];
    if (Number(frames[row].trim()) !== expected || !/^\s*\+?\d+\s*$/.test(frames[row]))
      refuseFrame(table.place(row), id, frames[row], expected);
  }
  return frameScores(ids, offsets, Float64Array.from(scores), hop, higher);
}

/**
 * @param {string} place
 * @param {string} id
 * @param {string | number} frame
 * @param {number} expected
 * @returns {never}
 */
function refuseFrame(place, id, frame, expected) {
  return refuseHere(
    `${place}: utterance '${id}': frame ${frame} instead of ${expected}; here, frames are 0, 1, 2, ... in order, and the lines of an utterance stand together`,
    "spoofspan convert SCORES SORTED.csv",
  );
}

// ---------------------------------------------------------------- scores

/**
 * @param {Source} source
 * @param {Kind} kind
 * @param {Options} options
 */
export async function readScores(source, kind, options) {
  if (kind === "score-table") return readScoreTable(source, options);
  if (kind === "npz") return readNpz(source, options);
  const layout = {
    "unit-score": { widths: [4], column: 3 },
    "wedefense-logits": { widths: [4, 5], column: 3 },
    "frame-score": { widths: [3], column: 2 },
  }[/** @type {string} */ (kind)];
  if (!layout) throw new Refusal(`${source.name}: it holds no scores`);
  if (layout.column === 3 && options.higher === "bonafide")
    refuseHere(
      `${source.name}: the column of spoof scores is read here`,
      "spoofspan eval REFERENCES SCORES --column bonafide",
    );
  const higher =
    layout.column === 3 ? "spoof" : settled(source.name, HIGHER, null, options.higher, options.usual?.higher);
  const named = hopInName(source.name.replace(/\.gz$/, ""));
  const hop = options.hop ?? settled(source.name, HOP, named, null, options.usual?.hop);
  const frames = new FrameLines(source.name, layout.widths, layout.column);
  for await (const block of lineBlocks(source)) frames.add(block);
  return frames.scores(hop, higher);
}

/**
 * @param {Source} source
 * @param {Options} options
 */
async function readNpz(source, options) {
  const { arrays, stated } = await readArrays(source);
  const own = stated.hop === undefined ? null : Number(stated.hop);
  const hop = settled(source.name, HOP, own, options.hop, options.usual?.hop);
  const says = /** @type {Higher | undefined} */ (stated.higher);
  const higher = settled(source.name, HIGHER, says, options.higher, options.usual?.higher);
  const offsets = [0];
  for (const array of arrays.values()) offsets.push(offsets[offsets.length - 1] + array.length);
  const values = new Float64Array(offsets[offsets.length - 1]);
  for (const [i, [id, array]] of [...arrays].entries()) {
    values.set(array, offsets[i]);
    const bad = array.findIndex(Number.isNaN);
    if (bad >= 0)
      throw new Refusal(
        `${source.name}: utterance '${id}': score ${bad} is NaN`,
        "Find out why the system gave no number there.",
      );
  }
  return frameScores([...arrays.keys()], offsets, values, hop, higher);
}

const SPACE = 32;
const TAB = 9;
const NEWLINE = 10;
const RETURN = 13;
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const MOST_FIELDS = 5;
const DIGITS = 15; // below 2^53, so one division rounds once
const MORE_DIGITS = 4; // behind these
const POWERS = Float64Array.from({ length: 23 }, (_, k) => Number(`1e${k}`)); // exact
const HALF = 2 ** 25;
const SPLITTER = 2 ** 27 + 1;
const DOUBT = 1e-6; // units in the last place beside the middle of two doubles
const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);

/**
 * An integer of 16 to 19 digits divided by a power of ten, rounded once; NaN where that is too close to call.
 *
 * The integer is a sum of two doubles, the rest of the division is exact (Dekker's product), and decides.
 * @param {number} first its first 15 digits
 * @param {number} more its other digits
 * @param {number} count how many these are
 * @param {number} power
 */
function quotient(first, more, count, power) {
  const high = Math.floor(first / HALF);
  const low = (first - high * HALF) * POWERS[count] + more;
  const upper = high * POWERS[count] * HALF;
  const value = upper + low;
  const below = low - (value - upper);
  const found = value / power;
  const product = found * power;
  const a = SPLITTER * found - (SPLITTER * found - found);
  const b = found - a;
  const c = SPLITTER * power - (SPLITTER * power - power);
  const d = power - c;
  const error = a * c - product + a * d + b * c + b * d;
  const rest = (value - product - error + below) / power;
  const rounded = found + rest;
  double[0] = rounded;
  const unit = 2 ** (((words[1] >>> 20) & 0x7ff) - 1075);
  const missed = Math.abs(rest - (rounded - found));
  // next to a power of two, doubles are nearer to each other
  const nearPower = words[0] === 0 && (words[1] & 0xfffff) === 0;
  return nearPower || Math.abs(missed - unit / 2) < unit * DOUBT ? NaN : rounded;
}

/** Lines `<utt> <frame> <score> ...`, read from bytes: a text of each would take most of the time. */
class FrameLines {
  /**
   * @param {string} name
   * @param {number[]} widths
   * @param {number} column
   */
  constructor(name, widths, column) {
    this.name = name;
    this.widths = widths;
    this.column = column;
    this.width = 0;
    this.line = 0;
    this.separator = 0;
    /** @type {string[]} */
    this.ids = [];
    /** @type {number[]} */
    this.offsets = [0];
    this.values = new Float64Array(1 << 16);
    this.count = 0;
    /** @type {Uint8Array} of the line before */
    this.id = new Uint8Array(0);
    this.begins = new Int32Array(MOST_FIELDS);
    this.ends = new Int32Array(MOST_FIELDS);
  }

  /** @param {Uint8Array} block whole lines */
  add(block) {
    let at = this.line === 0 && block[0] === 0xef && block[1] === 0xbb && block[2] === 0xbf ? 3 : 0;
    if (!this.separator) this.separator = block.includes(TAB) ? TAB : SPACE;
    while (at < block.length) {
      at = this.addLine(block, at) + 1;
      if (this.width === this.column + 1) at = this.addFrames(block, at);
    }
  }

  /**
   * Add the next frames of the utterance of the line before, which almost all lines are.
   * @param {Uint8Array} block
   * @param {number} from where a line begins
   * @returns {number} where the first line begins that is anything else
   */
  addFrames(block, from) {
    const { separator, column } = this;
    const { length } = this.id;
    let expected = this.count - this.offsets[this.ids.length - 1];
    for (; ; expected++) {
      let at = from + length;
      if (block[at] !== separator || !this.sameId(block, from, at)) return from;
      let frame = 0;
      const digits = ++at;
      for (; block[at] >= 48 && block[at] <= 57; at++) frame = 10 * frame + block[at] - 48;
      if (at === digits || frame !== expected) return from;
      let begin = at;
      for (let field = 1; field < column; field++) {
        if (block[at] !== separator) return from;
        begin = ++at;
        while (block[at] > SPACE) at += 1;
        if (at === begin) return from;
      }
      if (block[at] !== NEWLINE) return from;
      this.line += 1;
      this.put(this.number(block, begin, at));
      from = at + 1;
    }
  }

  /** @param {number} value */
  put(value) {
    if (this.count === this.values.length) {
      const more = new Float64Array(2 * this.count);
      more.set(this.values);
      this.values = more;
    }
    this.values[this.count++] = value;
    this.offsets[this.ids.length] = this.count;
  }

  /**
   * @param {Uint8Array} block
   * @param {number} from where a line begins
   * @returns {number} where it ends
   */
  addLine(block, from) {
    const { begins, ends, separator } = this;
    this.line += 1;
    let fields = 0;
    let inside = false;
    let to = from;
    for (; to < block.length; to++) {
      const byte = block[to];
      if (byte > SPACE) {
        if (!inside) {
          if (fields === MOST_FIELDS) this.refuse("it has too many fields");
          begins[fields] = to;
          inside = true;
        }
        continue;
      }
      if (inside) ends[fields++] = to;
      inside = false;
      if (byte === NEWLINE) break;
      if (byte !== separator && !(byte === RETURN && (block[to + 1] ?? NEWLINE) === NEWLINE))
        this.refuse("its fields stand between one kind of white space here");
    }
    if (inside) ends[fields++] = to;
    if (!fields) return to;
    if (!this.width && this.widths.includes(fields)) this.width = fields;
    if (fields !== this.width) this.refuse(`${fields} fields instead of ${this.width || this.widths.join(" or ")}`);
    const value = this.number(block, begins[this.column], ends[this.column]);
    if (!this.sameId(block, begins[0], ends[0])) this.begin(block.slice(begins[0], ends[0]));
    const expected = this.count - this.offsets[this.ids.length - 1];
    let frame = 0;
    for (let at = begins[1]; at < ends[1]; at++) {
      const digit = block[at] - 48;
      if (digit < 0 || digit > 9) this.refuse("the second field is no frame number");
      frame = 10 * frame + digit;
    }
    if (frame !== expected) refuseFrame(`${this.name}:${this.line}`, this.ids[this.ids.length - 1], frame, expected);
    this.put(value);
    return to;
  }

  /**
   * @param {Uint8Array} block
   * @param {number} from
   * @param {number} to
   */
  sameId(block, from, to) {
    const { id } = this;
    if (id.length !== to - from) return false;
    for (let i = id.length - 1; i >= 0; i--) if (id[i] !== block[from + i]) return false;
    return true;
  }

  /** @param {Uint8Array} id */
  begin(id) {
    this.id = id;
    let text = "";
    try {
      text = strict.decode(id);
    } catch {
      this.refuse("it is no UTF-8 text");
    }
    if (UNUSUAL.test(text)) this.refuse("the utterance has unusual white space");
    this.ids.push(text);
  }

  /**
   * A score: the double nearest to its text.
   * @param {Uint8Array} block
   * @param {number} from
   * @param {number} to
   * @returns {number}
   */
  number(block, from, to) {
    let at = from;
    const negative = block[at] === 45;
    if (negative) at += 1;
    let first = 0;
    let more = 0;
    let digits = 0;
    let decimals = -1;
    for (; at < to; at++) {
      const digit = block[at] - 48;
      if (digit >= 0 && digit <= 9) {
        if (digits < DIGITS) first = 10 * first + digit;
        else more = 10 * more + digit;
        if (first) digits += 1;
        if (decimals >= 0) decimals += 1;
      } else if (digit === -2 && decimals < 0) decimals = 0;
      else break;
    }
    if (
      at === to &&
      digits <= DIGITS + MORE_DIGITS &&
      decimals <= 22 &&
      to - from > Number(negative) + Number(decimals >= 0)
    ) {
      const power = decimals > 0 ? POWERS[decimals] : 1;
      const value = digits <= DIGITS ? first / power : quotient(first, more, digits - DIGITS, power);
      if (!Number.isNaN(value)) return negative ? -value : value;
    }
    const text = String.fromCharCode.apply(null, /** @type {any} */ (block.subarray(from, to)));
    const value = plainNumber(text);
    if (value === null) return this.refuse(`the score '${text.slice(0, 40)}' is no number`);
    if (Number.isNaN(value)) return this.refuse("the score is NaN; find out why the system gave no number there");
    return value;
  }

  /**
   * @param {string} why
   * @returns {never}
   */
  refuse(why) {
    throw new Refusal(
      `${this.name}:${this.line}: ${why}`,
      `Correct the file, or see what the command line makes of it: spoofspan check ${this.name}`,
    );
  }

  /**
   * @param {number} hop
   * @param {Higher} higher
   */
  scores(hop, higher) {
    return frameScores(this.ids, this.offsets, this.values.subarray(0, this.count), hop, higher);
  }
}

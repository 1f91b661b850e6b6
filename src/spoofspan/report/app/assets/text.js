// Text files: their lines and fields, read as the library reads them or refused with the line.

import { Refusal, refuseHere } from "./exact.js";

/** @typedef {{name: string, blob: Blob}} Source */

const NUMBER = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)$/i;
// white space that this page does not cut lines at, and the library may
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
export const UNUSUAL = /[^\S \t\r\n]|[\0\x1c-\x1f\x85]|\r(?!\n)/;
const LONGEST_LINE = 1 << 20;
const PIECE = 1 << 22; // bytes

/**
 * The bytes of a file in pieces, unpacked if it is packed by gzip.
 * @param {Source} source
 * @param {number} size of a piece
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function* piecesOf({ name, blob }, size = PIECE) {
  const start = new Uint8Array(await blob.slice(0, 4).arrayBuffer());
  if (start[0] === 0x28 && start[1] === 0xb5) refuseHere(`${name}: it is packed by zstd`, `zstd -d ${name}`);
  if (start[0] !== 0x1f || start[1] !== 0x8b) {
    // large pieces take a quarter less time than those of a stream
    for (let at = 0; at < blob.size; at += size) yield new Uint8Array(await blob.slice(at, at + size).arrayBuffer());
    return;
  }
  const reader = blob.stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/**
 * Blocks of whole lines; the last one may end without a line end.
 * @param {Source} source
 * @param {number} size of the pieces that they are cut from
 */
export async function* lineBlocks(source, size = PIECE) {
  let rest = new Uint8Array(0);
  for await (const value of piecesOf(source, size)) {
    const end = value.lastIndexOf(10) + 1;
    if (!end) {
      rest = joined(rest, value);
      if (rest.length > LONGEST_LINE)
        throw new Refusal(`${source.name}: a line is longer than 1 MB; is this a text file?`);
      continue;
    }
    // almost all of a piece is used where it lies
    if (rest.length) {
      const first = value.indexOf(10) + 1;
      yield joined(rest, value.subarray(0, first));
      if (end > first) yield value.subarray(first, end);
    } else {
      yield value.subarray(0, end);
    }
    rest = value.slice(end);
  }
  if (rest.length) yield rest;
}

/**
 * @param {Uint8Array} a
 * @param {Uint8Array} b
 */
function joined(a, b) {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/**
 * The text of a file that is small enough to hold.
 * @param {Source} source
 */
export async function textOf(source) {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for await (const piece of piecesOf(source)) text += decoded(source, () => decoder.decode(piece, { stream: true }));
  return text + decoded(source, () => decoder.decode());
}

/**
 * @param {Source} source
 * @param {() => string} decode
 */
function decoded({ name }, decode) {
  try {
    return decode();
  } catch (error) {
    throw new Refusal(`${name}: it is no UTF-8 text (${error instanceof Error ? error.message : error})`);
  }
}

/**
 * Visit the lines that are not blank, cut at white space. None of them is kept: lists of many small texts are what
 * takes a collector of garbage long.
 * @param {Source} source
 * @param {string} comment how lines begin that are skipped; "" for none
 * @param {(fields: string[], line: number) => void} visit
 */
export async function eachLine(source, comment, visit) {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let number = 0;
  for await (const block of lineBlocks(source)) {
    const text = decoded(source, () => decoder.decode(block, { stream: true }));
    if (UNUSUAL.test(text))
      refuseHere(`${source.name}: it has unusual white space or control characters`, `spoofspan check ${source.name}`);
    for (let at = 0; at < text.length; ) {
      const found = text.indexOf("\n", at);
      const end = found < 0 ? text.length : found;
      const line = text.slice(at, end).trim();
      number += 1;
      if (line && !(comment && text.startsWith(comment, at))) visit(line.split(/[ \t]+/), number);
      at = end + 1;
    }
  }
  decoded(source, () => decoder.decode()); // which tells of a character that is cut
}

/**
 * Read a number; null if it is none.
 * @param {string} text
 */
export function plainNumber(text) {
  if (!NUMBER.test(text)) return null;
  const word = text.toLowerCase().replace(/^[+-]/, "");
  if (word === "nan") return NaN;
  if (word.startsWith("inf")) return text.startsWith("-") ? -Infinity : Infinity;
  return Number(text);
}

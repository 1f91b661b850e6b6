// npz files: zip archives of plain arrays, read without a library.

import { Refusal, refuseHere } from "./exact.js";

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const CONVERT = "spoofspan convert SCORES.npz SCORES.csv";

/**
 * The arrays of an npz file by the names of its members, and what its comment states.
 * @param {import("./text.js").Source} source
 */
export async function readArrays({ name, blob }) {
  const buffer = await blob.arrayBuffer();
  const view = new DataView(buffer);
  let end = buffer.byteLength - 22;
  while (end >= 0 && view.getUint32(end, true) !== END) end -= 1;
  if (end < 0) throw new Refusal(`${name}: the zip archive is damaged; its end is missing`);
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  if (count === 0xffff || at === 0xffffffff) refuseHere(`${name}: it has more than 65,534 members or 4 GB`, CONVERT);
  const comment = new TextDecoder().decode(new Uint8Array(buffer, end + 22, view.getUint16(end + 20, true)));
  const stated = /^spoofspan((?: (?:hop|higher|spoof_label)=[\w.+-]+)*)$/.exec(comment);
  /** @type {Map<string, Float64Array>} */
  const arrays = new Map();
  for (let i = 0; i < count; i++) {
    if (view.getUint32(at, true) !== ENTRY) throw new Refusal(`${name}: the zip archive is damaged`);
    const [method, packed, size] = [
      view.getUint16(at + 10, true),
      view.getUint32(at + 20, true),
      view.getUint32(at + 24, true),
    ];
    const [length, extra, remark] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const local = view.getUint32(at + 42, true);
    const member = new TextDecoder().decode(new Uint8Array(buffer, at + 46, length));
    at += 46 + length + extra + remark;
    if (packed === 0xffffffff || size === 0xffffffff || local === 0xffffffff)
      refuseHere(`${name}: it has members of 4 GB`, CONVERT);
    const id = member.replace(/\.npy$/, "");
    if (id === member || !id)
      throw new Refusal(`${name}: the member '${member}' is no array; members are '<utterance>.npy'`);
    if (arrays.has(id)) throw new Refusal(`${name}: utterance '${id}' occurs more than once`);
    const data = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    let bytes = new Uint8Array(buffer, data, packed);
    if (method === 8)
      bytes = new Uint8Array(
        await new Response(
          new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")),
        ).arrayBuffer(),
      );
    else if (method !== 0) refuseHere(`${name}: it is packed in a way that this page does not unpack`, CONVERT);
    if (bytes.length !== size) throw new Refusal(`${name}: utterance '${id}': the array is truncated`);
    arrays.set(id, floats(`${name}: utterance '${id}'`, bytes));
  }
  if (!arrays.size) throw new Refusal(`${name}: there are no scores in the file`);
  /** @type {Record<string, string>} */
  const known = Object.fromEntries(
    (stated?.[1] ?? "")
      .trim()
      .split(" ")
      .filter(Boolean)
      .map((pair) => pair.split("=")),
  );
  return { arrays, stated: known };
}

/**
 * A one-dimensional npy array of floats.
 * @param {string} place
 * @param {Uint8Array} bytes
 */
function floats(place, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isNpy = bytes.length > 10 && String.fromCharCode(...bytes.subarray(1, 6)) === "NUMPY";
  if (!isNpy) throw new Refusal(`${place}: the member is no array`);
  const [from, size] = bytes[6] === 1 ? [10, view.getUint16(8, true)] : [12, view.getUint32(8, true)];
  const header = new TextDecoder().decode(bytes.subarray(from, from + size));
  const type = /'descr': '([^']*)'/.exec(header)?.[1] ?? "";
  const shape = /'shape': \((\d+),\)/.exec(header);
  if (!shape || !/^<f[248]$/.test(type))
    return refuseHere(
      `${place}: this page reads one-dimensional arrays of float16, float32 or float64, not ${type} ${/'shape': (\([^)]*\))/.exec(header)?.[1] ?? ""}`,
      CONVERT,
    );
  const width = Number(type[2]);
  const data = from + size;
  if (bytes.length - data !== width * Number(shape[1])) throw new Refusal(`${place}: the array is truncated`);
  const read =
    width === 8
      ? (/** @type {number} */ at) => view.getFloat64(at, true)
      : width === 4
        ? (/** @type {number} */ at) => view.getFloat32(at, true)
        : (/** @type {number} */ at) => half(view.getUint16(at, true));
  return Float64Array.from({ length: Number(shape[1]) }, (_, i) => read(data + width * i));
}

/** @param {number} bits of a float16 */
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

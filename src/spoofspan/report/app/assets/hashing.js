// SHA-256 in pieces, and hashes of named columns: the same content has the same hash as in the library.
// The browser's own digest is four times as fast, but is missing where a page is not served securely.

const PRIMES = firstPrimes(64);
const ROUND = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
const START = Int32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
const DIGITS = 16;

/** @param {number} count */
function firstPrimes(count) {
  /** @type {number[]} */
  const found = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime)) found.push(n);
  return found;
}

/** @param {number} root */
function fraction(root) {
  return Math.floor((root - Math.floor(root)) * 2 ** 32);
}

export class Sha256 {
  constructor() {
    this.state = START.slice();
    this.words = new Int32Array(64);
    this.rest = new Uint8Array(64);
    this.pending = 0;
    this.length = 0;
  }

  /** @param {Uint8Array} data */
  update(data) {
    this.length += data.length;
    let at = 0;
    if (this.pending) {
      at = Math.min(64 - this.pending, data.length);
      this.rest.set(data.subarray(0, at), this.pending);
      this.pending += at;
      if (this.pending < 64) return this;
      this.block(this.rest, 0);
    }
    for (; at + 64 <= data.length; at += 64) this.block(data, at);
    this.pending = data.length - at;
    this.rest.set(data.subarray(at));
    return this;
  }

  /**
   * @param {Uint8Array} data
   * @param {number} at
   */
  block(data, at) {
    const { words: w, state: s } = this;
    for (let i = 0; i < 16; i++, at += 4)
      w[i] = (data[at] << 24) | (data[at + 1] << 16) | (data[at + 2] << 8) | data[at + 3];
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15];
      const y = w[i - 2];
      const low = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const high = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16] + low + w[i - 7] + high) | 0;
    }
    let a = s[0];
    let b = s[1];
    let c = s[2];
    let d = s[3];
    let e = s[4];
    let f = s[5];
    let g = s[6];
    let h = s[7];
    for (let i = 0; i < 64; i++) {
      const high = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const one = (h + high + ((e & f) ^ (~e & g)) + ROUND[i] + w[i]) | 0;
      const low = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const two = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    s[0] += a;
    s[1] += b;
    s[2] += c;
    s[3] += d;
    s[4] += e;
    s[5] += f;
    s[6] += g;
    s[7] += h;
  }

  digest() {
    const { length } = this;
    const padding = new Uint8Array((this.pending < 56 ? 56 : 120) - this.pending + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(length / 2 ** 29));
    view.setUint32(padding.length - 4, (length << 3) >>> 0);
    this.update(padding);
    const result = new Uint8Array(32);
    for (const [i, word] of this.state.entries()) new DataView(result.buffer).setInt32(4 * i, word);
    return result;
  }
}

/** @param {Uint8Array} bytes */
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const encoder = new TextEncoder();
const LARGE = 1 << 20; // bytes

/** @param {Uint8Array<ArrayBuffer>} bytes */
async function sha256(bytes) {
  const own = globalThis.crypto?.subtle;
  if (own && bytes.length >= LARGE) return new Uint8Array(await own.digest("SHA-256", bytes));
  return new Sha256().update(bytes).digest();
}

/** Named columns, each hashed as it comes: the next one can have its memory. */
export class ContentHash {
  /** @param {string} kind */
  constructor(kind) {
    this.kind = kind;
    /** @type {Map<string, Uint8Array>} */
    this.digests = new Map();
  }

  /**
   * Add a column of bytes.
   * @param {string} name
   * @param {Uint8Array<ArrayBuffer>} bytes
   */
  async add(name, bytes) {
    this.digests.set(name, await sha256(bytes));
  }

  /**
   * Add integers below 2^53, as int64 with the low half first.
   * @param {string} name
   * @param {Float64Array<ArrayBuffer>} numbers which are overwritten
   */
  async addIntegers(name, numbers) {
    const halves = new Uint32Array(numbers.buffer, numbers.byteOffset, 2 * numbers.length);
    for (let i = 0; i < numbers.length; i++) {
      const value = numbers[i];
      halves[2 * i] = value >>> 0;
      halves[2 * i + 1] = Math.floor(value / 2 ** 32);
    }
    await this.addDoubles(name, numbers);
  }

  /**
   * @param {string} name
   * @param {Float64Array<ArrayBuffer>} numbers
   */
  async addDoubles(name, numbers) {
    await this.add(name, new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength));
  }

  /**
   * Add texts, and their lengths in characters.
   * @param {string} name
   * @param {string[]} texts
   */
  async addTexts(name, texts) {
    await this.add(name, encoder.encode(texts.join("")));
    await this.addIntegers(
      `lengths of ${name}`,
      Float64Array.from(texts, (text) => [...text].length),
    );
  }

  digest() {
    const whole = new Sha256().update(encoder.encode(this.kind));
    for (const name of [...this.digests.keys()].sort())
      whole.update(encoder.encode(`${name}\0`)).update(/** @type {Uint8Array} */ (this.digests.get(name)));
    return hex(whole.digest()).slice(0, DIGITS);
  }
}

/**
 * The order of ids by their characters, as Python sorts them.
 * @param {string} a
 * @param {string} b
 */
export function byCharacters(a, b) {
  const [first, second] = [[...a], [...b]];
  const at = first.findIndex((one, i) => one !== second[i]);
  if (at < 0) return first.length - second.length;
  return at < second.length
    ? /** @type {number} */ (first[at].codePointAt(0)) - /** @type {number} */ (second[at].codePointAt(0))
    : 1;
}

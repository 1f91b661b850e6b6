import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { byCharacters, ContentHash, Sha256 } from "../../../src/spoofspan/report/app/assets/hashing.js";

test("the digest is SHA-256, in however many pieces the bytes come", () => {
  for (const size of [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000]) {
    const bytes = Uint8Array.from({ length: size }, (_, i) => (i * 7) % 256);
    const expected = createHash("sha256").update(bytes).digest("hex");
    for (const step of [1, 17, 64, 1000]) {
      const hash = new Sha256();
      for (let at = 0; at < size; at += step) hash.update(bytes.subarray(at, at + step));
      assert.equal(Buffer.from(hash.digest()).toString("hex"), expected);
    }
  }
});

test("columns are hashed apart, in the order of their names, by the browser or not", async () => {
  for (const [size, secure] of [
    [20_000, true],
    [20_000, false],
    [200_000, true],
    [200_000, false],
  ])
    await checkColumns(size, secure);
});

async function checkColumns(size, secure) {
  const own = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  if (!secure) Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
  const hash = new ContentHash("kind 1");
  await hash.addIntegers(
    "b",
    Float64Array.from({ length: size }, (_, i) => i * 1e9 * 3),
  );
  await hash.addDoubles("a", Float64Array.of(-0.5));
  const found = hash.digest();
  Object.defineProperty(globalThis, "crypto", own);
  const digest = (bytes) => createHash("sha256").update(bytes).digest();
  const integers = BigInt64Array.from({ length: size }, (_, i) => BigInt(i) * 3_000_000_000n);
  const whole = createHash("sha256").update("kind 1");
  whole.update("a\0").update(digest(Buffer.from(Float64Array.of(-0.5).buffer)));
  whole.update("b\0").update(digest(Buffer.from(integers.buffer)));
  assert.equal(found, whole.digest("hex").slice(0, 16));
}

test("ids are sorted by their characters, not by the halves of these", () => {
  assert.deepEqual(["\u{1d4b3}", "\uff21", "b", "ba", "a"].sort(byCharacters), ["a", "b", "ba", "\uff21", "\u{1d4b3}"]);
});

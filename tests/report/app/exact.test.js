import assert from "node:assert/strict";
import { test } from "node:test";
import {
  edgesBefore,
  gridEdge,
  millisecondsText,
  numberText,
  ratio,
  rint,
  secondsText,
  touchedText,
  twoDecimals,
} from "../../../src/spoofspan/report/app/assets/exact.js";

test("halves are rounded to the even integer", () => {
  assert.deepEqual([0.5, 1.5, 2.5, -0.5, -1.5, 2.4999].map(rint), [0, 2, 2, 0, -2, 2]);
  assert.equal(rint(2 ** 53), 2 ** 53);
});

test("edges of a grid are counted up to a time", () => {
  assert.deepEqual(
    [0, 1, 20_000_000, 20_000_001].map((time) => edgesBefore(time, 0.02)),
    [0, 1, 1, 2],
  );
  assert.deepEqual(
    [0, 1, 2, 3].map((k) => gridEdge(k, 1 / 30)),
    [0, 33333333, 66666667, 100000000],
  );
});

// the nearest double, found by comparing the fraction with the middles beside a candidate
function isNearest(found, numerator, denominator) {
  const bits = new BigInt64Array(1);
  const doubles = new Float64Array(bits.buffer);
  const scaled = (x) => {
    let power = 0;
    let y = x;
    while (!Number.isInteger(y)) {
      y *= 2;
      power += 1;
    }
    return [BigInt(y), 1n << BigInt(power)];
  };
  const distance = (x) => {
    const [p, q] = scaled(x);
    const difference = p * denominator - numerator * q;
    return [difference < 0n ? -difference : difference, q];
  };
  doubles[0] = found;
  const own = distance(found);
  return [-1n, 1n].every((step) => {
    doubles[0] = found;
    bits[0] += step;
    const other = distance(doubles[0]);
    return own[0] * other[1] <= other[0] * own[1];
  });
}

test("a quotient of large integers is the nearest double", () => {
  let state = 1n;
  const random = (bits) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n);
    return (state >> 7n) % (1n << BigInt(bits)) || 1n;
  };
  for (let i = 0; i < 3000; i++) {
    const [a, b] = [random(1 + (i % 56)) * random(20), random(1 + ((i * 7) % 56)) * random(40)];
    assert.ok(isNearest(ratio(a, b), a, b), `${a} / ${b}`);
  }
  assert.equal(ratio(0n, 5n), 0);
  assert.equal(ratio(1n, 3n), 1 / 3);
  assert.equal(ratio(2n ** 53n + 1n, 1n), 2 ** 53); // the middle of two goes to the even one
  assert.equal(ratio(2n ** 53n + 3n, 1n), 2 ** 53 + 4);
});

test("numbers and times are written as the library writes them", () => {
  const numbers = [1, -0.5, 1e-5, 1.5e-7, 1e16, 123456789012345.6, -0, Infinity, 5e-324];
  assert.deepEqual(numbers.map(numberText), [
    ...["1.0", "-0.5", "1e-05", "1.5e-07", "1e+16", "123456789012345.6", "-0.0", "inf", "5e-324"],
  ]);
  assert.deepEqual([1_200_000_000, 62_500, 0].map(secondsText), ["1.200 s", "0.0000625 s", "0.000 s"]);
  assert.deepEqual([0.02, 0.0125, 1 / 30, 2, 1e-5].map(millisecondsText), [
    "20",
    "12.5",
    "33.33333333333333",
    "2000",
    "0.01",
  ]);
  assert.deepEqual([0.125, 0.375, 5.205, 0, 100].map(twoDecimals), ["0.12", "0.38", "5.21", "0.00", "100.00"]);
});

test("what a rule decided is said as the library says it", () => {
  const decided = { value: "held", seconds: 2.49, utterances: 169 };
  assert.equal(touchedText("slack", decided), "2.490 s at the end of 169 utterances took the last score (rule: slack)");
  for (const rule of ["snap", "overlong", "last_frame"])
    assert.match(touchedText(rule, { ...decided, utterances: 1 }), /^2\.490 s .* 1 utterance .*\(rule: \w+\)$/);
});

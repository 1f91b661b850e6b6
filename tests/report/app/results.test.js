import assert from "node:assert/strict";
import { test } from "node:test";
import { ranked, readResult, verify } from "../../../src/spoofspan/report/app/assets/results.js";
import { latexRow, markdownRows } from "../../../src/spoofspan/report/app/assets/rows.js";

const one = (value, more = {}) => ({
  measure: "range-eer",
  value,
  short_signature: "range-eer|default",
  signature: { comparable: "range-eer|nearest|uncovered:error|rules:2|references:aa", input: `scores:${value}` },
  ...more,
});
const result = (name, ...measurements) => ({ name, spoofspan: "0.1.0", measurements });

test("results are ranked, and refused with what differs", () => {
  const other = {
    signature: { comparable: "range-eer|nearest|uncovered:hold|rules:2|references:aa", input: "scores:b" },
  };
  const all = [result("b", one(0.2)), result("a", one(0.1)), result("c", one(0.2)), result("d", one(0.05, other))];
  const { rows, refused } = ranked([...all, result("e", one(0.3, { measure: "point-eer@20ms" }))], "range-eer");
  assert.deepEqual(
    rows.map(({ rank, name, same }) => [rank, name, same]),
    [
      [1, "a", []],
      [2, "b", ["c"]],
      [2, "c", ["b"]],
    ],
  );
  assert.deepEqual(refused, [
    { name: "e", reason: "it has no range-eer" },
    { name: "d", reason: "uncovered is hold, not error" },
  ]);
});

test("a result is confirmed by the same numbers of the same inputs only", () => {
  assert.ok(verify(result("a", one(0.1)), [one(0.1)]).confirmed);
  assert.ok(!verify(result("a", one(0.1)), []).confirmed);
  const { confirmed, checked } = verify(result("a", one(0.1)), [one(0.1, { threshold: 3 })]);
  assert.ok(!confirmed);
  assert.deepEqual(checked[0].differences, [{ name: "threshold", stated: "undefined", found: "3" }]);
});

test("JSON with Python's infinities is read", () => {
  const text = JSON.stringify({ measurements: [one(0.5, { threshold: "@", notes: ["Infinity is NaN"] })] }).replace(
    '"@"',
    "-Infinity",
  );
  const [{ threshold, notes }] = readResult("a", text).measurements;
  assert.deepEqual([threshold, notes], [-Infinity, ["Infinity is NaN"]]);
  assert.throws(() => readResult("a", "{"), /no JSON/);
  assert.throws(() => readResult("a", '{"systems": []}'), /no result of one system/);
});

test("rows are harmless", () => {
  assert.equal(latexRow("a_b & 5%", [one(0.05206)]).split("\n")[1], "a\\_b \\& 5\\% & 5.21 \\\\");
  assert.equal(markdownRows("a|b", [one(0.05206)]).split("\n")[2], "| a\\|b | 5.21 |");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { hopInName, identify, readScores } from "../../../src/spoofspan/report/app/assets/readers.js";
import { lineBlocks } from "../../../src/spoofspan/report/app/assets/text.js";

const source = (name, text) => ({ name, blob: new Blob([text]) });

test("numbers of any length are the doubles nearest to their text", async () => {
  const texts = [
    "0.1",
    "-0.30000000000000004",
    "9007199254740993",
    "1e-05",
    "-inf",
    ".5",
    "5.",
    "123456789.1234567891",
  ];
  let seed = 1;
  const random = () => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  for (let i = 0; i < 20_000; i++) {
    // near the middle of two doubles, and of the digits that float64 and float32 are printed with
    const middle = ((2n * BigInt(Math.floor(random() * 2 ** 53)) + 1n) * 5n ** 54n).toString().padStart(54, "0");
    texts.push(
      `0.${middle.slice(0, 16 + (i % 5))}`,
      String(random() * 10 ** (i % 7)),
      String(Math.fround(random() - 0.5)),
    );
  }
  const lines = texts.map((text, k) => `u ${k} ${text}\n`).join("");
  const { values } = await readScores(source("scores.txt", lines), "frame-score", { hop: 0.02, higher: "spoof" });
  const expected = texts.map((text) => (text === "-inf" ? -Infinity : Number(text)));
  assert.deepEqual(Array.from(values), expected);
});

test("blocks hold whole lines, however the bytes are cut", async () => {
  const text = Array.from({ length: 3 }, (_, i) => `u${i} 0 0.5\r\n\nu${i} 1 -1\n`).join("");
  for (const whole of [text, text.trimEnd()]) {
    for (let size = 1; size < whole.length + 2; size++) {
      const blocks = [];
      for await (const block of lineBlocks(source("a", whole), size)) blocks.push(new TextDecoder().decode(block));
      assert.equal(blocks.join(""), whole);
      assert.ok(blocks.slice(0, -1).every((block) => block.endsWith("\n")));
    }
  }
  const { ids, values } = await readScores(source("a", text), "frame-score", { hop: 1, higher: "spoof" });
  assert.deepEqual(ids, ["u0", "u1", "u2"]);
  assert.deepEqual(Array.from(values), [0.5, -1, 0.5, -1, 0.5, -1]);
});

test("lines that differ from the usual form give the same scores", async () => {
  const usual = ["u 0 0.5", "u 1 0.25", "u 2 -1", "v 0 2", "v 1 3", "uu 0 1", "uu 1 1e-3"];
  const forms = {
    "two spaces": (line) => line.replaceAll(" ", "  "),
    "space at both ends": (line) => ` ${line} `,
    "a return": (line) => `${line}\r`,
    "zeros before the frame": (line) => line.replace(/ (\d) /, " 00$1 "),
    "a blank line": (line) => `${line}\n`,
  };
  for (const [form, change] of Object.entries(forms)) {
    for (let at = 0; at < usual.length; at++) {
      const text = usual.map((line, i) => (i === at ? change(line) : line)).join("\n");
      const { ids, offsets, values } = await readScores(source("a", text), "frame-score", { hop: 1, higher: "spoof" });
      assert.deepEqual(
        [ids, Array.from(offsets)],
        [
          ["u", "v", "uu"],
          [0, 3, 5, 7],
        ],
        form,
      );
      assert.deepEqual(Array.from(values), [0.5, 0.25, -1, 2, 3, 1, 0.001], form);
    }
  }
});

test("what a file holds is told by its first bytes", async () => {
  const heads = {
    rttm: ";; comment\nSPEAKER u 1 0 1 <NA> <NA> spoof <NA> <NA>\n",
    durations: "u 1.5\n",
    "unit-score": "u 0 0.5 -0.5\n",
    "wedefense-logits": "u\t0\t0.5\t-0.5\t1\n",
    "frame-score": "u 0 0.5\nu 1 0.5\n",
    "reference-table": "utterance,start,end,label\nu,0,1,spoof\n",
    "score-table": "utterance,frame,score\nu,0,1\n",
    result: '{"measurements": []}',
  };
  for (const [kind, text] of Object.entries(heads)) assert.equal(await identify(source("a", text)), kind);
  await assert.rejects(identify(source("a", "this is prose\n")), /spoofspan check a/);
  assert.deepEqual(["unit0.02.score", "logits_frame_20ms.txt", "a.txt"].map(hopInName), [0.02, 0.02, null]);
});

test("a line that is wrong is named", async () => {
  const cases = {
    "u 0 0.5\nu 2 0.5\n": /a:2: utterance 'u': frame 2 instead of 1/,
    "u 0 0,5\n": /a:1: the score '0,5'/,
  };
  for (const [text, reason] of Object.entries({
    ...cases,
    "u 0 nan\n": /a:1: the score is NaN/,
    "u 0\n": /a:1: 2 fields/,
    "u 0 1\nu 1 1\nu 3 1\n": /a:3: utterance 'u': frame 3 instead of 2/,
    "u 0 1\nu 1 1\nu 2\u00a01 1\n": /a:3: the second field is no frame number/,
    "u 0 1\nu 1 1\nu 2 1 1\n": /a:3: 4 fields instead of 3/,
    "u 0 1\nu 1 1\nv 0 1\nu 2 1\n": /a:4: utterance 'u': frame 2 instead of 0/,
  })) {
    await assert.rejects(readScores(source("a", text), "frame-score", { hop: 1, higher: "spoof" }), reason);
  }
});

test("what a challenge says of scores holds only where the file and the reader say nothing", async () => {
  const usual = { hop: 0.02, higher: "bonafide" };
  const table = "utterance,frame,score,hop,higher\nu1,0,0.5,0.04,spoof\nu1,1,0.25,0.04,spoof\n";
  const own = await readScores(source("a.csv", table), "score-table", { usual });
  assert.deepEqual([own.hop, own.higher], [0.04, "spoof"]);
  const named = await readScores(source("unit0.04.score", "u1 0 0.5 -0.5\nu1 1 0.5 -0.5\n"), "unit-score", { usual });
  assert.deepEqual([named.hop, named.higher], [0.04, "spoof"]);
  const silent = await readScores(source("a.txt", "u1 0 0.5\nu1 1 0.5\n"), "frame-score", { usual });
  assert.deepEqual([silent.hop, silent.higher], [0.02, "bonafide"]);
});

"use strict";
// Recordings: sound, spectrogram, scores with the threshold, suspected ranges; drag to move, click to hear from there.
(function () {
  const { data, root, css, element, bytesOf, unpack, onRedraw, strips } = spoofspan;
  const SOUND = 54, LEVELS = 110, SCORES = 84, LANE = 13, GAP = 7;
  const TOP = { sound: 2, levels: 2 + SOUND + GAP, scores: 2 + SOUND + LEVELS + 2 * GAP, lane: 2 + SOUND + LEVELS + SCORES + 3 * GAP };
  const HEIGHT = TOP.lane + LANE + GAP + strips.AXIS;

  const recordings = spoofspan.recordings = data.recordings.map((one) => {
    const values = unpack(one.values);
    const edges = Array.from({ length: values.length + 1 }, (_, k) => k * one.hop);
    return {
      ...one,
      scores: { starts: edges.slice(0, -1), ends: edges.slice(1), values },
      peaks: new Int8Array(bytesOf(one.peaks).buffer),
      levels: bytesOf(one.levels),
      from: 0, to: one.duration, image: null, theme: null, scored: "strength",
    };
  });

  // ------------------------------------------------------------------ drawing

  const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

  // Levels as a picture, from the colour of paper to that of ink.
  function spectrogram(one) {
    if (one.theme === root.dataset.theme) return one.image;
    const bands = data.bands, columns = one.levels.length / bands;
    const image = element("canvas", { width: Math.max(columns, 1), height: bands });
    const pen = image.getContext("2d"), pixels = pen.createImageData(Math.max(columns, 1), bands);
    const [paper, ink] = [channels(css("--panel")), channels(css("--ink"))];
    for (let column = 0; column < columns; column++) {
      for (let band = 0; band < bands; band++) {
        const share = one.levels[column * bands + band] / 255, at = 4 * ((bands - 1 - band) * columns + column);
        for (let part = 0; part < 3; part++) pixels.data[at + part] = paper[part] + share * (ink[part] - paper[part]);
        pixels.data[at + 3] = 255;
      }
    }
    pen.putImageData(pixels, 0, 0);
    one.image = image;
    one.theme = root.dataset.theme;
    return image;
  }

  function draw(one) {
    const picture = strips.prepare(one, HEIGHT);
    if (!picture) return;
    const { pen, left, span, narrow, x, word } = picture;
    word("sound", TOP.sound + SOUND / 2 + 4);
    word("8 kHz", TOP.levels + 9);
    word("0", TOP.levels + LEVELS - 2);
    word(narrow ? "ranges" : "suspected", TOP.lane + 10);
    strips.drawSound(one, picture, { peaks: one.peaks, seconds: one.duration, loudest: Math.max(one.loudest, 0.05) }, TOP.sound, SOUND);
    strips.drawScores(one, picture, one.scores, data.threshold, TOP.scores, TOP.scores + SCORES);
    pen.save();
    pen.beginPath();
    pen.rect(left, 0, span + 1, HEIGHT - strips.AXIS);
    pen.clip();
    pen.drawImage(spectrogram(one), x(0), TOP.levels, x(one.duration) - x(0), LEVELS);
    pen.fillStyle = css("--line");
    pen.fillRect(left, TOP.lane + LANE, span, 1);
    for (const [from, to] of one.ranges) {
      const start = x(from), wide = Math.max(x(to) - start, 1);
      pen.fillStyle = css("--spoof");
      pen.globalAlpha = 0.18;
      pen.fillRect(start, TOP.sound, wide, TOP.lane - TOP.sound - GAP);
      pen.globalAlpha = 1;
      pen.fillRect(start, TOP.lane, wide, LANE);
    }
    pen.restore();
    strips.drawTimes(one, picture);
  }

  // ------------------------------------------------------------------ ranges

  // Show a range with as much around it, and play it if there is sound.
  function show(one, from, to) {
    const around = Math.max(to - from, 0.5);
    strips.view(one, from - around, to + around);
    one.canvas.scrollIntoView({ block: "nearest" });
    strips.hear(one, from, to);
  }

  // Make the text of a cell a button that shows and plays a stretch.
  function pick(one, cell, from, to, what) {
    const text = cell.querySelector("bdi");
    text.replaceWith(element("button", { type: "button", class: "pick", onclick: () => show(one, from, to), "aria-label": `Show and play ${text.textContent} s${what}` }, element("bdi", {}, text.textContent)));
  }

  function begin(holder) {
    const one = recordings[Number(holder.dataset.recording)];
    one.canvas = holder.querySelector("canvas");
    one.draw = () => draw(one);
    const under = holder.querySelector(".under");
    under.append(...strips.buttons(one));
    if (one.sound) under.append(strips.player(one, one.sound, "metadata"));
    strips.follow(one);
    // the first cell of a row leads to its range
    for (const row of holder.parentElement.querySelectorAll("tbody tr")) {
      const first = row.cells[0], last = row.cells[row.cells.length - 1];
      const from = Number(first.dataset.value), to = Number(row.cells[1].dataset.value);
      pick(one, first, from, to, "");
      const beside = one.beside.find((found) => found && found[0] === Number(last.dataset.value));
      if (beside) pick(one, last, ...beside, ", not suspected, to compare");
    }
    draw(one);
  }

  document.querySelectorAll(".picture").forEach(begin);
  onRedraw(() => recordings.forEach((one) => { if (one.canvas) draw(one); }));
  spoofspan.link.start(() => {});
  root.dataset.ready = "yes";
})();

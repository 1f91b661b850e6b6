"use strict";
// Recordings: sound, spectrogram, scores with the threshold, suspected ranges; drag to move, click to hear from there.
(function () {
  const { data, root, css, element, bytesOf, unpack, digits, onRedraw } = spoofspan;
  const FONT = "11px Inter, system-ui, sans-serif";
  const SOUND = 54, LEVELS = 110, SCORES = 84, LANE = 13, GAP = 7, AXIS = 20;
  const TOP = { sound: 2, levels: 2 + SOUND + GAP, scores: 2 + SOUND + LEVELS + 2 * GAP, lane: 2 + SOUND + LEVELS + SCORES + 3 * GAP };
  const HEIGHT = TOP.lane + LANE + GAP + AXIS;

  const recordings = data.recordings.map((one) => ({
    ...one,
    values: unpack(one.values),
    peaks: new Int8Array(bytesOf(one.peaks).buffer),
    levels: bytesOf(one.levels),
    from: 0, to: one.duration, image: null, theme: null,
  }));

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
    const canvas = one.canvas, width = canvas.clientWidth;
    if (!width) return;
    const scale = Math.max(window.devicePixelRatio || 1, 1.5);
    canvas.style.height = `${HEIGHT}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(HEIGHT * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = FONT;
    const narrow = width < 520, left = narrow ? 48 : 76, span = width - left - 1;
    one.left = left;
    const x = (time) => left + ((time - one.from) / (one.to - one.from)) * span;
    const word = (text, y) => { pen.fillStyle = css("--quiet"); pen.textAlign = "right"; pen.fillText(text, left - 8, y); };
    word("sound", TOP.sound + SOUND / 2 + 4);
    word("8 kHz", TOP.levels + 9);
    word("0", TOP.levels + LEVELS - 2);
    word(narrow ? "called" : "suspected", TOP.lane + 10);
    pen.save();
    pen.beginPath();
    pen.rect(left, 0, span + 1, HEIGHT - AXIS);
    pen.clip();
    drawSound(one, pen, x);
    pen.drawImage(spectrogram(one), x(0), TOP.levels, x(one.duration) - x(0), LEVELS);
    pen.fillStyle = css("--panel");
    pen.fillRect(left, TOP.scores, span, SCORES);
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
    drawScores(one, pen, x, left, width, word);
    drawTimes(one, pen, x, left, width);
    if (one.player) {
      const at = x(one.player.currentTime);
      pen.fillStyle = css("--accent");
      if (at >= left) pen.fillRect(at - 1, 0, 2, HEIGHT - AXIS);
    }
  }

  // What is under a pixel is drawn as one stroke, from the lowest to the highest.
  function drawSound(one, pen, x) {
    const count = one.peaks.length / 2, middle = TOP.sound + SOUND / 2, step = one.duration / Math.max(count, 1);
    const loudest = Math.max(one.loudest, 0.05) * 127;
    pen.fillStyle = css("--strong-line");
    for (let i = Math.max(Math.floor(one.from / step), 0); i < Math.min(Math.ceil(one.to / step), count); i++) {
      const low = (one.peaks[2 * i] / loudest) * (SOUND / 2), high = (one.peaks[2 * i + 1] / loudest) * (SOUND / 2);
      pen.fillRect(x(i * step), middle - high, Math.max(x(step) - x(0), 0.5), Math.max(high - low, 0.7));
    }
  }

  function drawScores(one, pen, x, left, width, word) {
    const { values, hop } = one, at = data.threshold, bottom = TOP.scores + SCORES;
    let low = at, high = at;
    for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
    if (low === high) { low -= 1; high += 1; }
    const y = (value) => bottom - 3 - ((value - low) / (high - low)) * (SCORES - 6);
    word(digits(Number(high.toPrecision(3))), TOP.scores + 9);
    if (Math.abs(y(low) - y(at)) > 12) word(digits(Number(low.toPrecision(3))), bottom);
    pen.save();
    pen.beginPath();
    pen.rect(left, TOP.scores, width - left, SCORES);
    pen.clip();
    pen.strokeStyle = css("--ink");
    pen.lineWidth = 1.2;
    pen.beginPath();
    const first = Math.max(Math.floor(one.from / hop), 0), last = Math.min(Math.ceil(one.to / hop), values.length);
    const each = Math.max(Math.floor((last - first) / (2 * (width - left))), 1);
    for (let i = first; i < last; i += each) {
      let lowest = values[i], highest = values[i];
      for (let j = i; j < Math.min(i + each, last); j++) { lowest = Math.min(lowest, values[j]); highest = Math.max(highest, values[j]); }
      pen.lineTo(x(i * hop), y(highest));
      pen.lineTo(each > 1 ? x(i * hop) : x((i + 1) * hop), y(lowest));
    }
    pen.stroke();
    pen.setLineDash([5, 3]);
    pen.strokeStyle = css("--accent");
    pen.lineWidth = 1.4;
    pen.beginPath();
    pen.moveTo(left, y(at));
    pen.lineTo(width, y(at));
    pen.stroke();
    pen.restore();
    pen.fillStyle = css("--accent");
    pen.textAlign = "right";
    if (Math.abs(y(high) - y(at)) > 12) pen.fillText(digits(Number(at.toPrecision(3))), left - 8, y(at) + 4);
  }

  function drawTimes(one, pen, x, left, width) {
    const wanted = (one.to - one.from) / Math.max(Math.floor((width - left) / 80), 1);
    const step = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600].find((size) => size >= wanted) || 3600;
    for (let count = Math.ceil(one.from / step - 1e-9); count * step <= one.to + 1e-9; count++) {
      const at = x(count * step), time = count * step;
      pen.fillStyle = css("--strong-line");
      pen.fillRect(at, HEIGHT - AXIS, 1, 4);
      pen.fillStyle = css("--quiet");
      pen.textAlign = at > width - 24 ? "right" : at < left + 10 ? "left" : "center";
      const minutes = Math.floor(time / 60 + 1e-9);
      pen.fillText(one.duration < 120 ? `${+time.toFixed(3)} s` : `${minutes}:${(time - 60 * minutes).toFixed(step < 1 ? 2 : 0).padStart(step < 1 ? 5 : 2, "0")}`, at, HEIGHT - 4);
    }
  }

  // ------------------------------------------------------------------ moving and hearing

  function view(one, from, to) {
    const width = Math.min(Math.max(to - from, 0.1), one.duration);
    one.from = Math.min(Math.max(from, 0), one.duration - width);
    one.to = one.from + width;
    draw(one);
  }

  function zoomBy(one, factor) {
    const middle = (one.from + one.to) / 2, width = (one.to - one.from) * factor;
    view(one, middle - width / 2, middle + width / 2);
  }

  // Show a range with as much around it, and play it if there is sound.
  function show(one, from, to) {
    const around = Math.max(to - from, 0.5);
    view(one, from - around, to + around);
    one.canvas.scrollIntoView({ block: "nearest" });
    if (!one.player) return;
    one.player.currentTime = from;
    one.stopAt = to;
    one.player.play().catch(() => {});
  }

  function begin(holder) {
    const one = recordings[Number(holder.dataset.recording)];
    const canvas = one.canvas = holder.querySelector("canvas");
    const whole = () => view(one, 0, one.duration);
    const button = (text, label, act) => element("button", { type: "button", class: "small", "aria-label": label, onclick: act }, text);
    const under = holder.querySelector(".under");
    under.append(button("+", "Zoom in", () => zoomBy(one, 0.5)), button("\u2212", "Zoom out", () => zoomBy(one, 2)), button("all", "Show all of it", whole));
    if (one.sound) {
      one.player = element("audio", { controls: "", preload: "metadata", src: one.sound, "aria-label": "Sound of " + one.id });
      const follow = () => {
        if (one.stopAt !== undefined && one.player.currentTime >= one.stopAt) { one.player.pause(); one.stopAt = undefined; }
        draw(one);
        if (!one.player.paused) requestAnimationFrame(follow);
      };
      one.player.addEventListener("play", follow);
      one.player.addEventListener("seeked", () => draw(one));
      under.append(one.player);
    }
    const step = () => (one.to - one.from) / 4;
    const play = () => { if (one.player) (one.player.paused ? one.player.play() : one.player.pause()); };
    const keys = {
      "+": () => zoomBy(one, 0.5), "=": () => zoomBy(one, 0.5), "-": () => zoomBy(one, 2), 0: whole, " ": play,
      ArrowLeft: () => view(one, one.from - step(), one.to - step()),
      ArrowRight: () => view(one, one.from + step(), one.to + step()),
    };
    canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      keys[event.key]();
    });
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, from: one.from, to: one.to };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held || !event.buttons || Math.abs(held.x - event.clientX) < 4) return;
      const moved = ((held.x - event.clientX) / (canvas.clientWidth - one.left)) * (held.to - held.from);
      view(one, held.from + moved, held.to + moved);
    });
    canvas.addEventListener("pointerup", (event) => {
      const share = (event.clientX - canvas.getBoundingClientRect().left - one.left) / (canvas.clientWidth - one.left);
      if (held && Math.abs(held.x - event.clientX) < 4 && one.player && share >= 0) {
        one.stopAt = undefined;
        one.player.currentTime = one.from + share * (one.to - one.from);
      }
      held = null;
    });
    canvas.addEventListener("dblclick", whole);
    // the first cell of a row leads to its range
    for (const row of holder.parentElement.querySelectorAll("tbody tr")) {
      const cell = row.cells[0], from = Number(cell.dataset.value), to = Number(row.cells[1].dataset.value);
      const text = cell.querySelector("bdi");
      text.replaceWith(element("button", { type: "button", class: "pick", onclick: () => show(one, from, to), "aria-label": `Show and play ${text.textContent} s` }, element("bdi", {}, text.textContent)));
    }
    draw(one);
  }

  document.querySelectorAll(".picture").forEach(begin);
  onRedraw(() => recordings.forEach((one) => { if (one.canvas) draw(one); }));
  root.dataset.ready = "yes";
})();

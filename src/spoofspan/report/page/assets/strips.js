"use strict";
// A strip of time: a canvas with a part of a recording. It zooms and moves by mouse and keys, and follows its sound.
// A strip has `canvas`, `from`, `to` and `duration` in seconds, and `draw`, which draws it with what `prepare` returns.
spoofspan.strips = (function () {
  const { css, element, digits, round } = spoofspan;
  const FONT = "11px Inter, system-ui, sans-serif";
  const AXIS = 20; // the height of the times below

  // ------------------------------------------------------------------ drawing

  // A pen for a canvas of this height, and the place of each time; null while the canvas is not shown.
  function prepare(strip, height) {
    const { canvas } = strip, width = canvas.clientWidth;
    if (!width) return null;
    const scale = Math.max(window.devicePixelRatio || 1, 1.5);
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = FONT;
    const narrow = width < 520, left = narrow ? 48 : 76, span = width - left - 1;
    strip.left = left;
    const x = (time) => left + ((time - strip.from) / (strip.to - strip.from)) * span;
    const word = (text, y, colour = "--quiet") => { pen.fillStyle = css(colour); pen.textAlign = "right"; pen.fillText(text, left - 8, y); };
    return { pen, scale, width, height, left, span, narrow, x, word };
  }

  // The lowest and the highest of many samples, in turn, as one stroke each; `loudest` fills the height.
  function drawSound(strip, { pen, x, left }, { peaks, seconds, loudest = 1 }, top, height) {
    const count = peaks.length / 2, step = seconds / Math.max(count, 1), middle = top + height / 2, unit = height / 2 / (127 * loudest);
    pen.fillStyle = css("--strong-line");
    for (let i = Math.max(Math.floor(strip.from / step), 0); i < Math.min(Math.ceil(strip.to / step), count); i++) {
      const low = peaks[2 * i] * unit, high = peaks[2 * i + 1] * unit, from = Math.max(x(i * step), left);
      pen.fillRect(from, middle - high, Math.max(x((i + 1) * step) - from, 0.5), Math.max(high - low, 0.7));
    }
  }

  // Runs of scores with the threshold, and an axis. What is under a pixel is one stroke, from the lowest to the highest.
  function drawScores(strip, { pen, x, left, width, narrow, word }, { starts, ends, values }, threshold, top, bottom) {
    pen.fillStyle = css("--panel");
    pen.fillRect(left, top, width - left, bottom - top);
    let low = Infinity, high = -Infinity;
    for (const value of values) if (Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
    if (low > high) return;
    const decided = Number.isFinite(threshold);
    if (decided) { low = Math.min(low, threshold); high = Math.max(high, threshold); }
    if (low === high) { low -= 1; high += 1; }
    const pad = 3;
    const y = (value) => bottom - pad - ((Math.min(Math.max(value, low), high) - low) / (high - low)) * (bottom - top - 2 * pad);
    const free = (height, ...taken) => taken.every((other) => Math.abs(height - other) > 11);
    const named = decided ? y(threshold) : -99;
    const title = free(top + 5, named) ? top + 5 : bottom - 5;
    word(narrow ? "score" : "scores", title + 4);
    for (const tick of round(low, high, 3)) {
      pen.fillStyle = css("--line");
      pen.fillRect(left, y(tick), width - left, 1);
      if (free(y(tick), named, title)) word(digits(tick), y(tick) + 4);
    }
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width - left, bottom - top);
    pen.clip();
    pen.strokeStyle = css("--ink");
    pen.lineWidth = 1.2;
    pen.beginPath();
    let first = 0, last = values.length, before = null;
    while (first < last && ends[first] < strip.from) first += 1;
    while (last > first && starts[last - 1] > strip.to) last -= 1;
    const each = Math.max(Math.floor((last - first) / (2 * (width - left))), 1);
    for (let i = first; i < last; i += each) {
      let lowest = values[i], highest = values[i];
      for (let j = i + 1; j < Math.min(i + each, last); j++) { lowest = Math.min(lowest, values[j]); highest = Math.max(highest, values[j]); }
      if (before === starts[i]) pen.lineTo(x(starts[i]), y(highest));
      else pen.moveTo(x(starts[i]), y(highest));
      if (each > 1) pen.lineTo(x(starts[i]), y(lowest));
      before = ends[Math.min(i + each, last) - 1];
      pen.lineTo(x(before), y(lowest));
    }
    pen.stroke();
    if (decided) {
      pen.setLineDash([5, 3]);
      pen.strokeStyle = css("--accent");
      pen.lineWidth = 1.4;
      pen.beginPath();
      pen.moveTo(left, y(threshold));
      pen.lineTo(width, y(threshold));
      pen.stroke();
    }
    pen.restore();
    if (decided) word(digits(narrow ? Number(threshold.toPrecision(2)) : threshold), y(threshold) + 4, "--accent");
  }

  // Seconds, and minutes where a recording has some.
  function timeText(time, step, long) {
    if (!long) return `${+time.toFixed(3)} s`;
    const minutes = Math.floor(time / 60 + 1e-9), fine = step < 1;
    return `${minutes}:${(time - 60 * minutes).toFixed(fine ? 2 : 0).padStart(fine ? 5 : 2, "0")}`;
  }

  // The times below, and a line where the sound is.
  function drawTimes(strip, { pen, x, left, width, height }) {
    const wanted = (strip.to - strip.from) / Math.max(Math.floor((width - left) / 80), 1);
    const step = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600].find((one) => one >= wanted) || 3600;
    for (let count = Math.ceil(strip.from / step - 1e-9); count * step <= strip.to + 1e-9; count++) {
      const at = x(count * step);
      pen.fillStyle = css("--strong-line");
      pen.fillRect(at, height - AXIS, 1, 4);
      pen.fillStyle = css("--quiet");
      pen.textAlign = at > width - 24 ? "right" : at < left + 10 ? "left" : "center";
      pen.fillText(timeText(count * step, step, strip.duration >= 120), at, height - 4);
    }
    if (!strip.player) return;
    pen.fillStyle = css("--accent");
    const at = x(strip.player.currentTime);
    if (at >= left) pen.fillRect(at - 1, 0, 2, height - AXIS);
  }

  // ------------------------------------------------------------------ moving and hearing

  // Show a part; `moved` of the strip is told, unless a link led here.
  function view(strip, from, to, tell = true) {
    const width = Math.min(Math.max(to - from, 0.02), strip.duration);
    strip.from = Math.min(Math.max(from, 0), strip.duration - width);
    strip.to = strip.from + width;
    strip.draw();
    if (tell && strip.moved) strip.moved();
  }

  const whole = (strip) => view(strip, 0, strip.duration);

  function zoomBy(strip, factor) {
    const middle = (strip.from + strip.to) / 2, width = (strip.to - strip.from) * factor;
    view(strip, middle - width / 2, middle + width / 2);
  }

  function buttons(strip) {
    const button = (text, label, act) => element("button", { type: "button", class: "small", "aria-label": `${label}: ${strip.id}`, title: label, onclick: act }, text);
    return [button("+", "Zoom in", () => zoomBy(strip, 0.5)), button("\u2212", "Zoom out", () => zoomBy(strip, 2)), button("all", "Show all of it", () => whole(strip))];
  }

  // The sound of a strip, with a line that follows it. A part that is played ends by itself.
  function player(strip, address, preload) {
    const made = strip.player = element("audio", { controls: "", preload, src: address, "aria-label": "Sound of " + strip.id });
    const follow = () => {
      if (strip.stopAt !== undefined && made.currentTime >= strip.stopAt) { made.pause(); strip.stopAt = undefined; }
      strip.draw();
      if (!made.paused) requestAnimationFrame(follow);
    };
    made.addEventListener("play", follow);
    made.addEventListener("seeked", () => strip.draw());
    return made;
  }

  function hear(strip, from, to) {
    if (!strip.player) return;
    strip.player.currentTime = from;
    strip.stopAt = to;
    strip.draw(); // sound that is not loaded yet does not say that it was moved
    if (to !== undefined) strip.player.play().catch(() => {});
  }

  function playOrPause(strip) {
    if (!strip.player) return;
    if (strip.player.paused) strip.player.play().catch(() => {});
    else strip.player.pause();
  }

  // Keys and mouse: drag to move, click to hear from there, double click to see all of it.
  function follow(strip) {
    const { canvas } = strip;
    const by = (quarters) => { const step = (quarters * (strip.to - strip.from)) / 4; view(strip, strip.from + step, strip.to + step); };
    const keys = {
      "+": () => zoomBy(strip, 0.5), "=": () => zoomBy(strip, 0.5), "-": () => zoomBy(strip, 2), 0: () => whole(strip),
      " ": () => playOrPause(strip), ArrowLeft: () => by(-1), ArrowRight: () => by(1),
    };
    canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      keys[event.key]();
    });
    let held = null;
    const inside = () => canvas.clientWidth - strip.left;
    const near = (event) => held && Math.abs(held.x - event.clientX) < 4;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, from: strip.from, to: strip.to };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held || !event.buttons || near(event)) return;
      const moved = ((held.x - event.clientX) / inside()) * (held.to - held.from);
      view(strip, held.from + moved, held.to + moved);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (near(event)) {
        if (strip.moved) strip.moved();
        const share = (event.clientX - canvas.getBoundingClientRect().left - strip.left) / inside();
        if (share >= 0) hear(strip, strip.from + share * (strip.to - strip.from));
      }
      held = null;
    });
    canvas.addEventListener("dblclick", () => whole(strip));
  }

  return { FONT, AXIS, prepare, drawSound, drawScores, drawTimes, view, buttons, player, hear, follow };
})();

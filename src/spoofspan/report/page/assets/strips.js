"use strict";
// A strip of time: a canvas with a part of a recording. It zooms and moves by mouse and keys, and follows its sound.
// A strip has `canvas`, `from`, `to` and `duration` in seconds, and `draw`, which draws it with what `prepare` returns.
spoofspan.strips = (function () {
  const { css, element, digits, round } = spoofspan;
  const FONT = "11px Inter, system-ui, sans-serif";
  const AXIS = 20; // the height of the times below

  // ------------------------------------------------------------------ drawing

  // A pen for a cleared canvas of so many pixels of the page; a canvas of that size is used again.
  function penOf(canvas, width, height, scale) {
    const size = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    const pen = canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, ...size);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.font = FONT;
    return pen;
  }

  // A pen for a canvas of this height, and the place of each time; null while the canvas is not shown.
  function prepare(strip, height) {
    const { canvas } = strip, width = canvas.clientWidth;
    if (!width) return null;
    const scale = Math.max(window.devicePixelRatio, spoofspan.root.classList.contains("paper") ? 2 : 1);
    if (canvas.clientHeight !== height) canvas.style.height = `${height}px`;
    const pen = penOf(canvas, width, height, scale);
    const narrow = width < 520, left = narrow ? 60 : 76, span = width - left - 1;
    strip.left = left;
    const x = (time) => left + ((time - strip.from) / (strip.to - strip.from)) * span;
    const word = (text, y, colour = "--quiet", on = pen) => { on.fillStyle = css(colour); on.textAlign = "right"; on.fillText(text, left - 8, y); };
    return { pen, scale, width, height, left, span, narrow, x, word };
  }

  // What does not change with the threshold is drawn once for each view, and copied from then on.
  function drawStill(strip, picture, key, paint) {
    const { pen, width, height, scale } = picture, whole = `${strip.from} ${strip.to} ${width} ${height} ${scale} ${spoofspan.root.dataset.theme} ${key}`;
    if (!strip.still || strip.still.whole !== whole) {
      const canvas = strip.still ? strip.still.canvas : element("canvas");
      const still = penOf(canvas, width, height, scale);
      paint({ ...picture, pen: still, word: (text, y, colour) => picture.word(text, y, colour, still) });
      strip.still = { whole, canvas };
    }
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.drawImage(strip.still.canvas, 0, 0);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
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

  // The axis of runs of scores that stand alone: all of them, and the threshold.
  function axisOf(values, threshold) {
    let low = Infinity, high = -Infinity;
    for (const value of values) if (Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
    return Number.isFinite(threshold) ? [Math.min(low, threshold), Math.max(high, threshold)] : [low, high];
  }

  // The height of a score; those beyond the axis lie at its ends.
  function heights([low, high], top, bottom) {
    if (low === high) { low -= 1; high += 1; }
    const pad = 3;
    return (value) => bottom - pad - ((Math.min(Math.max(value, low), high) - low) / (high - low)) * (bottom - top - 2 * pad);
  }

  // Runs of scores. What is under a pixel is one stroke, from the lowest to the highest.
  function drawRuns(strip, { pen, x, left, width }, { starts, ends, values }, top, bottom, axis) {
    pen.fillStyle = css("--panel");
    pen.fillRect(left, top, width - left, bottom - top);
    if (!axis || axis[0] > axis[1]) return;
    const y = heights(axis, top, bottom);
    pen.fillStyle = css("--line");
    for (const tick of ticksOf(axis)) pen.fillRect(left, y(tick), width - left, 1);
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width - left, bottom - top);
    pen.clip();
    pen.strokeStyle = css("--ink");
    pen.lineWidth = 1.2;
    pen.beginPath();
    let before = null;
    const [first, last] = shownRuns(strip, starts, ends);
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
    pen.restore();
  }

  const ticksOf = ([low, high]) => round(...(low < high ? [low, high] : [low - 1, high + 1]), 3);

  // The threshold, across the runs, and the numbers of the axis that its own leaves room for.
  function drawThreshold({ pen, left, width, narrow, word }, threshold, top, bottom, axis, scored = "scores") {
    if (!axis || axis[0] > axis[1]) return;
    const y = heights(axis, top, bottom), decided = Number.isFinite(threshold), at = decided ? y(threshold) : -99;
    const free = (height, ...taken) => taken.every((other) => Math.abs(height - other) > 12);
    const title = free(top + 5, at) ? top + 5 : bottom - 5;
    word(narrow ? scored.slice(0, 8) : scored, title + 4);
    for (const tick of ticksOf(axis)) if (free(y(tick), at, title)) word(digits(tick), y(tick) + 4);
    if (!decided) return;
    pen.save();
    pen.setLineDash([5, 3]);
    pen.strokeStyle = css("--accent");
    pen.lineWidth = 1.4;
    pen.beginPath();
    pen.moveTo(left, at);
    pen.lineTo(width, at);
    pen.stroke();
    pen.restore();
    word(digits(narrow ? Number(threshold.toPrecision(2)) : threshold), at + 4, "--accent");
  }

  // Both, where nothing moves.
  function drawScores(strip, picture, runs, threshold, top, bottom) {
    const axis = axisOf(runs.values, threshold);
    drawRuns(strip, picture, runs, top, bottom, axis);
    drawThreshold(picture, threshold, top, bottom, axis, strip.scored);
  }

  // The runs that a strip shows: from the first that ends in it to the last that starts in it.
  function shownRuns(strip, starts, ends) {
    const search = (times, time) => {
      let low = 0, high = times.length;
      while (low < high) { const middle = (low + high) >> 1; if (times[middle] < time) low = middle + 1; else high = middle; }
      return low;
    };
    return [search(ends, strip.from), search(starts, strip.to + 1e-9)];
  }

  // How much of each pixel column some times cover.
  function coverOf({ scale, left, width }) { return new Float32Array(Math.round((width - left) * scale) + 1); }

  function addCover(cover, strip, from, to) {
    const columns = cover.length - 1, unit = columns / (strip.to - strip.from);
    const start = Math.max((from - strip.from) * unit, 0), end = Math.min((to - strip.from) * unit, columns);
    if (!(end > start)) return;
    const first = Math.floor(start), last = Math.floor(end);
    if (first === last) { cover[first] += end - start; return; }
    cover[first] += first + 1 - start;
    for (let i = first + 1; i < last; i++) cover[i] = 1;
    cover[last] += end - last;
  }

  // Covered time as ink in a lane. What is wider than a pixel fills the height; of a pixel that is covered in part, that
  // part of the height is inked, so that ink is as large as the time it stands for.
  function drawCover({ pen, scale, left }, cover, top, height, fill) {
    const columns = cover.length - 1;
    pen.fillStyle = fill;
    pen.beginPath(); // one fill is much faster than many
    for (let i = 0; i < columns; i++) {
      if (!(cover[i] > 0)) continue;
      const inked = Math.max(Math.round(Math.min(cover[i], 1) * height * scale), 1) / scale;
      let end = i + 1;
      while (end < columns && cover[end] > 0 && Math.max(Math.round(Math.min(cover[end], 1) * height * scale), 1) / scale === inked) end += 1;
      pen.rect(left + i / scale, top + height - inked, (end - i) / scale, inked);
      i = end - 1;
    }
    pen.fill();
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
    if (strip.to - strip.from < strip.duration) { // where the part lies in the whole
      const place = (time) => left + (time / strip.duration) * (width - left);
      pen.fillStyle = css("--line");
      pen.fillRect(left, height - AXIS, width - left, 3);
      pen.fillStyle = css("--accent");
      pen.fillRect(place(strip.from), height - AXIS, Math.max(place(strip.to) - place(strip.from), 3), 3);
    }
    if (strip.brush) {
      pen.fillStyle = css("--wash");
      pen.globalAlpha = 0.6;
      pen.fillRect(Math.min(...strip.brush), 0, Math.abs(strip.brush[1] - strip.brush[0]), height - AXIS);
      pen.globalAlpha = 1;
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

  // Keys and mouse: drag to move, drag with Shift to see a part, wheel with Ctrl (or pinch) to zoom, click to hear from
  // there, double click to see all of it.
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
    const across = (event) => event.clientX - canvas.getBoundingClientRect().left;
    const timeAt = (pixel) => strip.from + (Math.max(pixel - strip.left, 0) / inside()) * (strip.to - strip.from);
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const time = timeAt(across(event)), factor = Math.exp(Math.max(Math.min(event.deltaY, 50), -50) / 100);
      const from = time - (time - strip.from) * factor;
      view(strip, from, from + (strip.to - strip.from) * factor, false);
      clearTimeout(strip.telling); // browsers refuse an address that changes too often
      if (strip.moved) strip.telling = setTimeout(strip.moved, 200);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, from: strip.from, to: strip.to };
      if (event.shiftKey) strip.brush = [across(event), across(event)];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held || !event.buttons || near(event)) return;
      if (strip.brush) { strip.brush[1] = across(event); strip.draw(); return; }
      const moved = ((held.x - event.clientX) / inside()) * (held.to - held.from);
      view(strip, held.from + moved, held.to + moved);
    });
    canvas.addEventListener("pointerup", (event) => {
      const brush = strip.brush;
      strip.brush = null;
      if (brush && !near(event)) {
        view(strip, timeAt(Math.min(...brush)), timeAt(Math.max(...brush)));
      } else if (near(event)) {
        if (strip.moved) strip.moved();
        if (across(event) >= strip.left) hear(strip, timeAt(across(event)));
      }
      held = null;
    });
    canvas.addEventListener("dblclick", () => whole(strip));
  }

  return { FONT, AXIS, prepare, drawStill, drawSound, drawScores, drawRuns, drawThreshold, coverOf, addCover, drawCover, shownRuns, drawTimes, view, buttons, player, hear, follow };
})();

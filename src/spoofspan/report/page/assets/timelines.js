"use strict";
// Utterances as timelines: reference, sound, and for each system its scores with the threshold, its decisions, its errors.
spoofspan.timelines = (function () {
  const { data, css, element, unpack, bytesOf, seconds, digits, round, copyOn, link } = spoofspan;
  const { systems, current, thresholdOf, calledSpoof } = spoofspan.state;
  const FONT = "11px Inter, system-ui, sans-serif";
  const LANE = 11, GAP = 5, SCORES = 66, WAVE = 34, AXIS = 20;
  const labelled = data.labelled !== false; // without references there are neither labels nor errors

  const all = data.timelines.map((one) => {
    const scores = {};
    for (const [number, packed] of Object.entries(one.scores)) scores[number] = { packed, runs: null };
    return { ...one, starts: [0, ...one.ends.slice(0, -1)], scores, from: 0, to: one.duration };
  });
  // systems that are shown one above the other, besides the chosen one
  const beside = new Set();
  const shownSystems = () => [current(), ...systems.filter((one) => beside.has(one.number) && one !== current())];

  // ------------------------------------------------------------------ what happened

  // Start, end and score of every run, unpacked when it is first drawn.
  function runsOf(timeline, system) {
    const held = timeline.scores[system.number];
    if (!held) return { starts: [], ends: [], values: [] };
    if (!held.runs) {
      const values = unpack(held.packed.values);
      if ("hop" in held.packed) {
        const { start, hop, last } = held.packed;
        const starts = Array.from(values, (_, k) => Math.max(start + k * hop, 0));
        const ends = Array.from(values, (_, k) => (k === values.length - 1 ? last : Math.min(start + (k + 1) * hop, last)));
        held.runs = { starts, ends, values };
      } else {
        held.runs = { starts: held.packed.starts, ends: held.packed.ends, values };
      }
    }
    return held.runs;
  }

  // Where labels and decisions meet: pieces of one label and one decision.
  function pieces(timeline, system) {
    const { starts, ends, values } = runsOf(timeline, system);
    const found = [];
    let label = 0;
    for (let run = 0; run < values.length; run++) {
      const called = calledSpoof(system, values[run]);
      while (label > 0 && timeline.starts[label] > starts[run]) label -= 1;
      while (label < timeline.ends.length && timeline.ends[label] <= starts[run]) label += 1;
      for (let j = label; j < timeline.ends.length && timeline.starts[j] < ends[run]; j++) {
        const from = Math.max(starts[run], timeline.starts[j]), to = Math.min(ends[run], timeline.ends[j]);
        if (to <= from) continue;
        const before = found[found.length - 1];
        if (before && before.to === from && before.label === timeline.labels[j] && before.called === called) before.to = to;
        else found.push({ from, to, label: timeline.labels[j], called });
      }
    }
    return found;
  }

  function errorsOf(timeline, system = current()) {
    let falsePositive = 0, falseNegative = 0;
    for (const { from, to, label, called } of pieces(timeline, system)) {
      if (label === 0 && called) falsePositive += to - from;
      if (label === 1 && !called) falseNegative += to - from;
    }
    return { falsePositive, falseNegative };
  }

  function calledOf(timeline, system = current()) {
    return pieces(timeline, system).reduce((sum, { from, to, called }) => sum + (called ? to - from : 0), 0);
  }

  // What the picture shows, in words.
  function describe(timeline) {
    if (!labelled) {
      timeline.summary.textContent = `${seconds(timeline.duration)}; ${seconds(calledOf(timeline))} called spoof at this threshold`;
      timeline.canvas.setAttribute("aria-label", `Timeline of ${timeline.id}, ${timeline.summary.textContent}.`);
      return;
    }
    const { falsePositive, falseNegative } = errorsOf(timeline);
    const text = `${seconds(timeline.duration)}; at this threshold ${seconds(falsePositive)} false positive, ${seconds(falseNegative)} false negative`;
    timeline.summary.textContent = text;
    const spoofed = timeline.ends.flatMap((end, i) => (timeline.labels[i] === 1 ? [`${timeline.starts[i].toFixed(2)} to ${end.toFixed(2)} s`] : []));
    const zoomed = timeline.to - timeline.from < timeline.duration ? ` Shown: ${timeline.from.toFixed(2)} to ${timeline.to.toFixed(2)} s.` : "";
    timeline.canvas.setAttribute("aria-label", `Timeline of ${timeline.id}, ${text}. Spoofed: ${spoofed.join(", ") || "nothing"}.${zoomed}`);
  }

  // ------------------------------------------------------------------ looks

  // Each state has a colour and a hatching, so that nothing hangs on the colour alone.
  function looks(pen, scale) {
    const tile = (colour, mark) => {
      const size = 6 * scale;
      const small = element("canvas", { width: size, height: size });
      const ink = small.getContext("2d");
      ink.scale(scale, scale);
      ink.fillStyle = colour;
      ink.fillRect(0, 0, 6, 6);
      ink.strokeStyle = ink.fillStyle = css("--page");
      mark(ink);
      const pattern = pen.createPattern(small, "repeat");
      pattern.setTransform(new DOMMatrix([1 / scale, 0, 0, 1 / scale, 0, 0]));
      return pattern;
    };
    const stroke = (lines, width, alpha) => (ink) => {
      ink.globalAlpha = alpha;
      ink.lineWidth = width;
      ink.beginPath();
      for (const [a, b, c, d] of lines) { ink.moveTo(a, b); ink.lineTo(c, d); }
      ink.stroke();
    };
    const rising = [[-1, 7, 7, -1], [-1, 1, 1, -1], [5, 7, 7, 5]], falling = [[-1, -1, 7, 7], [5, -1, 7, 1], [-1, 5, 1, 7]];
    return {
      labels: [css("--bona-fide"), tile(css("--spoof"), stroke(rising, 1.4, 0.45))],
      none: css("--none"),
      falsePositive: tile(css("--false-positive"), (ink) => { ink.beginPath(); ink.arc(3, 3, 1.1, 0, 7); ink.fill(); }),
      falseNegative: tile(css("--false-negative"), stroke(falling, 1.1, 0.95)),
    };
  }

  // ------------------------------------------------------------------ drawing

  function layout(timeline) {
    const reference = timeline.kinds.length ? 15 : 3;
    const wave = labelled ? reference + LANE + GAP : reference;
    let top = wave + (timeline.waveform ? WAVE + GAP : 0);
    const lanes = shownSystems().map((system) => {
      const scores = top + (beside.size ? 14 : 2);
      const decision = scores + SCORES + GAP, error = decision + (labelled ? LANE + 3 : 0);
      const lane = { system, name: top + 11, scores, decision, error };
      top = error + LANE + 2 * GAP;
      return lane;
    });
    return { reference, wave, lanes, height: top + AXIS };
  }

  function draw(timeline) {
    const canvas = timeline.canvas, width = canvas.clientWidth;
    if (!width) return;
    const { reference, wave, lanes, height } = layout(timeline);
    const scale = Math.max(window.devicePixelRatio || 1, 1.5);
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = FONT;
    const narrow = width < 520, left = narrow ? 48 : 76;
    timeline.left = left;
    const span = width - left - 1;
    const x = (time) => left + ((time - timeline.from) / (timeline.to - timeline.from)) * span;
    const look = looks(pen, scale);
    const words = narrow ? ["truth", "sound", "called", "errors"] : ["reference", "sound", "decision", "errors"];
    const word = (text, y) => { pen.fillStyle = css("--quiet"); pen.textAlign = "right"; pen.fillText(text, left - 8, y); };
    const bar = (from, to, top, fill) => {
      // on whole pixels, so that neighbours leave no seam
      const start = Math.round(Math.max(x(from), left) * scale) / scale, end = Math.round(Math.min(x(to), width) * scale) / scale;
      if (end < left || start > width || to <= timeline.from || from >= timeline.to) return;
      pen.fillStyle = fill;
      pen.fillRect(start, top, Math.max(end - start, 1 / scale), LANE);
    };
    if (labelled) word(words[0], reference + 9);
    if (labelled) timeline.ends.forEach((end, i) => bar(timeline.starts[i], end, reference, look.labels[timeline.labels[i]] || look.none));
    pen.textAlign = "left";
    pen.fillStyle = css("--quiet");
    for (const [from, to, kind] of timeline.kinds) {
      const start = Math.max(x(from), left);
      if (Math.min(x(to), width) - start > pen.measureText(kind).width + 4) pen.fillText(kind, start + 1, reference - 4);
    }
    if (timeline.waveform) {
      word(words[1], wave + WAVE / 2 + 4);
      drawSound(timeline, pen, x, left, width, wave);
    }
    for (const { system, name, scores, decision, error } of lanes) {
      if (beside.size) {
        pen.textAlign = "left";
        pen.fillStyle = css("--ink");
        pen.font = "600 " + FONT;
        pen.fillText(system.name.length > 60 ? system.name.slice(0, 59) + "\u2026" : system.name, left, name);
        pen.font = FONT;
      }
      word(words[2], decision + 9);
      if (labelled) word(words[3], error + 9);
      pen.fillStyle = css("--line");
      pen.fillRect(left, error + LANE - 1, span, 1);
      for (const { from, to, label, called } of pieces(timeline, system)) {
        bar(from, to, decision, look.labels[called ? 1 : 0]);
        if (label === 0 && called) bar(from, to, error, look.falsePositive);
        if (label === 1 && !called) bar(from, to, error, look.falseNegative);
      }
      drawScores(timeline, system, pen, x, { left, width, top: scores, bottom: scores + SCORES, narrow });
    }
    drawTimes(timeline, pen, x, left, width, height);
    if (timeline.player) {
      pen.fillStyle = css("--accent");
      const at = x(timeline.player.currentTime);
      if (at >= left) pen.fillRect(at - 1, 0, 2, height - AXIS);
    }
    describe(timeline);
  }

  // The loudest and the quietest of many samples in each column.
  function drawSound(timeline, pen, x, left, width, top) {
    const { seconds: length, peaks: packed } = timeline.waveform;
    timeline.peaks = timeline.peaks || new Int8Array(bytesOf(packed).buffer);
    const count = timeline.peaks.length / 2, middle = top + WAVE / 2;
    pen.fillStyle = css("--strong-line");
    for (let i = 0; i < count; i++) {
      const from = x((i / count) * length), to = x(((i + 1) / count) * length);
      if (to < left || from > width) continue;
      const low = (timeline.peaks[2 * i] / 127) * (WAVE / 2), high = (timeline.peaks[2 * i + 1] / 127) * (WAVE / 2);
      pen.fillRect(Math.max(from, left), middle - high, Math.max(to - from, 0.5), Math.max(high - low, 0.7));
    }
  }

  function drawScores(timeline, system, pen, x, { left, width, top, bottom, narrow }) {
    const { starts, ends, values } = runsOf(timeline, system);
    const finite = Array.from(values).filter(Number.isFinite);
    pen.fillStyle = css("--panel");
    pen.fillRect(left, top, width - left, bottom - top);
    if (!finite.length) return;
    let low = Infinity, high = -Infinity;
    for (const value of finite) { low = Math.min(low, value); high = Math.max(high, value); }
    const at = thresholdOf(system);
    if (Number.isFinite(at)) { low = Math.min(low, at); high = Math.max(high, at); }
    if (low === high) { low -= 1; high += 1; }
    const pad = 3;
    const y = (value) => bottom - pad - ((Math.min(Math.max(value, low), high) - low) / (high - low)) * (bottom - top - 2 * pad);
    pen.textAlign = "right";
    pen.fillStyle = css("--quiet");
    const free = (height, ...taken) => taken.every((other) => Math.abs(height - other) > 11);
    const named = Number.isFinite(at) ? y(at) : -99;
    const title = free(top + 5, named) ? top + 5 : bottom - 5;
    pen.fillText(narrow ? "score" : "scores", left - 8, title + 4);
    for (const tick of round(low, high, 3)) {
      pen.fillStyle = css("--line");
      pen.fillRect(left, y(tick), width - left, 1);
      pen.fillStyle = css("--quiet");
      if (free(y(tick), named, title)) pen.fillText(digits(tick), left - 8, y(tick) + 4);
    }
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width - left, bottom - top);
    pen.clip();
    pen.strokeStyle = css("--ink");
    pen.lineWidth = 1.2;
    pen.beginPath();
    let before = null;
    for (let i = 0; i < values.length; i++) {
      if (before !== starts[i]) pen.moveTo(x(starts[i]), y(values[i]));
      else pen.lineTo(x(starts[i]), y(values[i]));
      pen.lineTo(x(ends[i]), y(values[i]));
      before = ends[i];
    }
    pen.stroke();
    if (Number.isFinite(at)) {
      pen.setLineDash([5, 3]);
      pen.strokeStyle = css("--accent");
      pen.lineWidth = 1.4;
      pen.beginPath();
      pen.moveTo(left, y(at));
      pen.lineTo(width, y(at));
      pen.stroke();
    }
    pen.restore();
    if (Number.isFinite(at)) {
      pen.fillStyle = css("--accent");
      pen.textAlign = "right";
      pen.fillText(narrow ? digits(Number(at.toPrecision(2))) : digits(at), left - 8, y(at) + 4);
    }
  }

  function drawTimes(timeline, pen, x, left, width, height) {
    const wanted = (timeline.to - timeline.from) / Math.max(Math.floor((width - left) / 80), 1);
    const step = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600].find((one) => one >= wanted) || 3600;
    for (let count = Math.ceil(timeline.from / step - 1e-9); count * step <= timeline.to + 1e-9; count++) {
      const at = x(count * step);
      pen.fillStyle = css("--strong-line");
      pen.fillRect(at, height - AXIS, 1, 4);
      pen.fillStyle = css("--quiet");
      pen.textAlign = at > width - 24 ? "right" : at < left + 10 ? "left" : "center";
      pen.fillText(`${+(count * step).toFixed(3)} s`, at, height - 4);
    }
  }

  // ------------------------------------------------------------------ moving

  // Show a part of an utterance; the address follows, so that a link leads here.
  function view(timeline, from, to, tell = true) {
    const width = Math.min(Math.max(to - from, 0.02), timeline.duration);
    timeline.from = Math.min(Math.max(from, 0), timeline.duration - width);
    timeline.to = timeline.from + width;
    draw(timeline);
    if (tell) link.write(place(timeline));
  }

  function place(timeline) {
    const part = timeline.to - timeline.from < timeline.duration - 1e-9;
    const number = (time) => String(+time.toFixed(3));
    return { utterance: timeline.id, t: part ? `${number(timeline.from)}-${number(timeline.to)}` : null };
  }

  function zoomBy(timeline, factor) {
    const middle = (timeline.from + timeline.to) / 2, width = (timeline.to - timeline.from) * factor;
    view(timeline, middle - width / 2, middle + width / 2);
  }

  const visible = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) { visible.delete(target.timeline); continue; }
      visible.add(target.timeline);
      draw(target.timeline);
    }
  }, { rootMargin: "200px" });
  const drawVisible = () => { for (const timeline of visible) if (timeline.canvas.isConnected) draw(timeline); };

  function play(timeline) {
    if (!timeline.player) return;
    if (timeline.player.paused) timeline.player.play();
    else timeline.player.pause();
  }

  function item(timeline) {
    const canvas = element("canvas", { class: "timeline", tabindex: "0", role: "img" });
    canvas.timeline = timeline;
    timeline.canvas = canvas;
    canvas.style.height = `${layout(timeline).height}px`;
    timeline.summary = element("span", { class: "quiet" });
    const zoom = (factor) => () => zoomBy(timeline, factor);
    const whole = () => view(timeline, 0, timeline.duration);
    const share = element("button", { type: "button", class: "small", "aria-label": `Copy a link to ${timeline.id}`, title: "Copy a link to what is seen here" }, "link");
    const tools = element("span", { class: "timeline-tools" },
      element("button", { type: "button", class: "small", onclick: zoom(0.5), "aria-label": "Zoom in" }, "+"),
      element("button", { type: "button", class: "small", onclick: zoom(2), "aria-label": "Zoom out" }, "\u2212"),
      element("button", { type: "button", class: "small", onclick: whole, "aria-label": "Show all of it" }, "all"),
      copyOn(share, () => link.address(place(timeline))));
    const about = Object.entries(timeline.columns || {}).map(([name, value]) => `${name} ${value}`).join(", ");
    const head = element("div", { class: "timeline-head" },
      element("span", { class: "timeline-id", dir: "auto" }, timeline.id), timeline.summary,
      ...(about ? [element("span", { class: "quiet", dir: "auto" }, about)] : []), tools);
    const made = element("li", {}, head, canvas);
    if (timeline.audio) {
      timeline.player = element("audio", { controls: "", preload: "none", src: timeline.audio, "aria-label": "Sound of " + timeline.id });
      const follow = () => { draw(timeline); if (!timeline.player.paused) requestAnimationFrame(follow); };
      timeline.player.addEventListener("play", follow);
      timeline.player.addEventListener("seeked", () => draw(timeline));
      made.append(timeline.player);
    }
    const step = () => (timeline.to - timeline.from) / 4;
    const keys = {
      "+": zoom(0.5), "=": zoom(0.5), "-": zoom(2), 0: whole, " ": () => play(timeline),
      ArrowLeft: () => view(timeline, timeline.from - step(), timeline.to - step()),
      ArrowRight: () => view(timeline, timeline.from + step(), timeline.to + step()),
    };
    canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      keys[event.key]();
    });
    follow(timeline, canvas);
    describe(timeline);
    watcher.observe(canvas);
    return made;
  }

  // Drag to move, click to hear from there, double click to see all of it.
  function follow(timeline, canvas) {
    let held = null;
    const inside = () => canvas.clientWidth - timeline.left;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, from: timeline.from, to: timeline.to };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held || !event.buttons || Math.abs(held.x - event.clientX) < 4) return;
      const moved = ((held.x - event.clientX) / inside()) * (held.to - held.from);
      view(timeline, held.from + moved, held.to + moved);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (held && Math.abs(held.x - event.clientX) < 4) {
        link.write(place(timeline));
        const share = (event.clientX - canvas.getBoundingClientRect().left - timeline.left) / inside();
        if (timeline.player && share >= 0) timeline.player.currentTime = timeline.from + share * (timeline.to - timeline.from);
      }
      held = null;
    });
    canvas.addEventListener("dblclick", () => view(timeline, 0, timeline.duration));
  }

  return { all, beside, errorsOf, calledOf, item, draw, view, drawVisible };
})();

"use strict";
// Utterances as timelines: reference, sound, and for each system its scores with the threshold, its decisions, its errors.
spoofspan.timelines = (function () {
  const { data, byId, css, element, unpack, bytesOf, seconds, copyOn, link, strips } = spoofspan;
  const { systems, current, thresholdOf, calls } = spoofspan.state;
  const LANE = 11, GAP = 5, SCORES = 66, WAVE = 34;
  const labelled = data.labelled !== false; // without references there are neither labels nor errors

  const all = [];
  function load(list) {
    all.splice(0, all.length, ...list.map((one) => {
      const scores = {};
      for (const [number, packed] of Object.entries(one.scores)) scores[number] = { packed, runs: null };
      return { ...one, starts: [0, ...one.ends.slice(0, -1)], scores, from: 0, to: one.duration };
    }));
  }
  if (data.timelines) load(data.timelines);
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

  // Where labels and scores meet: times of one label and one score, which no threshold changes.
  function cellsOf(timeline, system) {
    const held = timeline.scores[system.number];
    if (!held) return { from: [], to: [], labels: [], values: [] };
    if (held.cells) return held.cells;
    const { starts, ends, values } = runsOf(timeline, system);
    const from = [], to = [], labels = [], scores = [];
    let label = 0;
    for (let run = 0; run < values.length; run++) {
      while (label > 0 && timeline.starts[label] > starts[run]) label -= 1;
      while (label < timeline.ends.length && timeline.ends[label] <= starts[run]) label += 1;
      for (let j = label; j < timeline.ends.length && timeline.starts[j] < ends[run]; j++) {
        const start = Math.max(starts[run], timeline.starts[j]), end = Math.min(ends[run], timeline.ends[j]);
        if (end <= start) continue;
        from.push(start);
        to.push(end);
        labels.push(timeline.labels[j]);
        scores.push(values[run]);
      }
    }
    held.cells = { from: Float64Array.from(from), to: Float64Array.from(to), labels: Int8Array.from(labels), values: Float64Array.from(scores) };
    return held.cells;
  }

  function errorsOf(timeline, system = current()) {
    const { from, to, labels, values } = cellsOf(timeline, system), called = calls(system);
    let falsePositive = 0, falseNegative = 0;
    for (let i = 0; i < from.length; i++) {
      const spoof = called(values[i]);
      if (labels[i] === 0 && spoof) falsePositive += to[i] - from[i];
      if (labels[i] === 1 && !spoof) falseNegative += to[i] - from[i];
    }
    return { falsePositive, falseNegative };
  }

  function calledOf(timeline, system = current()) {
    const { from, to, values } = cellsOf(timeline, system), called = calls(system);
    let sum = 0;
    for (let i = 0; i < from.length; i++) if (called(values[i])) sum += to[i] - from[i];
    return sum;
  }

  // Ranges that are called spoof, with their mean score towards spoof, time-weighted: what event measures count.
  function calledRanges(timeline, system) {
    const { starts, ends, values } = runsOf(timeline, system), sign = system.higher === "spoof" ? 1 : -1, called = calls(system);
    const found = [];
    for (let run = 0; run < values.length; run++) {
      if (!called(values[run]) || ends[run] <= starts[run]) continue;
      const weight = ends[run] - starts[run], before = found[found.length - 1];
      if (before && starts[run] - before.to < 1e-9) { before.sum += sign * values[run] * weight; before.to = ends[run]; }
      else found.push({ from: starts[run], to: ends[run], sum: sign * values[run] * weight });
    }
    return found.map(({ from, to, sum }) => ({ from, to, confidence: sum / (to - from) }));
  }

  // Spoofed ranges that are found, those that are missed, and called ranges that are false, at the IoU of the page. From
  // the most confident on, each range takes the free event of largest IoU.
  function eventsOf(timeline, system = current()) {
    const events = [];
    timeline.ends.forEach((to, i) => {
      const before = events[events.length - 1], from = timeline.starts[i];
      if (timeline.labels[i] !== 1) return;
      if (before && from - before.to < 1e-9) before.to = to;
      else events.push({ from, to, found: false });
    });
    const ranges = calledRanges(timeline, system).sort((a, b) => b.confidence - a.confidence || a.from - b.from);
    for (const range of ranges) {
      let best = null, most = 0;
      for (const event of events) {
        const both = Math.min(event.to, range.to) - Math.max(event.from, range.from);
        const iou = both / (Math.max(event.to, range.to) - Math.min(event.from, range.from));
        if (both > 0 && !event.found && iou > most && iou >= data.iou - 1e-9) { best = event; most = iou; }
      }
      if (best) best.found = true;
      else range.false = true;
    }
    return { events, false: ranges.filter((one) => one.false) };
  }

  function eventsText(timeline) {
    if (!data.iou) return "";
    const { events, false: wrong } = eventsOf(timeline), found = events.filter((one) => one.found).length;
    const counted = events.length ? `${found} of ${events.length} events found` : "no events";
    return `; ${counted}, ${wrong.length} false ${wrong.length === 1 ? "range" : "ranges"}`;
  }

  // What the picture shows, in words.
  function describe(timeline) {
    if (!labelled) {
      timeline.summary.textContent = `${seconds(timeline.duration)}; ${seconds(calledOf(timeline))} called spoof at this threshold`;
      timeline.canvas.setAttribute("aria-label", `Timeline of ${timeline.id}, ${timeline.summary.textContent}.`);
      return;
    }
    const { falsePositive, falseNegative } = errorsOf(timeline);
    const text = `${seconds(timeline.duration)}; at this threshold ${seconds(falsePositive)} false positive, ${seconds(falseNegative)} false negative${eventsText(timeline)}`;
    timeline.summary.textContent = text;
    timeline.spoofed = timeline.spoofed || timeline.ends.flatMap((end, i) => (timeline.labels[i] === 1 ? [`${timeline.starts[i].toFixed(2)} to ${end.toFixed(2)} s`] : [])).join(", ");
    const zoomed = timeline.to - timeline.from < timeline.duration ? ` Shown: ${timeline.from.toFixed(2)} to ${timeline.to.toFixed(2)} s.` : "";
    timeline.canvas.setAttribute("aria-label", `Timeline of ${timeline.id}, ${text}. Spoofed: ${timeline.spoofed || "nothing"}.${zoomed}`);
  }

  // ------------------------------------------------------------------ looks

  // Each state has a colour and a hatching, so that nothing hangs on the colour alone. Made once for each theme and scale.
  const made = new Map();
  function looks(pen, scale) {
    const key = `${spoofspan.root.dataset.theme} ${scale}`;
    if (!made.has(key)) made.set(key, makeLooks(pen, scale));
    return made.get(key);
  }

  function makeLooks(pen, scale) {
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
    const reference = timeline.attacks.length ? 15 : 3;
    const wave = labelled ? reference + LANE + GAP : reference;
    let top = wave + (timeline.waveform ? WAVE + GAP : 0);
    const lanes = shownSystems().map((system) => {
      const scores = top + (beside.size ? 14 : 2);
      const decision = scores + SCORES + GAP, error = decision + (labelled ? LANE + 3 : 0);
      const events = error + LANE + 3;
      const lane = { system, name: top + 11, scores, decision, error, events };
      top = (labelled && data.iou ? events : error) + LANE + 2 * GAP;
      return lane;
    });
    return { reference, wave, lanes, height: top + strips.AXIS };
  }

  // What no threshold changes: the reference, the sound, the scores, and the words beside the lanes.
  function paintStill(timeline, picture, { reference, wave, lanes }) {
    const { pen, scale, width, left, span, narrow, x, word } = picture, look = looks(pen, scale);
    const words = narrow ? ["truth", "sound", "called", "errors"] : ["reference", "sound", "decision", "errors"];
    if (labelled) word(words[0], reference + 9);
    if (labelled) timeline.ends.forEach((end, i) => bar(timeline, picture, timeline.starts[i], end, reference, look.labels[timeline.labels[i]] || look.none));
    pen.textAlign = "left";
    pen.fillStyle = css("--quiet");
    for (const [from, to, attack] of timeline.attacks) {
      const start = Math.max(x(from), left);
      if (Math.min(x(to), width) - start > pen.measureText(attack).width + 4) pen.fillText(attack, start + 3, reference - 4);
    }
    if (timeline.waveform) {
      word(words[1], wave + WAVE / 2 + 4);
      timeline.peaks = timeline.peaks || new Int8Array(bytesOf(timeline.waveform.peaks).buffer);
      strips.drawSound(timeline, picture, { peaks: timeline.peaks, seconds: timeline.waveform.seconds }, wave, WAVE);
    }
    for (const { system, name, scores, decision, error, events } of lanes) {
      pen.textAlign = "left";
      if (beside.size) {
        pen.fillStyle = css("--ink");
        pen.font = "600 " + strips.FONT;
        pen.fillText(system.name.length > 60 ? system.name.slice(0, 59) + "\u2026" : system.name, left + 4, name);
        pen.font = strips.FONT;
      }
      if (!timeline.scores[system.number]) {
        pen.fillStyle = css("--quiet");
        pen.fillText("The scores of this system are not in the page, which shows the timelines of the best ones.", left + 4, scores + SCORES / 2);
        continue;
      }
      word(words[2], decision + 9);
      if (labelled) word(words[3], error + 9);
      pen.fillStyle = css("--line");
      if (labelled) pen.fillRect(left, error + LANE - 1, span, 1);
      if (labelled && data.iou) {
        word("events", events + 9);
        pen.fillStyle = css("--line");
        pen.fillRect(left, events + LANE - 1, span, 1);
      }
      const { from, to } = cellsOf(timeline, system);
      for (let i = 0; i < from.length; i++) { // all that is decided, as bona fide; what is called spoof comes over it
        const start = from[i];
        while (i + 1 < from.length && from[i + 1] === to[i]) i += 1;
        bar(timeline, picture, start, to[i], decision, look.labels[0]);
      }
      strips.drawRuns(timeline, picture, runsOf(timeline, system), scores, scores + SCORES, axisOf(timeline, system));
    }
  }

  // The axis of a system in all timelines.
  const axisOf = (timeline, system) => system.axis || [Math.min(...runsOf(timeline, system).values), Math.max(...runsOf(timeline, system).values)];

  // On whole pixels, so that neighbours leave no seam.
  function bar(timeline, { pen, x, left, width, scale }, from, to, top, fill) {
    if (to <= timeline.from || from >= timeline.to) return;
    const start = Math.round(Math.max(x(from), left) * scale) / scale, end = Math.round(Math.min(x(to), width) * scale) / scale;
    if (end < left || start > width) return;
    pen.fillStyle = fill;
    pen.fillRect(start, top, Math.max(end - start, 1 / scale), LANE);
  }

  function draw(timeline) {
    const places = layout(timeline), picture = strips.prepare(timeline, places.height);
    if (!picture) return;
    const key = `${places.lanes.map(({ system }) => system.number)} ${beside.size}`;
    strips.drawStill(timeline, picture, key, (still) => paintStill(timeline, still, places));
    const look = looks(picture.pen, picture.scale);
    for (const { system, scores, decision, error, events } of places.lanes) {
      if (!timeline.scores[system.number]) continue;
      const { from, to, labels, values } = cellsOf(timeline, system), called = calls(system);
      const spoof = strips.coverOf(picture), falsePositive = strips.coverOf(picture), falseNegative = strips.coverOf(picture);
      const [first, last] = strips.shownRuns(timeline, from, to);
      for (let i = first; i < last; i++) {
        if (called(values[i])) {
          strips.addCover(spoof, timeline, from[i], to[i]);
          if (labels[i] === 0) strips.addCover(falsePositive, timeline, from[i], to[i]);
        } else if (labels[i] === 1) {
          strips.addCover(falseNegative, timeline, from[i], to[i]);
        }
      }
      strips.drawCover(picture, spoof, decision, LANE, look.labels[1]);
      if (labelled) { // errors stand on the line of their lane
        strips.drawCover(picture, falsePositive, error, LANE - 1, look.falsePositive);
        strips.drawCover(picture, falseNegative, error, LANE - 1, look.falseNegative);
      }
      if (labelled && data.iou) {
        const met = eventsOf(timeline, system);
        for (const range of met.false) bar(timeline, picture, range.from, range.to, events, look.falsePositive);
        for (const event of met.events) bar(timeline, picture, event.from, event.to, events, event.found ? look.labels[1] : look.falseNegative);
      }
      strips.drawThreshold(picture, thresholdOf(system), scores, scores + SCORES, axisOf(timeline, system));
    }
    strips.drawTimes(timeline, picture);
  }

  // ------------------------------------------------------------------ in the list

  // Which part of which utterance is seen, for a link.
  function place(timeline) {
    const part = timeline.to - timeline.from < timeline.duration - 1e-9;
    const number = (time) => String(+time.toFixed(3));
    return { section: null, utterance: timeline.id, t: part ? `${number(timeline.from)}-${number(timeline.to)}` : null };
  }

  const visible = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) { visible.delete(target.timeline); continue; }
      visible.add(target.timeline);
      draw(target.timeline);
      describe(target.timeline);
    }
  });
  // The words come last: after each of them, the browser would lay out the page again to draw the next timeline.
  function drawVisible() {
    const seen = [...visible].filter(({ canvas }) => canvas.isConnected);
    seen.forEach(draw);
    seen.forEach(describe);
  }

  function item(timeline) {
    const canvas = element("canvas", { class: "timeline", tabindex: "0", role: "img" });
    canvas.timeline = timeline;
    timeline.canvas = canvas;
    timeline.draw = () => { draw(timeline); describe(timeline); };
    if (link) timeline.moved = () => link.write(place(timeline));
    canvas.style.height = `${layout(timeline).height}px`;
    timeline.summary = element("span", { class: "quiet" });
    const tools = element("span", { class: "timeline-tools" }, ...strips.buttons(timeline));
    if (link) {
      const share = element("button", { type: "button", class: "small", "aria-label": `Copy a link to ${timeline.id}`, title: "Copy a link to what is seen here" }, "link");
      tools.append(copyOn(share, () => link.address(place(timeline))));
    }
    const about = Object.entries(timeline.columns || {}).map(([name, value]) => `${name} ${value}`).join(", ");
    const head = element("div", { class: "timeline-head" },
      element("span", { class: "timeline-id", dir: "auto" }, timeline.id), timeline.summary,
      ...(about ? [element("span", { class: "quiet", dir: "auto" }, about)] : []), tools);
    const made = element("li", {}, head, canvas);
    if (timeline.audio) made.append(strips.player(timeline, timeline.audio, "none"));
    strips.follow(timeline);
    describe(timeline);
    watcher.observe(canvas);
    return made;
  }

  // Show the first ones of those found, and say how many there are; returns what is shown.
  function list(found, count) {
    const shown = found.slice(0, count);
    for (const one of shown) one.element = one.element || item(one);
    byId("timelines").replaceChildren(...shown.map((one) => one.element));
    byId("count").textContent = `${shown.length} of ${found.length} utterances`;
    byId("more").hidden = shown.length === found.length;
    drawVisible();
    return shown;
  }

  // Bring a listed timeline into view, at these times or whole.
  function scrollTo(timeline, times) {
    strips.view(timeline, times ? times[0] : 0, times ? times[1] : timeline.duration, false);
    timeline.element.scrollIntoView({ block: "center" });
  }

  window.addEventListener("beforeprint", () => document.querySelectorAll("canvas.timeline").forEach((canvas) => draw(canvas.timeline)));

  return { all, load, beside, errorsOf, eventsOf, calledOf, list, scrollTo, drawVisible };
})();

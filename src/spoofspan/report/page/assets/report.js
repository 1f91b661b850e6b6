"use strict";
// The page works on plain data (docs/report.md says what is in it) and shows text only as text.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "class") made.className = value;
      else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  // ------------------------------------------------------------------ numbers

  function unpack(packed) {
    const kind = "f4" in packed ? "f4" : "f8";
    const text = atob(packed[kind]);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const view = new DataView(bytes.buffer);
    const size = kind === "f4" ? 4 : 8;
    const numbers = new Float64Array(text.length / size);
    for (let i = 0; i < numbers.length; i++) {
      numbers[i] = size === 4 ? view.getFloat32(4 * i, true) : view.getFloat64(8 * i, true);
    }
    return numbers;
  }

  const percent = (share, digits = 2) => (Number.isFinite(share) ? (100 * share).toFixed(digits) + " %" : "none");
  const seconds = (time) => time.toFixed(time < 10 ? 2 : 1) + " s";
  const number = (value) => (typeof value === "string" ? Number(value.replace("inf", "Infinity")) : value);

  // The inverse of the normal distribution (Acklam's rational approximation, good to 1e-9).
  function deviate(share) {
    const a = [-39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716, 2.506628277459239];
    const b = [-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572];
    const c = [-0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968, 2.938163982698783];
    const d = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416];
    const tail = (q) => (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) / ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    if (share < 0.02425) return tail(Math.sqrt(-2 * Math.log(share)));
    if (share > 1 - 0.02425) return -tail(Math.sqrt(-2 * Math.log(1 - share)));
    const q = share - 0.5, r = q * q;
    return ((((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q) / (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }

  // ------------------------------------------------------------------ state

  const systems = data.systems.map((system) => ({
    ...system,
    thresholds: unpack(system.curve.thresholds),
    fpr: unpack(system.curve.false_positive_rates),
    fnr: unpack(system.curve.false_negative_rates),
    index: system.curve.start,
  }));
  let current = 0;
  const system = () => systems[current];
  const threshold = () => system().thresholds[system().index];
  const everything = () => system().index === system().thresholds.length - 1;
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  function decision() {
    const sign = system().higher === "bonafide" ? "<" : ">";
    return everything() ? "everything is called spoof" : `spoof iff score ${sign} ${threshold()}`;
  }

  function calledSpoof(score) {
    if (everything()) return true;
    return system().higher === "bonafide" ? score < threshold() : score > threshold();
  }

  // ------------------------------------------------------------------ rates

  function showRates() {
    const { curve, fpr, fnr, index } = system();
    const falsePositive = fpr[index] * curve.bona_fide_seconds, falseNegative = fnr[index] * curve.spoof_seconds;
    const truePositive = curve.spoof_seconds - falseNegative;
    const called = truePositive + falsePositive;
    const shown = [
      ["FPR", percent(fpr[index]), "fpr"],
      ["FNR", percent(fnr[index]), "fnr"],
      ["false positives", seconds(falsePositive), "fp"],
      ["false negatives", seconds(falseNegative), "fn"],
      ["precision", called > 0 ? percent(truePositive / called) : "nothing is called spoof", "precision"],
      ["recall", percent(truePositive / curve.spoof_seconds), "recall"],
      ["F1", percent((2 * truePositive) / (called + curve.spoof_seconds)), "f1"],
      ["false alarms per hour", seconds(3600 * fpr[index]), "alarms"],
    ];
    byId("rates").replaceChildren(...shown.map(([name, value, id]) =>
      element("div", {}, element("dt", {}, name), element("dd", { id: "rate-" + id }, value))));
    const slider = byId("threshold");
    slider.max = fpr.length - 1;
    slider.value = index;
    slider.setAttribute("aria-valuetext", `${decision()}: FPR ${percent(fpr[index])}, FNR ${percent(fnr[index])}`);
    byId("decision").textContent = decision();
  }

  function moveTo(index) {
    const last = system().thresholds.length - 1;
    system().index = Math.min(Math.max(Math.round(index), 0), last);
    showRates();
    requestDraw();
  }

  let waiting = false;
  function requestDraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      if (det) det.redraw(false);
      if (ratesPlot) ratesPlot.redraw(false);
      drawVisible();
      if (byId("order").value === "error") listTimelines();
    });
  }

  // ------------------------------------------------------------------ figures

  let det = null, ratesPlot = null;
  const LEAST = 0.0005;
  const TICKS = [0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99];
  const colours = () => ["--accent", "--spoof", "--bona-fide", "--false-positive", "--false-negative", "--quiet"].map(css);

  function size(holder) {
    return { width: Math.max(holder.clientWidth, 240), height: Math.max(holder.clientHeight - 40, 200) };
  }

  function mark(plot, x, y, colour) {
    const { ctx } = plot;
    const left = plot.valToPos(x, "x", true), top = plot.valToPos(y, "y", true);
    ctx.save();
    ctx.beginPath();
    ctx.arc(left, top, 5 * devicePixelRatio, 0, 2 * Math.PI);
    ctx.fillStyle = colour;
    ctx.fill();
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.strokeStyle = css("--page");
    ctx.stroke();
    ctx.restore();
  }

  const clipped = (share) => deviate(Math.min(Math.max(share, LEAST), 1 - LEAST));

  function drawDet() {
    const holder = byId("det");
    holder.replaceChildren();
    const tables = systems.map(({ fpr, fnr }) => {
      const x = [], y = [];
      for (let i = 0; i < fpr.length; i++) {
        const at = clipped(fpr[i]);
        // one value for each x: steps straight down keep their lower end
        if (x.length && x[x.length - 1] === at) y[y.length - 1] = clipped(fnr[i]);
        else { x.push(at); y.push(clipped(fnr[i])); }
      }
      return [x, y];
    });
    const range = [deviate(LEAST), deviate(0.99)];
    const axis = {
      stroke: css("--ink"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") },
      splits: () => TICKS.map(deviate), values: () => TICKS.map((tick) => String(+(100 * tick).toFixed(1))),
      font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif",
    };
    const palette = colours();
    det = new uPlot({
      ...size(holder),
      scales: { x: { time: false, range }, y: { range } },
      axes: [{ ...axis, label: "FPR, %" }, { ...axis, label: "FNR, %", size: 52 }],
      cursor: { drag: { x: false, y: false } },
      legend: { live: false, show: systems.length > 1 },
      series: [{}, ...systems.map(({ name }, i) => ({ label: name, stroke: palette[i % palette.length], width: 2, spanGaps: true, points: { show: false } }))],
      hooks: {
        draw: [(plot) => systems.forEach(({ fpr, fnr, index }, i) => {
          if (i === current) mark(plot, clipped(fpr[index]), clipped(fnr[index]), palette[i % palette.length]);
        })],
      },
    }, systems.length > 1 ? uPlot.join(tables) : tables[0], holder);
  }

  // The threshold axis shows where the curve moves, not the furthest outliers.
  function drawRates() {
    const holder = byId("rates-plot");
    holder.replaceChildren();
    const { thresholds, fpr, fnr, higher } = system();
    const rows = [...thresholds.keys()].filter((i) => Number.isFinite(thresholds[i]));
    if (higher === "spoof") rows.reverse();
    ratesPlot = new uPlot({
      ...size(holder),
      scales: { x: { time: false }, y: { range: [0, 100] } },
      axes: [
        { stroke: css("--ink"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") }, label: "threshold", font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" },
        { stroke: css("--ink"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") }, label: "rate, %", size: 52, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" },
      ],
      cursor: { drag: { x: false, y: false } },
      legend: { live: false },
      series: [{}, { label: "FPR", stroke: css("--false-positive"), width: 2, points: { show: false } }, { label: "FNR", stroke: css("--false-negative"), width: 2, dash: [6, 4], points: { show: false } }],
      hooks: {
        draw: [(plot) => {
          if (!Number.isFinite(threshold())) return;
          const left = plot.valToPos(threshold(), "x", true);
          plot.ctx.save();
          plot.ctx.strokeStyle = css("--ink");
          plot.ctx.lineWidth = 2 * devicePixelRatio;
          plot.ctx.setLineDash([]);
          plot.ctx.beginPath();
          plot.ctx.moveTo(left, plot.bbox.top);
          plot.ctx.lineTo(left, plot.bbox.top + plot.bbox.height);
          plot.ctx.stroke();
          plot.ctx.restore();
        }],
      },
    }, [rows.map((i) => thresholds[i]), rows.map((i) => 100 * fpr[i]), rows.map((i) => 100 * fnr[i])], holder);
    const over = ratesPlot.over;
    const drag = (event) => {
      const box = over.getBoundingClientRect();
      moveTo(nearestIndex(ratesPlot.posToVal(event.clientX - box.left, "x")));
    };
    over.addEventListener("pointerdown", (event) => { over.setPointerCapture(event.pointerId); drag(event); });
    over.addEventListener("pointermove", (event) => { if (event.buttons) drag(event); });
  }

  function nearestIndex(value) {
    const { thresholds, higher } = system();
    const sign = higher === "bonafide" ? 1 : -1;
    let low = 0, high = thresholds.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sign * thresholds[middle] < sign * value) low = middle + 1;
      else high = middle;
    }
    if (low > 0 && Math.abs(thresholds[low - 1] - value) < Math.abs(thresholds[low] - value)) low -= 1;
    return low;
  }

  function drawFigures() {
    if (typeof uPlot === "undefined") return;
    drawDet();
    drawRates();
  }

  // ------------------------------------------------------------------ tables

  function sortable(table) {
    const body = table.tBodies[0];
    const original = [...body.rows];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = element("button", { type: "button", class: "sort" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const key = (row) => {
          const cell = row.cells[column];
          if (!("value" in cell.dataset)) return cell.textContent.trim();
          return cell.dataset.value === "" || cell.dataset.value === "nan" ? -Infinity : Number(cell.dataset.value);
        };
        const rows = [...original].sort((a, b) => {
          const x = key(a), y = key(b);
          const order = typeof x === "number" ? x - y : x.localeCompare(y, undefined, { numeric: true });
          return falling ? -order : order;
        });
        body.replaceChildren(...rows);
      });
    });
    const filter = table.closest(".breakdown").querySelector(".filter");
    if (filter) {
      filter.addEventListener("input", () => {
        const wanted = filter.value.toLowerCase();
        for (const row of original) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
      });
    }
  }

  function paintTables() {
    document.querySelectorAll("table.sortable").forEach(sortable);
    document.querySelectorAll(".bar").forEach((bar) => { bar.style.width = 60 * Math.min(Number(bar.dataset.share), 1) + "px"; });
    const cells = [...document.querySelectorAll("[data-heat]")].filter((cell) => cell.dataset.heat !== "");
    const most = Math.max(...cells.map((cell) => Number(cell.dataset.heat)), 1e-9);
    for (const cell of cells) {
      const share = Number(cell.dataset.heat) / most;
      cell.style.background = `rgba(var(--heat), ${(0.04 + 0.36 * share).toFixed(3)})`;
    }
  }

  // ------------------------------------------------------------------ timelines

  const PAGE = 12;
  let shownCount = PAGE;
  const timelines = data.timelines.map((one) => {
    const starts = [0, ...one.ends.slice(0, -1)];
    const scores = {};
    for (const [name, packed] of Object.entries(one.scores)) scores[name] = { packed, runs: null };
    return { ...one, starts, scores, from: 0, to: one.duration };
  });

  // Start, end and score of every run, unpacked when it is first drawn.
  function runsOf(timeline) {
    const held = timeline.scores[system().name];
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
  function pieces(timeline) {
    const { starts, ends, values } = runsOf(timeline);
    const found = [];
    let label = 0;
    for (let run = 0; run < values.length; run++) {
      const called = calledSpoof(values[run]);
      while (label > 0 && timeline.starts[label] > starts[run]) label -= 1;
      while (label < timeline.ends.length && timeline.ends[label] <= starts[run]) label += 1;
      for (let j = label; j < timeline.ends.length && timeline.starts[j] < ends[run]; j++) {
        const from = Math.max(starts[run], timeline.starts[j]), to = Math.min(ends[run], timeline.ends[j]);
        if (to > from) found.push({ from, to, label: timeline.labels[j], called });
      }
    }
    return found;
  }

  function errorsOf(timeline) {
    let falsePositive = 0, falseNegative = 0;
    for (const { from, to, label, called } of pieces(timeline)) {
      if (label === 0 && called) falsePositive += to - from;
      if (label === 1 && !called) falseNegative += to - from;
    }
    return { falsePositive, falseNegative };
  }

  function chosenTimelines() {
    const group = byId("group").value, wanted = byId("find").value.toLowerCase(), order = byId("order").value;
    const chosen = timelines.filter((one) => (!group || one.group === group) && (!wanted
      || one.id.toLowerCase().includes(wanted) || one.kinds.some((kind) => kind[2].toLowerCase().includes(wanted))));
    if (order === "id") chosen.sort((a, b) => a.id.localeCompare(b.id, undefined, { numeric: true }));
    if (order === "error") {
      const errors = new Map(chosen.map((one) => [one, errorsOf(one)]));
      const total = (one) => errors.get(one).falsePositive + errors.get(one).falseNegative;
      chosen.sort((a, b) => total(b) - total(a));
    }
    return chosen;
  }

  function listTimelines() {
    const chosen = chosenTimelines();
    const list = byId("timelines");
    const shown = chosen.slice(0, shownCount);
    shown.forEach((one) => { one.item = one.item || timelineItem(one); });
    list.replaceChildren(...shown.map((one) => one.item));
    byId("count").textContent = `${shown.length} of ${chosen.length} utterances`;
    byId("more").hidden = shown.length === chosen.length;
    drawVisible();
  }

  const visible = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) visible.add(entry.target.timeline);
      else visible.delete(entry.target.timeline);
      if (entry.isIntersecting) draw(entry.target.timeline);
    }
  }, { rootMargin: "200px" });

  function timelineItem(timeline) {
    const canvas = element("canvas", { class: "timeline", tabindex: "0", role: "img" });
    canvas.timeline = timeline;
    timeline.canvas = canvas;
    timeline.summary = element("span", { class: "quiet" });
    const zoom = (factor) => () => zoomBy(timeline, factor);
    const tools = element("span", { class: "timeline-tools" },
      element("button", { type: "button", onclick: zoom(0.5), "aria-label": "Zoom in" }, "+"),
      element("button", { type: "button", onclick: zoom(2), "aria-label": "Zoom out" }, "\u2212"),
      element("button", { type: "button", onclick: () => view(timeline, 0, timeline.duration), "aria-label": "Show all of it" }, "all"));
    const head = element("div", { class: "timeline-head" },
      element("span", { class: "timeline-id", dir: "auto" }, timeline.id), timeline.summary, tools);
    const item = element("li", {}, head, canvas);
    if (timeline.audio) {
      timeline.player = element("audio", { controls: "", preload: "none", src: timeline.audio, "aria-label": "Sound of " + timeline.id });
      const follow = () => { draw(timeline); if (!timeline.player.paused) requestAnimationFrame(follow); };
      timeline.player.addEventListener("play", follow);
      timeline.player.addEventListener("seeked", () => draw(timeline));
      item.append(timeline.player);
    }
    canvas.addEventListener("keydown", (event) => {
      const width = timeline.to - timeline.from;
      const actions = {
        "+": zoom(0.5), "=": zoom(0.5), "-": zoom(2), "0": () => view(timeline, 0, timeline.duration),
        ArrowLeft: () => view(timeline, timeline.from - width / 4, timeline.to - width / 4),
        ArrowRight: () => view(timeline, timeline.from + width / 4, timeline.to + width / 4),
      };
      if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
    });
    let held = null;
    canvas.addEventListener("pointerdown", (event) => { held = { x: event.clientX, from: timeline.from, to: timeline.to }; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", (event) => {
      if (!held || !event.buttons) return;
      const moved = ((held.x - event.clientX) / canvas.clientWidth) * (held.to - held.from);
      view(timeline, held.from + moved, held.to + moved);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (held && Math.abs(held.x - event.clientX) < 4 && timeline.player) {
        const share = (event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth;
        timeline.player.currentTime = timeline.from + share * (timeline.to - timeline.from);
      }
      held = null;
    });
    canvas.addEventListener("dblclick", () => view(timeline, 0, timeline.duration));
    describe(timeline);
    watcher.observe(canvas);
    return item;
  }

  function view(timeline, from, to) {
    const width = Math.min(Math.max(to - from, 0.02), timeline.duration);
    timeline.from = Math.min(Math.max(from, 0), timeline.duration - width);
    timeline.to = timeline.from + width;
    draw(timeline);
  }

  function zoomBy(timeline, factor) {
    const middle = (timeline.from + timeline.to) / 2, width = (timeline.to - timeline.from) * factor;
    view(timeline, middle - width / 2, middle + width / 2);
  }

  function drawVisible() {
    for (const timeline of visible) if (timeline.canvas.isConnected) draw(timeline);
  }

  function draw(timeline) {
    const canvas = timeline.canvas;
    const scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width) return;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.clearRect(0, 0, width, height);
    const x = (time) => ((time - timeline.from) / (timeline.to - timeline.from)) * width;
    const bar = (from, to, top, tall, colour) => {
      // on whole pixels, so that neighbours leave no seam
      const left = Math.round(x(from) * scale) / scale, right = Math.round(x(to) * scale) / scale;
      if (right < 0 || left > width) return;
      pen.fillStyle = colour;
      pen.fillRect(left, top, Math.max(right - left, 1 / scale), tall);
    };
    const classes = [css("--bona-fide"), css("--spoof")], none = css("--none");
    const lane = { reference: 14, scores: 32, decision: 104, error: 118 };
    const tall = 10;
    timeline.ends.forEach((end, i) => bar(timeline.starts[i], end, lane.reference, tall, classes[timeline.labels[i]] || none));
    for (const { from, to, label, called } of pieces(timeline)) {
      bar(from, to, lane.decision, tall, called ? classes[1] : classes[0]);
      if (label === 0 && called) bar(from, to, lane.error, tall, css("--false-positive"));
      if (label === 1 && !called) bar(from, to, lane.error, tall, css("--false-negative"));
    }
    drawScores(timeline, pen, x, lane.scores, lane.decision - 6);
    pen.fillStyle = css("--quiet");
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "alphabetic";
    for (const [from, to, kind] of timeline.kinds) {
      const left = Math.max(x(from), 0);
      if (x(to) - left > 7 * kind.length) pen.fillText(kind, left + 2, 11);
    }
    drawTimes(timeline, pen, x, width, height);
    if (timeline.player) {
      pen.fillStyle = css("--accent");
      pen.fillRect(x(timeline.player.currentTime) - 1, 0, 2, height - 14);
    }
    describe(timeline);
  }

  // What the picture shows, in words.
  function describe(timeline) {
    const { falsePositive, falseNegative } = errorsOf(timeline);
    const text = `${seconds(timeline.duration)}; at this threshold ${seconds(falsePositive)} false positive, ${seconds(falseNegative)} false negative`;
    timeline.summary.textContent = text;
    const spoofed = timeline.ends.flatMap((end, i) => (timeline.labels[i] === 1 ? [`${timeline.starts[i].toFixed(2)} to ${end.toFixed(2)} s`] : []));
    timeline.canvas.setAttribute("aria-label", `Timeline of ${timeline.id}, ${text}. Spoofed: ${spoofed.join(", ") || "nothing"}.`);
  }

  function drawScores(timeline, pen, x, top, bottom) {
    const { starts, ends, values } = runsOf(timeline);
    const finite = Array.from(values).filter(Number.isFinite);
    if (!finite.length) return;
    let low = Math.min(...finite), high = Math.max(...finite);
    if (Number.isFinite(threshold())) { low = Math.min(low, threshold()); high = Math.max(high, threshold()); }
    if (low === high) { low -= 1; high += 1; }
    const y = (value) => bottom - ((Math.min(Math.max(value, low), high) - low) / (high - low)) * (bottom - top);
    pen.strokeStyle = css("--score");
    pen.lineWidth = 1.25;
    pen.beginPath();
    let before = null;
    for (let i = 0; i < values.length; i++) {
      if (before !== starts[i]) pen.moveTo(x(starts[i]), y(values[i]));
      else pen.lineTo(x(starts[i]), y(values[i]));
      pen.lineTo(x(ends[i]), y(values[i]));
      before = ends[i];
    }
    pen.stroke();
    if (Number.isFinite(threshold())) {
      pen.setLineDash([4, 3]);
      pen.strokeStyle = css("--accent");
      pen.beginPath();
      pen.moveTo(0, y(threshold()));
      pen.lineTo(pen.canvas.clientWidth, y(threshold()));
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  function drawTimes(timeline, pen, x, width, height) {
    const wanted = (timeline.to - timeline.from) / Math.max(Math.floor(width / 90), 1);
    const step = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600].find((one) => one >= wanted) || 3600;
    for (let time = Math.ceil(timeline.from / step) * step; time <= timeline.to; time += step) {
      const left = x(time);
      pen.fillRect(left, height - 14, 1, 4);
      pen.textAlign = left > width - 30 ? "right" : left < 10 ? "left" : "center";
      pen.fillText(`${+time.toFixed(3)} s`, left, height - 1);
    }
    pen.textAlign = "left";
  }

  // ------------------------------------------------------------------ page

  function chooseSystem(index) {
    current = index;
    document.querySelectorAll(".system-block").forEach((block) => { block.hidden = Number(block.dataset.system) !== index; });
    showRates();
    drawFigures();
    listTimelines();
  }

  function setTheme(theme) {
    root.dataset.theme = theme;
    const button = byId("theme");
    button.setAttribute("aria-pressed", String(theme === "dark"));
    drawFigures();
    drawVisible();
  }

  async function copy(button) {
    const text = button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = element("textarea", {}, text);
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    const before = button.firstChild.textContent;
    button.firstChild.textContent = "Copied";
    setTimeout(() => { button.firstChild.textContent = before; }, 1500);
  }

  if (systems.length > 1) {
    byId("system-label").hidden = false;
    byId("system").append(...systems.map(({ name }, i) => element("option", { value: String(i) }, name)));
    byId("system").addEventListener("change", (event) => chooseSystem(Number(event.target.value)));
  }
  byId("theme").addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));
  byId("print").addEventListener("click", () => window.print());
  byId("threshold").addEventListener("input", (event) => moveTo(Number(event.target.value)));
  byId("to-eer").addEventListener("click", () => moveTo(system().curve.start));
  document.querySelectorAll(".copy").forEach((button) => button.addEventListener("click", () => copy(button)));
  for (const id of ["group", "order"]) byId(id).addEventListener("change", () => { shownCount = PAGE; listTimelines(); });
  byId("find").addEventListener("input", () => { shownCount = PAGE; listTimelines(); });
  byId("more").addEventListener("click", () => { shownCount += PAGE; listTimelines(); });
  let themeBefore = null;
  window.addEventListener("beforeprint", () => {
    themeBefore = root.dataset.theme;
    setTheme("light");
    for (const canvas of document.querySelectorAll("canvas.timeline")) draw(canvas.timeline);
  });
  window.addEventListener("afterprint", () => { if (themeBefore) setTheme(themeBefore); });
  let resizing = null;
  window.addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(() => { drawFigures(); drawVisible(); }, 150); });

  root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  byId("theme").setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
  paintTables();
  chooseSystem(0);
  root.dataset.ready = "yes";
})();

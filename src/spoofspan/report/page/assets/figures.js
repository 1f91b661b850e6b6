"use strict";
// The DET curve of every system, and the rates of one over its threshold, as SVG: sharp on paper, coloured by the style.
spoofspan.figures = (function () {
  const { data, byId, element, digits, percent, round, seconds, slider } = spoofspan;
  const { systems, current, thresholdOf, moveTo, choose, nearestIndex } = spoofspan.state;
  const TICKS = [0.0005, 0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99];
  const DASHES = ["", "7 4", "2 3", "9 3 2 3", "4 2 1 2 1 2", "12 4"];
  const COLOURS = 6;
  const MANY = 12; // from so many systems on, all but the chosen one step back
  const FAR = 3; // times the middle value
  const SIDE = 560; // of the square at most, in pixels
  const LONGEST = 18; // letters of a name that are shown
  const NARROW_ROW = 17; // of a label below the figure, on a phone
  const moves = {}, crosses = {}, nearest = {}; // what moves the marks of a figure, and its crosshair; what finds its points

  function svg(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes || {})) if (value !== "" && value !== null) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // Colour and dashes of a system: within six the colours differ, beyond them the pairs do.
  function look(number) {
    const turn = Math.floor(number / COLOURS);
    return { stroke: `var(--system-${number % COLOURS})`, "stroke-dasharray": DASHES[systems.length > COLOURS ? (number + turn) % DASHES.length : 0] };
  }

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

  // A line through points, without those that no one sees.
  function path(points) {
    let text = "", before = null;
    for (const [x, y] of points) {
      if (before && Math.abs(x - before[0]) < 0.35 && Math.abs(y - before[1]) < 0.35) continue;
      before = [x, y];
      text += (text ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1);
    }
    return text;
  }

  // ------------------------------------------------------------------ DET

  // The values that decide where an axis ends: those far beyond the middle one would press the rest together.
  function usual(values) {
    const known = values.filter(Number.isFinite).sort((a, b) => a - b);
    return known.filter((value) => !(value > FAR * known[Math.floor((known.length - 1) / 2)]));
  }

  // The axes show what the systems do: from just below the lowest rate that matters up to 60 % or more.
  function limits() {
    const eers = systems.map(({ eer }) => eer);
    const lowest = Math.min(...eers), highest = Math.max(current().eer, ...usual(eers));
    const from = lowest > 0.1 ? 0.005 : lowest > 0.02 ? 0.001 : 0.0005;
    return [from, highest > 0.4 ? 0.95 : highest > 0.25 ? 0.8 : 0.6];
  }

  // Labels one below the other, each as near to its wish as the others let it.
  function spread(wishes, height, top, bottom) {
    const order = wishes.map((wish, i) => [wish, i]).sort((a, b) => a[0] - b[0]);
    const placed = [];
    let floor = top;
    for (const [wish, i] of order) { placed[i] = Math.max(wish, floor); floor = placed[i] + height; }
    let ceiling = bottom;
    for (const [, i] of order.reverse()) { placed[i] = Math.min(placed[i], ceiling); ceiling = placed[i] - height; }
    return placed;
  }

  function drawDet() {
    // on paper, names of many systems need the width of the page
    byId("det").closest(".figures").classList.toggle("many", systems.length >= MANY);
    const width = Math.max(byId("det").clientWidth, 300), narrow = width < 460;
    const longest = Math.max(...systems.map(({ name }) => Math.min(name.length, LONGEST)));
    const left = 46, bottom = 40, top = 8;
    const labels = narrow ? 8 : 40 + 6.7 * (longest + 8);
    const side = Math.min(width - left - labels, SIDE);
    // below a narrow figure, labels stand in as many columns as fit
    const columns = Math.max(Math.floor((width - left) / (32 + 6.7 * (longest + 8))), 1), rows = Math.ceil(systems.length / columns);
    const height = top + side + bottom + (narrow ? NARROW_ROW * rows + 8 : 0);
    const [from, to] = limits();
    const low = deviate(from), high = deviate(to);
    const place = (share) => (deviate(Math.min(Math.max(share, from), to)) - low) / (high - low);
    const x = (share) => left + side * place(share), y = (share) => top + side * (1 - place(share));
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": detText() });
    for (const tick of TICKS.filter((one) => one >= from && one <= to)) {
      const text = String(+(100 * tick).toFixed(2));
      drawing.append(
        svg("path", { class: "grid", d: `M${x(tick)} ${top}v${side}M${left} ${y(tick)}h${side}` }),
        svg("text", { x: x(tick), y: top + side + 16, "text-anchor": "middle" }, text),
        svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, text));
    }
    drawing.append(
      svg("path", { class: "diagonal", d: `M${left} ${top + side}L${left + side} ${top}` }),
      svg("rect", { class: "frame", x: left, y: top, width: side, height: side }),
      svg("text", { class: "title", x: left + side / 2, y: top + side + bottom - 6, "text-anchor": "middle" }, "FPR, %"),
      svg("text", { class: "title", x: 12, y: top + side / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${top + side / 2})` }, "FNR, %"));
    const size = narrow ? NARROW_ROW : Math.min(17, side / systems.length);
    const below = top + side + bottom + 10;
    const order = [...systems].sort((a, b) => a.eer - b.eer);
    const heights = narrow ? systems.map((one) => below + (order.indexOf(one) % rows) * NARROW_ROW) : spread(systems.map(({ eer }) => y(eer)), size, top + 8, top + side - 4);
    for (const system of [...systems.filter((one) => one !== current()), current()]) {
      const column = Math.floor(order.indexOf(system) / rows);
      const label = { x: narrow ? left + (column * (width - left)) / columns : left + side + 12, y: heights[system.number], size: Math.min(12, size) };
      drawing.append(detSystem(system, x, y, label, narrow ? null : left + side));
    }
    const ring = svg("circle", { class: "ring", r: 7 });
    const cross = svg("path", { class: "cross" });
    drawing.append(ring, cross);
    crosses.det = (system, index) => cross.setAttribute("d", system ? `M${left} ${y(system.fnr[index])}H${x(system.fpr[index])}V${top + side}` : "");
    moves.det = ({ fpr, fnr, index }) => { ring.setAttribute("cx", x(fpr[index])); ring.setAttribute("cy", y(fnr[index])); };
    byId("det").replaceChildren(drawing);
    nearest.det = { drawing, x, y };
  }

  function detSystem(system, x, y, at, edge) {
    const style = look(system.number);
    const group = svg("g", { class: system === current() ? "strong" : systems.length >= MANY ? "faint" : "" });
    const points = Array.from(system.fpr, (share, i) => [x(share), y(system.fnr[i])]);
    // inside of the frame only: a curve that runs along its edge is off the axes
    const right = points.findIndex(([across]) => across >= x(1) - 0.01);
    const last = Math.min(points.findLastIndex(([, down]) => down < y(0) - 0.01), right < 0 ? Infinity : right - 1);
    const first = Math.max(points.findLastIndex(([, down]) => down <= y(1) + 0.01), 0);
    group.append(svg("path", { class: "curve", d: path(points.slice(first, last + 2)), ...style }));
    group.append(svg("circle", { cx: x(system.eer), cy: y(system.eer), r: systems.length >= MANY ? 2.6 : 4, fill: style.stroke }));
    const letters = [...system.name];
    const name = letters.length > LONGEST ? letters.slice(0, LONGEST - 1).join("") + "\u2026" : system.name;
    // isolated, so that a name from right to left leaves the number where it is
    const label = svg("text", { class: "label", x: at.x + 24, y: at.y + 4 }, `\u2068${name}\u2069  ${percent(system.eer)}`, svg("title", {}, system.name));
    label.style.fontSize = `${at.size}px`;
    label.addEventListener("click", () => choose(system.number));
    if (edge !== null) group.append(svg("path", { class: "leader", d: `M${x(system.eer)} ${y(system.eer)}L${edge} ${at.y}h12`, stroke: style.stroke }));
    group.append(svg("path", { class: "curve swatch", d: `M${at.x} ${at.y}h20`, ...style }), label);
    return group;
  }

  function detText() {
    const order = [...systems].sort((a, b) => a.eer - b.eer).slice(0, 8).map(({ name, eer }) => `${name} ${percent(eer)}`);
    return `DET curves; EER on the diagonal: ${order.join(", ")}${systems.length > 8 ? " and others" : ""}`;
  }

  // ------------------------------------------------------------------ rates over the threshold

  function drawRates() {
    const holder = byId("rates-plot");
    const width = Math.max(holder.clientWidth, 300), narrow = width < 460;
    const left = 46, top = 8, bottom = 40;
    const frame = byId("det").querySelector(".frame");
    const plotWidth = width - left - 10, plotHeight = narrow ? 240 : Number(frame.getAttribute("height"));
    const { thresholds, fpr, fnr, higher, eer } = current();
    const rows = [...thresholds.keys()].filter((i) => Number.isFinite(thresholds[i]));
    if (higher === "spoof") rows.reverse();
    // where the rates move; the furthest outliers would press the rest together
    const cut = Math.floor(rows.length * 0.004);
    let low = thresholds[rows[cut]], high = thresholds[rows[rows.length - 1 - cut]];
    if (!(high > low)) { low -= 1; high += 1; }
    const x = (value) => left + (plotWidth * (Math.min(Math.max(value, low), high) - low)) / (high - low);
    const y = (share) => top + plotHeight * (1 - share);
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${top + plotHeight + bottom}`, role: "img", "aria-label": `FPR and FNR of ${current().name} over the threshold; they meet at ${percent(eer)}` });
    for (const tick of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
      drawing.append(svg("path", { class: "grid", d: `M${left} ${y(tick)}h${plotWidth}` }), svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, String(100 * tick)));
    }
    for (const tick of round(low, high, narrow ? 4 : 7)) {
      drawing.append(svg("path", { class: "grid", d: `M${x(tick)} ${top}v${plotHeight}` }), svg("text", { x: x(tick), y: top + plotHeight + 16, "text-anchor": "middle" }, digits(tick)));
    }
    drawing.append(
      svg("rect", { class: "frame", x: left, y: top, width: plotWidth, height: plotHeight }),
      svg("text", { class: "title", x: left + plotWidth / 2, y: top + plotHeight + bottom - 4, "text-anchor": "middle" }, `threshold (high scores are ${higher === "bonafide" ? "bona fide" : "spoof"})`),
      svg("text", { class: "title", x: 12, y: top + plotHeight / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${top + plotHeight / 2})` }, "rate, %"));
    const names = []; // over the line, wherever it stands
    for (const [name, rates, dash] of [["FPR", fpr, ""], ["FNR", fnr, "8 4"]]) {
      // a rate is a step: it holds up to the next threshold
      const points = rows.flatMap((i, k) => (k ? [[x(thresholds[i]), y(rates[rows[k - 1]])], [x(thresholds[i]), y(rates[i])]] : [[x(thresholds[i]), y(rates[i])]]));
      const half = rows.find((i, k) => k && (rates[i] >= 0.5) !== (rates[rows[0]] >= 0.5));
      const across = half === undefined ? left + plotWidth / 2 : x(thresholds[half]);
      const inner = across > left + plotWidth / 2 ? ["end", -9] : ["start", 9];
      drawing.append(svg("path", { class: `curve ${name.toLowerCase()}`, d: path(points), "stroke-dasharray": dash }));
      names.push(svg("text", { class: "title", x: across + inner[1], y: y(0.55), "text-anchor": inner[0] }, name));
    }
    const line = svg("g", {}, svg("path", { class: "at", d: `M0 ${top}v${plotHeight}` }), svg("path", { d: `M-5 ${top - 6}h10l-5 8z`, fill: "var(--ink)" }));
    const cross = svg("path", { class: "cross" });
    drawing.append(line, cross, ...names);
    crosses.rates = (system, index) => cross.setAttribute("d", system === current() && Number.isFinite(system.thresholds[index]) ? `M${x(system.thresholds[index])} ${top}v${plotHeight}` : "");
    moves.rates = (system) => {
      const at = thresholdOf(system);
      line.setAttribute("visibility", Number.isFinite(at) ? "visible" : "hidden");
      if (Number.isFinite(at)) line.setAttribute("transform", `translate(${x(at)} 0)`);
    };
    drawing.append(svg("rect", { class: "handle", x: left, y: top, width: plotWidth, height: plotHeight }));
    holder.replaceChildren(drawing);
    dragged.low = low;
    dragged.high = high;
  }

  // The line follows the pointer from where it is pressed until it is let go.
  const dragged = { held: false, low: 0, high: 1 };
  function drag(event) {
    const box = byId("rates-plot").querySelector(".handle").getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    moveTo(nearestIndex(current(), dragged.low + share * (dragged.high - dragged.low)));
  }
  byId("rates-plot").addEventListener("pointerdown", (event) => {
    if (!event.target.classList.contains("handle")) return;
    dragged.held = true;
    byId("rates-plot").setPointerCapture(event.pointerId);
    drag(event);
  });
  byId("rates-plot").addEventListener("pointermove", (event) => { if (dragged.held && event.buttons) drag(event); });
  byId("rates-plot").addEventListener("pointerup", () => { dragged.held = false; });

  // ------------------------------------------------------------------ values beside the pointer

  const rateText = (system, index) => `${system.name}\n${decisionAt(system, index)}\nFPR ${percent(system.fpr[index])}, FNR ${percent(system.fnr[index])}`;
  // The same operating point in both figures.
  function cross(system, index) {
    crosses.det(system, index);
    crosses.rates(system, index);
    return system ? rateText(system, index) : "";
  }
  for (const name of ["det", "rates-plot"]) byId(name).addEventListener("pointerleave", () => cross(null));

  const decisionAt = (system, index) => (index === system.thresholds.length - 1 ? "everything is called spoof" : `spoof iff score ${system.higher === "bonafide" ? "<" : ">"} ${digits(system.thresholds[index])}`);

  // The operating point of any system that is nearest to the pointer, if one is near.
  spoofspan.tips(byId("det"), (event) => {
    const { drawing, x, y } = nearest.det, matrix = drawing.getScreenCTM();
    const across = (event.clientX - matrix.e) / matrix.a, down = (event.clientY - matrix.f) / matrix.d;
    let best = null, least = 20 ** 2;
    for (const system of systems) {
      for (let i = 0; i < system.fpr.length; i++) {
        const distance = (x(system.fpr[i]) - across) ** 2 + (y(system.fnr[i]) - down) ** 2;
        if (distance < least) { least = distance; best = [system, i]; }
      }
    }
    return cross(...(best || [null]));
  });
  spoofspan.tips(byId("rates-plot"), (event) => {
    const box = byId("rates-plot").querySelector(".handle").getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    if (share < 0 || share > 1) return cross(null);
    return cross(current(), nearestIndex(current(), dragged.low + share * (dragged.high - dragged.low)));
  });

  // ------------------------------------------------------------------ rates in words

  // What the threshold of the chosen system means, below its slider.
  const amount = data.in_time ? seconds : (utterances) => Math.round(utterances).toLocaleString("en");
  function showRates() {
    const system = current(), { curve, fpr, fnr, index } = system;
    const falsePositive = fpr[index] * curve.bona_fide, falseNegative = fnr[index] * curve.spoof;
    const truePositive = curve.spoof - falseNegative;
    const called = truePositive + falsePositive;
    const shown = [
      ["FPR", percent(fpr[index]), "fpr"],
      ["FNR", percent(fnr[index]), "fnr"],
      ["false positives", amount(falsePositive), "fp"],
      ["false negatives", amount(falseNegative), "fn"],
      ["precision", called > 0 ? percent(truePositive / called) : "nothing is called spoof", "precision"],
      ["recall", percent(truePositive / curve.spoof), "recall"],
      ["F1", percent((2 * truePositive) / (called + curve.spoof)), "f1"],
      ...(data.in_time ? [["bona fide called spoof, per hour", seconds(3600 * fpr[index]), "alarms"]] : []),
    ];
    if (!byId("rates").childElementCount) {
      byId("rates").append(...shown.map(([name, , id]) => element("div", {}, element("dt", {}, name), element("dd", { id: "rate-" + id }))));
    }
    for (const [, value, id] of shown) byId("rate-" + id).textContent = value;
    slider.show(system, `FPR ${percent(fpr[index])}, FNR ${percent(fnr[index])}`);
  }

  // The figures are drawn for a system; a threshold moves their marks alone.
  const move = () => { moves.det(current()); moves.rates(current()); };
  const draw = () => { drawDet(); drawRates(); move(); };
  return { draw, move, showRates, look, svg, usual };
})();

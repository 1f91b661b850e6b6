"use strict";
// Small charts of conditions: a row each, with a dot for the EER of every system. A click on a row shows its utterances.
spoofspan.multiples = (function () {
  const { data, byId, element, percent, round, digits, tips } = spoofspan;
  const { systems, current } = spoofspan.state;
  const { svg, look, usual } = spoofspan.figures;
  const ROW = 22, TOP = 6, BOTTOM = 34, LONGEST = 20, SHARE = 52;
  const MANY = 12; // systems: all but the chosen one are small
  const COLOURS = 6; // of systems: more have no legend here
  let chosen = () => {};

  const sorted = (values) => values.filter(Number.isFinite).sort((a, b) => a - b);
  const middle = (values) => { const found = sorted(values); return found[Math.floor((found.length - 1) / 2)]; };

  // The axis shows the usual systems; one that lies far beyond them is drawn as a triangle at its edge.
  function highest(chart) {
    const own = systems.map(({ number }) => middle(chart.rows.map((row) => row.values[number])));
    const most = Math.max(...usual(own));
    const values = sorted(systems.filter(({ number }) => !(own[number] > most)).flatMap(({ number }) => chart.rows.map((row) => row.values[number])));
    return values.length && values[values.length - 1] > 0 ? 1.04 * values[values.length - 1] : 0.01;
  }

  function textOf(row) {
    const known = systems.filter(({ number }) => Number.isFinite(row.values[number])).sort((a, b) => row.values[a.number] - row.values[b.number]);
    const lines = known.slice(0, 8).map(({ name, number }) => `${name}: ${percent(row.values[number])}`);
    if (known.length > 8) lines.push(`and ${known.length - 8} more`);
    const share = row.shares && row.shares[current().number];
    if (Number.isFinite(share)) lines.push(`${percent(share, 0)} of the error of ${current().name}`);
    return [row.name, ...lines].join("\n");
  }

  function draw(holder, chart) {
    const width = Math.max(holder.clientWidth, 280), shares = chart.rows.some((row) => row.shares);
    const longest = Math.max(...chart.rows.map(({ name }) => Math.min([...name].length, LONGEST)));
    const left = Math.min(16 + 7 * longest, width * 0.4), right = shares ? SHARE + 14 : 12, across = width - left - right;
    const height = TOP + ROW * chart.rows.length, high = highest(chart);
    const x = (value) => left + (across * Math.min(value, high)) / high;
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height + BOTTOM}`, role: "img", "aria-label": `${chart.title}: EER of ${current().name}: ${chart.rows.map((row) => `${row.name} ${percent(row.values[current().number])}`).join(", ")}` });
    for (const tick of round(0, 100 * high, 5)) {
      drawing.append(svg("path", { class: "grid", d: `M${x(tick / 100)} ${TOP}v${height - TOP}` }),
        svg("text", { x: x(tick / 100), y: height + 14, "text-anchor": "middle" }, digits(tick)));
    }
    drawing.append(svg("text", { class: "title", x: left + across / 2, y: height + 29, "text-anchor": "middle" }, "EER, %"));
    if (shares) drawing.append(svg("text", { x: width, y: height + 14, "text-anchor": "end" }, "of error"));
    chart.rows.forEach((row, i) => {
      const middle = TOP + ROW * (i + 0.5), letters = [...row.name];
      const group = svg("g", { class: "row" });
      group.append(svg("rect", { class: "ground", x: 0, y: middle - ROW / 2, width, height: ROW }),
        svg("text", { class: "title", x: left - 8, y: middle + 4, "text-anchor": "end" }, letters.length > LONGEST ? letters.slice(0, LONGEST - 1).join("") + "\u2026" : row.name));
      const share = row.shares && row.shares[current().number];
      if (Number.isFinite(share)) group.append(svg("text", { x: width, y: middle + 4, "text-anchor": "end" }, percent(share, 0)));
      for (const system of [...systems.filter((one) => one !== current()), current()]) {
        const value = row.values[system.number], own = system === current();
        if (!Number.isFinite(value)) continue;
        const fill = look(system.number).stroke, size = own ? 5.5 : systems.length >= MANY ? 2.2 : 4;
        group.append(value > high
          ? svg("path", { class: own ? "own dot" : "dot", d: `M${x(high) - 3} ${middle - size}l${1.6 * size} ${size}l${-1.6 * size} ${size}z`, fill })
          : svg("circle", { class: own ? "own dot" : "dot", cx: x(value), cy: middle, r: size, fill }));
      }
      if (row.where && data.timelines.length) {
        group.classList.add("leads");
        group.addEventListener("click", () => chosen(row, chart));
      }
      tips(group, () => textOf(row));
      drawing.append(group);
    });
    holder.replaceChildren(drawing);
  }

  if (data.multiples.length && systems.length > 1 && systems.length <= COLOURS) {
    const key = (number) => svg("svg", { class: "dot-key", viewBox: "0 0 10 10", "aria-hidden": "true" }, svg("circle", { cx: 5, cy: 5, r: 5, fill: look(number).stroke }));
    byId("multiples").before(element("ul", { class: "legend" }, ...systems.map(({ name, number }) => element("li", {}, key(number), element("bdi", {}, name)))));
  }

  const holders = data.multiples.map((chart) => {
    const holder = element("div", { class: "plot" });
    const caption = [`${chart.title}.`, ...(chart.about ? [`EER ${chart.about}.`.replace("EER coarser", "Coarser")] : []), ...(chart.left_out ? [`${chart.left_out} more in the tables.`] : [])];
    byId("multiples").append(element("figure", {}, element("figcaption", {}, caption.join(" ")), holder));
    return [holder, chart];
  });

  return {
    draw: () => holders.forEach(([holder, chart]) => draw(holder, chart)),
    onChoose: (then) => { chosen = then; },
  };
})();

"use strict";
// The report: the slider with its rates, which system and which utterances are shown, and links to what is seen.
(function () {
  const { data, root, byId, element, percent, seconds, say, link } = spoofspan;
  const amount = data.in_time ? seconds : (utterances) => Math.round(utterances).toLocaleString("en");
  const { systems, current, thresholdOf, callsEverything, nearestIndex, choose, byName } = spoofspan.state;
  const { figures, slider, timelines } = spoofspan;

  // ------------------------------------------------------------------ rates

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
      ...(data.in_time ? [["false alarms per hour", seconds(3600 * fpr[index]), "alarms"]] : []),
    ];
    byId("rates").replaceChildren(...shown.map(([name, value, id]) =>
      element("div", {}, element("dt", {}, name), element("dd", { id: "rate-" + id }, value))));
    slider.show(system, `FPR ${percent(fpr[index])}, FNR ${percent(fnr[index])}`);
  }

  let waiting = false;
  function requestDraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      figures.draw();
      timelines.drawVisible();
      if (["error", "fp", "fn"].includes(value("order")) || value("error")) list();
    });
  }

  // ------------------------------------------------------------------ which utterances

  const PAGE = 12;
  let shownCount = PAGE, linked = null;
  const value = (id) => (byId(id) ? byId(id).value : "");
  const filters = []; // one for attacks, and one for each column of metadata

  function addFilter(name, valuesOf) {
    const values = [...new Set(timelines.all.flatMap(valuesOf))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
    if (values.length < 2) return;
    const select = element("select", { "aria-label": name }, element("option", { value: "" }, "any"), ...values.map((one) => element("option", { value: one }, one)));
    select.addEventListener("change", again);
    byId("metadata-filters").append(element("label", {}, name, select));
    filters.push((one) => !select.value || valuesOf(one).includes(select.value));
  }

  function chosen() {
    const group = value("group"), wanted = value("find").toLowerCase(), order = value("order"), error = value("error");
    const errors = new Map();
    const of = (one) => { if (!errors.has(one)) errors.set(one, timelines.errorsOf(one)); return errors.get(one); };
    const tests = { fp: (one) => of(one).falsePositive > 0, fn: (one) => of(one).falseNegative > 0, none: (one) => of(one).falsePositive + of(one).falseNegative === 0 };
    const found = timelines.all.filter((one) => (!group || one.group === group) && (!error || tests[error](one)) && filters.every((test) => test(one))
      && (!wanted || one.id.toLowerCase().includes(wanted) || one.kinds.some((kind) => kind[2].toLowerCase().includes(wanted))));
    const orders = {
      id: (a, b) => a.id.localeCompare(b.id, undefined, { numeric: true }),
      error: (a, b) => of(b).falsePositive + of(b).falseNegative - of(a).falsePositive - of(a).falseNegative,
      fp: (a, b) => of(b).falsePositive - of(a).falsePositive,
      fn: (a, b) => of(b).falseNegative - of(a).falseNegative,
      duration: (a, b) => b.duration - a.duration,
    };
    if (orders[order]) found.sort(orders[order]);
    return linked ? [linked, ...found.filter((one) => one !== linked)] : found;
  }

  function list() {
    if (!byId("timelines")) return;
    for (const one of timelines.list(chosen(), shownCount)) one.element.classList.toggle("linked", one === linked);
  }

  function again() { shownCount = PAGE; linked = null; list(); say(byId("count").textContent); }

  function startTimelines() {
    if (!byId("timelines")) return;
    addFilter("Attack", (one) => one.kinds.map((kind) => kind[2]));
    for (const name of data.columns) addFilter(name, (one) => (name in one.columns ? [one.columns[name]] : []));
    for (const id of ["group", "order", "error"]) byId(id).addEventListener("change", again);
    byId("find").addEventListener("input", again);
    byId("more").addEventListener("click", () => { shownCount += PAGE; list(); });
    if (!byId("beside-systems")) return;
    byId("beside-systems").append(...systems.map(({ name, number }) => {
      const box = element("input", { type: "checkbox", value: String(number) });
      box.addEventListener("change", () => {
        if (box.checked) timelines.beside.add(number);
        else timelines.beside.delete(number);
        tellBeside();
        timelines.drawVisible();
      });
      return element("label", {}, box, " ", name);
    }));
  }

  const tellBeside = () => link.write({ beside: [...timelines.beside].map((number) => systems[number].name).join("|") || null });

  // ------------------------------------------------------------------ which system

  function showSystem() {
    const { number, name } = current();
    document.querySelectorAll(".system-block").forEach((block) => { block.hidden = Number(block.dataset.system) !== number; });
    byId("system").value = String(number);
    document.querySelectorAll('.table[data-name="leaderboard"] tbody tr').forEach((row) => {
      const here = row.querySelector("th").textContent.trim() === name;
      row.classList.toggle("chosen", here);
      row.querySelector(".pick").setAttribute("aria-pressed", String(here));
    });
    list();
  }

  document.querySelectorAll('.table[data-name="leaderboard"] tbody th bdi').forEach((holder) => {
    const name = holder.textContent.trim();
    holder.replaceChildren(element("button", { type: "button", class: "pick", onclick: () => { choose(byName(name).number); tellState(); } }, name));
  });

  // ------------------------------------------------------------------ links

  function tellState() {
    const system = current();
    const moved = system.index !== system.curve.start;
    link.write({ system: systems.length > 1 ? system.name : null, threshold: !moved ? null : callsEverything(system) ? "all" : String(thresholdOf(system)) });
  }

  function restore(state) {
    const system = byName(state.system) || systems[0];
    if (state.threshold === "all") system.index = system.thresholds.length - 1;
    else system.index = state.threshold !== undefined && Number.isFinite(Number(state.threshold)) ? nearestIndex(system, Number(state.threshold)) : system.curve.start;
    timelines.beside.clear();
    for (const name of (state.beside || "").split("|")) if (byName(name)) timelines.beside.add(byName(name).number);
    document.querySelectorAll("#beside-systems input").forEach((box) => { box.checked = timelines.beside.has(Number(box.value)); });
    if (timelines.beside.size) byId("beside").open = true;
    linked = timelines.all.find((one) => one.id === state.utterance) || null;
    if (byId("absent")) {
      byId("absent").hidden = !state.utterance || linked !== null;
      byId("absent").textContent = `The link leads to ${state.utterance}, which is not among the utterances of this page.`;
    }
    choose(system.number);
    if (linked) timelines.scrollTo(linked, link.times(state.t));
  }

  slider.follow("to-eer", tellState);
  byId("rates-plot").addEventListener("pointerup", tellState);

  spoofspan.state.onSystem(showSystem);
  spoofspan.state.onThreshold(() => { showRates(); requestDraw(); });
  spoofspan.onRedraw(() => { figures.draw(); timelines.drawVisible(); });
  startTimelines();
  figures.draw(); // before a section is scrolled to
  link.start(restore);
  root.dataset.ready = "yes";
})();

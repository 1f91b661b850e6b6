"use strict";
// The report: the slider with its rates, which system and which utterances are shown, and links to what is seen.
(function () {
  const { data, root, byId, element, say, link } = spoofspan;
  const { systems, first, current, thresholdOf, callsEverything, nearestIndex, choose, byName } = spoofspan.state;
  const { figures, multiples, slider, timelines } = spoofspan;

  // ------------------------------------------------------------------ rates

  let waiting = false;
  function requestDraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      figures.move();
      timelines.drawVisible();
      if (["error", "fp", "fn"].includes(value("order")) || value("error")) list();
    });
  }

  // ------------------------------------------------------------------ which utterances

  const PAGE = 12;
  let shownCount = PAGE, linked = null;
  const value = (id) => (byId(id) ? byId(id).value : "");
  const filters = []; // one for attacks, one for lengths of spoofed ranges, and one for each column of metadata
  const selects = {}; // their elements by name

  function addFilter(name, valuesOf) {
    const values = [...new Set(timelines.all.flatMap(valuesOf))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
    if (values.length < 2) return;
    const select = element("select", { "aria-label": name }, element("option", { value: "" }, "any"), ...values.map((one) => element("option", { value: one }, one)));
    select.addEventListener("change", again);
    byId("metadata-filters").append(element("label", {}, name, select));
    selects[name] = select;
    filters.push((one) => !select.value || valuesOf(one).includes(select.value));
  }

  function chosen() {
    const group = value("group"), wanted = value("find").toLowerCase(), order = value("order"), error = value("error");
    const errors = new Map();
    const of = (one) => { if (!errors.has(one)) errors.set(one, timelines.errorsOf(one)); return errors.get(one); };
    const tests = { fp: (one) => of(one).falsePositive > 0, fn: (one) => of(one).falseNegative > 0, none: (one) => of(one).falsePositive + of(one).falseNegative === 0 };
    const found = timelines.all.filter((one) => (!group || one.group === group) && (!error || tests[error](one)) && filters.every((test) => test(one))
      && (!wanted || one.id.toLowerCase().includes(wanted) || one.attacks.some((attack) => attack[2].toLowerCase().includes(wanted))));
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
    addFilter("Attack", (one) => one.attacks.map((attack) => attack[2]));
    const lengths = data.multiples.flatMap(({ rows }) => rows).filter(({ where }) => where && "from" in where);
    addFilter("Range length", (one) => {
      const ranges = one.ends.flatMap((end, i) => (one.labels[i] === 1 ? [end - one.starts[i]] : []));
      return lengths.filter(({ where }) => ranges.some((length) => length >= where.from - 1e-9 && length < where.to - 1e-9)).map(({ name }) => name);
    });
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

  // The utterances behind a row of a chart.
  multiples.onChoose(({ name, where }) => {
    const select = selects["attack" in where ? "Attack" : "from" in where ? "Range length" : where.column];
    const found = Boolean(select) && [...select.options].some((option) => option.value === name);
    byId("absent").hidden = found;
    byId("absent").textContent = `No utterance of this page has ${name}.`;
    if (found) {
      for (const other of Object.values(selects)) other.value = "";
      select.value = name;
      again();
    }
    byId("timelines-title").scrollIntoView();
    byId("timelines-title").focus({ preventScroll: true });
  });

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
      row.querySelector(".pick").tabIndex = here ? 0 : -1;
    });
    figures.draw();
    multiples.draw();
    list();
  }

  document.querySelectorAll('.table[data-name="leaderboard"] tbody th bdi').forEach((holder) => {
    const name = holder.textContent.trim();
    holder.replaceChildren(element("button", { type: "button", class: "pick", onclick: () => { choose(byName(name).number); tellState(); } }, name));
  });

  // The systems are one stop for those who tab; arrow keys lead from one to the next.
  document.querySelector('.table[data-name="leaderboard"] tbody')?.addEventListener("keydown", (event) => {
    const picks = [...event.currentTarget.querySelectorAll("tr:not([hidden]) .pick")], at = picks.indexOf(document.activeElement);
    const next = picks[at + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] || NaN)];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
  });

  // ------------------------------------------------------------------ links

  function tellState() {
    const system = current();
    const moved = system.index !== system.curve.start;
    link.write({ system: systems.length > 1 ? system.name : null, threshold: !moved ? null : callsEverything(system) ? "all" : String(thresholdOf(system)) });
  }

  function restore(state) {
    const system = byName(state.system) || first();
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
  spoofspan.state.onThreshold(() => { figures.showRates(); requestDraw(); });
  spoofspan.onRedraw(() => { figures.draw(); multiples.draw(); timelines.drawVisible(); });
  startTimelines();
  link.start(restore);
  root.dataset.ready = "yes";
})();

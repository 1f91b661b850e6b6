"use strict";
// A page without references: the slider, what it calls spoof, and which utterances are shown.
(function () {
  const { root, byId, element, percent, digits, exact, say, link } = spoofspan;
  const { systems, current, thresholdOf, decision, decisionText, nearestIndex, moveTo, choose, byName } = spoofspan.state;
  const { timelines } = spoofspan;
  const PAGE = 12;
  let shownCount = PAGE, linked = null;

  function showThreshold() {
    const system = current(), slider = byId("threshold");
    slider.max = system.thresholds.length - 1;
    slider.value = system.index;
    // the share of time that each threshold calls spoof stands in the place of a rate
    byId("share").textContent = `${percent(system.fpr[system.index])} of all time`;
    slider.setAttribute("aria-valuetext", `${decisionText(system)}: ${byId("share").textContent}`);
    const [text, threshold] = decision(system);
    byId("decision").replaceChildren(text, ...(threshold === null ? [] : [exact(threshold)]));
    if (document.activeElement !== byId("typed")) byId("typed").value = threshold === null ? "" : digits(threshold);
    requestAnimationFrame(() => (byId("order").value === "called" ? list() : timelines.drawVisible()));
  }

  function chosen() {
    const wanted = byId("find").value.toLowerCase(), order = byId("order").value;
    const found = timelines.all.filter((one) => one.id.toLowerCase().includes(wanted));
    const called = new Map(order === "called" ? found.map((one) => [one, timelines.calledOf(one)]) : []);
    const orders = {
      id: (a, b) => a.id.localeCompare(b.id, undefined, { numeric: true }),
      called: (a, b) => called.get(b) - called.get(a),
      duration: (a, b) => b.duration - a.duration,
    };
    if (orders[order]) found.sort(orders[order]);
    return linked ? [linked, ...found.filter((one) => one !== linked)] : found;
  }

  function list() {
    const found = chosen(), shown = found.slice(0, shownCount);
    for (const one of shown) one.element = one.element || timelines.item(one);
    byId("timelines").replaceChildren(...shown.map((one) => one.element));
    byId("count").textContent = `${shown.length} of ${found.length} utterances`;
    byId("more").hidden = shown.length === found.length;
    timelines.drawVisible();
  }

  function again() { shownCount = PAGE; linked = null; list(); say(byId("count").textContent); }

  function showSystem() {
    document.querySelectorAll(".system-block").forEach((block) => { block.hidden = Number(block.dataset.system) !== current().number; });
    byId("system").value = String(current().number);
    list();
  }

  function tellState() {
    const system = current(), moved = system.index !== system.curve.start;
    link.write({ system: systems.length > 1 ? system.name : null, threshold: moved ? String(thresholdOf(system)) : null });
  }

  function restore(state) {
    const system = byName(state.system) || systems[0], typed = Number(state.threshold);
    system.index = state.threshold !== undefined && Number.isFinite(typed) ? nearestIndex(system, typed) : system.curve.start;
    linked = timelines.all.find((one) => one.id === state.utterance) || null;
    choose(system.number);
    if (!linked) return;
    const times = link.times(state.t);
    timelines.view(linked, times ? times[0] : 0, times ? times[1] : linked.duration, false);
    linked.element.scrollIntoView({ block: "center" });
  }

  const userMoves = (index) => { moveTo(index); tellState(); };
  byId("system").append(...systems.map(({ name }, i) => element("option", { value: String(i) }, name)));
  byId("system").addEventListener("change", (event) => { choose(Number(event.target.value)); tellState(); });
  byId("threshold").addEventListener("input", (event) => userMoves(Number(event.target.value)));
  byId("back").addEventListener("click", () => userMoves(current().curve.start));
  byId("typed").addEventListener("change", (event) => {
    const typed = Number(event.target.value.trim().replace("\u2212", "-"));
    if (event.target.value.trim() && Number.isFinite(typed)) userMoves(nearestIndex(current(), typed));
    event.target.value = digits(thresholdOf(current()));
  });
  byId("order").addEventListener("change", again);
  byId("find").addEventListener("input", again);
  byId("more").addEventListener("click", () => { shownCount += PAGE; list(); });
  spoofspan.state.onSystem(showSystem);
  spoofspan.state.onThreshold(showThreshold);
  spoofspan.onRedraw(timelines.drawVisible);
  window.addEventListener("beforeprint", () => document.querySelectorAll("canvas.timeline").forEach((canvas) => timelines.draw(canvas.timeline)));
  link.onChange(restore);
  restore(link.read());
  root.dataset.ready = "yes";
})();

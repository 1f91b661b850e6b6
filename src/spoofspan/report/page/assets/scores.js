"use strict";
// A page without references: the slider, what it calls spoof, and which utterances are shown.
(function () {
  const { root, byId, percent, say, link } = spoofspan;
  const { systems, current, thresholdOf, nearestIndex, choose, byName } = spoofspan.state;
  const { slider, timelines } = spoofspan;
  const PAGE = 12;
  let shownCount = PAGE, linked = null;

  function showThreshold() {
    const system = current();
    // the share of time that each threshold calls spoof stands in the place of a rate
    byId("share").textContent = `${percent(system.fpr[system.index])} of all time`;
    slider.show(system, byId("share").textContent);
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
    timelines.list(chosen(), shownCount);
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
    if (linked) timelines.scrollTo(linked, link.times(state.t));
  }

  slider.follow("back", tellState);
  byId("order").addEventListener("change", again);
  byId("find").addEventListener("input", again);
  byId("more").addEventListener("click", () => { shownCount += PAGE; list(); });
  spoofspan.state.onSystem(showSystem);
  spoofspan.state.onThreshold(showThreshold);
  spoofspan.onRedraw(timelines.drawVisible);
  link.start(restore);
  root.dataset.ready = "yes";
})();

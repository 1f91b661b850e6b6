"use strict";
// The slider of the threshold, and the choice of the system: what every page with thresholds has.
spoofspan.slider = (function () {
  const { byId, element, digits, exact } = spoofspan;
  const { systems, current, thresholdOf, decision, decisionText, nearestIndex, moveTo, choose } = spoofspan.state;

  // Put the slider where the threshold of a system is; readers of the screen hear what is said of it.
  function show(system, said) {
    const slider = byId("threshold");
    slider.max = system.thresholds.length - 1;
    slider.value = system.index;
    slider.setAttribute("aria-valuetext", `${decisionText(system)}: ${said}`);
    const [text, threshold] = decision(system);
    byId("decision").replaceChildren(text, ...(threshold === null ? [] : [exact(threshold)]));
    if (document.activeElement !== byId("typed")) byId("typed").value = threshold === null ? "" : digits(threshold);
  }

  // Follow the slider, typed numbers, the button that leads back to the start, and the choice of the system.
  function follow(back, tellState = () => {}) {
    const userMoves = (index) => { moveTo(index); tellState(); };
    let telling = null; // while the slider is dragged: to write the address takes long
    if (byId("system")) {
      byId("system").append(...systems.map(({ name }, i) => element("option", { value: String(i) }, name)));
      byId("system").addEventListener("change", (event) => { choose(Number(event.target.value)); tellState(); });
    }
    byId("threshold").addEventListener("input", (event) => {
      moveTo(Number(event.target.value));
      clearTimeout(telling);
      telling = setTimeout(tellState, 100);
    });
    byId(back).addEventListener("click", () => userMoves(current().curve.start));
    byId("typed").addEventListener("change", (event) => {
      const typed = Number(event.target.value.trim().replace("\u2212", "-"));
      if (event.target.value.trim() && Number.isFinite(typed)) userMoves(nearestIndex(current(), typed));
      event.target.value = digits(thresholdOf(current()));
    });
  }

  return { show, follow };
})();

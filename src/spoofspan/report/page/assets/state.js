"use strict";
// Which system is looked at, and the threshold of each; whoever shows them is told when they change.
spoofspan.state = (function () {
  const { data, unpack, digits } = spoofspan;
  const systems = data.systems.map((system, number) => ({
    ...system,
    number,
    thresholds: unpack(system.curve.thresholds),
    fpr: unpack(system.curve.false_positive_rates),
    fnr: unpack(system.curve.false_negative_rates),
    index: system.curve.start,
  }));
  const listeners = { system: [], threshold: [] };
  let current = systems[0];

  const thresholdOf = (system) => system.thresholds[system.index];
  const callsEverything = (system) => system.index === system.thresholds.length - 1;

  function decision(system) {
    const sign = system.higher === "bonafide" ? "<" : ">";
    return callsEverything(system) ? ["everything is called spoof", null] : [`spoof iff score ${sign} `, thresholdOf(system)];
  }

  function decisionText(system) {
    const [text, threshold] = decision(system);
    return threshold === null ? text : text + digits(threshold);
  }

  function calledSpoof(system, score) {
    if (callsEverything(system)) return true;
    return system.higher === "bonafide" ? score < thresholdOf(system) : score > thresholdOf(system);
  }

  // The threshold of the slider that is nearest to a number.
  function nearestIndex(system, value) {
    const { thresholds, higher } = system;
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

  function moveTo(index) {
    const last = current.thresholds.length - 1;
    current.index = Math.min(Math.max(Math.round(index), 0), last);
    listeners.threshold.forEach((listener) => listener());
  }

  function choose(number) {
    current = systems[number];
    listeners.system.forEach((listener) => listener());
    listeners.threshold.forEach((listener) => listener());
  }

  return {
    systems, thresholdOf, callsEverything, decision, decisionText, calledSpoof, nearestIndex, moveTo, choose,
    current: () => current,
    byName: (name) => systems.find((system) => system.name === name),
    onSystem: (listener) => listeners.system.push(listener),
    onThreshold: (listener) => listeners.threshold.push(listener),
  };
})();

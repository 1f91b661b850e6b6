"use strict";
// Which system is looked at, and the threshold of each; whoever shows them is told when they change.
spoofspan.state = (function () {
  const { data, unpack, digits } = spoofspan;
  const systems = [];
  const listeners = { system: [], threshold: [] };
  let first = null, current = null; // the best one; the chosen one

  // A page may bring its systems later than its scripts, and others after them.
  function load(list, best = 0) {
    systems.splice(0, systems.length, ...list.map((system, number) => ({
      ...system,
      number,
      thresholds: unpack(system.curve.thresholds),
      fpr: unpack(system.curve.false_positive_rates),
      fnr: unpack(system.curve.false_negative_rates),
      index: system.curve.start,
    })));
    first = current = systems[best];
  }
  if (data.systems) load(data.systems, data.opens_on || 0);

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

  // What tells of a score whether it is called spoof, at the present threshold.
  function calls(system) {
    if (callsEverything(system)) return () => true;
    const threshold = thresholdOf(system);
    return system.higher === "bonafide" ? (score) => score < threshold : (score) => score > threshold;
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
    systems, load, thresholdOf, callsEverything, decision, decisionText, calls, nearestIndex, moveTo, choose,
    first: () => first,
    current: () => current,
    byName: (name) => systems.find((system) => system.name === name),
    onSystem: (listener) => listeners.system.push(listener),
    onThreshold: (listener) => listeners.threshold.push(listener),
  };
})();

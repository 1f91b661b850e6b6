"use strict";
// What is seen is in the address, so that a link shows it again: #utterance=u1&t=1.2-3.4&system=ours&threshold=0.38
spoofspan.link = (function () {
  const listeners = [];
  let written = null;

  function read() {
    return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  }

  // Change some entries of the address; null removes one. The history does not grow.
  function write(changes) {
    const state = { ...read(), ...changes };
    const kept = Object.entries(state).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const text = String(new URLSearchParams(kept));
    written = text ? "#" + text : "";
    if (written === location.hash) return;
    history.replaceState(null, "", written || location.pathname + location.search);
  }

  // The address that shows these entries, for a mail.
  function address(changes) {
    const kept = Object.entries({ ...read(), ...changes }).filter(([, value]) => value !== null && value !== undefined);
    return location.href.split("#")[0] + "#" + new URLSearchParams(kept);
  }

  // A time from-to, as in t=1.2-3.4; null if it is none.
  function times(text) {
    const found = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text || "");
    return found && Number(found[1]) < Number(found[2]) ? [Number(found[1]), Number(found[2])] : null;
  }

  window.addEventListener("hashchange", () => {
    if (location.hash !== written) listeners.forEach((listener) => listener(read()));
  });

  return { read, write, address, times, onChange: (listener) => listeners.push(listener) };
})();

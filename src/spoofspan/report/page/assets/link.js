"use strict";
// The view is in the address, so that a link shows it again: #utterance=u1&t=1.2-3.4&system=ours&threshold=0.38
// A section is one more entry of it. Back and forward lead to other sections of the same view, or to another link's view.
spoofspan.link = (function () {
  const { byId } = spoofspan;
  const parse = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const places = [...document.querySelectorAll('a[href^="#"]')].map((anchor) => ({ anchor, section: anchor.hash.slice(1) }));
  let state = {}, visit = null, restore = () => {};

  function spelled(entries) {
    const kept = Object.entries(entries).filter(([, value]) => value !== null && value !== undefined && value !== "");
    return kept.length ? "#" + new URLSearchParams(kept) : "";
  }

  // Put the view into the address; links to sections have it too, for those who copy them or open them elsewhere.
  function tell(grow = false) {
    const text = spelled(state), address = text || location.pathname + location.search;
    if (grow && text !== location.hash) history.pushState({ visit }, "", address);
    else history.replaceState({ visit }, "", address);
    for (const { anchor, section } of places) {
      if (!anchor.classList.contains("skip")) anchor.href = spelled({ ...state, section }); // that one stays #main, as tools expect
    }
  }

  function showSection() {
    const target = byId(state.section || "");
    if (!target) return;
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  }

  // Show what the address says. The number of the visit stays in the history, also when the page is loaded again.
  function open(entry) {
    const plain = location.hash.slice(1);
    if (byId(plain)) {
      state = { ...state, section: plain }; // the name of a section alone says nothing of the view
    } else {
      state = parse();
      visit = null;
    }
    visit = entry?.visit || visit || String(Math.random());
    tell();
    restore(read());
    showSection();
  }

  const read = () => ({ ...state });

  // Change some entries of the address; null removes one. The history does not grow.
  function write(changes) {
    state = { ...state, ...changes };
    tell();
  }

  for (const { anchor, section } of places) {
    anchor.addEventListener("click", (event) => {
      if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      state = { ...state, section };
      tell(true);
      showSection();
    });
  }

  window.addEventListener("popstate", ({ state: entry }) => {
    // the browser scrolls back by itself
    if (entry && entry.visit === visit) write({ section: parse().section });
    else open(entry);
  });

  // The address that shows these entries, for a mail.
  const address = (changes) => location.href.split("#")[0] + spelled({ ...state, ...changes });

  // A time from-to, as in t=1.2-3.4; null if it is none.
  function times(text) {
    const found = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text || "");
    return found && Number(found[1]) < Number(found[2]) ? [Number(found[1]), Number(found[2])] : null;
  }

  // Show what the address says, now and whenever another link is opened.
  function start(show) {
    restore = show;
    open(history.state);
  }

  return { read, write, address, times, start };
})();

"use strict";
// A team that is chosen is marked in every table, with those that share a letter with it; the address keeps it.
(function () {
  const { data, root, element, say, link } = spoofspan;
  const rows = [];

  for (const holder of document.querySelectorAll('.table[data-name^="leaderboard"]')) {
    for (const row of holder.querySelector("tbody").rows) {
      const head = row.querySelector("th");
      const team = head.querySelector("bdi").textContent;
      const button = element("button", { type: "button", class: "team", "aria-pressed": "false", onclick: () => choose(team) });
      button.append(head.querySelector("bdi"));
      head.append(button);
      rows.push({ row, team, button });
    }
  }

  const letters = (team) => data.groups[team].match(/[A-Za-z]|\(\d+\)/g) || [];

  function mark(chosen) {
    const shared = new Set(chosen ? letters(chosen) : []);
    for (const { row, team, button } of rows) {
      row.classList.toggle("chosen", team === chosen);
      row.classList.toggle("alike", Boolean(chosen) && team !== chosen && letters(team).some((letter) => shared.has(letter)));
      button.setAttribute("aria-pressed", String(team === chosen));
    }
    if (!chosen) return;
    const alike = Object.keys(data.groups).filter((team) => team !== chosen && letters(team).some((letter) => shared.has(letter)));
    say(alike.length ? `${chosen} is not told apart from ${alike.join(", ")}` : `${chosen} is told apart from every other team`);
  }

  function choose(team) {
    const chosen = link.read().team === team ? null : team;
    link.write({ team: chosen });
    mark(chosen);
  }

  const known = (state) => (Object.hasOwn(data.groups, state.team) ? state.team : null);
  link.start((state) => mark(known(state)));
  root.dataset.ready = "yes";
})();

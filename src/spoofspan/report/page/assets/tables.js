"use strict";
// Tables sort by any column, filter, are saved as CSV with all digits, and are copied as LaTeX.
(function () {
  const { element, copyOn, download, say } = spoofspan;
  const FILTER_FROM = 9; // rows
  const LONG = 12; // rows; a phone shows so many of a longer table, until it is asked for more

  const LATEX = { "\\": "\\textbackslash{}", "^": "\\textasciicircum{}", "~": "\\textasciitilde{}", "<": "\\textless{}", ">": "\\textgreater{}", "\u2212": "$-$", "\u2020": "$\\dagger$" };
  const latexText = (text) => text.replace(/[\\^~<>\u2212\u2020{}$&#%_]/g, (one) => LATEX[one] || "\\" + one).replace(/^-(?=[\d.])/, "$-$").replace(/^(?=\s*[[*])/, "{}");

  // A cell that a spreadsheet would run as a formula gets an apostrophe; numbers stay numbers.
  function csvCell(text) {
    const safe = /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text)) ? "'" + text : text;
    return /[",\n\r]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
  }

  const textOf = (cell) => (cell.querySelector("bdi") || cell).textContent.trim();
  const valueOf = (cell) => (cell.dataset.value !== undefined ? cell.dataset.value : textOf(cell));

  function activate(holder) {
    const table = holder.querySelector("table");
    const body = table.tBodies[0];
    const original = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    const names = heads.map((head) => head.textContent.trim());
    const numbers = heads.map((head) => head.classList.contains("number"));
    // on a phone the style makes a list of the table: it stays one for those who listen, and cells name their columns
    table.setAttribute("role", "table");
    [table.tHead, body].forEach((part) => part.setAttribute("role", "rowgroup"));
    heads.forEach((head) => head.setAttribute("role", "columnheader"));
    for (const row of table.rows) row.setAttribute("role", "row");
    for (const row of original) {
      [...row.cells].forEach((cell, i) => {
        cell.setAttribute("role", cell.tagName === "TH" ? "rowheader" : "cell");
        cell.dataset.label = names[i];
      });
    }
    const shown = () => [...body.rows].filter((row) => !row.hidden);

    function key(row, column) {
      const cell = row.cells[column];
      if (cell.dataset.value === undefined) return numbers[column] ? -Infinity : textOf(cell);
      const value = Number(cell.dataset.value);
      return Number.isNaN(value) ? -Infinity : value;
    }

    function sort(column, falling) {
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      heads[column].setAttribute("aria-sort", falling ? "descending" : "ascending");
      const rows = [...original].sort((a, b) => {
        const x = key(a, column), y = key(b, column);
        // an infinite key stands for no value; two of them are equal
        const order = x === y ? 0 : typeof x === "number" ? x - y : x.localeCompare(y, undefined, { numeric: true });
        return falling ? -order : order;
      });
      body.replaceChildren(...rows);
      say(`Sorted by ${names[column]}, ${falling ? "descending" : "ascending"}`);
    }

    // one stop for those who tab; arrow keys lead from heading to heading
    const buttons = heads.map((head, column) => {
      const button = element("button", { type: "button", class: "sort", title: head.getAttribute("title"), tabindex: column ? "-1" : "0" }, names[column]);
      head.replaceChildren(button);
      button.addEventListener("click", () => sort(column, head.getAttribute("aria-sort") === "ascending"));
      return button;
    });
    table.tHead.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], at = buttons.indexOf(document.activeElement);
      const next = step && at >= 0 ? buttons[at + step] : null;
      if (!next) return;
      event.preventDefault();
      buttons.forEach((button) => button.setAttribute("tabindex", button === next ? "0" : "-1"));
      next.focus();
    });

    function csv() {
      const lines = [names, ...shown().map((row) => [...row.cells].map(valueOf))];
      return lines.map((line) => line.map(csvCell).join(",")).join("\n") + "\n";
    }

    function latex() {
      const lines = [names, ...shown().map((row) => [...row.cells].map(textOf))].map((line) => line.map(latexText).join(" & ") + " \\\\");
      return [`\\begin{tabular}{${numbers.map((number) => (number ? "r" : "l")).join("")}}`, "\\toprule", lines[0], "\\midrule", ...lines.slice(1), "\\bottomrule", "\\end{tabular}", ""].join("\n");
    }

    const tools = holder.querySelector(".table-tools");
    const title = table.getAttribute("aria-label");
    // where headings have no room
    const by = element("select", { class: "sort-by", "aria-label": `Sort ${title}` }, element("option", { value: "" }, "Sort by"),
      ...names.flatMap((name, i) => [element("option", { value: `${i} up` }, `${name} \u2191`), element("option", { value: `${i} down` }, `${name} \u2193`)]));
    by.addEventListener("change", () => { const [column, way] = by.value.split(" "); if (way) sort(Number(column), way === "down"); });
    tools.append(by);
    if (heads.some((head) => head.classList.contains("minor"))) {
      const more = element("button", { type: "button", class: "small more-columns", "aria-pressed": "false" }, "All columns");
      more.addEventListener("click", () => more.setAttribute("aria-pressed", String(holder.classList.toggle("every"))));
      tools.append(more);
    }
    if (original.length >= FILTER_FROM) {
      const filter = element("input", { type: "search", class: "filter", placeholder: "Filter", "aria-label": `Filter ${title}` });
      filter.addEventListener("input", () => {
        const wanted = filter.value.toLowerCase();
        for (const row of original) row.hidden = ![...row.cells].some((cell, i) => !numbers[i] && textOf(cell).toLowerCase().includes(wanted));
        holder.classList.remove("long");
        say(`${shown().length} of ${original.length} rows`);
      });
      tools.append(filter);
    }
    // the ranking itself is short, and always whole
    if (original.length > LONG && holder.dataset.name !== "leaderboard") {
      holder.classList.add("long");
      holder.append(element("button", { type: "button", class: "all-rows", onclick: () => holder.classList.remove("long") }, `Show all ${original.length} rows`));
    }
    tools.append(
      element("button", { type: "button", class: "small", title: "Save this table as CSV, with all digits", "aria-label": `Save ${title} as CSV`, onclick: () => download(holder.dataset.name + ".csv", csv(), "text/csv") }, "CSV"),
      copyOn(element("button", { type: "button", class: "small", title: "Copy this table as LaTeX", "aria-label": `Copy ${title} as LaTeX` }, "LaTeX"), latex));
    holder.spoofspan = { csv, latex };
  }

  function shade() {
    for (const cell of document.querySelectorAll("[data-heat]")) {
      const share = Math.min(Math.max(Number(cell.dataset.heat), 0), 1);
      cell.style.background = `color-mix(in srgb, var(--spoof) ${(2 + 26 * share).toFixed(1)}%, transparent)`;
    }
  }

  document.querySelectorAll(".table").forEach(activate);
  shade();
})();

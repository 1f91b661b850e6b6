"use strict";
// What every page shares: elements, numbers, copying, downloads, the theme, printing. Text is only ever shown as text.
window.spoofspan = (function () {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const colours = new Map(); // of the theme; to ask for one is slow
  function css(name) {
    if (!colours.has(name)) colours.set(name, getComputedStyle(root).getPropertyValue(name).trim());
    return colours.get(name);
  }

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "class") made.className = value;
      else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  // ------------------------------------------------------------------ numbers

  function bytesOf(text) {
    const plain = atob(text);
    const bytes = new Uint8Array(plain.length);
    for (let i = 0; i < plain.length; i++) bytes[i] = plain.charCodeAt(i);
    return bytes;
  }

  // An array of floats that timelines.py packed, to the bit; or one that was not packed.
  function unpack(packed) {
    if (packed instanceof Float64Array) return packed;
    const kind = "f4" in packed ? "f4" : "f8";
    const bytes = bytesOf(packed[kind]);
    const view = new DataView(bytes.buffer);
    const size = kind === "f4" ? 4 : 8;
    const numbers = new Float64Array(bytes.length / size);
    for (let i = 0; i < numbers.length; i++) {
      numbers[i] = size === 4 ? view.getFloat32(4 * i, true) : view.getFloat64(8 * i, true);
    }
    return numbers;
  }

  const percent = (share, digits = 2) => (Number.isFinite(share) ? (100 * share).toFixed(digits) + " %" : "none");
  const seconds = (time) => time.toFixed(time < 10 ? 2 : 1) + " s";
  const MINUS = "\u2212";

  // Four digits that count, with a real minus sign.
  function digits(value) {
    if (!Number.isFinite(value)) return String(value).replace("Infinity", "\u221e").replace("-", MINUS);
    const size = Math.abs(value);
    const text = size !== 0 && (size < 1e-4 || size >= 1e6) ? value.toExponential(3) : String(Number(value.toPrecision(4)));
    return text.replace("-", MINUS);
  }

  // A number in four digits; a tooltip has all of them, and so has what is copied.
  function exact(value) {
    return element("span", { class: "exact", "data-exact": String(value), title: String(value) }, digits(value));
  }

  document.addEventListener("copy", (event) => {
    const selection = document.getSelection();
    if (!selection || selection.isCollapsed || !selection.rangeCount) return;
    const range = selection.getRangeAt(0);
    const inside = range.commonAncestorContainer.parentElement?.closest("[data-exact]");
    const held = element("div", {}, range.cloneContents());
    if (inside) held.textContent = inside.dataset.exact;
    else if (!held.querySelector("[data-exact]")) return;
    held.querySelectorAll("[data-exact]").forEach((one) => { one.textContent = one.dataset.exact; });
    event.clipboardData.setData("text/plain", held.textContent.replace(/\s+/g, " ").trim());
    event.preventDefault();
  });

  // ------------------------------------------------------------------ out of the page

  // Said to those who listen to the page.
  function say(text) { byId("said").textContent = text; }

  async function copyText(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = element("textarea", {}, text);
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    say("Copied");
  }

  // A button that copies text; `text` may be made when it is pressed.
  function copyOn(button, text) {
    button.addEventListener("click", async () => {
      await copyText(typeof text === "function" ? text() : text);
      const before = button.firstChild.textContent;
      if (before === "Copied") return;
      button.firstChild.textContent = "Copied";
      setTimeout(() => { button.firstChild.textContent = before; }, 1500);
    });
    return button;
  }

  function download(name, text, type) {
    const address = URL.createObjectURL(new Blob([text], { type }));
    const anchor = element("a", { href: address, download: name });
    document.body.append(anchor);
    anchor.click();
    anchor.remove();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
    say(name + " saved");
  }

  // ------------------------------------------------------------------ what the pointer is on

  const tip = element("div", { class: "tip", hidden: "" });
  document.body.append(tip);
  function showTip(event, text) {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX + 14, document.documentElement.clientWidth - width - 4)}px`;
    tip.style.top = `${event.clientY + 18 + height > window.innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
  }
  // Lines of a text beside the pointer while it is over a part; `textOf` returns "" where nothing is to be said.
  function tips(part, textOf) {
    part.addEventListener("pointermove", (event) => showTip(event, textOf(event)));
    part.addEventListener("pointerleave", () => { tip.hidden = true; });
  }

  // Round numbers between two others.
  function round(low, high, most) {
    const raw = (high - low) / most, size = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((one) => one * size).find((one) => one >= raw);
    const found = [];
    for (let count = Math.ceil(low / step - 1e-9); count * step <= high + step * 1e-9; count++) found.push(Number((count * step).toPrecision(12)));
    return found;
  }

  // ------------------------------------------------------------------ theme and paper

  const redraws = [];
  const redraw = () => redraws.forEach((again) => again());

  // Remembered where the browser lets a file remember.
  const remember = (theme) => { try { localStorage.setItem("spoofspan-theme", theme); } catch { /* private windows */ } };
  function remembered() { try { return localStorage.getItem("spoofspan-theme"); } catch { return null; } }

  function setTheme(theme) {
    root.dataset.theme = theme;
    colours.clear();
    byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
    redraw();
  }

  const known = ["dark", "light"].find((theme) => theme === remembered());
  root.dataset.theme = known || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  byId("theme").setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
  byId("theme").addEventListener("click", () => {
    setTheme(root.dataset.theme === "dark" ? "light" : "dark");
    remember(root.dataset.theme);
  });
  byId("print").addEventListener("click", () => window.print());
  document.querySelectorAll("[data-copy]").forEach((button) => copyOn(button, button.dataset.copy));

  // Paper is white and narrow, whatever the screen is: what is drawn is drawn again, so that letters keep their shape.
  let before = null;
  window.addEventListener("beforeprint", () => { before = root.dataset.theme; root.classList.add("paper"); setTheme("light"); });
  window.addEventListener("afterprint", () => { root.classList.remove("paper"); if (before) setTheme(before); before = null; });
  let resizing = null;
  window.addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(redraw, 150); });
  document.querySelectorAll(".needs-script").forEach((part) => part.classList.add("has-script"));

  return {
    data, root, byId, css, element, bytesOf, unpack, percent, seconds, digits, round, exact, say, copyText, copyOn, download, tips,
    onRedraw: (again) => redraws.push(again),
  };
})();

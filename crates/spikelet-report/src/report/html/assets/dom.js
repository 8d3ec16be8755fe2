// Elements, numbers as text, the tooltip, and the colors of the two themes. Text from the data is only ever set as
// text, never as markup.
"use strict";
const Dom = (() => {
  /** An element with attributes and children; a string becomes a text node, null is left out. */
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "class") element.className = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value);
    }
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined) element.append(child);
    }
    return element;
  }

  /** A number with about four digits. */
  function number(value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    if (value === 0) return "0";
    if (size >= 1e6 || size < 1e-4) return value.toExponential(2);
    if (size >= 1000) return Math.round(value).toLocaleString("en-US");
    return String(Number(value.toPrecision(4)));
  }

  const percent = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)} %`);

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const color = (index) => style(`c${index % 8}`);

  let tip;
  function showTip(event, text) {
    tip = tip || document.body.appendChild(make("div", { id: "tip" }));
    tip.textContent = text;
    tip.style.display = "block";
    const { width, height } = tip.getBoundingClientRect();
    const left = event.clientX + 14 + width > innerWidth ? event.clientX - width - 10 : event.clientX + 14;
    const top = event.clientY + 16 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, top)}px`;
  }
  function hideTip() {
    if (tip) tip.style.display = "none";
  }

  // The themes: that of the system, light, dark. Figures are drawn again when the theme changes.
  let redraws = [];
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = "auto";
  function applyTheme() {
    const dark = chosen === "dark" || (chosen === "auto" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    redraws = redraws.filter(({ host }) => host.isConnected);
    redraws.forEach(({ again }) => again());
  }
  system.addEventListener("change", applyTheme);
  function themeSwitch() {
    const names = ["auto", "light", "dark"];
    const buttons = names.map((name) =>
      make("button", { type: "button", "aria-pressed": String(name === chosen), id: `theme-${name}`, onclick: () => {
        chosen = name;
        buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(names[k] === name)));
        applyTheme();
      } }, name[0].toUpperCase() + name.slice(1)));
    return make("div", { class: "switch", role: "group", "aria-label": "Colors" }, buttons);
  }

  /** Calls `draw` with the width of `host` now, when the width changes and when the theme changes. */
  function drawn(host, draw) {
    let width = 0;
    const again = () => {
      if (host.clientWidth > 0) draw(host.clientWidth);
    };
    redraws.push({ host, again });
    new ResizeObserver(() => {
      if (host.clientWidth === width) return;
      width = host.clientWidth;
      again();
    }).observe(host);
    width = host.clientWidth;
    again();
  }

  return { make, number, percent, style, color, showTip, hideTip, applyTheme, themeSwitch, drawn };
})();

// What every page needs: its data, the language, the theme, copying, and figures in words as the reports set them.
"use strict";
const whyidle = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const changed = [];

  /** Calls `draw` now and whenever language, theme or width change. */
  function drawn(draw) {
    changed.push(draw);
    draw();
  }
  function redraw() {
    changed.forEach((draw) => draw());
  }

  function isChinese() {
    return root.lang === "zh-CN";
  }
  /** Of a pair, the text in the language shown. */
  function tongue(pair) {
    return pair[isChinese() ? 1 : 0];
  }
  /** A word, with its places filled. */
  function word(key, places) {
    let text = data.words[key] ? tongue(data.words[key]) : key;
    for (const name of Object.keys(places || {})) text = text.replace("{" + name + "}", () => places[name]);
    return text;
  }

  // The unit that fits and the digits that mean something: as quantity.rs sets them.
  const TIMES = [["unit-s", 1e9, 9.995e8], ["unit-ms", 1e6, 9.995e5], ["unit-us", 1e3, 999.5], ["unit-ns", 1, 0]];
  const BYTES = [["unit-gib", 1073741824, 1073200000], ["unit-mib", 1048576, 1048000], ["unit-kib", 1024, 1023.5], ["unit-byte", 1, 0]];
  function decimals(figure, unit) {
    figure = Math.abs(figure);
    if (unit === "unit-ns" || unit === "unit-byte") return 0;
    if (unit === "unit-s" || unit === "unit-gib") {
      if (figure < 9.995) return 2;
      if (figure < 99.95) return 1;
    }
    return figure < 9.95 ? 1 : 0;
  }
  function scaled(units, figure) {
    const [unit, size] = units.find((one) => Math.abs(figure) >= one[2]) || units[units.length - 1];
    return word(unit, { value: (figure / size).toFixed(decimals(figure / size, unit)) });
  }
  function time(ns) {
    return ns === 0 ? word("unit-ms", { value: "0" }) : scaled(TIMES, ns);
  }
  function bytes(count) {
    return scaled(BYTES, count);
  }
  function share(part) {
    const percent = part * 100;
    let value = "0";
    if (percent >= 9.95) value = percent.toFixed(0);
    else if (percent >= 0.095) value = percent.toFixed(1).replace(/\.0$/, "");
    else if (percent >= 0.005) value = percent.toFixed(2);
    else if (percent > 0) value = "<0.01";
    return word("unit-percent", { value });
  }

  /** The value of a colour of the style. */
  function colour(name) {
    return getComputedStyle(root).getPropertyValue("--" + name).trim();
  }

  /** An element with text; text is never markup. */
  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  const tip = document.getElementById("tip");
  function showTip(lines, x, y) {
    tip.replaceChildren(...lines.filter(Boolean).map((line) => element("p", line)));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
    tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 8 : y + 18) + "px";
  }
  function hideTip() {
    tip.hidden = true;
  }

  // Language.
  const buttons = document.querySelectorAll("[data-lang]");
  function setLanguage(tag) {
    root.lang = tag;
    document.title = tongue(data.title) + " – whyidle";
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.lang === tag)));
    document.querySelectorAll("[data-word]").forEach((one) => {
      const spans = one.querySelectorAll("span");
      if (spans.length || !one.dataset.said) one.dataset.said = JSON.stringify([...spans].map((span) => span.textContent));
      const said = JSON.parse(one.dataset.said);
      one.textContent = said.length === 2 ? tongue(said) : one.textContent;
    });
    hideTip();
    redraw();
  }
  buttons.forEach((button) => button.addEventListener("click", () => setLanguage(button.dataset.lang)));

  // Theme.
  const theme = document.getElementById("theme");
  theme.addEventListener("change", () => {
    root.dataset.theme = theme.value;
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = innerWidth;
  let waiting = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(redraw);
  });

  // Copying. From a file there may be no clipboard: the text is selected then.
  async function copy(button) {
    const code = button.parentElement.querySelector("code");
    let done = false;
    try {
      await navigator.clipboard.writeText(code.textContent);
      done = true;
    } catch {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      done = document.execCommand("copy");
    }
    const before = [...button.childNodes];
    button.replaceChildren(element("span", word(done ? "copied" : "copy-failed")));
    button.dataset.done = String(done);
    setTimeout(() => button.replaceChildren(...before), 1500);
  }
  document.querySelectorAll("[data-copy]").forEach((button) => button.addEventListener("click", () => copy(button)));

  // Segments of bars say what they are.
  document.querySelectorAll(".barline").forEach((line) => {
    line.querySelectorAll("rect").forEach((rect) => {
      rect.addEventListener("pointermove", (event) => {
        const said = line.querySelectorAll("li")[Number(rect.dataset.tip)];
        const spans = said.querySelectorAll("span");
        showTip([spans.length === 2 ? spans[isChinese() ? 1 : 0].textContent : said.textContent], event.clientX, event.clientY);
      });
      rect.addEventListener("pointerleave", hideTip);
    });
  });

  // What is folded away is printed all the same, but for the list of fields.
  addEventListener("beforeprint", () => {
    document.querySelectorAll("section:not(.fields) details:not([open])").forEach((one) => {
      one.open = true;
      one.dataset.printed = "";
    });
    redraw();
  });
  addEventListener("afterprint", () => {
    document.querySelectorAll("[data-printed]").forEach((one) => {
      one.open = false;
      delete one.dataset.printed;
    });
  });

  setLanguage(root.lang);
  return { data, drawn, word, tongue, time, bytes, share, colour, element, showTip, hideTip };
})();

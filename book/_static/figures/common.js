// What the interactive figures share: arithmetic, numbers as the book writes them, and the element that they all are.
"use strict";
(() => {
  // Arithmetic on matrices, which are lists of rows. Each function gives a new matrix.

  const multiply = (a, b) => a.map((row) => b[0].map((_, c) => row.reduce((sum, x, m) => sum + x * b[m][c], 0)));
  const transpose = (a) => a[0].map((_, c) => a.map((row) => row[c]));

  const softmax = (row) => {
    const top = Math.max(...row);
    const exps = row.map((score) => Math.exp(score - (top === -Infinity ? 0 : top)));
    const total = exps.reduce((sum, e) => sum + e, 0);
    return exps.map((e) => e / (total || 1));
  };

  // Numbers: as few decimals as write a matrix without rounding it, and no more than four.

  const NOISE = 1e-10;
  const exact = (x, places) => !Number.isFinite(x) || Math.abs(x - Number(x.toFixed(places))) <= NOISE;
  const places = (matrix, most = 4) => {
    const fits = [...Array(most).keys()].find((n) => matrix.flat().every((x) => exact(x, n)));
    return fits ?? most;
  };
  const whole = (matrix) => matrix.flat().every((x) => exact(x, places(matrix))); // nothing is rounded
  // As the package's `shares` writes them: a half, which double precision seldom has, goes to the even digit; thousands have
  // spaces; and only the whole is written as the whole, only nothing as "0".
  const fixed = (x, n) => {
    const up = x.toFixed(n);
    return (x * 2 ** (n + 1)) % 2 === 1 && up.at(-1) % 2 ? (x - 0.5 * 10 ** -n).toFixed(n) : up;
  };
  const grouped = (text) => text.replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, "\u202f");
  const counted = (n) => grouped(String(n)).replace("-", "−");
  const scientific = (front, power) => `${front} · 10${[...String(Number(power))].map((sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] ?? "⁻").join("")}`;
  const written = (x, n, share = false) => {
    if (share) return asShare(x, n, { signs: true });
    const size = Math.abs(x), sign = x < 0 ? "−" : "";
    if (!Number.isFinite(x)) return `${sign}∞`;
    if (size <= NOISE) return "0";
    if (size >= 1e6) {
      const [, e] = size.toExponential(2).split("e");
      return sign + scientific(fixed(size / `1e${e}`, 2), e);
    }
    const text = fixed(size, n);
    return (Number(text) === 0 ? "" : sign) + grouped(text);
  };
  // More decimals, four at most, where a share would be rounded to the whole; and where a number has room (`signs`) to nothing.
  const asShare = (x, n, { whole = 1, signs = false } = {}) => {
    if (x <= 0 || x >= whole) return x > 0 ? String(whole) : "0";
    const most = Math.max(n, whole === 1 ? 4 : 2), least = 10 ** -most;
    const texts = [...Array(most - n + 1).keys()].map((more) => fixed(x, n + more));
    if (!signs && Number(texts[0]) === 0) return texts[0];
    return texts.find((text) => Number(text) > 0 && Number(text) < whole) ?? (2 * x > whole ? fixed(whole - least, most) : `< ${fixed(least, most)}`);
  };
  const percent = (x, n) => `${asShare(100 * x, n, { whole: 100, signs: true })} %`;

  // Elements. Words get into the page as text and as attributes, never as HTML.

  const fill = (element, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== false && value != null) element.setAttribute(name, value);
    }
    element.append(...children.flat(Infinity));
    return element;
  };
  const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const SVG = "http://www.w3.org/2000/svg"; // the name of a language: nothing is fetched
  const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  // A word in quotation marks, in its language; and a list with commas.
  const quoted = (word, lang) => ["“", make("span", { lang }, word), "”"];
  const listed = (parts) => parts.flatMap((part, n) => [n ? ", " : "", part]);

  // "Q K^T / √d_k" with its letters in italics and in their colours.
  const ROLES = { Q: "query", K: "key", V: "value", out: "out" };
  const formula = (text) =>
    text.split(/((?:\b[A-Z]|\bout\b|d_k)(?:\^[A-Z])?)/).filter(Boolean).map((part) => {
      const [, name, below, above] = /^([A-Z]|out|d)(?:_(k))?(?:\^([A-Z]))?$/.exec(part) ?? [];
      if (!name) return part;
      const role = (above !== "T" && ROLES[above]) || ROLES[name];
      const letter = make(name === "out" ? "span" : "var", { class: role }, name);
      if (below) letter.append(make("sub", {}, below));
      if (above) letter.append(make("sup", {}, above));
      return letter;
    });

  // The places of words in a text that are no words of the other in the same order: those that the longest common row leaves out.
  const differing = (words, given) => {
    const common = Array.from({ length: words.length + 1 }, () => new Array(given.length + 1).fill(0));
    for (let i = words.length - 1; i >= 0; i--) {
      for (let j = given.length - 1; j >= 0; j--) common[i][j] = words[i] === given[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
    const found = [];
    for (let i = 0, j = 0; i < words.length; i++) {
      while (j < given.length && common[i][j + 1] === common[i][j]) j++;
      if (common[i][j] > common[i + 1][j]) j++; else found.push(i);
    }
    return found;
  };

  const onOff = (text, checked, change) => {
    const box = make("input", { type: "checkbox", role: "switch", checked });
    box.addEventListener("change", () => change(box.checked));
    return make("label", { class: "switch" }, box, make("span", {}, ...[text].flat()));
  };

  // What is pointed at, focused or tapped is chosen: the nearest element of `selector`. A pointer chooses only when it
  // moves, since a page that scrolls brings other elements under a pointer at rest.
  const choosing = (within, selector, choose) => {
    const at = (event) => event.target.closest(selector);
    let under = null;
    for (const kind of ["focusin", "click"]) within.addEventListener(kind, (event) => at(event) && choose(at(event)));
    within.addEventListener("pointermove", (event) => {
      const element = at(event);
      if (element && element !== under) choose(element);
      under = element;
    });
    within.addEventListener("pointerleave", () => { under = null; });
  };

  // An input of type range with its label and its value beside it. `say` writes a value for eyes and ears.
  const slider = (text, { min, max, step, value }, say, change) => {
    const range = make("input", { type: "range", min, max, step, value });
    const shown = make("span", { class: "shown", "aria-hidden": "true" });
    const tell = () => {
      shown.textContent = say(Number(range.value));
      range.setAttribute("aria-valuetext", say(Number(range.value)));
    };
    range.addEventListener("input", () => { tell(); change(Number(range.value)); });
    tell();
    const label = make("label", { class: "slider" }, make("span", {}, ...[text].flat()), range, shown);
    return { label, range, tell };
  };

  // Readers' own sentences: a field, handed on when it is sent; what is asked of the translator, which comes with the first
  // sentence; and the words that it was never trained on. An answer that nobody waits for any more (`stop`) is dropped, and
  // what cannot be done is told in `said`.
  const LOADING = "The model is being loaded (1.2 MB, once) …";
  const field = (press, send) => {
    const input = make("input", { type: "text", lang: "en", autocomplete: "off", autocapitalize: "off", spellcheck: "false", "aria-label": "A sentence of your own, in English" });
    const form = make("form", { class: "own" }, input, make("button", {}, press));
    form.addEventListener("submit", (event) => { event.preventDefault(); send(input.value); });
    return { form, input };
  };
  const asking = (said) => {
    let turn = 0, model;
    const drop = () => { turn += 1; };
    const ask = async (text, answer) => {
      drop();
      const mine = turn, stop = () => turn !== mine;
      try {
        if (!model) said.textContent = LOADING;
        model ??= await window.translator.load();
        const ids = model.read(text);
        if (ids.length === 1) throw new Error("a sentence has at least one word");
        if (!stop()) await answer(model, ids, stop);
      } catch (error) {
        if (!stop()) said.textContent = `This cannot be done: ${error.message}.`;
      }
    };
    return { ask, drop };
  };
  const untrained = (words) => (words.length ? ["Never trained: ", ...listed(words.map((word) => make("b", { lang: "en" }, word))), ". It guesses."] : []);

  // The element. What it holds when the page arrives is data (JSON) and a fallback, which stays if anything fails.
  class Figure extends HTMLElement {
    connectedCallback() {
      if (this.live) return;
      const data = JSON.parse(this.querySelector("script").textContent);
      const live = make("div", { class: "live", role: "group" });
      this.build(data, live);
      for (const region of live.querySelectorAll(".status[role=status]")) { // seen at once, heard later
        region.removeAttribute("role");
        region.setAttribute("aria-hidden", "true");
        region.after(region.ears = make("p", { class: "heard", role: "status" }, ...[...region.childNodes].map((part) => part.cloneNode(true))));
      }
      this.live = live;
      this.append(live);
      this.querySelector(".fallback").hidden = true;
    }

    // Words, or words and elements, are seen at once. They are heard once the changes have come to rest.
    announce(region, ...words) {
      const say = (place) => place.replaceChildren(...words.flat(Infinity).map((part) => part.cloneNode?.(true) ?? part));
      if (region.ears) say(region);
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => say(region.ears ?? region), 500);
    }
  }

  // A figure of stops, from 0 to `last`, that also plays them, one each `beat` milliseconds, until a reader goes somewhere
  // or the end is reached. What stands at a stop is drawn by `show`.
  class Player extends Figure {
    stop = 0;

    button(text, press) {
      const button = make("button", { type: "button" }, text);
      button.addEventListener("click", press);
      return button;
    }

    player() {
      this.play = this.button("Play", () => (this.playing ? this.pause() : this.start()));
      this.play.hidden = matchMedia("(prefers-reduced-motion: reduce)").matches;
      return this.play;
    }

    start() {
      if (this.stop === this.last) this.go(0);
      this.playing = setInterval(() => this.go(this.stop + 1, true), this.beat);
      this.play.textContent = "Pause";
    }

    pause() {
      clearInterval(this.playing);
      this.playing = null;
      this.play.textContent = "Play";
    }

    disconnectedCallback() { this.pause(); }

    go(stop, played = false) {
      this.stop = Math.max(0, Math.min(stop, this.last));
      if (this.playing && (!played || this.stop === this.last)) this.pause();
      this.show();
    }
  }

  window.figures = { Figure, LOADING, Player, asShare, asking, choosing, counted, differing, draw, field, formula, listed, make, multiply, onOff, percent, places, quoted, scientific, slider, softmax, transpose, untrained, whole, written };
})();

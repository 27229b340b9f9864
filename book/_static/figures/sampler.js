// Drawing the next word: temperature, top-k and top-p on real probabilities, and ten random points on what they leave.
"use strict";
(() => {
  const { Figure, asShare, choosing, make, slider, softmax } = window.figures;

  // As the package does it: logits divided by the temperature, then top-k, then top-p. The likeliest stand first.
  const nextProbabilities = (z, { temperature = 1, k = Infinity, p = 1 } = {}) => {
    const scaled = z.map((score, n) => (n < k ? score / temperature : -Infinity));
    if (p >= 1) return softmax(scaled);
    let reached = 0; // what those before a word have already
    return softmax(softmax(scaled).map((share, n) => {
      const kept = reached < p ? scaled[n] : -Infinity;
      reached += share;
      return kept;
    }));
  };

  // Random points between 0 and 1, the same ones after the same seed (mulberry32).
  const points = (seed) => () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let x = Math.imul(seed ^ (seed >>> 15), seed | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };

  // The word that a point hits, where all lie end to end; the last bit of a sum decides nothing.
  const hit = (shares, point) => {
    let end = 0;
    const n = shares.findIndex((share) => (end += share) > point);
    return n < 0 ? shares.findLastIndex((share) => share > 0) : n;
  };

  const SHOWN = 10, DRAWS = 10;
  const TEMPERATURES = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 2, 3, 5, 10, 100];
  const COUNTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 30, 50, 100, 200, Infinity];
  const SCALES = [0.02, 0.05, 0.1, 0.2, 0.5, 1];
  const sum = (row) => row.reduce((total, x) => total + x, 0);
  const said = (p) => asShare(p, 3, { signs: true });
  const percent = (x) => `${(100 * x).toFixed(3)}%`;

  class SamplerFigure extends Figure {
    build(data, live) {
      const counts = COUNTS.filter((k) => k === Infinity || k < data.texts[0].z.length);
      Object.assign(this, { data, text: data.texts[0], temperature: 1, k: data.k, p: 1, drawn: [], random: points(data.seed ?? 1) });
      live.setAttribute("aria-label", "What is drawn from after three beginnings, with temperature, top-k and top-p to change");
      const beginnings = data.texts.map((text, n) => {
        const radio = make("input", { type: "radio", name: "beginning", checked: n === 0 });
        radio.addEventListener("change", () => { this.text = text; this.show(); });
        return make("label", { class: "choice" }, radio, make("span", { lang: "en" }, `${text.text} …`));
      });
      const change = (name, values) => (n) => { this[name] = values ? values[n] : n; this.show(); };
      const list = (values, at) => ({ min: 0, max: values.length - 1, step: 1, value: values.indexOf(at) });
      const letter = (name) => make("var", {}, name);
      const temperature = slider(["temperature ", letter("τ")], list(TEMPERATURES, 1), (n) => String(TEMPERATURES[n]), change("temperature", TEMPERATURES));
      const all = (k) => (k === Infinity ? "all" : String(k));
      const k = slider(["top-k: the ", letter("k"), " likeliest"], list(counts, data.k), (n) => all(counts[n]), change("k", counts));
      const p = slider(["top-p: a share of ", letter("p")], { min: 0.05, max: 1, step: 0.05, value: 1 }, (x) => (x === 1 ? "all" : x.toFixed(2)), change("p"));

      this.line = make("div", { class: "pieces", "aria-hidden": "true" });
      this.points = make("div", { class: "points", "aria-hidden": "true" });
      this.scale = make("th", { scope: "col", class: "scale" });
      this.rows = make("tbody");
      const head = make("tr", {}, make("th", { scope: "col" }, "next word"), this.scale,
        ...["before", "now"].map((name) => make("th", { scope: "col" }, name)));
      this.kept = make("p", { class: "kept", "aria-hidden": "true" });
      const button = make("button", { type: "button" }, "Draw ten");
      button.addEventListener("click", () => { this.drawn = Array.from({ length: DRAWS }, this.random); this.show(); });
      this.hits = make("p", { class: "hits", lang: "en" });
      this.heard = make("p", { class: "heard", role: "status" });
      live.append(
        make("fieldset", {}, make("legend", {}, "written so far"), make("div", { class: "beginnings" }, beginnings)),
        make("div", { class: "sliders" }, temperature.label, k.label, p.label),
        make("table", { class: "next", "aria-label": `The ${SHOWN} likeliest next words and all others` }, make("thead", {}, head), this.rows), this.kept,
        make("p", { class: "name" }, "The line that is drawn from"), this.line, this.points,
        make("div", { class: "draws" }, button, this.hits), this.heard);
      this.show(true);
      choosing(this.line, "[data-n]", (piece) => this.point(piece.dataset.n));
      choosing(this.rows, "[data-n]", (row) => this.point(row.dataset.n));
      live.addEventListener("pointerleave", () => this.point(null));
    }

    word(n) { return this.data.words[this.text.words[n]]; }

    show(first = false) {
      const { z } = this.text;
      const before = nextProbabilities(z), now = nextProbabilities(z, this);
      const kept = now.filter((share) => share > 0).length;
      const rows = [...Array(SHOWN).keys()].map((n) => [this.word(n), before[n], now[n]]);
      rows.push([`${z.length - SHOWN} others`, sum(before.slice(SHOWN)), sum(now.slice(SHOWN))]);
      const longest = Math.max(...rows.slice(0, SHOWN).flatMap(([, ...shares]) => shares));
      const whole = SCALES.find((end) => longest <= end + 1e-9) ?? 1;
      const rescaled = !first && whole !== this.whole; // else a bar may get longer while its share gets smaller, unsaid
      this.whole = whole;
      this.scale.classList.toggle("rescaled", rescaled);
      this.scale.replaceChildren(make("span", {}, "0"), make("span", {}, String(whole)));
      this.rows.replaceChildren(...rows.map(([word, was, is], n) => make("tr", { "data-n": n, class: [n === SHOWN && "rest", is === 0 && "cut"].filter(Boolean).join(" ") || null },
        make("th", { scope: "row", lang: "en" }, word),
        make("td", { class: "rail" }, [["was", was], ["is", is]].map(([kind, share]) =>
          make("span", { class: share > whole * (1 + 1e-9) ? `${kind} over` : kind, style: `width: ${percent(Math.min(1, share / whole))}` }))),
        make("td", {}, said(was)), make("td", {}, said(is)))));
      const share = sum(before.slice(0, kept)), words = `${kept} of ${z.length} words`;
      const line = kept === z.length ? `All ${z.length} words are kept.` : `Kept: ${words}, which had ${said(share)} before.`;
      this.kept.textContent = rescaled ? `${line} The bars' scale now ends at ${whole}.` : line;

      this.line.replaceChildren(...rows.map(([word, , is], n) =>
        make("span", { "data-n": n, class: n === SHOWN ? "rest" : null, style: `flex: ${is} 0 0` },
          is > 0 ? make("span", {}, n === SHOWN ? "others" : word) : [])));
      const found = this.drawn.map((point) => hit(now, point));
      this.points.replaceChildren(...this.drawn.map((point, n) =>
        make("span", { class: found[n] < SHOWN ? null : "rest", style: `left: ${percent(point)}` })));
      const told = found.map((n) => this.word(n));
      this.hits.replaceChildren(...(told.length
        ? told.flatMap((word, n) => [n ? " " : "", make("span", { class: found[n] < SHOWN ? null : "rest" }, word)])
        : ["Ten random points on the line, and the words they hit."]));
      if (first) this.heard.textContent = line;
      else this.announce(this.heard, line, told.length ? ` Drawn: ${told.join(", ")}.` : "");
    }

    // A word and its piece of the line, marked together.
    point(n) {
      for (const part of this.querySelectorAll(".live [data-n]")) part.classList.toggle("lit", part.dataset.n === n);
    }
  }

  Object.assign(window.figures, { nextProbabilities, hit, points });
  customElements.define("sampler-figure", SamplerFigure);
})();

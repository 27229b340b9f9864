// Fewer bits for each weight: one slider moves the weights of a row to the values that are left, a product with that row
// between the ends of its bound, and the translation of the whole model. Rounded is as in Python, by `inBits`.
"use strict";
(() => {
  const { Figure, asking, differing, draw, field, make, quoted, slider, untrained, written } = window.figures;
  const { inBits, load, sliced } = window.translator;
  const WIDTH = 640, MIDDLE = WIDTH / 2, ROW = 300; // the largest weight is so far from the middle
  const TOP = 12, BOTTOM = 168, FAR = 0.6180339887; // dots one after the other are far from one another
  const MOST = 8, NAMED = 4; // up to so many bits each value has its integer below it
  const AXIS = 58, HALF = 24; // of the product: its line, and half the height of the bound's ends

  const dot = (a, b) => a.reduce((sum, w, n) => sum + w * b[n], 0);
  const values = (bits) => 2 ** bits - 1;

  // What so many bits make of a product: the rounded row, how far the product has moved, and how far it could have.
  const product = (row, x, bits) => {
    const { integers, scale } = inBits(row, bits), now = integers.map((whole) => whole * scale), exact = dot(row, x), rounded = dot(now, x);
    const bound = (scale / 2) * x.reduce((sum, size) => sum + Math.abs(size), 0);
    return { integers, scale, now, exact, rounded, apart: Math.abs(rounded - exact), bound };
  };

  const seen = (text) => text.replace(/\p{Cc}/gu, "�").trim();
  const words = (text) => seen(text).split(/\s+/u).filter(Boolean);
  const cut = (text, most) => (seen(text).length > most ? `${seen(text).slice(0, most)}…` : seen(text));
  const compared = (bits, marked, german) => {
    if (bits === MOST) return [];
    if (german[bits] === german[MOST]) return ["The same as with 8 bits. "];
    const [now, eight] = [bits, MOST].map((b) => words(german[b]).length), same = now - marked;
    if (!same) return ["No word is the same as with 8 bits. "];
    const differ = Math.max(now, eight) - same; // what is lost counts, too
    return [differ === 1 ? "One word differs from the 8-bit translation. " : `${differ} words differ from the 8-bit translation. `];
  };
  const shape = (points) => points.map(([x, y], n) => `${n ? "L" : "M"}${x} ${y}`).join("");

  class BitsFigure extends Figure {
    bits = MOST;

    build(data, live) {
      Object.assign(this, { data, turn: 0, sentence: data.sentences[0] });
      this.wanted = this.sentence;
      this.all = Object.fromEntries(Object.keys(data.megabytes).map((bits) => [bits, product(data.row, data.x, Number(bits))]));
      live.setAttribute("aria-label", "Fewer bits for each weight of the translator");
      const { label } = slider("bits for each weight", { min: 2, max: MOST, step: 1, value: MOST }, (bits) => `${bits} bits`, (bits) => this.set(bits));
      this.size = make("b");
      this.bar = make("span", { class: "bar" });
      this.line = make("p", { class: "status" });
      this.german = make("p", { class: "german", lang: "de" });
      this.note = make("p", { class: "note" });
      this.heard = make("p", { class: "heard", role: "status" });
      this.asked = asking(this.note);
      const { form, input } = field("Translate", (text) => this.want(data.sentences.find(({ english }) => english === text) ?? { english: text, written: {} }));
      input.value = this.sentence.english;
      input.addEventListener("focus", () => load().catch(() => {})); // what fails is told when a sentence is sent
      this.input = input;
      const another = make("button", { type: "button" }, "Another sentence");
      another.addEventListener("click", () => this.want(data.sentences[(data.sentences.indexOf(this.wanted) + 1) % data.sentences.length]));
      form.append(another);
      const stops = Object.keys(this.all).map((bits) => make("span", {}, bits));
      live.append(
        make("div", { class: "setting" },
          make("div", {}, label, make("div", { class: "stops", "aria-hidden": "true" }, stops)),
          make("div", { class: "weighs" }, make("span", {}, "the whole model"), this.size, make("span", { class: "rail", "aria-hidden": "true" }, this.bar))),
        this.line, ...this.rowPart(), ...this.productPart(),
        make("div", { class: "part" }, make("p", { class: "name" }, "What the whole model makes of a sentence"), form, make("div", { class: "answer" }, this.german, this.note)), this.heard);
      this.show();
      this.tell();
    }

    rowPart() {
      const { row } = this.data, most = this.all[2].scale;
      this.unit = ROW / most;
      this.grid = draw("path", { class: "grid" });
      this.names = draw("g");
      this.dots = row.map((w, n) => {
        const y = TOP + 6 + (BOTTOM - TOP - 12) * ((n * FAR) % 1);
        return { x: MIDDLE + w * this.unit, trace: draw("path", { class: "trace", d: "M0 0H1" }), dot: draw("circle", { class: "weight", r: 3.6 }), y };
      });
      this.about = make("p", { class: "name" });
      const svg = draw("svg", { class: "row", viewBox: `0 0 ${WIDTH} ${BOTTOM + 30}`, role: "img", "aria-label": `${row.length} weights, each at the nearest value that is left` },
        this.grid, draw("path", { class: "axis", d: `M${MIDDLE - ROW - 12} ${BOTTOM}H${MIDDLE + ROW + 12}` }), this.names, this.dots.map(({ trace }) => trace), this.dots.map(({ dot }) => dot));
      return [make("div", { class: "part" }, this.about, svg,
        make("p", { class: "legend" }, make("span", {}, make("i", { class: "weight", "aria-hidden": "true" }), "a weight, rounded"), make("span", {}, make("i", { class: "trace", "aria-hidden": "true" }), "where it was")))];
    }

    productPart() {
      const { exact, bound } = this.all[2];
      this.far = ROW / bound;
      const place = (x) => MIDDLE + (x - exact) * this.far;
      const step = [1, 2, 5, 10].find((size) => (2 * bound) / size < 8) ?? 20, ticks = [];
      for (let x = Math.ceil((exact - bound) / step) * step; x <= exact + bound; x += step) ticks.push(x);
      this.band = draw("rect", { class: "band", x: -1, width: 2, y: AXIS - HALF, height: 2 * HALF });
      this.ends = [-1, 1].map((side) => draw("path", { class: "end", d: shape([[-7 * side, AXIS - HALF], [0, AXIS - HALF], [0, AXIS + HALF], [-7 * side, AXIS + HALF]]) }));
      this.point = draw("circle", { class: "weight", r: 7, cy: AXIS });
      const svg = draw("svg", { class: "product", viewBox: `0 0 ${WIDTH} 110`, "aria-hidden": "true" },
        this.band, draw("path", { class: "axis", d: `M${MIDDLE - ROW - 12} ${AXIS}H${MIDDLE + ROW + 12}` }),
        ticks.map((x) => [draw("path", { class: "axis", d: `M${place(x)} ${AXIS - 4}v8` }), draw("text", { class: "small", x: place(x), y: 104, "text-anchor": "middle" }, written(x, 0))]),
        this.ends, draw("path", { class: "exact", d: `M${MIDDLE} ${AXIS - HALF - 8}V${AXIS + HALF + 4}` }), draw("text", { class: "small", x: MIDDLE, y: 18, "text-anchor": "middle" }, "exact"), this.point);
      this.numbers = ["exact", "rounded", "apart", "at most"].map(() => make("dd"));
      const sign = (kind, text = "") => make("i", { class: kind, "aria-hidden": "true" }, text);
      const what = [[sign("exact"), "exact"], [sign("weight"), "rounded"], "how far apart", [sign("end", "[ ]"), "at most ", make("var", {}, "s"), "/2 · Σ|", make("var", {}, "x"), "|"]];
      return [make("div", { class: "part" }, make("p", { class: "name place" }, this.data.place), svg, make("dl", {}, what.map((name, n) => make("div", {}, make("dt", {}, name), this.numbers[n]))))];
    }

    set(bits) {
      this.bits = bits;
      this.show();
      this.want(this.wanted);
    }

    // The row, the product and the size of the model.
    show() {
      const { bits, data } = this, { integers, scale, now, exact, rounded, apart, bound } = this.all[bits], most = values(bits - 1);
      const at = (whole) => MIDDLE + whole * scale * this.unit, all = Array.from({ length: 2 * most + 1 }, (_, n) => n - most);
      this.grid.setAttribute("d", all.map((whole) => `M${at(whole).toFixed(2)} ${TOP - 8}V${BOTTOM + 4}`).join(""));
      this.grid.style.strokeWidth = Math.min(1.4, (scale * this.unit) / 4);
      this.names.replaceChildren(...(bits > NAMED ? [-most, 0, most] : all).map((whole) => draw("text", { class: "small", x: at(whole), y: BOTTOM + 26, "text-anchor": "middle" }, written(whole, 0))));
      this.dots.forEach(({ x, trace, dot, y }, n) => {
        const here = MIDDLE + now[n] * this.unit;
        dot.style.transform = `translate(${here}px, ${y}px)`;
        trace.style.transform = `translate(${x}px, ${y}px) scaleX(${here - x})`;
      });
      this.about.textContent = `${now.length} weights of one row, and the ${values(bits)} values that ${bits} bits leave them`;
      const wide = bound * this.far;
      this.band.style.transform = `translateX(${MIDDLE}px) scaleX(${wide})`;
      this.ends.forEach((end, n) => { end.style.transform = `translateX(${MIDDLE + (n ? wide : -wide)}px)`; });
      this.point.style.transform = `translateX(${MIDDLE + (rounded - exact) * this.far}px)`;
      [exact, rounded, apart, bound].forEach((x, n) => { this.numbers[n].textContent = written(x, 3); });
      this.size.textContent = `${written(data.megabytes[bits], 2)} MB`;
      this.bar.style.width = `${(100 * data.megabytes[bits]) / data.megabytes[MOST]}%`;
      const zeros = integers.filter((whole) => whole === 0).length;
      this.line.textContent = bits === MOST ? "These weights were rounded to 8 bits before they were packed, so 8 changes nothing."
        : `Two neighbouring values are ${written(scale, 4)} apart. ${zeros} of the ${now.length} weights ${zeros === 1 ? "is" : "are"} 0 now.`;
    }

    // The translation of a sentence at the present bits and at 8: known, or asked for. Until it is there, the last one stays;
    // if it cannot be had, the reason is told, and the last sentence goes on.
    async want(sentence) {
      if (sentence !== this.wanted) this.input.value = sentence.english;
      this.wanted = sentence;
      this.asked.drop();
      const missing = [...new Set([MOST, this.bits])].filter((bits) => sentence.written[bits] === undefined), turn = this.turn += 1;
      if (missing.length) {
        this.german.classList.add("waiting");
        await this.asked.ask(sentence.english, (model, ids, stop) => this.translate(sentence, missing, model, ids, stop));
        if (turn !== this.turn) return;
      }
      const done = missing.every((bits) => sentence.written[bits] !== undefined);
      if (done) this.sentence = sentence; else this.wanted = this.sentence;
      this.tell(true, done ? "" : this.note.textContent);
    }

    async translate(sentence, missing, model, ids, stop) {
      sentence.unknown = model.unknown(sentence.english);
      for (const bits of missing) {
        const rounded = model.rounded(bits), read = await sliced(rounded.encode(ids), { stop });
        const state = read && await sliced(rounded.greedy(read), { stop });
        if (!state) return;
        sentence.written[bits] = rounded.text(state.ids);
      }
    }

    // The translation, with the words marked that 8 bits do not write there.
    tell(aloud = false, refused = "") {
      const { bits, sentence: { written: german, unknown = [] }, data: { shown } } = this;
      const marked = new Set(differing(words(german[bits]), words(german[MOST])));
      const parts = words(cut(german[bits], shown)).map((word, n) => [n ? " " : "", marked.has(n) ? make("b", {}, word) : word]);
      this.german.classList.remove("waiting");
      this.german.replaceChildren(...(parts.length ? parts.flat() : ["(nothing)"]));
      const news = refused ? [refused] : [...compared(bits, marked.size, german), ...untrained(unknown)];
      this.note.replaceChildren(...news);
      if (aloud) this.announce(this.heard, `${this.line.textContent} `, make("span", { lang: "de" }, this.german.textContent), " ", this.note.textContent);
    }
  }

  Object.assign(window.figures, { product });
  customElements.define("bits-figure", BitsFigure);
})();

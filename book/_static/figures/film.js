// Film: a training to play through. The loss, some sentences as they are written, and what the heads look at.
"use strict";
(() => {
  const { Player, asShare, draw, make, quoted, slider, written } = window.figures;
  const WIDE = 400, HIGH = 144, LEFT = 26, RIGHT = 392, TOP = 12, BOTTOM = 122; // of the curve
  const said = (x) => written(x, 2), share = (w) => asShare(w, 2);
  const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
  let groups = 0; // radio buttons of one group share a name, which no other figure of the page may have

  class FilmFigure extends Player {
    beat = 900;

    build(data, live) {
      groups += 1;
      Object.assign(this, { data, sentence: 0, layer: data.first[0], head: data.first[1], stop: data.opens ?? 0, written: [] });
      this.last = data.stops.length - 1;
      this.classList.add("wide");
      live.setAttribute("aria-label", "A training to play through: loss, translations and attention at each stop");

      this.when = make("span");
      const pairs = make("div", { class: "pairs", role: "radiogroup", "aria-label": "Sentences: choose whose attention is shown" },
        make("p", { class: "name" }, make("span", {}, "Read"), this.when, make("span", {}, "Right")),
        data.sentences.map((sentence, n) => this.line(sentence, n)));
      this.heads = make("div", { class: "heads", role: "radiogroup", "aria-label": "Heads: choose one" });
      this.heads.style.setProperty("--heads", this.at(0)[0].length);
      this.heading = make("p", { class: "name" });
      this.table = make("table", { class: "matrix tensor wide" });
      const longest = (lists) => Math.max(...lists.map((list) => list.length));
      live.style.setProperty("--rows", longest(data.sentences.map(({ write }) => write))); // so that nothing below moves
      live.style.setProperty("--letters", longest(data.sentences.flatMap(({ read }) => read)));
      const part = (...children) => make("div", { class: "part" }, ...children);
      const tile = (w) => make("small", {}, draw("svg", { class: "tiles", viewBox: "0 0 3 2" }, draw("rect", { width: 3, height: 2, "fill-opacity": w })), String(w));
      live.append(
        part(pairs),
        make("div", { class: "frame" },
          make("div", {},
            part(make("p", { class: "name" }, "Loss for each token"), this.curve()),
            part(make("p", { class: "name" }, "Cross-attention, one map for each head: choose one"), this.heads,
              make("p", { class: "letters" }, "A row for each token that is written, a column for each that is read. The number: the largest weight of a row, on average. ", [0, 0.25, 0.5, 0.75, 1].flatMap((w) => [tile(w), " "])))),
          part(this.heading, make("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "All weights of the chosen head" }, this.table),
            make("p", { class: "letters" }, "Before each row, the model is given the right tokens, so the rows are the same at all steps. Empty is below 0.005."))));

      const steps = { min: 0, max: this.last, step: 1, value: this.stop };
      this.slider = slider("step of the training", steps, (n) => `step ${data.stops[n].step}`, (n) => this.go(n));
      this.status = make("p", { class: "heard", role: "status" });
      live.append(make("div", { class: "terms" }, make("div", { class: "player" }, this.player(), this.slider.label), this.status));
      this.renew(true);
    }

    radio(group, text, checked, shown, change) {
      const input = make("input", { type: "radio", name: `film-${group}-${groups}`, checked, "aria-label": text });
      input.addEventListener("change", change);
      return make("label", { class: "choice" }, input, shown);
    }

    line({ source, target }, n) {
      const [reads, writes] = this.data.languages, written = make("span", { lang: writes, class: "written" });
      this.written.push(written);
      const shown = [make("span", { lang: reads }, source), written, make("span", { lang: writes, class: "letters" }, target)];
      return this.radio("sentence", source, !n, shown, () => { this.sentence = n; this.renew(); });
    }

    get right() { return this.data.sentences.filter(({ target, stops }) => stops[this.stop].written === target).length; }

    // The weights of a head at a stop, as rows of numbers.
    weights(text) {
      const columns = this.data.sentences[this.sentence].read.length;
      const numbers = text.split(",").map((n) => Number(n) / 100);
      return numbers.flatMap((_, i) => (i % columns ? [] : [numbers.slice(i, i + columns)]));
    }

    at(stop) { return this.data.sentences[this.sentence].stops[stop].heads.map((heads) => heads.map((text) => this.weights(text))); }

    // The loss, drawn once; a cursor that moves. A click goes to the nearest stop.
    curve() {
      const { losses, stops } = this.data, end = losses.length, top = Math.ceil(Math.max(...losses, ...stops.map(({ valid }) => valid)));
      const x = (step) => LEFT + ((RIGHT - LEFT) * step) / end, y = (loss) => BOTTOM - ((BOTTOM - TOP) * loss) / top;
      const path = (points) => "M" + points.map(([step, loss]) => `${x(step).toFixed(1)} ${y(loss).toFixed(1)}`).join("L");
      const label = (at, text, attributes = {}) => draw("text", { x: at[0], y: at[1], ...attributes }, text);
      const right = { "text-anchor": "end" }, held = stops.map(({ step, valid }) => [step, valid]);
      this.cursor = draw("path", { class: "mark", d: `M0 ${TOP}V${BOTTOM}` });
      this.dot = draw("circle", { class: "dot", r: 5 });
      this.value = label([0, 0], "", { class: "said" });
      const svg = draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `Loss over ${end} steps. On validation it goes from ${said(held[0][1])} to ${said(held[this.last][1])}.` },
        draw("path", { class: "axis", d: `M${LEFT} ${TOP}V${BOTTOM}H${RIGHT}` }),
        [0, top].map((loss) => label([LEFT - 5, y(loss) + 5], loss, right)),
        label([LEFT, HIGH - 6], "step 0"), label([RIGHT, HIGH - 6], end, right),
        draw("path", { class: "arc", d: path(losses.map((loss, n) => [n + 1, loss])) }),
        draw("path", { class: "line", d: path(held) }), held.map(([step, loss]) => draw("circle", { class: "wave", cx: x(step), cy: y(loss), r: 3 })),
        [["arc", "training, each step"], ["line", "validation"]].map(([kind, text], n) =>
          [draw("path", { class: kind, d: `M220 ${20 + 20 * n}h24` }), label([250, 25 + 20 * n], text)]),
        this.cursor, this.dot, this.value);
      svg.addEventListener("click", (event) => {
        const box = svg.getBoundingClientRect(), at = ((event.clientX - box.left) * WIDE) / box.width;
        const far = stops.map(({ step }) => Math.abs(x(step) - at));
        this.go(far.indexOf(Math.min(...far)));
      });
      this.point = ({ step, valid }) => {
        const late = step > 0.8 * end;
        this.cursor.style.transform = `translateX(${x(step)}px)`;
        fillIn(this.dot, { cx: x(step), cy: y(valid) });
        fillIn(this.value, { x: x(step) + (late ? -8 : 8), y: Math.max(y(valid) - 8, 12), "text-anchor": late ? "end" : "start" });
        this.value.textContent = said(valid);
      };
      return svg;
    }

    // Another sentence: other words, and maps of another shape.
    renew(first = false) {
      this.maps = [];
      this.heads.replaceChildren(...this.at(0).flatMap((heads, layer) => heads.map((weights, head) => {
        const tiles = weights.map((row, i) => row.map((_, j) => draw("rect", { x: j, y: i, width: 1, height: 1 })));
        const number = make("b"), name = `layer\u00a0${layer + 1}, head\u00a0${head + 1}`;
        const map = draw("svg", { class: "tiles", viewBox: `0 0 ${weights[0].length} ${weights.length}`, preserveAspectRatio: "none", "aria-hidden": "true" }, tiles);
        const label = this.radio("head", name, layer === this.layer && head === this.head, [map, make("span", {}, name, " ", number)], () => { Object.assign(this, { layer, head }); this.show(); });
        this.maps.push({ tiles, number, layer, head, name, input: label.firstChild });
        return label;
      })));
      this.show(first);
    }

    show(first = false) {
      this.slider.range.value = this.stop;
      this.slider.tell();
      const { sentences, stops } = this.data, now = stops[this.stop];
      this.when.textContent = `Written at step ${now.step}: ${this.right} of ${sentences.length} right`;
      this.point(now);
      sentences.forEach((sentence, n) => this.write(sentence, this.written[n]));
      const weights = this.at(this.stop);
      for (const { tiles, number, layer, head, name, input } of this.maps) {
        const rows = weights[layer][head];
        rows.forEach((row, i) => row.forEach((w, j) => tiles[i][j].setAttribute("fill-opacity", w)));
        number.textContent = share(mean(rows.map((row) => Math.max(...row))));
        input.setAttribute("aria-label", `${name}, ${number.textContent}`);
      }
      this.enlarge(weights[this.layer][this.head]);
      const words = this.words(now);
      if (first) this.status.replaceChildren(...words.flat(Infinity));
      else this.announce(this.status, words);
    }

    // What is written now: right words are underlined, and counted for those who do not see it.
    write({ target, stops }, place) {
      const { written, marks } = stops[this.stop], right = [...marks].filter((mark) => mark === "1").length, all = target.split(" ").length;
      const words = written ? written.split(" ") : [];
      place.replaceChildren(
        ...words.flatMap((word, n) => [n ? " " : "", make("span", { class: marks[n] === "1" ? "right" : null }, word)]), " ",
        make("small", { lang: "en" }, written === target ? "✓ right" : `${right} of ${all} words`));
    }

    enlarge(weights) {
      const { read, write } = this.data.sentences[this.sentence], [reads, writes] = this.data.languages;
      this.heading.textContent = `Layer ${this.layer + 1}, head ${this.head + 1}: what each written token reads`;
      this.table.replaceChildren(
        make("thead", {}, make("tr", {}, make("td"), read.map((word) => make("th", { scope: "col", lang: reads }, make("span", {}, word))))),
        make("tbody", {}, weights.map((row, i) => make("tr", {}, make("th", { scope: "row", lang: writes }, write[i]),
          row.map((w) => make("td", { class: "above", style: `--heat: ${100 * w}%` }, w ? share(w) : ""))))));
    }

    // The stop in a sentence, with the translation of the chosen one.
    words({ step, valid }) {
      const { losses, sentences, languages } = this.data;
      const training = step ? `, training ${said(losses[step - 1])}` : ", before the first step";
      return [`Step ${step}: validation loss ${said(valid)}${training}. ${this.right} of ${sentences.length} sentences are right. `,
        quoted(sentences[this.sentence].stops[this.stop].written, languages[1])];
    }
  }

  const fillIn = (element, attributes) => Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));

  customElements.define("film-figure", FilmFigure);
})();

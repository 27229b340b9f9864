// One weight of the walk-through, and the number that moves it.
"use strict";
(() => {
  const { Figure, attention, make, slider, written } = window.figures;
  const quoted = (word) => `“${word}”`;

  class WeightFigure extends Figure {
    build(data, live) {
      const { words, query, key, component, limits: [min, max] } = data;
      const [one, other] = [quoted(words[query]), quoted(words[key])];
      live.setAttribute("aria-label", `How much ${one} takes from ${other}`);
      this.number = make("output", { class: "number" });
      this.bars = words.map((word) => {
        const bar = make("span", { class: "bar" }), share = make("span", { class: "share" });
        return { bar, share, row: make("li", {}, make("span", { class: "word" }, word), make("span", { class: "rail" }, bar), share) };
      });
      this.show = (value) => {
        const x = data.x.map((row) => [...row]);
        x[key][component] = value;
        this.weights = attention({ ...data, x }).weights[query];
        this.number.textContent = written(this.weights[key], 4);
        this.bars.forEach(({ bar, share }, j) => {
          bar.style.width = `${100 * this.weights[j]}%`;
          share.textContent = written(this.weights[j], 4);
        });
      };
      const start = data.x[key][component];
      this.show(start);
      const say = (value) => {
        const vector = data.x[key].map((v, c) => (c === component ? written(value, 1) : written(v, 0)));
        return `(${vector.join(", ")})`;
      };
      const drag = slider([`The vector of ${other}: drag its first number`], { min, max, step: 0.1, value: start }, say, this.show);
      drag.range.addEventListener("input", () => this.hear(drag.range, say, one, other));
      this.hear(drag.range, say, one, other);
      const sentence = make("p", { class: "sentence" }, `In ${quoted(words.join(" "))}, the word ${one} takes `, this.number, ` of its new vector from ${other}.`);
      live.append(sentence, drag.label, make("ul", { class: "bars", "aria-label": `What ${one} takes from each word` }, this.bars.map(({ row }) => row)));
    }

    // The slider itself says what has become of the weight; nothing else speaks while it is dragged.
    hear(range, say, one, other) {
      range.setAttribute("aria-valuetext", `${say(Number(range.value))}: ${one} takes ${this.number.textContent} from ${other}`);
      this.number.setAttribute("aria-live", "off");
    }
  }

  customElements.define("weight-figure", WeightFigure);
})();

// What a model costs: its sizes to change, a token's multiplications as areas, and the bytes of training and writing.
"use strict";
(() => {
  const { Figure, counted, draw, make, percent, slider, written } = window.figures;

  // The same formulas as counting.price of the package.
  const price = ({ d_model: d, d_ff, n_heads, n_layers, vocab_size }, n, sentences) => {
    const tokens = n * sentences, network = 2 * d * d_ff + d_ff + d;
    const total = n_layers * (12 * d * d + 2 * network + 10 * d) + vocab_size * d;
    const read = n_layers * (4 * d * d + 2 * d * d_ff + 2 * n * d + 2 * d * d);
    const write = n_layers * (6 * d * d + 4 * n * d + 2 * d * d_ff) + vocab_size * d;
    const kept = tokens * (n_layers * (23 * d + 2 * d_ff + 3 * n_heads + 10) - (n_layers - 1) * d + d);
    return {
      "parameters": total, "read": read, "written": write,
      "FLOPs of a step": 6 * tokens * (read + write), "6ND": 6 * total * tokens,
      "weights": 4 * total, "gradients": 4 * total, "Adam": 8 * total,
      "kept by layers": 4 * kept, "kept by the loss": 4 * tokens * vocab_size,
      "cache": 4 * n_layers * 2 * d * 2 * tokens,
    };
  };

  const STEPS = {
    d_model: [64, 128, 256, 512, 768, 1024, 2048, 4096, 8192],
    n_layers: [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 53],
    ratio: [1, 2, 3, 4, 6, 8],
    vocab_size: [1000, 1760, 4000, 8000, 18500, 37000, 64000, 128000],
    n: [10, 25, 50, 100, 256, 512, 1024, 2048, 3072, 6144, 24576],
    sentences: [1, 8, 64, 125, 250, 500, 1000, 2000],
  };
  const PARTS = ["weights", "gradients", "Adam", "kept by layers", "kept by the loss"];
  const ROOMS = [16, 80]; // GB of two common GPUs

  // Three digits, and words for thousands.
  const digits = (x) => (x >= 99.95 ? x.toFixed(0) : x >= 9.995 ? x.toFixed(1) : x.toFixed(2));
  const large = (x) => {
    const [size, word] = [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"]].find(([size]) => x >= 0.9995 * size) ?? [1, ""];
    return word ? `${digits(x / size)} ${word}` : counted(Math.round(x));
  };
  const bytes = (x) => {
    const [size, word] = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"]].find(([size]) => x >= 0.9995 * size) ?? [1e3, "kB"];
    return `${digits(x / size)} ${word}`;
  };
  const power = (x) => {
    const [front, exponent] = x.toExponential(1).split("e+");
    return [`${front} · 10`, make("sup", {}, exponent)];
  };
  const part = (x) => percent(x, x < 0.1 ? 1 : 0);

  const WIDE = 640, HIGH = 330, ACROSS = 6;

  class CostFigure extends Figure {
    build(data, live) {
      live.setAttribute("aria-label", "What a model costs, with its sizes to change");
      this.models = data.models;
      this.presets = data.models.map((model) => {
        const button = make("button", { type: "button" }, model.name);
        button.addEventListener("click", () => { this.take(model); this.update(); });
        return button;
      });
            this.at = { n: data.start.n, sentences: data.start.sentences };
      const names = {
        d_model: [make("var", {}, "d"), ", the width"], n_layers: "layers on each side", ratio: "feed-forward, × width",
        vocab_size: "tokens in the vocabulary", n: [make("var", {}, "n"), ", tokens in a sentence"], sentences: "sentences at once",
      };
      this.sliders = Object.fromEntries(Object.entries(names).map(([size, name]) => {
        const steps = STEPS[size];
        const made = slider(name, { min: 0, max: steps.length - 1, step: 1, value: 0 }, (i) => counted(steps[i]), (i) => {
          this.at[size] = steps[i];
          this.update();
        });
        return [size, made];
      }));
      this.legend = make("p", { class: "legend" });
      this.areas = make("div", { class: "areas" });
      this.bar = make("div", { class: "memory" });
      this.names = make("p", { class: "legend of-memory" });
      this.numbers = make("dl");
      this.status = make("p", { class: "skip", role: "status" });
      const part = (title, ...children) => make("div", { class: "part" }, make("p", { class: "name" }, title), ...children);
      live.append(
        make("div", { class: "controls" }, this.presets),
        make("div", { class: "sliders" }, Object.values(this.sliders).map(({ label }) => label)),
        make("div", { class: "results" },
          part("One token in an encoder layer, as areas", this.areas, this.legend), this.numbers),
        part("Memory of a training step", this.bar, this.names), this.status);
      this.take(data.models.find(({ name }) => name === data.start.model));
      this.update(true);
    }

    // A model of the book; how many tokens and sentences there are stays as it was.
    take(model) {
      this.key = model.d_model / model.n_heads;
      const { d_model, n_layers, vocab_size } = model;
      Object.assign(this.at, { d_model, n_layers, vocab_size, ratio: model.d_ff / d_model });
      for (const [size, { range, tell }] of Object.entries(this.sliders)) {
        range.value = STEPS[size].indexOf(this.at[size]);
        tell();
      }
    }

    // Heads are as wide as those of the model that was taken.
    config() {
      const { d_model, n_layers, vocab_size, ratio } = this.at;
      return { d_model, n_layers, vocab_size, d_ff: ratio * d_model, n_heads: Math.max(1, Math.round(d_model / this.key)) };
    }

    update(first = false) {
      const { n, sentences } = this.at, config = this.config();
      const told = price(config, n, sentences);
      this.models.forEach((model, i) => {
        const same = ["d_model", "d_ff", "n_heads", "n_layers", "vocab_size"].every((size) => model[size] === config[size]);
        this.presets[i].setAttribute("aria-pressed", String(same));
      });
      const { d_model: d, d_ff } = config;
      const layer = { projections: 4 * d * d, "feed-forward": 2 * d * d_ff, attention: 2 * n * d };
      const whole = Object.values(layer).reduce((sum, x) => sum + x, 0);
      this.areas.replaceChildren(this.squares(d, d_ff, n, layer.attention / whole));
      this.legend.replaceChildren(...Object.entries(layer).map(([kind, x]) => make("span", { class: kind }, `${kind} ${part(x / whole)}`)));

      const training = PARTS.reduce((sum, part) => sum + told[part], 0);
      const room = ROOMS.find((gb) => training <= gb * 1e9);
      const fits = room ? `fits a GPU of ${room} GB` : "fits no GPU of 80 GB";
      this.bar.replaceChildren(...PARTS.map((part, i) => make("span", { class: `part-${i}`, style: `flex: ${told[part] / training}` })));
      this.names.replaceChildren(...PARTS.map((part, i) => make("span", { class: `part-${i}` }, `${part} ${bytes(told[part])}`)));
      const rows = [
        ["parameters, N", large(told.parameters)],
        ["one token read and one written", `${large(told.read + told.written)} multiplications, ${written((told.read + told.written) / told.parameters, 2)} N`],
        ["a training step", [power(told["FLOPs of a step"]), ` FLOPs; 6ND is ${written(told["6ND"] / told["FLOPs of a step"], 2)} of it`]],
        ["memory to train", `${bytes(training)}: ${fits}`],
        ["memory to write", `${bytes(told.weights + told.cache)}, ${part(told.cache / (told.weights + told.cache))} of it the cache`],
      ];
      this.numbers.replaceChildren(...rows.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, ...[value].flat(2)))));
      const words = `${large(told.parameters)} parameters. Attention is ${part(layer.attention / whole)} of a layer. Training takes ${bytes(training)} and ${fits}.`;
      if (first) this.status.textContent = words;
      else this.announce(this.status, words);
    }

    // Six squares in a row; the two strips are n long, and all of it is scaled until it fits.
    squares(d, d_ff, n, share) {
      const ratio = d_ff / d, rows = Math.ceil((4 + 2 * ratio) / ACROSS), gap = 10;
      const unit = Math.min(WIDE / ACROSS, WIDE / (n / d), (HIGH - gap) / (rows + 2)), low = rows * unit + gap;
      const round = (x) => Math.round(100 * x) / 100, side = round(unit - Math.min(1.5, unit / 8));
      const square = (i) => draw("rect", {
        class: i < 4 ? "projections" : "feed-forward", x: round((i % ACROSS) * unit), y: round(Math.floor(i / ACROSS) * unit), width: side, height: side,
      });
      const strip = (i) => draw("rect", { class: "attention", x: 0, y: round(low + i * unit), width: round((n / d) * unit), height: side });
      return draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `Four squares for the projections, ${2 * ratio} for the feed-forward network, and two strips ${written(n / d, 2)} squares long for the attention, which are ${part(share)} of all.` },
        [...Array(4 + 2 * ratio).keys()].map(square), strip(0), strip(1));
    }
  }

  Object.assign(window.figures, { bytes, large, price, STEPS });
  customElements.define("cost-figure", CostFigure);
})();

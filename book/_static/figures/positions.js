// Positions: the pairs as hands of a clock, the dot products by distance, and the wavelengths.
"use strict";
(() => {
  const { Figure, counted, draw, formula, make, slider, written } = window.figures;

  // The same as in the package: pair i turns by ω = 10000^(-2i / width) at every position.
  const omega = (i, width) => 10000 ** ((-2 * i) / width);
  const pairs = (width) => [...Array(width / 2).keys()];
  const row = (position, width) => pairs(width).flatMap((i) => [Math.sin(position * omega(i, width)), Math.cos(position * omega(i, width))]);
  const dot = (a, b) => a.reduce((sum, x, m) => sum + x * b[m], 0);
  const profile = (position, reach, width) => [...Array(reach + 1).keys()].map((k) => dot(row(position, width), row(position + k, width)));
  const wavelength = (i, width) => (2 * Math.PI) / omega(i, width);
  const turned = (i, k, width) => k * omega(i, width);

  const CHART = { width: 640, height: 165, left: 66, right: 24, top: 14, bottom: 34 };
  // The room for clocks, which stays, wide and on a phone; and in how many columns they are largest there.
  const ROOM = { "--columns": [640, 192], "--narrow": [305, 368] };
  const columns = (n, wide, high) => {
    const size = (c) => Math.min(wide / c, high / Math.ceil(n / c) - 20);
    return [...Array(n).keys()].map((c) => c + 1).reduce((best, c) => (size(c) > size(best) ? c : best));
  };
  const round = (x) => Math.round(100 * x) / 100; // of a pixel

  class PositionsFigure extends Figure {
    build(data, live) {
      Object.assign(this, { position: data.position, offset: data.offset, width: data.width, reach: data.reach, widest: data.widest });
      live.setAttribute("aria-label", "Positions as hands of a clock, with position, offset and width to change");
      const change = (name) => (value) => { this[name] = value; this.update(); };
      const whole = (value) => written(value, 0);
      const controls = make("div", { class: "sliders" },
        slider("position", { min: 0, max: data.reach, step: 1, value: data.position }, whole, change("position")).label,
        slider([...formula("offset "), make("var", {}, "k")], { min: 0, max: data.reach, step: 1, value: data.offset }, whole, change("offset")).label,
        slider("width (columns)", { min: 2, max: data.widest, step: 2, value: data.width }, whole, change("width")).label);
      this.status = make("p", { class: "status", role: "status" });
      this.clocks = make("div", { class: "clocks" });
      this.dots = make("div");
      this.product = make("b", { class: "product" });
      this.waves = make("div");
      this.table = make("tbody");
      this.legend = make("p", { class: "legend" });
      const part = (title, ...children) => make("div", { class: "part" }, make("p", { class: "name" }, ...[title].flat()), ...children);
      const head = ["pair", "wavelength", "sine", "cosine", "sine, k later", "cosine, k later", "turned by (radians)"];
      this.box = make("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "All pairs as a table" },
        make("table", { class: "numbers" }, make("thead", {}, make("tr", {}, head.map((word) => make("th", { scope: "col" }, word)))), this.table));
      live.append(controls, this.status,
        part("Each pair is a hand: at the position, and k later", this.legend, this.clocks),
        part(["How alike the two rows are, by their distance. ", this.product], this.dots),
        part("Wavelengths: positions that each pair takes for one full turn", this.waves),
        make("details", {}, make("summary", {}, "All pairs as a table"), this.box));
      this.update(true);
    }

    update(first = false) {
      const { position, offset, width } = this;
      const here = row(position, width), there = row(position + offset, width);
      const likeness = profile(position, this.reach, width);
      this.legend.replaceChildren(make("span", { class: "query" }, `position ${position}`), "  ", make("span", { class: "key" }, `position ${position + offset}`));
      const clocks = pairs(width).map((i) => this.clock(i, here.slice(2 * i, 2 * i + 2), there.slice(2 * i, 2 * i + 2)));
      this.clocks.replaceChildren(...clocks);
      for (const [name, [wide, high]] of Object.entries(ROOM)) this.clocks.style.setProperty(name, columns(clocks.length, wide, high));
      this.dots.replaceChildren(this.curve(likeness));
      this.product.replaceChildren(make("var", {}, "k"), ` = ${offset}: ${written(likeness[offset], 2)}`);
      this.waves.replaceChildren(this.bars());
      this.table.replaceChildren(...pairs(width).map((i) => make("tr", {}, make("th", { scope: "row" }, String(i)),
        [wavelength(i, width), ...here.slice(2 * i, 2 * i + 2), ...there.slice(2 * i, 2 * i + 2), turned(i, offset, width)].map((x) => make("td", {}, written(x, 4))))));
      const words = `Positions ${position} and ${position + offset}, width ${width}: dot product ${written(likeness[offset], 2)} of ${width / 2}.`;
      if (first) this.status.textContent = words;
      else this.announce(this.status, words);
    }

    // The sine goes across, the cosine up: a hand at the angle 0 points to the top and turns clockwise.
    clock(i, [sine, cosine], [later, above]) {
      const end = (x, y, length = 40) => [round(50 + length * x), round(50 - length * y)];
      const hand = (x, y, kind) => draw("path", { class: `hand ${kind}`, d: `M50 50L${end(x, y)}` });
      const turn = turned(i, this.offset, this.width) % (2 * Math.PI);
      const arc = `M${end(sine, cosine, 18)}A18 18 0 ${turn > Math.PI ? 1 : 0} 1 ${end(later, above, 18)}`;
      const svg = draw("svg", { viewBox: "0 0 100 100", "aria-hidden": "true" },
        draw("circle", { class: "face", cx: 50, cy: 50, r: 44 }), draw("path", { class: "arc", d: arc }),
        hand(later, above, "key"), hand(sine, cosine, "query"), draw("circle", { class: "hub", cx: 50, cy: 50, r: 3 }));
      return make("figure", {}, svg, make("p", {}, `pair ${i}`));
    }

    curve(values) {
      const { width, height, left, right, top, bottom } = CHART;
      const most = values[0], least = Math.min(0, ...values);
      const x = (k) => round(left + (k / this.reach) * (width - left - right));
      const y = (v) => round(top + ((most - v) / (most - least)) * (height - top - bottom));
      const line = values.map((v, k) => `${k ? "L" : "M"}${x(k)} ${y(v)}`).join("");
      const ticks = [0, this.reach / 4, this.reach / 2, (3 * this.reach) / 4, this.reach];
      return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `A curve of dot products by distance from 0 to ${this.reach}; at ${this.offset} it is ${written(values[this.offset], 2)} of ${most}.` },
        draw("path", { class: "axis", d: `M${left} ${y(0)}H${width - right}M${left} ${top}V${height - bottom}` }),
        ticks.map((k) => draw("text", { x: x(k), y: height - bottom + 20, "text-anchor": "middle" }, String(k))),
        [0, most].map((v) => draw("text", { x: left - 6, y: y(v) + 5, "text-anchor": "end" }, String(round(v)))),
        draw("path", { class: "line", d: line }),
        draw("path", { class: "mark", d: `M${x(this.offset)} ${y(values[this.offset])}V${y(0)}` }),
        draw("circle", { class: "dot", cx: x(this.offset), cy: y(values[this.offset]), r: 6 }));
    }

    // A bar for each pair, on a logarithmic scale from 1 to 100 000 positions.
    bars() {
      const { width, height, left, right, top, bottom } = CHART;
      const n = this.width / 2, step = (width - left - right) / n, wide = Math.min(0.7 * step, 36);
      const y = (v) => round(top + (1 - Math.log10(v) / 5) * (height - top - bottom));
      const long = (i) => wavelength(i, this.width);
      return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Bars of ${n} wavelengths, from ${written(long(0), 2)} to ${written(long(n - 1), 1)} positions.` },
        [1, 10, 100, 1000, 10000].map((v) => [draw("path", { class: "axis", d: `M${left} ${y(v)}H${width - right}` }), draw("text", { x: left - 4, y: y(v) + 4, "text-anchor": "end", class: "small" }, counted(v))]),
        pairs(this.width).map((i) => draw("rect", { class: "wave", x: round(left + (i + 0.5) * step - wide / 2), y: y(long(i)), width: round(wide), height: round(height - bottom - y(long(i))), rx: Math.min(4, 0.2 * step) })),
        pairs(this.width).filter((i) => n <= 12 || i % 4 === 0).map((i) => draw("text", { x: round(left + (i + 0.5) * step), y: height - bottom + 20, "text-anchor": "middle" }, String(i))));
    }
  }

  Object.assign(window.figures, { row, profile, wavelength, turned });
  customElements.define("positions-figure", PositionsFigure);
})();

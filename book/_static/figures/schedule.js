// Schedule: the paper's learning rate over a training, its peak, and how far the first ten steps can go with and without the warm-up.
"use strict";
(() => {
  const { Figure, counted: whole, draw, make, percent, scientific, slider } = window.figures;
  const CHART = { width: 640, height: 230, left: 20, right: 20, top: 34, bottom: 34 };
  const STRIP = { width: 640, height: 132, left: 20, right: 20, line: 62, tick: 5 };
  const [NEAR, FAR] = [-7, 0]; // powers of ten on the strip
  const NAMED = { "-6": "10⁻⁶", "-4": "10⁻⁴", "-2": "10⁻²", 0: "1" }; // those with a number
  const FIRST = 10;

  // The same as in the package; a step counts from 1.
  const rate = (step, { width, warmup, factor }) => (factor / Math.sqrt(width)) * Math.min(step ** -0.5, step * warmup ** -1.5);
  const reach = (how, least = 1) => [...Array(FIRST).keys()].reduce((sum, n) => sum + rate(Math.max(n + 1, least), how), 0);
    const small = (x) => {
    const [digits, power] = x.toExponential(2).split("e");
    return Number(power) >= -3 ? x.toPrecision(3) : scientific(digits, power);
  };

  class ScheduleFigure extends Figure {
    build(data, live) {
      this.data = data;
      this.how = { ...data.starts[0] };
      live.setAttribute("aria-label", "The paper's learning rate, with warm-up, width and number of steps to change");
      this.starts = data.starts.map((start) => {
        const button = make("button", { type: "button" }, start.name);
        button.addEventListener("click", () => this.begin(start));
        return button;
      });
      const list = (name, text) => {
        const choices = data[`${name}s`];
        const made = slider(text, { min: 0, max: choices.length - 1, step: 1, value: choices.indexOf(this.how[name]) },
          (n) => whole(choices[n]), (n) => { this.how[name] = choices[n]; this.update(); });
        return { name, choices, ...made };
      };
      this.lists = [list("warmup", "warm-up, in steps"), list("width", "width of the model"), list("total", "steps of the training")];
      this.chart = make("div");
      this.strip = make("div");
      this.status = make("p", { class: "status", role: "status" });
      live.append(
        make("div", { class: "controls", role: "group", "aria-label": "schedules to start from" }, this.starts),
        make("div", { class: "sliders" }, this.lists.map(({ label }) => label)),
        make("p", { class: "name" }, "Learning rate, step by step. The dotted line is the paper's base model"), this.chart,
        make("p", { class: "name" }, `How far ${FIRST} steps of Adam can carry a number: about the sum of their rates`), this.strip,
        this.status);
      this.update(true);
    }

    begin(start) {
      this.how = { ...start };
      for (const { name, choices, range, tell } of this.lists) {
        range.value = choices.indexOf(start[name]);
        tell();
      }
      this.update();
    }

    update(first = false) {
      const { warmup, width, total } = this.how;
      this.starts.forEach((button, n) => {
        const start = this.data.starts[n];
        button.setAttribute("aria-pressed", ["warmup", "width", "total", "factor"].every((name) => start[name] === this.how[name]));
      });
      const top = Math.min(warmup, total), peak = rate(top, this.how), last = rate(total, this.how);
      this.chart.replaceChildren(this.curve(top, peak));
      this.strip.replaceChildren(this.far());
      const end = total <= warmup ? "The training ends before the warm-up does, so the rate never falls." : `The last rate is ${small(last)}, ${percent(last / peak, 0)} of it.`;
      const words = `Width ${whole(width)}: the peak is ${small(peak)}, in step ${whole(top)}. ${end} Ten steps go about ${small(reach(this.how))}, without the warm-up ${small(reach(this.how, warmup))}.`;
      if (first) this.status.textContent = words;
      else this.announce(this.status, words);
    }

    curve(top, peak) {
      const { width, height, left, right, top: up, bottom } = CHART, { total } = this.how, [base] = this.data.starts;
      const round = (n) => Math.round(100 * n) / 100;
      const steps = [...new Set([...Array(201).keys()].map((n) => Math.max(1, Math.round((n / 200) ** 2 * total))).concat(top))].sort((a, b) => a - b);
      const highest = Math.max(peak, rate(Math.min(base.warmup, total), base));
      const x = (step) => round(left + (step / total) * (width - left - right));
      const y = (value) => round(up + (1 - value / highest) * (height - up - bottom));
      const line = (how, kind) => draw("path", { class: kind, d: steps.map((s, n) => `${n ? "L" : "M"}${x(s)} ${y(rate(s, how))}`).join("") });
      const text = (words, at, kind, anchor) => draw("text", { class: kind, x: at[0], y: at[1], "text-anchor": anchor }, words);
      const [px, py] = [x(top), y(peak)], late = px > width / 2;
      const ticks = [0, total / 2, total];
      return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `A curve over ${whole(total)} steps, highest in step ${whole(top)}.` },
        draw("path", { class: "axis", d: `M${left} ${y(0)}H${width - right}` }),
        ticks.map((step, n) => text(whole(step), [x(step), height - bottom + 22], "", ["start", "middle", "end"][n])),
        line(base, "base"), line(this.how, "line"),
        draw("path", { class: "mark", d: `M${px} ${py}V${y(0)}` }),
        draw("circle", { class: "dot", cx: px, cy: py, r: 6 }),
        text(`peak ${small(peak)} in step ${whole(top)}`, [px + (late ? -12 : 12), py - 10], "said", late ? "end" : "start"));
    }

    // On a scale where each power of ten is as long as every other: this schedule, and what was measured.
    far() {
      const { width, height, left, right, line, tick } = STRIP, { warmup } = this.how;
      const x = (value) => left + ((Math.max(NEAR, Math.min(FAR, Math.log10(value))) - NEAR) / (FAR - NEAR)) * (width - left - right);
      const text = (words, at, kind, anchor) => draw("text", { class: kind, x: at[0], y: at[1], "text-anchor": anchor }, words);
      const [mild, hard] = [reach(this.how), reach(this.how, warmup)];
      const { saw, blind } = this.data, same = hard / mild < 1.02;
      const near = (a) => (a < left + 190 ? "start" : a > width - right - 190 ? "end" : "middle");
      return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `With the warm-up ${small(mild)}, without ${small(hard)}. Our copiers saw after ${small(saw)} and were blind after ${small(blind)}.` },
        draw("path", { class: "axis", d: `M${left} ${line}H${width - right}` }),
        [...Array(FAR - NEAR + 1).keys()].map((n) => draw("path", { class: "axis", d: `M${x(10 ** (NEAR + n))} ${line - tick}V${line + tick}` })),
        Object.entries(NAMED).map(([power, name]) => text(name, [x(10 ** power), line + 58], "small", "middle")),
        [saw, blind].map((value) => draw("path", { class: "measured", d: `M${x(value)} ${line - 12}V${line + 12}` })),
        text(`our copiers saw: ${small(saw)}`, [x(saw) - 5, line + 32], "small", "end"),
        text(`blind: ${small(blind)}`, [x(blind) - 5, line + 32], "small", "start"),
        draw("circle", { class: "hard", cx: x(hard), cy: line, r: 7 }),
        draw("circle", { class: "mild", cx: x(mild), cy: line, r: 7 }),
        text(same ? `both ${small(hard)}` : `without ${small(hard)}`, [x(hard), line - 43], "of-hard", near(x(hard))),
        same ? [] : text(`with warm-up ${small(mild)}`, [x(mild), line - 16], "of-mild", near(x(mild))));
    }
  }

  Object.assign(window.figures, { rate, reach });
  customElements.define("schedule-figure", ScheduleFigure);
})();

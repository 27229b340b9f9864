// Smoothing: a row of logits on its way towards a target, how far the right one gets above the others, and what is left of the loss.
"use strict";
(() => {
  const { Figure, counted, draw, make, slider, softmax, written } = window.figures;
  const CHART = { width: 360, height: 250, left: 34, right: 12, top: 16, bottom: 42 };
  const HIGHEST = 12; // gap
  const WIDEST = 2; // loss, in nats
  const SAME = 0.005;
  let groups = 0; // radio buttons of one group share a name, which no other figure of the page may have

  // The same as in the package: every step goes against the slope of the loss, p - q.
  const blend = (shares, epsilon) => shares.map((share) => (1 - epsilon) * share + epsilon / shares.length);
  const towards = (logits, q, steps) => {
    const rows = [logits];
    for (let n = 0; n < steps; n += 1) {
      const z = rows[n], p = softmax(z);
      rows.push(z.map((x, j) => x - (p[j] - q[j])));
    }
    return rows.slice(1);
  };
  const above = (z, right) => z[right] - (z.reduce((sum, x) => sum + x, 0) - z[right]) / (z.length - 1);
  const crossed = (q, p) => q.reduce((sum, share, j) => sum - (share ? share * Math.log(p[j]) : 0), 0);
  const limit = (q, right) => above(q.map(Math.log), right); // infinite where a share is zero

  class SmoothingFigure extends Figure {
    build(data, live) {
      groups += 1;
      Object.assign(this, { data, epsilon: data.epsilon, step: data.steps.indexOf(data.start) });
      [this.kind] = Object.keys(data.shares);
      live.setAttribute("aria-label", "A row of logits on its way towards a target, with the target, the share ε and the steps to change");
      const kinds = Object.keys(data.shares).map((kind) => this.radio(kind));
      const share = slider(["share ", make("var", {}, "ε"), " spread over all tokens"], { min: 0, max: 50, step: 1, value: 100 * data.epsilon },
        (n) => written(n / 100, 2), (n) => { this.epsilon = n / 100; this.renew(); });
      const steps = slider("steps", { min: 0, max: data.steps.length - 1, step: 1, value: this.step },
        (n) => this.count(n), (n) => { this.step = n; this.update(); });
      this.chart = make("div");
      this.rows = make("tbody");
      this.sum = make("div", { class: "loss" });
      this.status = make("p", { class: "status", role: "status" });
      const head = [["token"], [""], ["target", "key"], ["model", "query"], ["surprise"]].map(([word, role]) => (word ? make("th", { scope: "col", class: role }, word) : make("td")));
      live.append(
        make("fieldset", { class: "kinds" }, make("legend", {}, "texts go on with"), kinds),
        make("div", { class: "sliders" }, share.label, steps.label),
        make("div", { class: "two" },
          make("div", {}, make("p", { class: "name" }, `Logit of “${data.tokens[data.right]}” above the others`), this.chart),
          make("div", {}, make("table", { class: "numbers bars", "aria-label": "target and model" }, make("thead", {}, make("tr", {}, head)), this.rows), this.sum)),
        this.status);
      this.renew(true);
    }

    count(n) { return counted(this.data.steps[n]); }

    radio(kind) {
      const input = make("input", { type: "radio", name: `smoothing-${groups}`, value: kind, checked: kind === this.kind });
      input.addEventListener("change", () => { this.kind = kind; this.renew(); });
      return make("label", { class: "choice" }, input, make("span", {}, kind));
    }

    // Another target: another way, of all its steps.
    renew(first = false) {
      const { logits, right, shares, steps } = this.data;
      const way = (epsilon) => towards(logits, blend(shares[this.kind], epsilon), steps.at(-1)).map((z) => ({ z, gap: above(z, right) }));
      this.q = blend(shares[this.kind], this.epsilon);
      this.way = way(this.epsilon);
      this.plain = this.epsilon ? way(0) : null;
      this.stops = limit(this.q, right);
      this.update(first);
    }

    update(first = false) {
      const { q } = this, { z, gap } = this.way[this.data.steps[this.step] - 1], p = softmax(z);
      const loss = crossed(q, p), floor = crossed(q, q);
      this.chart.replaceChildren(this.curve(gap));
      this.rows.replaceChildren(...this.data.tokens.map((token, j) => this.row(token, q[j], p[j])));
      const width = (x) => `${Math.min(100, (100 * x) / WIDEST)}%`;
      this.sum.replaceChildren(
        make("p", {}, make("b", {}, `loss ${written(loss, 2)}`), ", of it ", make("span", { class: "key" }, `floor ${written(floor, 2)}`)),
        make("span", { class: "rail" },
          make("span", { class: "bar model", style: `left: 0; width: ${width(loss)}` }),
          make("span", { class: "bar target", style: `left: 0; width: ${width(floor)}` })));
      const words = this.said(gap, loss, floor);
      if (first) this.status.textContent = words;
      else this.announce(this.status, words);
    }

    row(token, share, probability) {
      const bar = (kind, x) => make("span", { class: `bar ${kind}`, style: `left: 0; width: ${100 * x}%` });
      const numbers = [share, probability, -Math.log(probability)].map((x, n) => make("td", {}, written(x, 2, n < 2)));
      return make("tr", {}, make("th", { scope: "row" }, token), make("td", { class: "both" }, make("span", { class: "rail" }, bar("target", share)), make("span", { class: "rail" }, bar("model", probability))), numbers);
    }

    said(gap, loss, floor) {
      const n = this.data.steps[this.step], after = `After ${this.count(this.step)} ${n === 1 ? "step" : "steps"}`;
      const end = Number.isFinite(this.stops) ? `it ends at ${written(this.stops, 2)}` : "it never ends";
      const rest = loss - floor < SAME && Number.isFinite(this.stops) ? "The model says the target, so the loss is at its floor." : `The loss is ${written(loss - floor, 2)} above its floor.`;
      return `${after} the gap is ${written(gap, 2)}; ${end}. ${rest}`;
    }

    // The gap over the steps, at equal distances where one number of steps is ten times another.
    curve(gap) {
      const { width, height, left, right, top, bottom } = CHART, { steps } = this.data;
      const round = (n) => Math.round(100 * n) / 100;
      const decades = Math.log10(steps.at(-1));
      const x = (n) => round(left + (Math.log10(n) / decades) * (width - left - right));
      const y = (v) => round(top + (1 - v / HIGHEST) * (height - top - bottom));
      const shown = [...new Set([...Array(121).keys()].map((n) => Math.round(steps.at(-1) ** (n / 120))))];
      const line = (way, kind) => draw("path", { class: kind, d: shown.map((n, i) => `${i ? "L" : "M"}${x(n)} ${y(way[n - 1].gap)}`).join("") });
      const text = (words, at, kind, anchor) => draw("text", { class: kind, x: at[0], y: at[1], "text-anchor": anchor }, words);
      const end = width - right, here = [x(steps[this.step]), y(gap)];
      const ticks = [...Array(decades + 1).keys()].map((n) => 10 ** n);
      const finite = Number.isFinite(this.stops);
      const label = `The gap over ${counted(steps.at(-1))} steps. ${this.said(gap, 0, 0).split(". ")[0]}.`;
      return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
        [0, 4, 8, 12].map((v) => [draw("path", { class: "axis", d: `M${left} ${y(v)}H${end}` }), text(String(v), [left - 6, y(v) + 5], "", "end")]),
        ticks.map((n) => text(counted(n), [x(n), height - bottom + 20], "", n === steps.at(-1) ? "end" : "middle")),
        text("steps", [end, height - 3], "muted", "end"),
        this.plain ? [line(this.plain, "plain"), text("ε = 0", [x(1000) - 4, y(this.plain[999].gap) - 8], "muted", "end")] : [],
        finite ? [draw("path", { class: "stop", d: `M${left} ${y(this.stops)}H${end}` }), text(`ends at ${written(this.stops, 2)}`, [end - 2, y(this.stops) + 19], "said stops", "end")] : text("never ends", [end - 2, y(6.6)], "muted", "end"),
        line(this.way, "line"),
        draw("circle", { class: "now", cx: here[0], cy: here[1], r: 6 }),
        text(written(gap, 2), [Math.max(left + 20, Math.min(end - 20, here[0])), here[1] - 12], "said gap", "middle"));
    }
  }

  Object.assign(window.figures, { towards, blend, crossed });
  customElements.define("smoothing-figure", SmoothingFigure);
})();

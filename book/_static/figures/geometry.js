// Attention as geometry: a query to drag, the shadows of the keys on its line, and the output inside the triangle of the values.
"use strict";
(() => {
  const { Figure, draw, formula, make, multiply, onOff, places, slider, softmax, transpose, written } = window.figures;
  const SIZE = 300; // of a plane, in its own units: about a pixel
  const FACTOR = 1 / 20; // the logarithm of the divisor moves in such steps, so that the start is one of them
  const [LEAST, MOST] = [0.2, 10];
  const SAME = 5e-4;
  const tenths = (x) => Math.round(10 * x) / 10;
  const quoted = (word) => `“${word}”`;
  const and = (words) => words.map(quoted).join(" and ");

  // Every step for one query. `seen` says which words may be looked at; a foot is where a shadow ends.
  const geometry = ({ k, v }, query, divisor, seen) => {
    const [scores] = multiply([query], transpose(k));
    const scaled = scores.map((score, j) => (seen[j] ? score / divisor : -Infinity));
    const weights = softmax(scaled);
    const feet = scores.map((score) => query.map((x) => (x * score) / (query[0] ** 2 + query[1] ** 2 || 1)));
    return { scores, scaled, weights, feet, out: multiply([weights], v)[0] };
  };

  // Where the output lies, in words.
  const lies = (words, weights, seen) => {
    const shown = words.filter((_, j) => seen[j]);
    if (!shown.length) return "no word may be looked at, so every weight is 0 and the output is at the origin";
    if (shown.length === 1) return `the output is the value of ${and(shown)}`;
    const top = Math.max(...weights), first = words.filter((_, j) => seen[j] && top - weights[j] < SAME);
    const where = shown.length === 2 ? `on the edge between ${and(shown)}` : "inside the triangle";
    if (top > 0.995) return `the output lies ${where}, all but at the corner of ${and(first)}`;
    if (first.length === shown.length) return `the output lies ${where}, in its middle`;
    const pulled = first.length > 1 ? "pulled equally towards" : "pulled most towards";
    return `the output lies ${where}, ${pulled} ${and(first)}`;
  };

  class GeometryFigure extends Figure {
    build(data, live) {
      Object.assign(this, { data, words: data.words, ends: {} });
      this.reach = 0.5 + Math.max(...[...data.q, ...data.k].flat().map(Math.abs));
      this.longest = this.reach * Math.max(...data.k.map(([x, y]) => Math.abs(x) + Math.abs(y))); // a score
      live.setAttribute("aria-label", "Attention as geometry, with a query to move");
      this.begin();
      this.status = make("p", { class: "status", role: "status" });
      const controls = this.controls(); // before the slider, which they set back
      live.append(controls, make("div", { class: "scene" }, this.left(), this.numbers(), this.right(),
        make("div", { class: "rest" }, this.temperature(), this.status)));
      this.settle();
      this.update(true);
    }

    begin() {
      this.query = [...this.data.q[this.data.start]];
      this.divisor = this.data.divisor;
      this.seen = this.words.map(() => true);
    }

    controls() {
      const asks = (j) => this.data.q[j].every((x, c) => x === this.query[c]);
      this.asking = () => this.words.findIndex((_, j) => asks(j));
      this.askers = this.words.map((word, j) => {
        const button = make("button", { type: "button" }, word);
        button.addEventListener("click", () => this.move(this.data.q[j]));
        return button;
      });
      this.fields = ["first", "second"].map((name, c) => {
        const field = make("input", { type: "number", step: 0.1, min: -this.reach, max: this.reach, autocomplete: "off", "aria-label": `query, ${name} number` });
        field.addEventListener("input", () => this.read(field, c));
        field.addEventListener("blur", () => this.settle());
        return field;
      });
      const back = make("button", { type: "button" }, "Back to the start");
      back.addEventListener("click", () => {
        this.begin();
        this.range.range.value = 0;
        this.range.tell();
        this.switches.forEach((box) => { box.checked = true; });
        this.move(this.query);
      });
      return make("div", { class: "controls" },
        make("div", { class: "asks", role: "group", "aria-label": "the query of a word" }, make("span", { class: "query" }, "query of"), this.askers),
        make("div", { class: "asks" }, make("span", { class: "query" }, "query"), this.fields), back);
    }

    read(field, c) {
      const value = field.value.trim() === "" ? NaN : Number(field.value);
      const good = Math.abs(value) <= this.reach;
      if (good) {
        field.removeAttribute("aria-invalid");
        this.move(this.query.map((x, n) => (n === c ? value : x)), field);
        return;
      }
      field.setAttribute("aria-invalid", "true");
      this.announce(this.status, `${field.getAttribute("aria-label")}: must be a number from −${this.reach} to ${this.reach}. ${this.said()[c]} stays.`);
    }

    // The fields show the query that is in use, but for the one that is being typed into.
    settle(but) {
      this.fields.forEach((field, c) => {
        if (field === but) return;
        field.value = this.query[c];
        field.removeAttribute("aria-invalid");
      });
    }

    move(query, field) {
      this.query = query.map((x) => Math.max(-this.reach, Math.min(this.reach, x)));
      this.settle(field);
      this.update();
    }

    // A plane: what is drawn anew, a place in it, and how to get there from numbers.
    plane(low, high, label) {
      const unit = SIZE / (high - low);
      const at = ([x, y]) => [(x - low) * unit, (high - y) * unit].map((n) => Math.round(100 * n) / 100);
      const drawn = draw("g", { "aria-hidden": "true" });
      const svg = draw("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: label ? "img" : "group" }, drawn);
      const axes = draw("path", { class: "axis", d: `M0 ${at([0, 0])[1]}H${SIZE}M${at([0, 0])[0]} 0V${SIZE}` });
      return { svg, at, axes, drawn, unit };
    }

    left() {
      this.keys = this.plane(-this.reach - 0.25, this.reach + 0.25);
      const { svg, unit } = this.keys;
      svg.setAttribute("aria-label", "the query and the keys");
      this.tip = draw("g", { class: "tip", tabindex: "0", role: "slider", "aria-label": "tip of the query, moved by the arrow keys", "aria-valuemin": -this.reach, "aria-valuemax": this.reach },
        draw("circle", { class: "hit", r: 28 }), draw("circle", { class: "grip", r: 9 }));
      svg.append(this.tip);
      let from = null;
      // Chrome does not heed `touch-action` on a part of a drawing: without this, a finger would scroll the page.
      this.tip.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
      this.tip.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        this.tip.setPointerCapture(event.pointerId);
        from = { x: event.clientX, y: event.clientY, query: this.query, scale: SIZE / svg.getBoundingClientRect().width / unit };
      });
      this.tip.addEventListener("pointermove", (event) => {
        if (!from) return;
        const by = [event.clientX - from.x, from.y - event.clientY];
        this.move(from.query.map((x, c) => tenths(x + by[c] * from.scale)));
      });
      for (const kind of ["pointerup", "pointercancel"]) this.tip.addEventListener(kind, () => { from = null; });
      this.tip.addEventListener("keydown", (event) => {
        const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] }[event.key];
        if (!by) return;
        event.preventDefault();
        this.move(this.query.map((x, c) => tenths(x + by[c] * (event.shiftKey ? 1 : 0.1))));
      });
      const legend = make("p", { class: "legend" }, make("span", { class: "query" }, "query", make("span", { class: "hint" }, ": drag its tip")), make("span", { class: "key" }, "keys"));
      return make("div", {}, legend, svg);
    }

    numbers() {
      this.switches = [];
      const head = ["may look at", "score", "", "weight"].map((word) => make("th", { scope: "col" }, word));
      this.divided = head[2];
      this.rows = this.words.map((word, j) => {
        const label = onOff([make("span", { class: "heard" }, "may look at "), word], true, (on) => { this.seen[j] = on; this.update(); });
        this.switches.push(label.querySelector("input"));
        const cells = ["score", "scaled", "weight"].map((name) => make("td", { class: `of-${name}` }));
        return { cells, row: make("tr", {}, make("th", { scope: "row" }, label), cells) };
      });
      return make("table", { class: "numbers bars", "aria-label": "scores and weights" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, this.rows.map(({ row }) => row)));
    }

    right() {
      const all = [...this.data.v.flat(), 0];
      this.values = this.plane(Math.min(...all) - 0.25, Math.max(...all) + 0.25, true);
      this.result = make("span", { class: "out" });
      return make("div", {}, make("p", { class: "legend" }, make("span", { class: "value" }, "values"), this.result), this.values.svg);
    }

    temperature() {
      const root = this.data.divisor, step = (x) => Math.round(Math.log(x / root) / FACTOR);
      const [min, max] = [step(LEAST), step(MOST)], divisor = (n) => (n ? Number((root * Math.exp(n * FACTOR)).toFixed(2)) : root);
      this.range = slider("the scores are divided by", { min, max, step: 1, value: 0 }, (n) => written(divisor(n), 2), (n) => { this.divisor = divisor(n); this.update(); });
      const mark = make("p", { class: "root", style: `--at: ${-min / (max - min)}` }, make("span", {}, "▴ ", ...formula("√d_k"), ` = ${written(root, 2)}`));
      return make("div", {}, this.range.label, mark);
    }

    update(first = false) {
      const now = geometry(this.data, this.query, this.divisor, this.seen);
      const asking = this.asking();
      this.askers.forEach((button, j) => button.setAttribute("aria-pressed", j === asking));
      this.showKeys(now);
      this.showNumbers(now);
      this.showValues(now);
      const list = (row, n) => row.map((x) => written(x, n)).join(", ");
      const hidden = this.words.filter((_, j) => !this.seen[j]);
      const asks = asking < 0 ? `Query (${this.said().join(", ")})` : `${quoted(this.words[asking])} asks`;
      const parts = [`${asks}: scores ${list(now.scores, places([now.scores], 2))}`];
      if (hidden.length && hidden.length < this.words.length) parts.push(`${and(hidden)} hidden`);
      if (hidden.length < this.words.length) parts.push(`weights ${now.weights.map((x) => written(x, 2, true)).join(", ")}`);
      const words = `${[...parts, lies(this.words, now.weights, this.seen)].join("; ")}.`;
      if (first) this.status.textContent = words;
      else this.announce(this.status, words);
    }

    said() {
      return this.query.map((x) => written(x, places([this.query], 2)));
    }

    point(x, n) {
      return `(${x.map((number) => written(number, n)).join(", ")})`;
    }

    arrow([x, y], kind, { at, unit } = this.keys) {
      const size = Math.hypot(x, y), [ax, ay] = [x / (size || 1), y / (size || 1)], head = (kind === "query" ? 11 : 15) / unit; // a key under the query is seen
      const back = [x - ax * head, y - ay * head], wing = 0.45 * head;
      const corners = [[x, y], [back[0] - ay * wing, back[1] + ax * wing], [back[0] + ay * wing, back[1] - ax * wing]];
      if (size < head) return [];
      return [draw("path", { class: `arrow ${kind}`, d: `M${at([0, 0])}L${at(back)}` }), draw("path", { class: `head ${kind}`, d: `M${corners.map(at).join("L")}Z` })];
    }

    // A name `away` units from a place in a direction.
    name(text, place, [dx, dy], { at }, kind, away) {
      const [x, y] = at(place), anchor = dx < -0.4 ? "end" : dx > 0.4 ? "start" : "middle";
      return draw("text", { class: `said ${kind}`, x: x + away * dx, y: y - away * dy + 5, "text-anchor": anchor }, text);
    }

    // Where the line of the query leaves the plane.
    end() {
      return this.query.map((n) => (n * (this.reach + 0.25)) / (Math.max(...this.query.map(Math.abs)) || 1));
    }

    // Its name stands at that end of its line, and beside its tip where the tip is near.
    nameOfQuery() {
      const [x, y] = this.query, size = Math.hypot(x, y), end = this.end();
      const side = x * y < 0 ? [y / size, -x / size] : [-y / (size || 1), x / (size || 1)]; // towards the middle
      if (!size || Math.hypot(end[0] - x, end[1] - y) < 1) return this.name("query", this.query, side, this.keys, "query", 16);
      const most = this.reach - 0.2; // so that it stays within the plane
      return this.name("query", end.map((n) => Math.max(-most, Math.min(most, n))), [0, 0], this.keys, "query", 0);
    }

    // The line of the query and, side by side along it, the shadows; a query of zeros has none.
    shadows({ scores, feet }) {
      const { at, unit } = this.keys, [x, y] = this.query, size = Math.hypot(x, y);
      if (!size) return [];
      const end = this.end();
      const across = this.data.k.reduce((sum, key) => sum + x * key[1] - y * key[0], 0); // above 0: most keys lie to the left
      const side = [-y, x].map((n) => (across > 0 ? -n : n) / size);
      const beside = (place, away) => at(place.map((n, c) => n + (side[c] * away) / unit));
      const lane = (j) => 16 + 14 * j;
      const name = (j) => {
        const back = this.query.map((n) => (scores[j] < 0 ? n : -n) / size), [left, top] = beside(back.map((n) => (4 * n) / unit), lane(j));
        const angle = (Math.atan2(back[1], back[0]) * 180) / Math.PI, turned = angle > 90 || angle <= -90;
        return draw("text", { class: "said of-shadow key", "text-anchor": turned ? "end" : "start", y: 4, transform: `translate(${left},${top}) rotate(${turned ? 180 - angle : -angle})` }, this.words[j]);
      };
      const seen = feet.map((foot, j) => [foot, j]).filter(([, j]) => this.seen[j]);
      return [draw("path", { class: "ray", d: `M${at(end.map((n) => -n))}L${at(end)}` }),
        draw("path", { class: "fall", d: `M${at([0, 0])}L${beside([0, 0], lane(feet.length - 1) + 7)}` }),
        ...seen.flatMap(([foot, j]) => [
          draw("path", { class: "shadow", d: `M${beside([0, 0], lane(j))}L${beside(foot, lane(j))}` }),
          draw("path", { class: "fall", d: `M${at(this.data.k[j])}L${at(foot)}L${beside(foot, lane(j) + 5)}` }),
          name(j)]),
        ...seen.map(([foot]) => draw("circle", { class: "foot", cx: at(foot)[0], cy: at(foot)[1], r: 3.5 }))];
    }

    showKeys(now) {
      const { at, axes, drawn } = this.keys;
      const kind = (j) => (this.seen[j] ? "key" : "key hidden");
      drawn.replaceChildren(axes,
        ...this.data.k.flatMap((key, j) => this.arrow(key, kind(j))),
        ...this.shadows(now),
        ...this.arrow(this.query, "query"),
        ...this.data.k.map((key, j) => this.name(this.words[j], key, key.map((n) => n / (Math.hypot(...key) || 1)), this.keys, kind(j), 20)),
        this.nameOfQuery());
      this.tip.setAttribute("transform", `translate(${at(this.query)})`);
      this.tip.setAttribute("aria-valuenow", this.query[0]);
      this.tip.setAttribute("aria-valuetext", `${this.said()[0]} across, ${this.said()[1]} up`);
    }

    showNumbers({ scores, scaled, weights }) {
      this.divided.replaceChildren("÷ ", written(this.divisor, 2));
      const fine = places([scores], 2);
      this.rows.forEach(({ cells, row }, j) => {
        const wide = (50 * Math.abs(scores[j])) / this.longest;
        const bar = (left, width) => make("span", { class: "rail" }, make("span", { class: "bar", style: `left: ${left}%; width: ${width}%` }));
        row.classList.toggle("hidden", !this.seen[j]);
        cells[0].replaceChildren(written(scores[j], fine), bar(scores[j] < 0 ? 50 - wide : 50, wide));
        cells[1].replaceChildren(written(scaled[j], 2));
        cells[2].replaceChildren(written(weights[j], 4, true), bar(0, 100 * weights[j]));
      });
    }

    showValues({ weights, out }) {
      const { at, axes, drawn, svg } = this.values, { v } = this.data;
      const corners = v.filter((_, j) => this.seen[j]);
      const middle = [0, 1].map((c) => v.reduce((sum, row) => sum + row[c], 0) / v.length);
      const outward = (row) => row.map((x, c) => (x - middle[c]) / (Math.hypot(row[0] - middle[0], row[1] - middle[1]) || 1));
      drawn.replaceChildren(axes,
        draw("path", { class: "hull", d: corners.length ? `M${corners.map(at).join("L")}Z` : null }),
        ...v.map((row, j) => draw("path", { class: "pull", "stroke-width": 16 * weights[j], d: `M${at(row)}L${at(out)}` })),
        ...v.map((row, j) => draw("circle", { class: this.seen[j] ? "corner" : "corner hidden", cx: at(row)[0], cy: at(row)[1], r: 6 })),
        ...v.map((row, j) => this.name(this.words[j], row, outward(row), this.values, this.seen[j] ? "value" : "value hidden", 20)),
        draw("path", { class: "output", d: "M0-10L10 0L0 10L-10 0Z", transform: `translate(${at(out)})` }),
        this.name("output", out, [0, out[1] < 0.3 ? 1 : -1], this.values, "out", 24));
      this.result.textContent = `output ${this.point(out, 4)}`;
      svg.setAttribute("aria-label", `The triangle of the values; the output is at ${this.point(out, 2)}.`);
    }
  }

  Object.assign(window.figures, { geometry, lies });
  customElements.define("geometry-figure", GeometryFigure);
})();

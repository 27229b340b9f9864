// Attention by hand: every number of X and of the three matrices can be changed, every result says what it is made of.
"use strict";
(() => {
  const { Figure, choosing, formula, make, multiply, onOff, places, softmax, transpose, whole, written } = window.figures;

  // Every step of attention. The names are those of the package: x, w_q, w_k, w_v, positions.
  const add = (a, b) => a.map((row, i) => row.map((x, c) => x + b[i][c]));
  const attention = (data, { scale = true, mask = false, positions = false } = {}) => {
    const x = positions ? add(data.x, data.positions) : data.x;
    const q = multiply(x, data.w_q), k = multiply(x, data.w_k), v = multiply(x, data.w_v);
    const scores = multiply(q, transpose(k));
    const scaled = scale ? scores.map((row) => row.map((s) => s / Math.sqrt(k[0].length))) : scores;
    const masked = mask ? scaled.map((row, i) => row.map((s, j) => (j > i ? -Infinity : s))) : scaled;
    const weights = masked.map(softmax);
    return { x, q, k, v, scores, scaled, masked, weights, out: multiply(weights, v) };
  };

  const LIMIT = 1000; // larger numbers teach nothing and do not fit
  const INPUTS = { x: "X", w_q: "W^Q", w_k: "W^K", w_v: "W^V" };
  const REST = 500; // changes that follow each other faster are one change, in milliseconds
  const copy = (matrix) => matrix.map((row) => [...row]);
  const quoted = (word) => `“${word}”`;

  class AttentionFigure extends Figure {
    build(data, live) {
      Object.assign(this, { book: data, words: data.words, tables: {}, fields: {} });
      this.classList.add("wide");
      this.begin();
      live.setAttribute("aria-label", "Attention by hand, with numbers to change");
      const id = `terms-${document.querySelectorAll(".attention-terms").length}`;
      this.terms = make("p", { class: "attention-terms", id });
      this.status = make("p", { class: "status", role: "status" });
      const start = make("p", { class: "after-inputs", tabindex: "-1" }, "Choose a result to see what it is made of. With the keyboard: Tab from matrix to matrix, arrow keys inside.");
      const skip = make("button", { type: "button", class: "skip" }, "Skip the inputs");
      skip.addEventListener("click", () => start.focus());
      const slot = (name, child) => make("div", { style: `grid-area: ${name}` }, child);
      const results = (...names) => names.map((name) => slot(name, this.resultMatrix(name, id)));
      const inputs = Object.keys(INPUTS).map((name) => slot(name, this.inputMatrix(name)));
      const side = (title, ...children) => make("div", { class: "part" }, make("p", { class: "name" }, title), ...children);
      live.append(
        make("div", { class: "by-hand" },
          side("Numbers to change", skip, make("div", { class: "given" }, inputs, start, results("x_p", "q", "k", "v"))),
          side("Scores, weights and output", make("div", { class: "made" }, results("scores", "scaled"), this.controls(), results("masked", "weights", "out")), this.status)),
        make("div", { class: "terms" }, this.terms, make("p", { class: "note" }, "Sums use unrounded numbers.")),
      );
      live.addEventListener("keydown", (event) => event.key === "Escape" && this.choose(null));
      this.calculate();
      this.choose({ name: "weights", i: Math.min(1, this.words.length - 1), c: this.words.length - 1 });
      this.status.textContent = this.sentence();
    }

    begin() {
      for (const name of Object.keys(INPUTS)) this[name] = copy(this.book[name]);
      this.options = { scale: true, mask: false, positions: false };
      this.before = null;
    }

    controls() {
      const set = (name) => (on) => this.change(() => { this.options[name] = on; });
      const scale = onOff(formula("divide by √d_k"), true, set("scale"));
      const mask = onOff("hide later words", false, set("mask"));
      const positions = onOff("add positions", false, set("positions"));
      const reset = make("button", { type: "button" }, "Back to the book’s numbers");
      reset.addEventListener("click", () => {
        this.begin();
        for (const [label, on] of [[scale, true], [mask, false], [positions, false]]) label.querySelector("input").checked = on;
        for (const name of Object.keys(INPUTS)) this.fields[name].flat().forEach((field) => this.settle(field));
        this.calculate();
        this.announce(this.status, this.sentence());
      });
      return make("div", { class: "controls" }, scale, mask, positions, reset);
    }

    // A table with a row for each word, or for each component; the words stand above the scores and weights, too.
    frame(name, caption, x, cell) {
      const square = ["scores", "scaled", "masked", "weights"].includes(name);
      const named = !name.startsWith("w_");
      const table = make("table", { class: `matrix of-${name}` }, make("caption", {}, ...formula(caption)));
      if (square) table.append(make("thead", {}, make("tr", {}, make("td"), this.words.map((word) => make("th", { scope: "col" }, word)))));
      const rows = x.map((row, i) => {
        const head = named ? [make("th", { scope: "row" }, this.words[i])] : [];
        return make("tr", {}, head, row.map((_, c) => cell(i, c)));
      });
      table.append(make("tbody", {}, rows));
      return table;
    }

    inputMatrix(name) {
      this.fields[name] = this[name].map((row) => row.map(() => null));
      return this.frame(name, INPUTS[name], this[name], (i, c) => {
        const label = `${INPUTS[name].replace("^", " ")}, ${this.place(name, i)}, column ${c + 1}`;
        const field = make("input", { type: "number", step: "any", min: -LIMIT, max: LIMIT, autocomplete: "off", "aria-label": label, tabindex: i + c ? "-1" : "0" });
        Object.assign(field, { matrix: name, i, c });
        field.addEventListener("focus", () => { this.enter(field); field.select(); });
        field.addEventListener("input", () => this.read(field));
        field.addEventListener("blur", () => this.settle(field));
        field.addEventListener("keydown", (event) => this.nudge(field, event));
        this.fields[name][i][c] = field;
        this.settle(field);
        return make("td", { "data-i": i, "data-c": c }, field);
      });
    }

    place(name, i) {
      return name.startsWith("w_") ? `row ${i + 1}` : quoted(this.words[i]);
    }

    // The field shows the number that is in use.
    settle(field) {
      field.value = this[field.matrix][field.i][field.c];
      field.removeAttribute("aria-invalid");
    }

    read(field) {
      const value = field.value.trim() === "" ? NaN : Number(field.value);
      const good = Number.isFinite(value) && Math.abs(value) <= LIMIT;
      if (good) {
        field.removeAttribute("aria-invalid");
        this.change(() => { this[field.matrix][field.i][field.c] = value; });
      } else {
        field.setAttribute("aria-invalid", "true");
        const kept = written(this[field.matrix][field.i][field.c], 4).replace(/\.?0+$/, "") || "0";
        this.announce(this.status, `${field.getAttribute("aria-label")}: must be a number from −${LIMIT} to ${LIMIT}. ${kept} stays.`);
      }
    }

    // A matrix is one stop of the Tab key: where one was last.
    enter(field) {
      for (const other of this.fields[field.matrix].flat()) other.tabIndex = other === field ? 0 : -1;
    }

    // Arrow up and down change a number by a tenth, with Shift by one; left and right, Home and End go to another.
    nudge(field, event) {
      const all = this.fields[field.matrix].flat(), n = all.indexOf(field);
      const next = { ArrowLeft: n - 1, ArrowRight: n + 1, Home: 0, End: all.length - 1 }[event.key];
      const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (next === undefined && !by) return;
      event.preventDefault();
      if (!by) { all[next]?.focus(); return; }
      const now = this[field.matrix][field.i][field.c] + by * (event.shiftKey ? 1 : 0.1);
      field.value = Math.max(-LIMIT, Math.min(LIMIT, Math.round(now * 1e9) / 1e9));
      this.read(field);
    }

    resultMatrix(name, described) {
      const steps = attention(this, { ...this.options });
      const caption = { x_p: "X + P", q: "Q = X W^Q", k: "K = X W^K", v: "V = X W^V", scores: "Q K^T", scaled: "Q K^T / √d_k", masked: "later words hidden", weights: "A = softmax of each row", out: "out = A V" }[name];
      const table = this.frame(name, caption, steps[name === "x_p" ? "x" : name], (i, c) =>
        make("td", { "data-i": i, "data-c": c, tabindex: i + c ? "-1" : "0", "aria-describedby": described }));
      table.setAttribute("role", "grid");
      table.setAttribute("aria-readonly", "true");
      const at = (cell) => ({ name, i: Number(cell.dataset.i), c: Number(cell.dataset.c) });
      choosing(table, "td[data-i]", (cell) => this.choose(at(cell)));
      table.addEventListener("keydown", (event) => this.walk(table, at(event.target), event));
      this.tables[name] = table;
      return table;
    }

    cell(name, i, c) {
      return this.tables[name]?.querySelector(`td[data-i="${i}"][data-c="${c}"]`) ?? this.fields[name]?.[i]?.[c]?.parentElement;
    }

    // Arrow keys, Home and End move inside a matrix, which is one stop of the Tab key.
    walk(table, { name, i, c }, event) {
      const last = table.querySelectorAll("tbody tr:first-child td").length - 1;
      const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -c], End: [0, last - c] }[event.key] ?? [];
      if (down === undefined) return;
      event.preventDefault();
      const next = this.cell(name, i + down, c + right);
      if (!next) return;
      for (const cell of table.querySelectorAll('td[tabindex="0"]')) cell.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    }

    // What was before stays beside the weights until the next change.
    change(act) {
      const now = performance.now();
      if (!(now - this.changed < REST && this.before)) this.before = this.steps.weights;
      this.changed = now;
      act();
      this.calculate();
      this.announce(this.status, this.sentence());
    }

    calculate() {
      const { scale, mask, positions } = this.options;
      this.steps = attention({ x: this.x, w_q: this.w_q, w_k: this.w_k, w_v: this.w_v, positions: this.book.positions }, this.options);
      this.steps.x_p = this.steps.x;
      const seen = { x_p: positions, scaled: scale, masked: mask };
      for (const [name, table] of Object.entries(this.tables)) {
        table.parentElement.style.visibility = seen[name] === false ? "hidden" : ""; // its room stays
        const x = this.steps[name];
        for (const cell of table.querySelectorAll("td[data-i]")) {
          const value = x[cell.dataset.i][cell.dataset.c];
          cell.textContent = this.text(value, x);
          if (name !== "weights") continue;
          cell.style.setProperty("--share", `${(100 * value).toFixed(1)}%`);
          const before = this.before?.[cell.dataset.i][cell.dataset.c] ?? value;
          if (this.text(before, x) === cell.textContent) delete cell.dataset.before;
          else cell.dataset.before = share(before);
        }
      }
      const source = positions ? "(X + P)" : "X";
      for (const [name, letter] of [["q", "Q"], ["k", "K"], ["v", "V"]]) {
        this.tables[name].caption.replaceChildren(...formula(`${letter} = ${source} W^${letter}`));
      }
      if (this.chosen) this.choose(this.tables[this.chosen.name].parentElement.style.visibility ? { ...this.chosen, name: "weights" } : this.chosen);
    }

    // Light up one result and what it is made of, and write it out.
    choose(chosen) {
      this.chosen = chosen;
      for (const cell of this.querySelectorAll(".lit, .chosen")) cell.classList.remove("lit", "chosen");
      this.terms.replaceChildren();
      if (!chosen) return;
      const { name, i, c } = chosen;
      this.cell(name, i, c).classList.add("chosen");
      const { lit, what, terms } = this.explain(name, i, c);
      for (const [from, a, b] of lit) this.cell(from, a, b)?.classList.add("lit");
      this.terms.append(make("strong", {}, ...what), make("span", {}, ...terms));
    }

    // What a result is made of: its name, the cells that light up, and the sum with all its terms.
    explain(name, i, c) {
      const { words, options, steps } = this;
      const row = (from, at) => steps[from][at].map((_, m) => [from, at, m]);
      const column = (from, at, matrix) => matrix.map((_, m) => [from, m, at]);
      const before = { masked: options.scale ? "scaled" : "scores", weights: this.logits() };
      const pair = `, ${quoted(words[i])} on ${quoted(words[c])}: `, entry = `, ${quoted(words[i])}, column ${c + 1}: `;
      const x = options.positions ? "x_p" : "x", p = this.book.positions;
      switch (name) {
        case "x_p":
          return { what: [...formula("X + P"), entry], lit: [["x", i, c]], terms: [`${written(this.x[i][c], places(this.x))} + ${written(p[i][c], places(p))}`, ...this.equals([this.x, p, steps.x], "x", i, c)] };
        case "q":
        case "k":
        case "v": {
          const w = `w_${name}`;
          const lit = [...steps.x[i].map((_, m) => [x, i, m]), ...column(w, c, this[w])];
          return { what: [...formula(name.toUpperCase()), entry], lit, terms: this.products(steps.x[i], steps.x, this[w].map((r) => r[c]), this[w], steps[name], i, c) };
        }
        case "scores":
          return { what: ["Score", pair], lit: [...row("q", i), ...row("k", c)], terms: this.products(steps.q[i], steps.q, steps.k[c], steps.k, steps.scores, i, c) };
        case "scaled":
          return { what: ["Scaled score", pair], lit: [["scores", i, c]], terms: [`${this.number("scores", i, c)} / √${steps.k[0].length}`, ...this.equals([steps.scores, steps.scaled], "scaled", i, c)] };
        case "masked":
          return { what: ["After the mask", pair], lit: [[before.masked, i, c]], terms: [c > i ? `${quoted(words[c])} comes later: hidden, −∞` : `may look, ${this.number("masked", i, c)} stays`] };
        case "weights":
          return { what: ["Weight", pair], lit: row(before.weights, i), terms: this.quotient(i, c) };
        default:
          return { what: [...formula("out"), entry], lit: [...row("weights", i), ...column("v", c, steps.v)],
            terms: this.products(steps.weights[i], steps.weights, steps.v.map((r) => r[c]), steps.v, steps.out, i, c) };
      }
    }

    // The matrix that the softmax is taken of.
    logits() {
      return this.options.mask ? "masked" : this.options.scale ? "scaled" : "scores";
    }

    // A number of a matrix. Among weights a zero and a one are exact, and have no decimals.
    text(x, matrix) {
      return matrix === this.steps.weights ? written(x, places(matrix) || 4, true) : written(x, places(matrix));
    }

    number(name, i, c) {
      return this.text(this.steps[name][i][c], this.steps[name]);
    }

    equals(used, name, i, c) {
      return [used.every(whole) ? " = " : " ≈ ", make("b", {}, this.number(name, i, c))];
    }

    products(left, lefts, right, rights, results, i, c) {
      const name = Object.keys(this.steps).find((key) => this.steps[key] === results);
      const terms = left.map((value, m) => `${bracketed(this.text(value, lefts))} · ${bracketed(this.text(right[m], rights))}`);
      return [terms.join(" + "), ...this.equals([lefts, rights, results], name, i, c)];
    }

    // e^a / (e^a + e^b + …) is exact where nothing else is seen, where all scores seen are the same, and where it is hidden.
    quotient(i, c) {
      const name = this.logits(), row = this.steps[name][i], hidden = row[c] === -Infinity;
      const power = (j) => ["e", make("sup", {}, this.number(name, i, j))];
      const sum = this.words.flatMap((_, j) => [...(j ? [" + "] : []), ...power(j)]);
      const same = new Set(row.filter(Number.isFinite)).size === 1 && whole([[this.steps.weights[i][c]]]);
      const result = [hidden || same ? " = " : " ≈ ", make("b", {}, this.number("weights", i, c))];
      return [...power(c), " / (", ...sum, ")", ...result, ...(hidden ? [", since ", ...power(c), " = 0"] : [])];
    }

    // What the word takes whose number is chosen, or, if that stays, the word whose weights have changed most.
    sentence() {
      const now = this.steps.weights, before = this.before ?? now, chosen = this.chosen?.i ?? 1;
      const moved = now.map((row, i) => row.reduce((sum, w, j) => sum + Math.abs(w - before[i][j]), 0));
      const most = moved.indexOf(Math.max(...moved)), moves = (i) => moved[i] >= 5e-5;
      const i = moves(chosen) || !moves(most) ? chosen : most;
      const shares = now[i].map((w, j) => {
        const [old, present] = [share(before[i][j]), share(w)];
        return `${old === present ? "" : `${old} → `}${present} from ${quoted(this.words[j])}`;
      });
      const lead = i !== chosen ? "Changed most: " : this.before && !moves(i) ? "No weight changes: " : "";
      return `${lead}${quoted(this.words[i])} takes ${shares.join(", ")}.`;
    }
  }

  const share = (x) => written(x, 2, true);
  const bracketed = (number) => (number.startsWith("−") ? `(${number})` : number);

  Object.assign(window.figures, { attention });
  customElements.define("attention-figure", AttentionFigure);
})();

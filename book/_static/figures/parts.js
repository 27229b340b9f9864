// A score by its parts: one word goes to another position or gives way to another word, and parts are taken out of the sum.
"use strict";
(() => {
  const { Figure, asShare, make, onOff, slider, softmax, written } = window.figures;

  // A part that asks for words has a number for each choice; any other has one for each position, whoever is there.
  const scored = ({ parts, moves }, { word, position, gone = [] }) => {
    const strips = parts.map(({ strip, words }) => strip.map((x, n) => (n === moves ? (words ? words[word] : strip[position]) : x)));
    const score = strips[0].map((_, n) => strips.reduce((sum, strip, k) => sum + (gone.includes(k) ? 0 : strip[n]), 0));
    return { strips, score, weights: softmax(score) };
  };

  const number = (x) => written(x, 1);
  const share = (x) => asShare(x, 2);
  const spoken = (x) => asShare(x, 2, { signs: true }).replace("<", "less than");
  const COUNT = ["no", "one", "two", "three", "any"];
  const quote = (text) => text.replace(/"(.*?)"/g, "“$1”");

  class PartsFigure extends Figure {
    build(data, live) {
      const { words, moves, choices, parts } = data, first = choices.indexOf(words[moves]);
      Object.assign(this, { data, word: first, position: moves, gone: [] });
      this.limit = Math.ceil(Math.max(...[...parts.map((part) => part.strip), scored(data, this).score].flat().map(Math.abs)));
      live.setAttribute("aria-label", `The parts of the scores that “${words[data.asks]}” gives, with one word to move or to replace`);
      this.select = make("select", {}, choices.map((word, n) => make("option", { value: n, selected: n === first }, word)));
      this.select.addEventListener("change", () => { this.word = Number(this.select.value); this.show(); });
      this.seat = slider("Its position", { min: 0, max: words.length - 1, step: 1, value: moves }, (n) => this.where(n), (n) => { this.position = n; this.show(); });
      const back = make("button", { type: "button" }, "Start again");
      back.addEventListener("click", () => this.start(first));
      const cells = (role) => words.map((_, n) => make("span", { role, class: n === moves ? "movable" : n === data.asks ? "asking" : null }));
      const row = (kind, head, tiles, role = "rowheader") => make("div", { role: "row", class: `strip ${kind}` },
        make("div", { role, class: "about" }, head), make("div", { class: "tiles", style: `--home: ${moves}` }, tiles));
      const title = ([name, said]) => [make("b", {}, name), " ", make("small", {}, said)];
      this.heads = cells("columnheader");
      this.tiles = [...parts, "score", "weight"].map(() => cells("cell"));
      this.switches = parts.map(({ name }, k) => onOff(title(quote(`${k ? "+ " : ""}${name}`).split(": ")), true, (on) => {
        this.gone = on ? this.gone.filter((n) => n !== k) : [...this.gone, k].sort();
        this.show();
      }));
      this.rows = parts.map((_, k) => row("part-of", this.switches[k], this.tiles[k]));
      const score = row("score", title(["= score", "the sum of the parts"]), this.tiles.at(-2));
      const weight = row("weight", title(["weight", "after the softmax"]), this.tiles.at(-1));
      this.bars = words.map((_, n) => make("span", {}, make("b"), make("i")));
      this.about = make("p", { class: "about" });
      this.chart = make("div", { class: "strip along", role: "img" }, this.about, make("div", { class: "tiles" }, this.bars));
      this.line = make("p", { class: "told", "aria-hidden": "true" });
      this.heard = make("p", { class: "heard", role: "status" });
      live.append(
        make("div", { class: "controls" }, make("label", { class: "sentence" }, make("span", {}, "Word"), this.select), back),
        this.seat.label,
        make("div", { role: "table", "aria-label": "The parts of each score, their sum, and the weights" },
          row("seats", "", [this.heads, words.map((_, n) => make("small", { "aria-hidden": "true", style: `--at: ${n}` }, String(n)))], "cell"), this.rows, score, weight),
        this.chart, this.line, this.heard);
      this.show(true);
    }

    start(first) {
      Object.assign(this, { word: first, position: this.data.moves, gone: [] });
      this.select.value = first;
      this.seat.range.value = this.position;
      this.seat.tell();
      for (const label of this.switches) label.querySelector("input").checked = true;
      this.show();
    }

    name(n) { return n === this.data.moves ? this.data.choices[this.word] : this.data.words[n]; }

    where(n) { return `position ${n}${n === this.data.moves ? "" : `, with “${this.data.words[n]}”`}`; }

    show(first = false) {
      const gender = this.data.genders?.[this.data.choices[this.word]];
      this.style.setProperty("--mark", gender ? `var(--gender-${gender})` : "");
      const { moves, words } = this.data, { strips, score, weights } = scored(this.data, this);
      [this.heads, ...this.tiles].forEach((cells, row) => cells.forEach((cell, n) => {
        const at = n === moves ? this.position : n;
        cell.style.setProperty("--at", at);
        cell.classList.toggle("shared", at === this.position && at !== moves);
        if (!row) { cell.textContent = this.name(n); return; }
        const x = [...strips, score, weights][row - 1][n], last = row > strips.length + 1;
        cell.textContent = last ? share(x) : number(x);
        cell.classList.toggle("below", x < 0);
        cell.style.setProperty("--heat", `${(last ? 100 * x : Math.min(100, (100 * Math.abs(x)) / this.limit)).toFixed(1)}%`);
      }));
      this.rows.forEach((row, k) => row.classList.toggle("gone", this.gone.includes(k)));
      const way = words.map((_, position) => scored(this.data, { ...this, position }).weights[moves]);
      this.bars.forEach((bar, n) => {
        bar.style.cssText = `--at: ${n}; --share: ${(100 * way[n]).toFixed(1)}%`;
        bar.classList.toggle("now", n === this.position);
        bar.firstChild.textContent = share(way[n]);
      });
      this.about.textContent = `What “${words[this.data.asks]}” takes from “${this.name(moves)}” at each position`;
      this.chart.setAttribute("aria-label", `${this.about.textContent}: ${way.map(share).join(", ")}`);
      this.line.textContent = this.said(weights);
      if (first) this.heard.textContent = this.line.textContent;
      else this.announce(this.heard, this.line.textContent);
    }

    said(weights) {
      const { asks, moves, parts, words } = this.data, top = weights.indexOf(Math.max(...weights));
      const gone = this.gone.length === 1 ? `“${parts[this.gone[0]].name.split(": ")[0]}”` : `${COUNT[this.gone.length]} parts`;
      const taken = `${this.gone.length ? `Without ${gone}, ` : ""}“${words[asks]}” takes ${spoken(weights[moves])} from “${this.name(moves)}” at position ${this.position}.`;
      if (this.gone.length === parts.length) return `${taken} All scores are the same, and so are all weights.`;
      return top === moves ? `${taken} This is the largest weight.` : `${taken} The largest weight, ${share(weights[top])}, is on “${this.name(top)}”${top === asks ? " itself" : ""}.`;
    }
  }

  customElements.define("parts-figure", PartsFigure);
})();

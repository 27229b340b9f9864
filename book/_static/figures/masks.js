// A mask to paint: which query may look at which key, and the weights that the softmax makes of what is left.
"use strict";
(() => {
  const { Figure, make, softmax, written } = window.figures;

  // A hidden score is −∞ to the softmax; a row with nothing to look at becomes zeros.
  const weighed = (scores, mask) => scores.map((row, i) => softmax(row.map((s, j) => (mask[i][j] ? s : -Infinity))));

  const causal = (n) => Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => j <= i));
  const padding = (real) => real.map(() => [...real]);

  const DIGITS = 4;
  const number = (x) => written(x, DIGITS), share = (x) => written(x, DIGITS, true);
  const and = (parts) => (parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`);

  class MasksFigure extends Figure {
    build(data, live) {
      const { words, real, mask } = data, n = words.length;
      Object.assign(this, { data, n, mask: mask.map((row) => [...row]), at: [0, 0] });
      live.setAttribute("aria-label", "A mask to paint, and the attention weights under it");
      const all = Array.from({ length: n }, () => Array(n).fill(true));
      this.named = { causal: causal(n), padding: padding(real), "nothing hidden": all };
      const button = (name, press) => {
        const made = make("button", { type: "button" }, name);
        made.addEventListener("click", press);
        return made;
      };
      this.presets = Object.entries(this.named).map(([name, mask]) => button(name, () => this.put(mask, `The mask is “${name}” now.`)));
      const invert = button("invert", () => this.put(this.mask.map((row) => row.map((may) => !may)), "Shown and hidden are swapped."));
      const head = () => make("tr", { role: "row" }, make("td", { role: "presentation" }), words.map((word) => make("th", { scope: "col", role: "columnheader", class: "key" }, word)));
      const rows = (kind) => words.map((word, i) => make("tr", { role: "row" }, make("th", { scope: "row", role: "rowheader", class: "query" }, word),
        words.map((_, j) => make("td", kind === "looks" ? { role: "gridcell", "data-i": i, "data-j": j, tabindex: -1 } : { role: "cell", "data-i": i, "data-j": j })),
        kind === "looks" ? [] : make("td", { role: "cell", class: "sum" })));
      const table = (kind, name) => {
        const top = head();
        if (kind === "weights") top.append(make("th", { scope: "col", role: "columnheader", class: "sum" }, "sum"));
        return make("table", { class: `matrix ${kind}`, role: kind === "looks" ? "grid" : "table", "aria-label": name }, make("caption", {}, name), make("thead", { role: "rowgroup" }, top), make("tbody", { role: "rowgroup" }, rows(kind)));
      };
      this.looks = table("looks", "Scores: press or drag to hide");
      this.weights = table("weights", "Weights");
      this.said = make("p", { class: "consequence", "aria-hidden": "true" });
      this.heard = make("p", { class: "heard", role: "status" });
      live.append(
        make("div", { class: "controls", role: "group", "aria-label": "Masks" }, this.presets, invert),
        make("div", { class: "pair" }, this.looks, this.weights), this.said, this.heard);
      this.paintable();
      this.focusable(0, 0);
      this.show();
    }

    cell(i, j) { return this.looks.querySelector(`[data-i="${i}"][data-j="${j}"]`); }

    // One cell of the square is reached by Tab; arrows lead to the others.
    focusable(i, j, focus = false) {
      this.cell(...this.at).tabIndex = -1;
      this.at = [i, j];
      this.cell(i, j).tabIndex = 0;
      if (focus) this.cell(i, j).focus();
    }

    // Pressing turns a look round; dragging gives all that it comes over the same. A drag that turns into scrolling never was.
    paintable() {
      let to = null, before = null;
      const over = ({ clientX, clientY }) => document.elementFromPoint(clientX, clientY)?.closest("td[data-i]");
      const paint = (cell) => {
        if (!cell || cell.closest("table") !== this.looks) return;
        const i = Number(cell.dataset.i), j = Number(cell.dataset.j);
        to ??= !this.mask[i][j];
        if (this.mask[i][j] !== to) this.turn(i, j);
      };
      this.looks.addEventListener("pointerdown", (event) => {
        const cell = event.target.closest("td[data-i]");
        if (!cell || event.button) return;
        [to, before] = [null, this.mask.map((row) => [...row])];
        this.looks.setPointerCapture(event.pointerId);
        this.focusable(Number(cell.dataset.i), Number(cell.dataset.j), true);
        paint(cell);
        event.preventDefault();
      });
      this.looks.addEventListener("pointermove", (event) => { if (before) paint(over(event)); });
      this.looks.addEventListener("pointerup", () => { before = null; });
      this.looks.addEventListener("pointercancel", () => { if (before) this.put(before, "As before."); before = null; });
      this.looks.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const [i, j] = this.at, last = this.n - 1;
        const go = { ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1], Home: [i, 0], End: [i, last] }[event.key];
        if (go) this.focusable(...go.map((place) => Math.max(0, Math.min(place, last))), true);
        else if (event.key === " " || event.key === "Enter") this.turn(i, j);
        else return;
        event.preventDefault();
      });
    }

    turn(i, j) {
      this.mask[i][j] = !this.mask[i][j];
      const { words } = this.data;
      this.show(() => `“${words[i]}” ${this.mask[i][j] ? "may look" : "may no longer look"} at “${words[j]}”; its weights are ${and(this.found[i].map((a, k) => `${share(a)} on “${words[k]}”`))}.`);
    }

    put(mask, words) {
      this.mask = mask.map((row) => [...row]);
      this.show(() => words);
    }

    show(changed = null) {
      const { words, scores } = this.data;
      this.found = weighed(scores, this.mask);
      this.found.forEach((row, i) => {
        row.forEach((a, j) => {
          const may = this.mask[i][j], look = this.cell(i, j);
          look.textContent = may ? number(scores[i][j]) : "−∞";
          look.className = may ? "" : "hidden";
          look.setAttribute("aria-label", `“${words[i]}” at “${words[j]}”: ${may ? `shown, score ${number(scores[i][j])}` : "hidden"}, weight ${share(a)}`);
          const cell = this.weights.querySelector(`[data-i="${i}"][data-j="${j}"]`);
          cell.textContent = share(a);
          cell.className = may ? "" : "hidden";
          cell.style.setProperty("--share", `${(100 * a).toFixed(2)}%`);
        });
        const sum = this.weights.tBodies[0].rows[i].lastElementChild;
        sum.textContent = String(Number(row.reduce((total, a) => total + a, 0).toFixed(DIGITS)));
        sum.classList.toggle("nothing", !this.mask[i].includes(true));
      });
      this.presets.forEach((button) => button.setAttribute("aria-pressed", String(this.is(button.textContent))));
      this.said.textContent = this.consequence();
      const told = `${changed ? `${changed()} ` : ""}${this.consequence()}`;
      if (changed) this.announce(this.heard, told);
      else this.heard.textContent = told;
    }

    is(name) { return this.named[name].flat().every((may, n) => may === this.mask.flat()[n]); }

    // What the mask lets happen: who sees a later word, who spends weight on padding, and who has nothing to look at.
    consequence() {
      const { words, real } = this.data, said = [], of = (places) => and(places.map((n) => `“${words[n]}”`));
      const ahead = [], wasting = [], nothing = [];
      this.mask.forEach((row, i) => {
        const later = row.map((may, j) => (may && real[i] && real[j] && j > i ? j : -1)).filter((j) => j >= 0);
        if (later.length) ahead.push(`${of([i])} sees ${of(later)}`);
        if (real[i] && row.some((may, j) => may && !real[j])) wasting.push(i);
        if (!row.includes(true)) nothing.push(i);
      });
      said.push(ahead.length ? `A decoder could cheat here: ${ahead.join("; ")}.` : "No word sees a later one.");
      if (real.includes(false)) said.push(wasting.length ? `Padding gets weight from ${of(wasting)}.` : "No word looks at the padding.");
      if (nothing.length) said.push(`${of(nothing)} ${nothing.length > 1 ? "have" : "has"} nothing to look at: weights of 0, so attention adds nothing to ${nothing.length > 1 ? "these vectors" : "this vector"}.`);
      return said.join(" ");
    }
  }

  Object.assign(window.figures, { masks: { causal, padding, weighed } });
  customElements.define("masks-figure", MasksFigure);
})();

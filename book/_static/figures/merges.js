// Merges: a text as symbols, its most frequent pairs, and the tokens that they become, one merge after the other.
"use strict";
(() => {
  const { Player, make } = window.figures;

  // Each occurrence of the pair becomes one symbol, from left to right.
  const merge = (symbols, [a, b]) => symbols.reduce((made, symbol) => {
    if (symbol === b && made.at(-1)?.open) made.push({ text: made.pop().text + b });
    else made.push({ text: symbol, open: symbol === a });
    return made;
  }, []).map(({ text }) => text);

  // How often two symbols stand side by side, the most frequent first; among equals the pair that merges next.
  const counted = (pieces, times, next) => {
    const pairs = new Map();
    pieces.forEach((symbols, p) => symbols.slice(1).forEach((b, n) => {
      const key = JSON.stringify([symbols[n], b]);
      pairs.set(key, (pairs.get(key) ?? 0) + times[p]);
    }));
    const first = JSON.stringify(next);
    return [...pairs].sort(([a, n], [b, m]) => m - n || (b === first) - (a === first)).map(([key, n]) => [JSON.parse(key), n]);
  };

  // A symbol inside its walls: every letter is as wide as every other.
  const walled = (text, kind = null) => make("span", { class: kind, role: "img", "aria-label": text }, [...text].map((letter) => make("i", {}, letter)));

  class MergesFigure extends Player {
    beat = 1500;

    build(data, live) {
      Object.assign(this, { data, last: data.merges.length });
      this.texts = [data.pieces];
      for (const pair of data.merges) this.texts.push(this.texts.at(-1).map((symbols) => merge(symbols, pair)));
      this.most = counted(data.pieces, data.times)[0][1];
      live.setAttribute("aria-label", "Byte-pair encoding, one merge at a time");
      this.back = this.button("Back", () => this.go(this.stop - 1));
      this.next = this.button("Next merge", () => this.go(this.stop + 1));
      this.status = make("p", { class: "status", role: "status" });
      this.text = make("div", { role: "img" });
      this.pairs = make("tbody");
      this.made = make("p", { class: "made" });
      const part = (title, ...children) => make("div", { class: "part" }, make("p", { class: "name" }, title), ...children);
      const head = [make("th", { scope: "col" }, "pair"), make("th", { scope: "col" }, "times"), make("td", { style: "width: 44%" })];
      live.append(
        make("div", { class: "controls" }, this.back, this.next, this.player()), this.status,
        part("The text, cut at the spaces", this.text),
        part("Neighbours, the most frequent first", make("table", { class: "bars" }, make("thead", {}, make("tr", {}, head)), this.pairs)),
        part("Tokens made so far", this.made));
      this.go(0);
    }

    show() {
      const { merges, times } = this.data;
      const first = !this.status.textContent;
      const pieces = this.texts[this.stop], next = merges[this.stop], made = merges.slice(0, this.stop).map((pair) => pair.join(""));
      const pairs = counted(pieces, times, next);
      // A button that can do nothing stays where the keyboard is.
      for (const [button, idle] of [[this.back, !this.stop], [this.next, this.stop === this.last]]) {
        button.classList.add("go");
        button.setAttribute("aria-disabled", String(idle));
      }
      this.text.replaceChildren(...pieces.map((piece, p) => this.piece(piece, times[p], next, made.at(-1))));
      this.text.setAttribute("aria-label", pieces.map((piece) => piece.join(" ")).join(", "));
      this.pairs.replaceChildren(...pairs.slice(0, 6).map(([pair, n], row) => make("tr", {},
        make("th", { scope: "row" }, pair.map((symbol) => walled(symbol, row ? null : "lit"))),
        make("td", {}, String(n)),
        make("td", {}, make("span", { class: "rail" }, make("span", { class: "bar", style: `left: 0; width: ${(100 * n) / this.most}%` }))))));
      this.made.replaceChildren(...(made.length ? made.map((token, n) => make("span", { class: "piece" }, walled(token, n === made.length - 1 ? "new" : null))) : ["none"]));
      const words = this.said(made, pairs, pieces);
      if (first) this.status.textContent = words;
      else this.announce(this.status, words);
    }

    // A piece with walls between its symbols, and how often it occurs; what merges next is framed, what is new filled.
    piece(symbols, times, next, made) {
      const begins = (n) => next && symbols[n] === next[0] && symbols[n + 1] === next[1];
      let lit = -2;
      const spans = symbols.map((symbol, n) => {
        if (n > lit + 1 && begins(n)) lit = n;
        const kind = [(n === lit || n === lit + 1) && "lit", symbol === made && "new"].filter(Boolean).join(" ");
        return walled(symbol, kind || null);
      });
      return make("span", { class: "piece" }, spans, times > 1 ? make("small", {}, ` ×${times}`) : []);
    }

    said(made, pairs, pieces) {
      const tokens = pieces.reduce((sum, piece, p) => sum + this.data.times[p] * piece.length, 0);
      const long = `The text has ${tokens} tokens now.`;
      const then = pairs.length ? ` Next: ${pairs[0][0].join(" + ")}, ${pairs[0][1]} times.` : " No pair is left.";
      if (!made.length) return `No merge yet. ${long}${then}`;
      return `Merge ${made.length}: ${this.data.merges[made.length - 1].join(" + ")} = ${made.at(-1)}. ${long}${then}`;
    }
  }

  window.figures.merge = merge;
  customElements.define("merges-figure", MergesFigure);
})();

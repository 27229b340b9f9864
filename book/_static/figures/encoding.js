// Encoding: a text of the reader's own as bytes, the translator's merges that find a pair in it, and its tokens with ids.
"use strict";
(() => {
  const { Player, make, slider } = window.figures;
  const { Tokens } = window.translator;

  // Bytes as what is written in their boxes: a character and how many bytes it takes, or one byte in hexadecimal digits.
  const SIGNS = { " ": "␣", "\t": "⇥", "\n": "⏎" };
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const hex = (byte) => byte.toString(16).toUpperCase().padStart(2, "0");
  const cells = (bytes) => {
    const found = [];
    for (let n = 0; n < bytes.length;) {
      const size = bytes[n] < 0xc0 ? 1 : bytes[n] < 0xe0 ? 2 : bytes[n] < 0xf0 ? 3 : 4;
      let char = null;
      try { char = utf8.decode(Uint8Array.from(bytes.slice(n, n + size))); } catch { /* a part of a character */ }
      const seen = SIGNS[char] ?? (char && !/[\p{C}\p{Z}]/u.test(char) ? char.replace(/^\p{M}/u, "◌$&") : null);
      if (seen) found.push({ text: seen, size });
      else found.push(...bytes.slice(n, n + size).map((byte) => ({ text: hex(byte), size: 1, byte: true })));
      n += size;
    }
    return found;
  };

  class EncodingFigure extends Player {
    beat = 1200;

    build(data, live) {
      this.tokens = new Tokens(data.merges);
      this.merges = data.merges.length;
      live.setAttribute("aria-label", "A text of your own, cut as the translator cuts it");
      const [first, ...others] = data.texts;
      this.input = make("input", { type: "text", value: first, maxlength: 200, autocomplete: "off", autocapitalize: "off", autocorrect: "off", spellcheck: "false", enterkeyhint: "done" });
      this.input.addEventListener("input", () => this.cut());
      let at = 0;
      const another = this.button("Another text", () => { this.input.value = [...others, first][at++ % data.texts.length]; this.cut(); });
      this.back = this.button("Back", () => this.go(this.stop - 1));
      this.next = this.button("Next merge", () => this.go(this.stop + 1));
      for (const button of [this.back, this.next]) button.classList.add("go");
      this.step = slider("merges done", { min: 0, max: 0, step: 1, value: 0 }, (n) => `${n} of ${this.last ?? 0}`, (n) => this.go(n));
      this.text = make("div", { class: "text", role: "img" });
      this.line = make("p", { class: "line", "aria-hidden": "true" });
      this.heard = make("p", { class: "heard", role: "status" });
      this.about = make("p", { class: "name" });
      this.read = make("ol", { class: "read" });
      const named = (title, child) => make("div", { class: "part" }, make("p", { class: "name" }, title), child);
      live.append(
        make("label", { class: "sentence" }, make("span", {}, "Your text, up to 200 characters"), this.input),
        named("Its bytes, and what the merges have made of them", this.text),
        make("div", { class: "controls" }, this.back, this.next, this.player(), another),
        this.step.label, this.line, this.heard, make("div", { class: "part" }, this.about, this.read));
      this.cut(true);
    }

    // The text anew: all that its merges will make of it, and its tokens in the end.
    cut(first = false) {
      this.refused = null;
      this.stops = [{ pieces: [] }];
      try {
        this.stops = [{ pieces: this.tokens.cut(this.input.value) }];
        for (const [made, pieces] of this.tokens.joins(this.stops[0].pieces)) this.stops.push({ made, pieces });
      } catch (error) {
        this.refused = `This cannot be read: ${error.message}.`;
      }
      this.last = this.stops.length - 1;
      this.step.range.max = this.last;
      const { pieces } = this.stops.at(-1), count = pieces.flat().length;
      this.about.textContent = `What the model reads in the end: ${count === 1 ? "1 token" : `${count} tokens`}, each with its id`;
      this.read.replaceChildren(...pieces.flatMap((ids) => ids.map((id, n) => make("li", { class: n ? "close" : null }, this.symbol(id), make("small", {}, String(id))))));
      this.first = first;
      this.go(0);
      this.first = false;
    }

    name(id) { return cells(this.tokens.bytes[id]).map(({ text }) => text).join(""); }

    symbol(id, kind = null) {
      const inside = cells(this.tokens.bytes[id]).map(({ text, size, byte }) => make("i", { class: byte ? "byte" : null, style: size > 1 ? `--bytes: ${size}` : null }, text));
      return make("span", { class: kind }, inside);
    }

    show() {
      const { pieces, made } = this.stops[this.stop], next = this.stops[this.stop + 1]?.made;
      for (const [button, idle] of [[this.back, !this.stop], [this.next, this.stop === this.last]]) button.setAttribute("aria-disabled", String(idle));
      this.step.range.value = this.stop;
      this.step.tell();
      this.text.replaceChildren(...pieces.map((ids) => this.piece(ids, next, made)));
      this.text.setAttribute("aria-label", pieces.map((ids) => ids.map((id) => this.name(id)).join(" ")).join(", ") || "nothing");
      this.line.textContent = this.said(pieces.flat().length, made, next);
      if (this.first) this.heard.textContent = this.line.textContent;
      else this.announce(this.heard, this.line.textContent);
    }

    // A piece with walls between its tokens: framed is what joins next, filled what was joined last.
    piece(ids, next, made) {
      let lit = -2;
      return make("span", { class: "piece" }, ids.map((id, n) => {
        if (n > lit + 1 && next && this.tokens.joined.get(`${id} ${ids[n + 1]}`) === next) lit = n;
        return this.symbol(id, [(n === lit || n === lit + 1) && "lit", id === made && "new"].filter(Boolean).join(" ") || null);
      }));
    }

    // The number of a merge and what it joins: the two parts of its token are known by the pair.
    merge(id) {
      const rank = id - this.tokens.bytes.length + this.merges + 1;
      const [a, b] = [...this.tokens.joined.entries()][rank - 1][0].split(" ").map(Number);
      return `merge ${rank} of ${this.merges}, ${this.name(a)} + ${this.name(b)} = ${this.name(id)}`;
    }

    said(count, made, next) {
      if (this.refused) return this.refused;
      if (!count) return "An empty text has no tokens.";
      const now = made ? `Done: ${this.merge(made)}. Now ${count} token${count > 1 ? "s" : ""}.` : `No merge yet: ${count} byte${count > 1 ? "s" : ""}, ${count > 1 ? "each a token" : "a token"}.`;
      return `${now} ${next ? `Next: ${this.merge(next)}.` : "No merge finds its pair any more."}`;
    }
  }

  window.figures.cells = cells;
  customElements.define("encoding-figure", EncodingFigure);
})();

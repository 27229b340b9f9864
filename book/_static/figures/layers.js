// What each layer says: a question, the answer token by token, and a ladder of layers, each with the token that would be the
// likeliest if it were the last one. A reader guesses first from which layer on the written token leads.
"use strict";
(() => {
  const { Player, asShare, choosing, counted, make, quoted, slider } = window.figures;
  const IN_A_LAYER = 3;
  let groups = 0; // radio buttons of one group share a name, which no other figure of the page may have

  const shown = (word) => word.replaceAll("\n", "⏎").trim() || "␣";
  // Two tokens may differ in a space before the word: then it shows.
  const beside = (word, token) => (word !== token && word.startsWith(" ") && shown(word) === shown(token) ? `␣${shown(word)}` : shown(word));
  const said = (p) => (p ? asShare(p, 3) : "< 0.001");
  const name = (layer) => (layer ? `layer ${layer}` : "the start");
  const numbers = (text, unit = 1) => text.split(",").map((n) => Number(n) / unit);
  const percent = (p) => `${(100 * p).toFixed(1)}%`;
  // The first layer from which on the written token leads, up to the last.
  const takesOver = (ranks) => ranks.findLastIndex((rank) => rank > 0) + 1;

  // A step of an answer as it arrives, and as it is drawn.
  const unpacked = (words, { token, output, words: ids, p, written, ranks }) => {
    const shares = numbers(p, 1000), behind = numbers(ranks);
    const best = numbers(ids).map((id, n) => [words[id], shares[n]]);
    return {
      token: words[token], output: output.map(([id, x]) => [words[id], x]), written: numbers(written, 1000), ranks: behind, from: takesOver(behind),
      layers: behind.map((_, layer) => best.slice(IN_A_LAYER * layer, IN_A_LAYER * (layer + 1))),
    };
  };

  class LayersFigure extends Player {
    beat = 900;

    build(data, live) {
      groups += 1;
      const prompts = data.prompts.map((prompt) => ({ ...prompt, steps: prompt.steps.map((step) => unpacked(data.words, step)) }));
      [this.prompt, this.stop] = data.first;
      Object.assign(this, { data, prompts, covered: data.guess, guess: null, answers: [] });
      this.top = prompts[0].steps[0].layers.length - 1;
      this.layer = Math.round(this.top / 2);
      this.classList.add("wide");
      live.setAttribute("aria-label", "What each layer of a chat model says, with question, token and layer to choose");

      const select = make("select", {}, prompts.map(({ text }, n) => make("option", { value: n, selected: n === this.prompt }, text)));
      select.addEventListener("change", () => { this.prompt = Number(select.value); this.go(this.prompt === data.first[0] ? data.first[1] : this.key); });
      this.read = make("div", { class: "stack read", lang: "en" }, prompts.map(({ read }) => make("p", {}, read.map((id) => this.piece(data.words[id])))));
      this.written = make("div", { class: "stack" }, prompts.map(({ text, steps, ended }, n) => this.answer(n, text, steps, ended)));
      this.rows = make("tbody");
      this.five = make("tbody");
      this.switch = this.button("Look", () => this.look());
      const label = make("span");
      this.slider = slider(label, { min: 0, max: this.top, step: 1, value: this.layer }, name, (layer) => this.at(layer));
      this.asked = label;
      this.status = make("p", { class: "status", role: "status" });

      const head = (...names) => make("thead", {}, make("tr", {}, names.map(([text, kind]) => make(text ? "th" : "td", { scope: text ? "col" : null, class: kind }, text))));
      const ladder = make("table", { class: "ladder", "aria-label": "What each layer would say" },
        head(["after", "at"], ["likeliest", "word"], ["probability", "rail"], ["", "p"], ["the written token's place", "place"]), this.rows);
      const five = make("table", { class: "five", "aria-label": "The five likeliest at the output" },
        head(["at the output", "word"], ["", "rail"], ["probability", "p"]), this.five);
      const key = (kind, text) => make("li", {}, make("i", { class: kind, "aria-hidden": "true" }), text);
      live.append(
        make("label", { class: "sentence" }, make("span", {}, "The question"), select),
        make("p", { class: "name" }, "What the model reads, with the marks of its template"), this.read,
        make("div", { class: "says" }, make("p", { class: "name" }, "What it writes: choose a token"), this.player()), this.written,
        make("div", { class: "frame" }, ladder, five,
          make("div", { class: "about" },
            make("ul", { class: "legend" }, key("bar wrote", "the written token, where it is the likeliest"), key("bar", "another token that is the likeliest"), key("dot", "the written token's probability"), key("high", `its place among ${counted(data.vocabulary)} tokens: the longer, the farther in front`), key("from", "from here on, it stays the likeliest"), key("guessed", "your guess")),
            make("p", { class: "letters" }, "Each row is read with the norm and the table of the last layer. A word that doesn't show may be there all the same, in a form that these can't read."))),
        make("div", { class: "terms" }, make("div", { class: "ask" }, this.slider.label, this.switch), this.status));
      choosing(this.rows, "tr", (row) => this.at(Number(row.dataset.n)));
      this.show(true);
    }

    // A question opens at the token whose layers differ most: the surest one among those that lead latest.
    get key() {
      const { steps } = this.prompts[this.prompt];
      const latest = Math.max(...steps.map(({ from }) => from));
      const late = steps.map(({ from, output: [[, p]] }) => (from === latest ? p : 0));
      return late.indexOf(Math.max(...late));
    }

    get last() { return this.prompts[this.prompt].steps.length - 1; }

    piece(word) { return make("span", { class: /^<\|.*\|>$/.test(word) ? "piece sign" : "piece" }, shown(word)); }

    answer(n, text, steps, ended) {
      const boxes = steps.map(({ token }, stop) => {
        const input = make("input", { type: "radio", name: `layers-${groups}-${n}`, "aria-label": shown(token) });
        input.addEventListener("change", () => this.go(stop));
        return make("label", { class: "choice", lang: "en" }, input, make("span", {}, shown(token)));
      });
      this.answers.push(boxes);
      return make("div", { class: "answer", role: "radiogroup", "aria-label": `The answer to: ${text}` }, boxes, ended ? [] : make("span", {}, "…"));
    }

    look() {
      this.guess = this.covered ? this.layer : null;
      this.covered = !this.covered;
      this.show();
    }

    // A guess belongs to its token.
    go(stop, played = false) {
      this.guess = null;
      super.go(stop, played);
    }

    at(layer) {
      if (layer === this.layer) return;
      this.layer = layer;
      this.show();
    }

    rail(bars) { return make("td", { class: "rail", "aria-hidden": "true" }, bars.map(([kind, p]) => make("span", { class: kind, style: kind === "dot" ? `left: ${percent(p)}` : `width: ${percent(p)}` }))); }

    // A number, and a bar that is full at the first place and empty at the last, on a logarithmic scale.
    place(n) { return make("td", { class: "place" }, make("span", { class: "high", style: `width: ${percent(1 - Math.log(n) / Math.log(this.data.vocabulary))}`, "aria-hidden": "true" }), make("span", {}, counted(n))); }

    show(first = false) {
      const { steps } = this.prompts[this.prompt], step = steps[this.stop];
      for (const stack of [this.read, this.written]) [...stack.children].forEach((part, n) => part.classList.toggle("here", n === this.prompt));
      this.answers[this.prompt].forEach((box, n) => {
        box.firstChild.checked = n === this.stop;
        box.classList.toggle("coming", n > this.stop);
      });
      this.rows.classList.toggle("covered", this.covered);
      this.rows.replaceChildren(...step.layers.map(([[word, p]], layer) => {
        const own = step.ranks[layer] === 0;
        const kinds = [own && "wrote", layer === this.layer && "lit", layer === step.from && "from", layer === (this.covered ? this.layer : this.guess) && "guessed"];
        return make("tr", { "data-n": layer, class: kinds.filter(Boolean).join(" ") || null },
          make("th", { scope: "row", class: "at" }, layer ? String(layer) : "start"), make("td", { class: "word", lang: "en" }, make("span", {}, beside(word, step.token))),
          this.rail([["bar", p], ["dot", step.written[layer]]]), make("td", { class: "p" }, said(p)), this.place(step.ranks[layer] + 1));
      }));
      this.five.replaceChildren(...step.output.map(([word, p]) => make("tr", { class: word === step.token ? "wrote" : null },
        make("th", { scope: "row", class: "word", lang: "en" }, make("span", {}, shown(word))), this.rail([["bar", p]]), make("td", { class: "p" }, said(p)))));
      this.slider.range.value = this.layer;
      this.slider.tell();
      this.asked.textContent = this.covered ? "your guess" : "a layer";
      this.switch.textContent = this.covered ? "Look" : "Cover again";
      const words = this.words(step);
      if (first) this.status.replaceChildren(...words);
      else this.announce(this.status, words);
    }

    // The layer in a sentence.
    words({ token, layers, written, ranks, from }) {
      const word = quoted(shown(token), "en");
      if (this.covered) return ["From which layer on is ", ...word, ` the likeliest, up to the end? You say: ${name(this.layer)}.`];
      const three = layers[this.layer].flatMap(([other, p], n) => [n ? ", " : "", ...quoted(shown(other), "en"), ` ${said(p)}`]);
      const place = `${counted(ranks[this.layer] + 1)} of ${counted(this.data.vocabulary)}`;
      const own = [...word, ` ${said(written[this.layer])}, place ${place}.`];
      const end = [" It leads from ", name(from), " on", this.guess === null ? "." : `; you said ${name(this.guess)}.`];
      return [`After ${name(this.layer)}: `.replace("After the start", "At the start"), ...three, ". ", ...own, ...end];
    }
  }

  Object.assign(window.figures, { takesOver });
  customElements.define("layers-figure", LayersFigure);
})();

// The sentence of the book: a noun and a frame to choose, what "it" reads, the German, and a head to switch off.
"use strict";
(() => {
  const { Figure, asShare, draw, make, onOff, quoted } = window.figures;
  const bare = (word = "") => word.replace(/[.,]$/, "");
  const said = (weight) => asShare(weight, 3);
  const PRONOUNS = ["er", "sie", "es", "ihn"];

  class SentenceFigure extends Figure {
    build(data, live) {
      this.data = data;
      this.answers = data.answers.map(([frame, thing, english, right, german, without, weights]) =>
        ({ frame, thing, words: english.split(" "), right, written: [german, without], weights }));
      Object.assign(this, { frame: 0, thing: data.first, off: 0, before: null });
      this.classList.add("wide");
      live.setAttribute("aria-label", "A sentence and its translation, with the noun to choose and a head to switch off");

      this.begin = this.choice("Sentence", data.frames.map((text, n) => make("option", { value: n }, text)), (value) => { this.frame = Number(value); });
      this.noun = this.choice("Noun", this.nouns(), (value) => { this.thing = value; });
      this.noun.select.value = this.thing;
      this.middle = make("span"), this.end = make("span");
      this.arcs = draw("svg", { "aria-hidden": "true" });
      this.english = make("p", { class: "english", lang: "en" }, this.begin.label, this.middle, this.noun.label, this.end, this.arcs);
      this.german = make("p", { class: "german", lang: "de" });
      this.line = make("p", { class: "line", "aria-hidden": "true" });
      this.heard = make("p", { class: "heard", role: "status" });
      const another = make("button", { type: "button" }, "Another noun");
      another.addEventListener("click", () => { this.noun.select.value = this.thing = this.another(); this.show(); });
      this.switch = onOff("switch this head off", false, (off) => { this.off = Number(off); this.show(); });
      const grow = make("button", { type: "button" }, "Open the whole model");
      grow.addEventListener("click", () => this.grow(live, grow));
      if (data.opens) queueMicrotask(() => { // below the figure; an address that holds a state opens it
        this.append(grow);
        if (/[?&](text|gain|even|cut|swap|order|model)=/.test(location.search)) grow.click();
      });
      live.append(this.english, this.german, this.line, this.heard, make("div", { class: "controls" }, another, this.switch), this.count = make("p", { class: "kept" }));
      this.show(true);
      new ResizeObserver(() => this.link()).observe(this.english);
      document.fonts?.ready.then(() => this.link());
    }

    // The model that is behind it takes its place, at the same sentence and with the same head off.
    async grow(live, grow) {
      try {
        await window.translator.bring("figures/cut.js");
      } catch ({ message }) {
        this.line.textContent = `${message[0].toUpperCase()}${message.slice(1)}.`;
        return;
      }
      const { answers, answer, data: { opens, frames, things, genders, layer, head } } = this;
      const sentences = answers.map(({ frame, thing, words, right }) => ({ frame, thing, english: words.join(" "), german: right }));
      const told = { ...opens, frames, things, genders, sentences, begin: answer.words.join(" "), gains: this.off ? [[`encoder ${layer} ${head}`, 0]] : [] };
      const close = make("button", { type: "button" }, "Close the model"), opened = make("cut-figure", {}, make("script", { type: "application/json" }, JSON.stringify(told)), make("div", { class: "fallback" }));
      close.addEventListener("click", () => { opened.remove(); live.hidden = grow.hidden = false; grow.focus({ preventScroll: true }); this.link(); });
      live.hidden = grow.hidden = true;
      this.append(opened);
      opened.querySelector(".begin .controls").append(close);
      opened.addEventListener("keydown", (event) => event.key === "Escape" && !event.defaultPrevented && !event.target.matches("select, [type=text]") && close.click());
      opened.live.focus({ preventScroll: true });
      opened.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    }

    // Words of the sentence with a list to open over them: what is seen is text, what is used is the list.
    choice(name, options, change) {
      const text = make("span", { "aria-hidden": "true" });
      const select = make("select", { "aria-label": name }, options);
      select.addEventListener("change", () => { change(select.value); this.show(); });
      return { label: make("label", { class: "place" }, text, select), text, select };
    }

    // The nouns under the article of their German word.
    nouns() {
      const { things, genders } = this.data;
      return Object.entries(genders).map(([gender, article]) => make("optgroup", { label: `German: ${article}` },
        Object.keys(things).filter((thing) => things[thing][1] === gender).map((thing) => make("option", {}, thing))));
    }

    // The next noun with another article.
    another() {
      const names = Object.keys(this.data.things), gender = (thing) => this.data.things[thing][1];
      const after = names.slice(names.indexOf(this.thing)).concat(names);
      return after.find((name) => gender(name) !== gender(this.thing));
    }

    get answer() { return this.answers.find(({ frame, thing }) => frame === this.frame && thing === this.thing); }

    show(first = false) {
      const { words } = this.answer, at = words.map(bare).indexOf(this.thing), it = words.map(bare).indexOf("it");
      this.places = { at, it };
      const gender = this.data.things[this.thing][1];
      this.spans = words.map((word, n) => make("span", { class: n === at || n === it ? `of-${gender}` : null }, n === it ? bare(word) : word));
      const spaced = (from, to) => this.spans.slice(from, to).flatMap((span, n) => [n ? " " : "", span]);
      const article = words[at - 1] === "the" ? at - 1 : at;
      this.begin.text.replaceChildren(...spaced(0, article));
      this.middle.replaceChildren(" ", ...spaced(article, at), article < at ? " " : "");
      this.noun.text.replaceChildren(this.spans[at]);
      this.end.replaceChildren(" ", ...spaced(at + 1), words[it] === "it." ? "." : "");
      this.translate();
      this.link();
      const line = this.said();
      this.line.replaceChildren(...line);
      if (first) this.heard.replaceChildren(...this.said());
      else this.announce(this.heard, ...this.said(), " ", make("span", { lang: "de" }, this.answer.written[this.off]));
      const kept = [0, 1].map((off) => this.answers.filter(({ right, written }) => written[off] === right).length);
      const mark = (off, text) => make(off === this.off ? "strong" : "span", {}, text);
      this.count.replaceChildren(mark(0, `With this head, ${kept[0]} of ${this.answers.length} sentences are right`), "; ", mark(1, `without it, ${kept[1]} of ${this.answers.length}`), ".");
    }

    // Pronoun and noun in their colour, the article below the noun, and what is wrong below what is wrong.
    translate() {
      const { right, written } = this.answer, words = written[this.off].split(" "), wanted = right.split(" ");
      const [noun, gender] = this.data.things[this.thing];
      const second = words.findIndex((word) => word.endsWith(",")) + 1;
      this.german.replaceChildren(...words.flatMap((word, n) => {
        const isNoun = bare(word).startsWith(noun) && bare(word).length <= noun.length + 2, isPronoun = n >= second && PRONOUNS.includes(bare(word));
        const wrong = word !== wanted[n];
        const kind = [isNoun && `of-${gender}`, isPronoun && `pronoun of-${wrong ? "wrong" : gender}`, wrong && "wrong", this.before && !this.before.includes(word) && "changed"];
        const was = this.before?.[n] !== word ? this.before?.[n] : null; // it gives way to this one
        const below = wrong ? make("small", { lang: "en" }, "right: ", make("span", { lang: "de" }, bare(wanted[n]))) : isNoun ? make("small", {}, this.data.genders[gender]) : [];
        return [n ? " " : "", make("span", { class: kind.filter(Boolean).join(" ") || null }, make("span", { "data-was": was }, word), below)];
      }));
      this.before = words;
    }

    said() {
      const { right, written, weights } = this.answer, head = `Layer ${this.data.layer + 1}, head ${this.data.head + 1} of the encoder`;
      if (!this.off) return [head, ": ", ...quoted("it", "en"), " gives ", ...quoted(this.thing, "en"), ` a weight of ${said(weights[this.places.at])}.`];
      const wanted = right.split(" "), now = written[1].split(" "), n = now.findIndex((word, i) => word !== wanted[i]);
      if (n < 0) return [head, " is off, and this sentence stays right."];
      return [head, " is off. Now wrong: ", make("span", { lang: "de" }, bare(wanted[n])), " → ", make("span", { lang: "de" }, bare(now[n])), "."];
    }

    // Arcs from "it" over the words as they stand: over a line, or from one line to another.
    link() {
      const whole = this.english.getBoundingClientRect(), { at, it } = this.places;
      if (!whole.width) return;
      const boxes = this.spans.map((span) => span.getBoundingClientRect());
      const middle = (box) => box.left + box.width / 2 - whole.left;
      this.arcs.setAttribute("viewBox", `0 0 ${whole.width} ${whole.height}`);
      const path = (n) => {
        const from = boxes[it], to = boxes[n], [x, end] = [middle(from), middle(to)];
        const top = from.top - whole.top - 3;
        if (Math.abs(from.top - to.top) < 4) {
          const high = Math.abs(from.top - boxes[0].top) < 4; // over the first line there is room for the number, too
          const rise = high ? Math.min(34, 16 + Math.abs(x - end) / 8) : 18;
          return { d: `M${x} ${top}C${x} ${top - 1.33 * rise} ${end} ${top - 1.33 * rise} ${end} ${top}`, at: [(x + end) / 2, top - rise + (high ? -8 : 5)] };
        }
        const low = to.bottom - whole.top + 7, half = (top + low) / 2;
        const short = Math.abs(x - end) < 80; // the number stands beside it, or it would cover it
        const beside = Math.max(x, end) + 60 < whole.width ? Math.max(x, end) + 34 : Math.min(x, end) - 34;
        return { d: `M${x} ${top}C${x} ${half} ${end} ${half} ${end} ${low}`, at: [short ? beside : (x + end) / 2, half + 5] };
      };
      const seen = this.answer.weights.map((weight, n) => ({ weight, n })).filter(({ weight, n }) => weight >= 0.001 && n !== it && (!this.off || n === at));
      const gender = this.data.things[this.thing][1];
      this.arcs.replaceChildren(...seen.map(({ weight, n }) =>
        draw("path", { d: path(n).d, class: this.off ? "cut" : n === at ? `of-${gender}` : null, pathLength: 100, "stroke-width": (0.8 + 6 * weight).toFixed(2), "data-word": n })));
      const [x, y] = path(at).at;
      this.arcs.append(draw("text", { x, y, "text-anchor": "middle", class: this.off ? "muted" : `of-${gender}` }, this.off ? "off" : said(this.answer.weights[at])));
    }
  }

  customElements.define("sentence-figure", SentenceFigure);
})();

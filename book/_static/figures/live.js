// The translator at work on the reader's own sentence: what it reads, what it writes, which tokens were rivals, and how a
// beam grows. The weights come when they are asked for; until then the figure shows what the chapter has calculated.
"use strict";
(() => {
  const { LOADING, Player, make, percent, slider, untrained, written } = window.figures;
  const { load, sliced } = window.translator;
  const RIVALS = 5, WAIT = 120; // milliseconds without a key
  const logarithm = (x) => (x >= 0 ? "0" : x > -0.005 ? "> −0.01" : written(x, 2)); // 0 is that of what is certain

  // A token is a box; one that goes on with a word stands close to the one before.
  const joined = (token, n) => n > 0 && /^[\p{L}\p{N}\p{M}]/u.test(token);
  const shown = (token) => token.replace(/^ /, "").replaceAll("\n", "⏎") || "␣";

  // Where the token that was written had the smallest probability.
  const leastSure = ({ ids, steps }) => ids.reduce((least, id, n) => (steps[n].logP[id] < steps[least].logP[ids[least]] ? n : least), 0);

  class LiveFigure extends Player {
    beat = 900;
    turn = 0; // which question is being answered; an answer to an earlier one is dropped
    begun = []; // the ids that a reader has chosen
    at = 0;

    build(data, live) {
      Object.assign(this, { data, parts: data.parts, width: data.width });
      live.setAttribute("aria-label", "A translator for your own sentence");
      this.input = make("input", { type: "text", value: data.first.english, lang: "en", autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "done" });
      this.input.addEventListener("input", () => { this.begun = []; this.ask(WAIT); });
      this.input.addEventListener("focus", () => this.ready());
      this.words = make("div", { class: "words" });
      this.pieces = make("ol", { class: "pieces", lang: "en" });
      this.german = make("ol", { class: "pieces german", lang: "de" });
      this.note = make("p", { class: "note" });
      this.heard = make("p", { class: "heard", role: "status" });
      const label = (text, list) => make("div", { class: "line" }, make("p", { class: "name" }, text), list);
      live.append(
        make("label", { class: "sentence" }, make("span", {}, "Your sentence, in English"), this.input),
        this.words, label("It reads", this.pieces), label("It writes", this.german), this.note, this.heard,
        this.suggested(), ...this.rivalsPart(), ...this.beamPart());
      this.at = data.first.at ?? 0;
      this.tell({ ...data.first, unknown: [] });
      this.suggest();
      if (this.beams && data.first.beam) this.grow(data.first.beam.map((frame) => Object.fromEntries(Object.entries(frame).map(([kind, lines]) => [kind, lines.map(([text, logP]) => ({ text, logP }))]))));
      if (!this.parts.length || navigator.connection?.saveData) return;
      const near = new IntersectionObserver((seen) => {
        if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
        near.disconnect();
        this.ready(true);
      }, { rootMargin: "600px" });
      near.observe(this);
    }

    // Sentences to try: another good one, and a list of those that go wrong.
    suggested() {
      let n = 0;
      const another = this.button("Another sentence", () => { this.put(this.data.examples[n++ % this.data.examples.length]); });
      const failing = this.data.failing.map(([text, why]) => {
        const choose = this.button(text, () => this.put(text));
        choose.lang = "en";
        return make("li", {}, choose, ` ${why}`);
      });
      const list = failing.length ? make("details", {}, make("summary", {}, "Make it fail"), make("ul", { class: "failing" }, failing)) : [];
      return make("div", { class: "controls" }, another, list);
    }

    rivalsPart() {
      if (!this.parts.includes("rivals")) return [];
      this.bars = make("ol", { class: "rivals" });
      this.own = this.button("Let it choose again", () => { this.begun = []; this.ask(0); });
      this.about = make("p", { class: "name" });
      return [make("div", { class: "part" }, this.about, this.bars, make("div", { class: "controls" }, this.own))];
    }

    beamPart() {
      if (!this.parts.includes("beam")) return [];
      const width = slider("width of the beam (1 is greedy)", { min: 1, max: 5, step: 1, value: this.width }, String, (value) => { this.width = value; this.ask(0); });
      this.step = slider("step", { min: 1, max: 1, step: 1, value: 1 }, String, (value) => this.go(value - 1));
      this.beams = make("ol", { class: "beams" });
      return [make("div", { class: "part" }, make("p", { class: "name" }, "The beam, step by step"),
        make("div", { class: "player" }, this.player(), this.step.label, width.label), this.beams)];
    }

    disconnectedCallback() { if (this.beams) this.pause(); }

    // The model, when somebody touches the figure or, where it has more to show, comes near (`quiet`). Until it is here the
    // input waits for nobody.
    async ready(quiet = false) {
      if (!this.model) {
        if (!quiet) this.note.textContent = LOADING;
        try {
          this.model = await load();
        } catch (error) {
          if (quiet) return null;
          this.note.textContent = `${error.message[0].toUpperCase()}${error.message.slice(1)}. What you see was computed before.`;
          this.announce(this.heard, this.note.textContent);
          return null;
        }
        this.suggest();
        this.ask(0);
      }
      return this.model;
    }

    put(text) {
      this.input.value = text;
      this.begun = [];
      this.ask(0);
    }

    // Ask for a translation when the keys have been at rest for so long.
    ask(wait) {
      this.suggest();
      clearTimeout(this.asking);
      this.turn += 1;
      if (this.beams) this.pause();
      this.asking = setTimeout(() => this.answer().catch((error) => this.refuse(error)), wait);
    }

    async answer() {
      const { turn, input: { value } } = this, stop = () => turn !== this.turn, model = await this.ready();
      if (stop() || !model) return;
      const ids = model.read(value), unknown = model.unknown(value);
      const asked = { english: value, pieces: ids.slice(0, -1).map((id) => model.name(id)), german: [], unknown };
      if (ids.length === 1) { this.tell(asked); return; }
      const read = await sliced(model.encode(ids), { stop });
      if (!read) return;
      const told = (state) => ({ ...asked, state, german: state.ids.map((id) => model.name(id)), text: model.text(state.ids) });
      const anew = this.told.english !== value || this.begun.length; // else it stands there already
      const each = (state) => { if (!stop() && anew) this.tell(told(state)); };
      const state = await sliced(model.greedy(read, undefined, this.begun), { stop, each });
      if (!state) return;
      this.tell(told(state), true);
      if (this.beams) await this.search(read, stop);
    }

    refuse({ message }) {
      this.tell({ english: this.input.value, pieces: [], german: [], unknown: [] });
      this.note.textContent = `This cannot be read: ${message}.`;
      this.announce(this.heard, this.note.textContent);
    }

    // What is read and written so far.
    tell(answer, done = false) {
      this.told = answer;
      const { pieces, german, unknown, text } = answer;
      // The pieces of a word that was never trained: those that make it up.
      let word = "";
      const parts = pieces.map((piece, n) => { word = joined(piece, n) ? word + piece : piece.trimStart(); return word; });
      const whole = (n) => { let m = n; while (m + 1 < pieces.length && joined(pieces[m + 1], m + 1)) m += 1; return parts[m]; };
      this.pieces.replaceChildren(...pieces.map((piece, n) => make("li", { class: [joined(piece, n) && "close", unknown.includes(whole(n)) && "new"].filter(Boolean).join(" ") || null }, shown(piece))));
      if (done) this.at = this.begun.length ? this.begun.length - 1 : leastSure(answer.state);
      this.at = Math.min(this.at, Math.max(german.length - 1, 0));
      this.german.replaceChildren(...german.map((token, n) => make("li", { class: [joined(token, n) && "close", n < this.begun.length && "yours"].filter(Boolean).join(" ") || null }, this.bars && (answer.state || answer.rivals) ? this.token(token, n) : shown(token))));
      const news = unknown.length ? untrained(unknown) : ["It has been trained on every one of these words."];
      this.note.replaceChildren(...(pieces.length ? news : ["Type a sentence: what it says is about people, things, animals, the weather."]));
      if (this.bars) this.rivals();
      if (done) this.announce(this.heard, make("span", { lang: "de" }, text), " ", ...news.map((part) => part.cloneNode?.(true) ?? part));
    }

    token(token, n) {
      const button = this.button(shown(token), () => { this.at = n; this.rivals(); });
      button.addEventListener("focus", () => { this.at = n; this.rivals(); });
      return button;
    }

    // The five likeliest tokens at the chosen place. One that is pressed is written, and the model goes on from there.
    rivals() {
      const { state, rivals, german } = this.told, n = this.at;
      [...this.german.children].forEach((item, i) => item.firstElementChild?.setAttribute("aria-pressed", String(i === n)));
      this.own.disabled = !this.begun.length;
      if (!rivals && (!state || n >= state.ids.length)) return;
      const { logP } = rivals ? {} : state.steps[n], before = rivals ? german.slice(0, n).join("") : this.model.text(state.ids.slice(0, n));
      const best = rivals ? rivals[n].map(([name, p]) => ({ name, p })) : this.model.rivals({ next: logP }, RIVALS).map((id) => ({ id, name: this.model.name(id), p: Math.exp(logP[id]) }));
      this.about.replaceChildren("What might come ", ...(before ? ["after “", make("span", { lang: "de" }, before.trim()), "”"] : ["first"]), ", and how probable it is. Choose another: it goes on from there.");
      const had = this.bars.contains(document.activeElement);
      this.bars.replaceChildren(...best.map(({ id, name, p }) => {
        const choose = this.button("", () => {
          if (rivals) { this.ready(); return; } // the sentence is the same when the model is here
          this.begun = [...state.ids.slice(0, n), id];
          this.ask(0);
        });
        choose.append(make("span", { class: "word", lang: "de" }, shown(name)), make("span", { class: "rail", "aria-hidden": "true" }, make("span", { class: "bar", style: `width: ${(100 * p).toFixed(2)}%` })), make("span", { class: "p" }, percent(p, 1)));
        choose.setAttribute("aria-pressed", String(name === german[n]));
        return make("li", {}, choose);
      }));
      if (had) this.bars.querySelector("[aria-pressed=true]")?.focus({ preventScroll: true });
    }

    // The beam, kept step by step, so that a reader can go back.
    async search(read, stop) {
      const frames = [];
      const found = await sliced(this.model.beam(read, { width: this.width }), { stop, each: (frame) => frames.push(frame) });
      const lines = (states) => states.map(({ ids, logP }) => ({ text: this.model.text(ids), logP }));
      if (found) this.grow(frames.map(({ alive, finished }) => ({ alive: lines(alive), finished: lines(finished) })));
    }

    grow(frames) {
      Object.assign(this, { frames, last: frames.length - 1 });
      this.step.range.max = frames.length;
      this.go(0);
    }

    show() {
      if (!this.frames) return;
      const { alive, finished } = this.frames[this.stop], last = this.stop === this.last;
      this.step.range.value = this.stop + 1;
      this.step.tell();
      const line = ({ text, logP }, kind) => make("li", { class: kind }, make("span", { class: "word", lang: "de" }, text), make("span", { class: "p" }, `log p ${logarithm(logP)}`), make("span", { class: "kind" }, kind));
      this.beams.replaceChildren(
        ...finished.map((h, n) => line(h, last && n === 0 ? "best" : "finished")),
        ...(last ? [] : alive.map((h) => line(h, "goes on"))));
    }

    // Words that begin as the last one does, which the model knows.
    suggest() {
      const last = /[\p{L}]+$/u.exec(this.input.value)?.[0] ?? "", known = [...(this.model?.words ?? [])];
      const found = last ? known.filter((word) => word !== last && word.startsWith(last)).slice(0, 6) : [];
      this.words.replaceChildren(...found.map((word) => {
        const choose = this.button(word, () => { this.put(`${this.input.value.slice(0, -last.length)}${word} `); this.input.focus(); });
        choose.lang = "en";
        return choose;
      }));
      this.words.classList.toggle("none", !found.length);
    }
  }

  Object.assign(window.figures, { logarithm });
  customElements.define("live-figure", LiveFigure);
})();

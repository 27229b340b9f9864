// Heads: what each head of a trained model looks at, for a few sentences and the reader's own; a word's links when it is
// chosen. Heads can be switched off and looks forbidden: then the translator, which comes when it is asked, writes anew.
"use strict";
(() => {
  const { Figure, asShare, asking, choosing, draw, field, listed, make, onOff, quoted, untrained } = window.figures;
  const { sliced } = window.translator;
  const FAINTEST = 0.02; // links below this are not drawn
  const share = (w) => asShare(w, 3);
  const best = (row) => row.indexOf(Math.max(...row));
  const OTHER = Object.fromEntries(["man woman", "boy girl", "father mother", "brother sister", "he she", "He She", "his her", "him her"].flatMap((pair) => { const [a, b] = pair.split(" "); return [[b, a], [a, b]]; }));
  const swapped = (text) => text.replace(/\p{L}+/gu, (word) => OTHER[word] ?? word);
  let groups = 0; // radio buttons of one group share a name, which no other figure of the page may have

  class HeadsFigure extends Figure {
    build(data, live) {
      Object.assign(this, { sentences: [...data.sentences], given: data.sentences.length, spoken: data.languages, sentence: 0, kind: data.kind, layer: data.layer, head: data.head, chosen: null });
      live.setAttribute("aria-label", "What the heads look at, with sentence, kind and head to choose");
      groups += 1;
      this.classList.add("wide");
      const panels = data.sentences.flatMap((sentence) => Object.values(sentence.panels));
      live.style.setProperty("--most", Math.max(...panels.flatMap(({ rows, columns }) => [rows.length, columns.length]))); // so that nothing below moves
      const select = make("select", {}, this.sentences.map(({ text }, n) => make("option", { value: n }, text)));
      select.addEventListener("change", () => { this.sentence = Number(select.value); this.undo(); this.renew(); });
      const kinds = Object.entries(data.kinds).map(([kind, text]) => this.radio("kind", kind, kind === this.kind, make("span", {}, make("b", {}, kind), ` ${text}`), () => { this.kind = kind; this.renew(); }));
      this.heads = make("div", { class: "heads" });
      this.sides = ["reads", "is-read"].map((side) => this.list(side));
      this.links = draw("svg", { "aria-hidden": "true", preserveAspectRatio: "none" });
      this.status = make("p", { class: "status", role: "status" });
      this.all = make("button", { type: "button" }, "All links");
      this.all.addEventListener("click", () => this.choose(null));
      this.table = make("table", { class: "numbers" });
      const name = make("p", { class: "name", id: `heads-${groups}` }, "The heads: choose one");
      this.select = select;
      live.append(
        make("label", { class: "sentence" }, make("span", {}, "sentence"), select), this.experiment(),
        make("fieldset", { class: "kinds" }, make("legend", {}, "kind of attention"), kinds),
        make("div", { class: "views" },
          make("div", { class: "part", role: "radiogroup", "aria-labelledby": name.id }, name, this.heads),
          make("div", { class: "part" }, this.heading = make("p", { class: "name" }), this.between = make("div", { class: "between" }, this.sides[0].box, make("div", {}, this.links), this.sides[1].box))),
        make("div", { class: "controls" }, this.off, this.forbid, this.swap, this.all, this.again), this.result, this.status,
        make("details", {}, make("summary", {}, "All weights of this head as a table"),
          make("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "All weights of this head" }, this.table)));
      live.addEventListener("keydown", (event) => event.key === "Escape" && this.choose(null));
      this.renew(true);
    }

    // A sentence of the reader's own, and what the model writes when something in it is changed.
    experiment() {
      const { form } = field("Look into it", (text) => this.ask(text));
      const button = (text, press) => {
        const made = make("button", { type: "button" }, text);
        made.addEventListener("click", press);
        return made;
      };
      this.swap = button("man ↔ woman", () => this.ask(swapped(this.english)));
      this.off = onOff("switch this head off", false, (off) => { this.change("off", this.name, off); });
      this.again = button("Undo", () => { this.undo(); this.run(); });
      this.forbid = button("Forbid its strongest look", () => {
        const row = this.chosen.n, column = best(this.weights[row]);
        this.change("hidden", `${this.name} ${row} ${column}`, true);
      });
      this.result = make("p", { class: "result", role: "status" });
      this.asking = asking(this.result);
      this.undo();
      return make("label", { class: "sentence" }, make("span", {}, "or a sentence of your own"), form);
    }

    get name() { return `${this.kind} ${this.layer} ${this.head}`; } // as the changes call the head that is shown

    get english() { return this.sentences[this.sentence].text.split(" → ")[0]; }

    undo() {
      this.changes = { off: new Set(), hidden: new Set() };
      this.result.replaceChildren();
    }

    change(what, name, on) {
      this.changes[what][on ? "add" : "delete"](name);
      this.run();
    }

    // Another sentence: it takes the last place of the list, which is the reader's.
    ask(text) {
      const mine = this.sentences.findIndex(({ own }) => own), n = mine < 0 ? this.sentences.length : mine;
      const option = mine < 0 ? make("option", { value: n }) : this.select.options[n];
      this.undo();
      return this.run(text.trim(), () => {
        if (mine < 0) this.select.append(option);
        option.textContent = this.sentences[n].text;
        this.select.value = n;
      }, n);
    }

    // The model once more, with what is changed; what it wrote before is told beside it.
    run(text = this.english, done = () => {}, n = this.sentence) {
      const { off, hidden } = this.changes;
      const changes = { gain: (...names) => Number(!off.has(names.join(" "))), hides: (...names) => hidden.has(names.join(" ")) };
      return this.asking.ask(text, async (model, ids, stop) => {
        const write = async (how) => {
          const read = await sliced(model.encode(ids, how), { stop });
          return read && { read, state: await sliced(model.greedy(read, how), { stop }) };
        };
        const plain = await write(), now = off.size + hidden.size ? await write(changes) : plain;
        if (stop() || !now?.state) return;
        const german = (run) => model.text(run.state.ids);
        this.sentences[n] = { text: `${text} → ${german(plain)}`, panels: this.panels(model, now), own: n >= this.given };
        this.sentence = n;
        done();
        this.renew(false, this.chosen);
        this.tell(german(plain), german(now), model.unknown(text));
      });
    }

    // The weights of a run as the figure has them, and the words of their sides.
    panels(model, { read, state }) {
      const heads = (kind, rows, width) => Array.from({ length: model.config.n_layers }, (_, layer) => Array.from({ length: model.config.n_heads }, (_, head) =>
        rows.map((row) => { const w = row(kind, layer)[head]; return [...w, ...Array(width - w.length).fill(0)]; })));
      const name = (id) => model.name(id).trim() || "␣", reads = read.ids.map(name), writes = [model.config.bos_id, ...state.ids].map(name);
      const asked = state.ids.map((_, n) => `${writes[n]} → ${writes[n + 1]}`);
      const inside = read.ids.map((_, row) => (_kind, layer) => read.weights[layer][row]);
      const steps = state.steps.map(({ weights }) => (kind, layer) => weights[kind][layer]);
      return {
        encoder: { rows: reads, columns: reads, weights: heads("encoder", inside, reads.length) },
        decoder: { rows: asked, columns: writes.slice(0, -1), weights: heads("decoder", steps, asked.length) },
        cross: { rows: asked, columns: reads, weights: heads("cross", steps, reads.length) },
      };
    }

    // What is written now, the words that are others in bold; and what it was without the changes.
    tell(before, now, unknown) {
      const words = before.split(" "), { off, hidden } = this.changes, count = off.size + hidden.size;
      const written = now.split(" ").flatMap((word, n) => [n ? " " : "", make(words[n] === word ? "span" : "strong", {}, word)]);
      const changed = [off.size && `${off.size} ${off.size === 1 ? "head" : "heads"} off`, hidden.size && `${hidden.size} ${hidden.size === 1 ? "look" : "looks"} forbidden`].filter(Boolean).join(", ");
      const was = !count ? [] : now === before ? [" Nothing changes."] : [" Before: ", make("span", { lang: "de" }, before)];
      this.result.replaceChildren(count ? `With ${changed}: ` : "It writes: ", make("span", { lang: "de" }, written), ...was);
      this.result.append(" ", ...untrained(unknown));
    }

    radio(group, value, checked, shown, change) {
      const input = make("input", { type: "radio", name: `heads-${group}-${groups}`, value, checked });
      input.addEventListener("change", change);
      return make("label", { class: "choice" }, input, shown);
    }

    get panel() { return this.sentences[this.sentence].panels[this.kind]; }
    get languages() { return this.spoken[this.kind] ?? ["", ""]; } // of those that read, and of those that are read
    get weights() { return this.panel.weights[this.layer][this.head]; }

    // A column of words, one stop of the Tab key: arrow keys, Home and End move inside.
    list(side) {
      const title = make("p", { class: side === "reads" ? "query" : "key" });
      const words = make("ul", { role: "listbox" });
      const at = (word) => [...words.children].indexOf(word);
      choosing(words, "li", (word) => this.choose({ side, n: at(word) }));
      words.addEventListener("keydown", (event) => {
        const last = words.children.length - 1, n = at(event.target);
        const next = { ArrowUp: n - 1, ArrowDown: n + 1, Home: 0, End: last }[event.key];
        if (next === undefined) return;
        event.preventDefault();
        words.children[Math.max(0, Math.min(last, next))].focus();
      });
      return { side, title, words, box: make("div", { class: side }, title, words) };
    }

    // Another sentence or another kind: other words, other pictures of the heads.
    renew(first = false, chosen = null) {
      const { panel } = this, [rows, columns] = [panel.rows, panel.columns];
      this.heads.style.setProperty("--heads", panel.weights[0].length);
      this.heads.replaceChildren(...panel.weights.flatMap((heads, layer) => heads.map((weights, head) => {
        const shown = [this.small(weights), make("span", {}, `layer ${layer + 1}, head ${head + 1}`)];
        return this.radio("head", `${layer} ${head}`, layer === this.layer && head === this.head, shown, () => { Object.assign(this, { layer, head }); this.show(); });
      })));
      for (const [n, texts] of [rows, columns].entries()) {
        const { title, words, side } = this.sides[n];
        const says = side === "reads" ? "reads" : "is read";
        title.textContent = says;
        words.setAttribute("aria-label", says);
        words.lang = this.languages[n];
        words.replaceChildren(...texts.map((text, i) => make("li", { role: "option", tabindex: i ? "-1" : "0", "aria-selected": "false" },
          make("span", { class: "word" }, text), make("span", { class: "weight" }))));
      }
      this.links.setAttribute("viewBox", `0 0 100 ${Math.max(rows.length, columns.length)}`);
      this.links.style.setProperty("--rows", Math.max(rows.length, columns.length));
      this.chosen = chosen && chosen.n < (chosen.side === "reads" ? rows : columns).length ? chosen : null;
      this.show(first);
    }

    // Rows read, columns are read, as in every picture of weights.
    small(weights) {
      const tile = (w, i, j) => draw("rect", { x: j, y: i, width: 1, height: 1, "fill-opacity": w });
      return draw("svg", { class: "tiles", viewBox: `0 0 ${weights[0].length} ${weights.length}`, preserveAspectRatio: "none", "aria-hidden": "true" },
        weights.map((row, i) => row.map((w, j) => (w < FAINTEST ? [] : tile(w, i, j)))));
    }

    show(first = false) {
      const { weights } = this, { rows, columns } = this.panel, [reading, read] = this.languages;
      this.heading.textContent = `${this.kind}, layer ${this.layer + 1}, head ${this.head + 1}`;
      const line = (w, i, j) => draw("path", { d: `M0 ${i + 0.5}C50 ${i + 0.5} 50 ${j + 0.5} 100 ${j + 0.5}`, "stroke-width": (1 + 5 * w).toFixed(2), "stroke-opacity": (0.2 + 0.8 * w).toFixed(4), "data-i": i, "data-j": j });
      this.links.replaceChildren(...weights.flatMap((row, i) => row.flatMap((w, j) => (w < FAINTEST ? [] : line(w, i, j)))));
      this.table.replaceChildren(
        make("thead", {}, make("tr", {}, make("td"), columns.map((word) => make("th", { scope: "col", lang: read }, word)))),
        make("tbody", {}, weights.map((row, i) => make("tr", {}, make("th", { scope: "row", lang: reading }, rows[i]), row.map((w) => make("td", {}, share(w)))))));
      this.choose(this.chosen, first);
    }

    // A word and its links, or all links.
    choose(chosen, first = false) {
      this.chosen = chosen;
      const mine = (i, j) => !chosen || (chosen.side === "reads" ? i : j) === chosen.n;
      for (const path of this.links.children) {
        path.setAttribute("class", `${chosen?.side ?? "reads"}${mine(Number(path.dataset.i), Number(path.dataset.j)) ? "" : " other"}`);
      }
      const across = chosen && (chosen.side === "reads" ? this.weights[chosen.n] : this.weights.map((row) => row[chosen.n]));
      for (const { side, words } of this.sides) {
        [...words.children].forEach((word, n) => {
          const own = chosen?.side === side;
          word.setAttribute("aria-selected", String(own && n === chosen.n));
          if (own) word.tabIndex = n === chosen.n ? 0 : -1;
          const weight = chosen && !own ? across[n] : null;
          word.lastChild.textContent = weight === null ? "" : share(weight);
          word.style.setProperty("--weight", `${(100 * (weight ?? 0)).toFixed(1)}%`);
        });
      }
      this.all.disabled = !chosen;
      this.forbid.disabled = chosen?.side !== "reads" || Math.max(...this.weights[chosen.n]) === 0;
      const { off, hidden } = this.changes;
      this.again.disabled = off.size + hidden.size === 0;
      this.between.classList.toggle("off", off.has(this.name)); // what it looks at reaches nobody
      for (const { firstChild: { value }, classList } of this.heads.children) classList.toggle("off", off.has(`${this.kind} ${value}`));
      this.off.firstChild.checked = off.has(this.name);
      this.swap.disabled = swapped(this.english) === this.english;
      const words = this.words(across);
      if (first) this.status.replaceChildren(...words.flat(Infinity));
      else this.announce(this.status, words);
    }

    // The links in a sentence: the three largest of a word, or how strong the strongest are.
    words(across) {
      const { chosen, panel, weights } = this;
      const [rows, columns] = [panel.rows, panel.columns].map((words, n) => words.map((word) => quoted(word, this.languages[n])));
      if (!chosen) {
        const top = weights.map((row) => Math.max(...row)), i = best(top);
        if (this.changes.off.has(this.name)) return ["This head is switched off: what it looks at is not passed on."];
        return ["Strongest link: ", rows[i], " reads ", columns[best(weights[i])], `, ${share(top[i])}. Choose a word to see its links.`];
      }
      const [own, others] = chosen.side === "reads" ? [rows, columns] : [columns, rows];
      const largest = across.map((w, n) => [w, n]).filter(([w]) => w > 0).sort(([a], [b]) => b - a).slice(0, 3);
      if (!largest.length) return [own[chosen.n], " is read by nobody."];
      const links = listed(largest.map(([w, n]) => [others[n], ` ${share(w)}`]));
      return [own[chosen.n], chosen.side === "reads" ? " reads " : " is read by ", links, largest.length < others.length ? " …" : ""];
    }
  }

  customElements.define("heads-figure", HeadsFigure);
})();

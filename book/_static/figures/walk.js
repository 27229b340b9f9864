// Walk through the Transformer: its boxes as a map, and what stands in the chosen one, from runs that the chapter has made;
// and, for a sentence of the reader's own, from a run of the translator in the page.
"use strict";
(() => {
  const { Figure, asShare, asking, draw, field, listed, make, quoted, untrained, written } = window.figures;
  const { sliced } = window.translator;
  const SIDES = { encoder: "S", decoder: "T" };
  const FORWARD = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  const MOST = 32; // tokens of a reader's sentence: longer tables could not be read
  const MANY = 8; // of more tokens only those are named that give something
  const UNKNOWN = { about: "Nobody has told the page which tokens are right. So you see those that the model wrote, how probable it found them, and minus the logarithm of that, which is the loss if they were right." };
  const ROLES = { Q: "query", K: "key", V: "value" };
  const number = (text) => Number(text.replace("\u202f", "").replace("−", "-").replace("∞", "Infinity"));
  const capital = (text) => text[0].toUpperCase() + text.slice(1);

  // The translator at a sentence: what it wrote, and all that it calculated, by name and row after row.
  function* inside(translator, ids) {
    const rows = {};
    const heard = translator.listening((place, found) => {
      for (const [part, row] of Object.entries(found)) (rows[place ? `${place}.${part}` : part] ??= []).push(row);
    });
    const { ids: wrote } = yield* heard.greedy(yield* heard.encode(ids));
    rows.answers = wrote.map((id, t) => { const p = rows.probabilities[t][id]; return [p, -Math.log(p)]; });
    return { wrote, rows };
  }

  // That run as the figure takes it: the steps and tables of the chapter's run `model`, with other words and numbers. Nobody
  // knows the right translation, so "wanted" is what was written.
  function* walked(translator, ids, model, likeliest) {
    const { wrote, rows } = yield* inside(translator, ids), writes = [translator.config.bos_id, ...wrote.slice(0, -1)];
    const best = rows.probabilities.map((row) => row.indexOf(Math.max(...row))), sure = new Set([...wrote, ...best]);
    const likely = [...rows.probabilities[0].keys()].map((id) => (sure.has(id) ? 2 : Math.max(...rows.probabilities.map((row) => row[id]))));
    const order = [...likely.keys()].sort((a, b) => likely[b] - likely[a]).slice(0, Math.max(likeliest, sure.size));
    const tokens = order.sort((a, b) => a - b), lengths = { S: ids.length, T: writes.length }, at = (id) => tokens.indexOf(id);
    const table = (old) => {
      const { name, axes, places, kind } = old, last = axes.at(-1), long = lengths[last];
      const share = (c) => kind === "share" || (name === "answers" && !c);
      let shown = old.values;
      while (Array.isArray(shown[0])) shown = shown[0];
      const cut = (row) => {
        if (last === "V") return tokens.map((id) => row[id]);
        if (!long) return [...row].slice(0, shown.length);
        return [...row, ...Array(long - row.length).fill(name.endsWith("scores") ? -Infinity : 0)]; // what comes later is hidden
      };
      const matrix = (part) => rows[name].map((row) => cut(part(row)).map((x, c) => (share(c) ? asShare : written)(x, places)));
      const head = (h) => matrix((row) => row.slice((h * row.length) / old.shape[0], ((h + 1) * row.length) / old.shape[0]));
      const values = axes.length === 1 ? rows[name].map(([x]) => (places ? written(x, places) : String(x))) : axes[0] === "H" ? [...Array(old.shape[0]).keys()].map(head) : matrix((row) => row);
      return { ...old, values: [values], shape: axes.map((letter, n) => lengths[letter] ?? old.shape[n]), shown: last === "V" && old.shown ? `the ${tokens.length} likeliest` : old.shown };
    };
    const steps = [];
    for (const step of model.steps) {
      const tables = step.tables.map(table), end = tables[0].name === "answers";
      steps.push({ ...step, tables, ...(end && UNKNOWN) });
      if (end) tables[0].title = "what it wrote";
      yield;
    }
    const name = (id) => translator.name(id).trim() || "␣";
    const words = { S: ids.map(name), T: writes.map(name), V: tokens.map((id) => translator.name(id)) };
    return { ...model, own: true, german: translator.text(wrote), words, wanted: wrote.map(at), best: [best.map(at)], steps };
  }

  // "times W^O" with its letters in italics; only what stands alone is a letter.
  const symbols = (text) =>
    text.split(/((?<![\w^])(?:[AEPQKVW]|d_(?:model|k|v))(?:\^[OT])?(?!\w))/).map((part, i) => {
      if (i % 2 === 0) return part;
      const [, name, below, above] = /^(\w)(?:_(\w+))?(?:\^(\w))?$/.exec(part);
      return make("var", { class: ROLES[name] }, name, below ? make("sub", {}, below) : [], above ? make("sup", {}, above) : []);
    });

  // The letter of an axis, upright: V counts tokens here, it is not the values.
  const axis = (letter) => letter.split(/_(?=[kv])/).map((part, i) => (i ? make("sub", {}, part) : part));

  class WalkFigure extends Figure {
    build(data, live) {
      Object.assign(this, data, { at: 0, run: 0, head: 0, followed: { S: 0, T: 1 }, number: [...document.querySelectorAll("walk-figure")].indexOf(this) });
      this.classList.add("wide");
      live.setAttribute("aria-label", "Map of the Transformer, step by step");
      const hrefs = [...this.querySelectorAll(".fallback tbody a")].map((a) => a.getAttribute("href"));
      this.links = new Map(this.models[0].steps.map(({ place }, n) => [place, hrefs[n]])); // a deeper model has more steps, in the same chapters
      this.lines = draw("svg", { class: "lines", "aria-hidden": "true" });
      this.map = make("div", { class: "map", role: "group", "aria-label": "The boxes of the model. Arrow keys follow the data." });
      this.heard = make("p", { class: "heard", role: "status" });
      this.count = make("span", { class: "count" });
      const go = (text, by) => {
        const button = make("button", { type: "button", class: "go" }, text);
        button.addEventListener("click", () => { this.go(this.at + by); this.reveal(); });
        return button;
      };
      [this.back, this.next] = [go("Back", -1), go("Next", 1)];
      const moves = make("div", { class: "moves", role: "group", "aria-label": "Along the path" }, this.back, this.count, this.next);
      for (const element of [this.map, moves]) element.addEventListener("keydown", (event) => this.walk(event));
      this.follow = make("div", { class: "follow" });
      this.what = make("div", { class: "what" });
      this.panel = make("div", { class: "panel" }, moves, this.follow, this.what);
      this.assemble(this.models[0]);
      live.append(make("div", { class: "controls" }, this.states()), this.question(), make("div", { class: "walk" }, this.view = make("div", {}, this.map), this.panel), this.heard);
      this.show(true);
      const resized = new ResizeObserver(() => { this.trace(); this.reach(); });
      for (const element of [this.map, this.panel]) resized.observe(element);
    }

    // All runs of all models, one of which is looked at.
    states() {
      const all = this.all = this.models.flatMap((model) => model.runs.map((name, run) => ({ model, name, run })));
      return all.length < 2 ? [] : this.chips("Model", all.map(({ name }) => name), 0, (n) => {
        this.run = all[n].run;
        if (all[n].model !== this.model) this.assemble(all[n].model);
      });
    }

    // A sentence of the reader's own, for the model that is the translator of the pages.
    question() {
      const given = this.models.find(({ asked }) => asked), entry = this.all.find(({ model }) => model === given);
      if (!given) return [];
      const become = (model) => {
        entry.model = model;
        if (!this.model.asked) return; // another is looked at
        this.assemble(model);
        this.show();
      };
      const result = make("p", { class: "result", role: "status" }), { ask, drop } = asking(result);
      const { form, input } = field("Show its numbers", (text) => ask(text, async (translator, ids, stop) => {
        if (ids.length > MOST) throw new RangeError(`the sentence has ${ids.length} tokens, and the tables have room for ${MOST}: write a shorter one`);
        const model = await sliced(walked(translator, ids, given, this.likeliest), { stop });
        if (!model) return;
        become(model);
        result.replaceChildren("It writes: ", make("span", { lang: this.languages.T }, model.german), " ", ...untrained(translator.unknown(text)));
      }));
      const back = make("button", { type: "button" }, "The book's");
      back.addEventListener("click", () => {
        drop();
        become(given);
        input.value = given.asked;
        result.textContent = "The book's sentence again.";
      });
      input.value = given.asked;
      form.append(back);
      return this.fields = make("fieldset", { class: "reader", disabled: !this.model.asked }, make("legend", { class: "name" }, "Your own sentence, for the translator"), form, result);
    }

    // The map and the tokens of a model. The place stays: the same box, in a layer that is as near to the end.
    assemble(model) {
      const name = this.model && this.steps[this.at].tables[0].name, layers = this.layers;
      Object.assign(this, { own: false, ...model, model });
      if (this.fields) this.fields.disabled = !model.asked;
      this.layers = Math.max(...this.steps.map(({ layer }) => layer)) + 1;
      if (name) {
        const there = name.replace(/(?<=layers\.)\d+/, (layer) => Math.max(0, Number(layer) + this.layers - layers));
        this.at = this.steps.findIndex(({ tables }) => tables[0].name === there);
      }
      for (const letter of ["S", "T"]) this.followed[letter] = Math.min(this.followed[letter], this.words[letter].length - 1);
      const heads = this.steps.flatMap(({ tables }) => tables).find(({ axes }) => axes[0] === "H").shape[0];
      this.head = Math.min(this.head, heads - 1);
      this.boxes = this.steps.map((step, n) => this.button(step, n));
      this.map.replaceChildren(...Object.keys(SIDES).map((side) => this.column(side)), this.lines);
      this.tokens = [["S", "Source"], ["T", "Target"]].map(([letter, legend]) => this.chips(legend, this.words[letter], this.followed[letter], (i) => { this.followed[letter] = i; }));
      this.follow.replaceChildren(...this.tokens);
      if (name) this.trace();
    }

    button(step, n) {
      const whole = `${n + 1}. ${capital(this.where(step))}`;
      const button = make("button", { type: "button", class: `box ${step.look}`, tabindex: "-1", "aria-label": whole }, symbols(step.part.replaceAll(" ", "\u2009") || step.box));
      button.addEventListener("click", () => { this.go(n); this.reveal(); });
      return button;
    }

    where({ side, layer, box, part }) {
      const many = layer !== null && this.layers > 1;
      return `${side}${many ? ` layer ${layer + 1}` : ""}, ${box.toLowerCase()}${part ? `: ${part}` : ""}`;
    }

    // A side of the map: its boxes in order, those of a layer in a frame, the parts of one box in a row.
    column(side) {
      const column = make("div", { class: `column ${side}` }, make("p", { class: "name" }, side === "encoder" ? "Encoder reads" : "Decoder writes"));
      let frame = column, layer = null, parts = null;
      this.steps.forEach((step, n) => {
        if (step.side !== side) return;
        if (step.layer !== layer) {
          layer = step.layer;
          frame = layer === null ? column : make("div", { class: "layer" });
          if (layer !== null) column.append(frame);
        }
        const named = step.part && this.steps[n - 1].box === step.box;
        if (step.part && !named) {
          parts = make("div", { class: "parts" });
          frame.append(make("div", { class: `group ${step.look}` }, make("p", {}, step.box), parts));
        }
        (step.part ? parts : frame).append(this.boxes[n]);
      });
      return column;
    }

    // A row of words, one of which is chosen.
    chips(legend, words, chosen, choose) {
      return make("fieldset", { class: "tokens" }, make("legend", {}, legend), words.map((word, i) => {
        const input = make("input", { type: "radio", name: `${legend}-${this.number}`, value: i, checked: i === chosen });
        input.addEventListener("change", () => { choose(i); this.show(); });
        return make("label", { class: "chip" }, input, make("span", { lang: this.language(word) }, word, make("i", { class: "share" })));
      }));
    }

    // The language of a word: that of the sentence it is in. The vocabulary has words of both.
    language(word) {
      return this.languages[["S", "T"].find((letter) => this.words[letter].includes(word))];
    }

    quoted(word) {
      return quoted(word, this.language(word));
    }

    go(n) {
      this.at = Math.max(0, Math.min(this.steps.length - 1, n));
      this.show();
    }

    // The map scrolls in its frame, until the chosen box is seen.
    centre() {
      const box = this.boxes[this.at].getBoundingClientRect(), view = this.view.getBoundingClientRect();
      if (box.top < view.top || box.bottom > view.bottom) this.view.scrollTop += (box.top + box.bottom - view.top - view.bottom) / 2;
    }

    // Along the path with the keyboard; in the map the focus goes along.
    walk(event) {
      const by = FORWARD[event.key];
      if (!by) return;
      event.preventDefault();
      this.go(this.at + by);
      if (this.map.contains(event.target)) this.boxes[this.at].focus();
    }

    // Where map and panel stand below each other, the panel comes into view.
    reveal() {
      const { top } = this.panel.getBoundingClientRect();
      if (top < 0 || top > 0.6 * window.innerHeight) this.panel.scrollIntoView({ block: "start" });
    }

    show(first = false) {
      const step = this.steps[this.at];
      this.boxes.forEach((box, n) => {
        box.tabIndex = n === this.at ? 0 : -1;
        if (n === this.at) box.setAttribute("aria-current", "step");
        else box.removeAttribute("aria-current");
      });
      this.count.textContent = `${this.at + 1} of ${this.steps.length}`;
      this.back.setAttribute("aria-disabled", this.at === 0);
      this.next.setAttribute("aria-disabled", this.at === this.steps.length - 1);
      const said = this.say(step), letters = [...new Set(step.tables.flatMap((table) => table.axes))].filter((letter) => this.axes[letter]);
      const hadFocus = this.what.contains(document.activeElement);
      this.what.replaceChildren(
        make("p", { class: "title" }, make("span", {}, capital(step.side), step.layer !== null && this.layers > 1 ? `, layer ${step.layer + 1}` : ""), make("strong", {}, step.box, step.part ? [": ", ...symbols(step.part)] : [])),
        make("p", { class: "about" }, symbols(step.about)),
        ...(step.tables.some(({ axes }) => axes[0] === "H") ? [this.heads(step)] : []),
        make("div", { class: "matrices" }, step.tables.map((table) => this.table(table))),
        ...(said.length ? [make("p", { class: "said" }, said)] : []),
        make("p", { class: "letters" }, letters.map((letter, i) => [i ? ", " : "", make("b", {}, axis(letter)), ` ${this.axes[letter]}`])),
        make("p", { class: "open" }, make("a", { href: this.links.get(step.place) }, `Chapter: ${step.chapter}`, make("span", { "aria-hidden": "true" }, " →"))));
      if (hadFocus) this.what.querySelector("input:checked")?.focus();
      this.panel.scrollTop = 0;
      this.mark(step);
      this.reach();
      this.centre();
      if (!first) this.announce(this.heard, `${this.at + 1} of ${this.steps.length}: ${this.where(step)}. `, this.say(step));
    }

    // A table that does not fit scrolls in its box, which the keyboard can then reach.
    reach() {
      for (const box of this.what.querySelectorAll(".scrolls")) {
        const wide = box.scrollWidth > box.clientWidth + 1;
        for (const [name, value] of Object.entries({ tabindex: "0", role: "region", "aria-label": box.dataset.title })) {
          if (wide) box.setAttribute(name, value);
          else box.removeAttribute(name);
        }
      }
    }

    heads(step) {
      const count = step.tables.find(({ axes }) => axes[0] === "H").shape[0];
      return this.chips("Head", [...Array(count).keys()].map((h) => String(h + 1)), this.head, (h) => { this.head = h; });
    }

    values({ values, axes }) {
      const x = values[this.run];
      if (axes[0] === "H") return x[this.head];
      return axes.length === 1 ? x.map((value) => [value]) : x;
    }

    // A tensor with the words of its axes; the row of the followed token is lit, or its column if the table lies on its side.
    table(table) {
      const axes = table.axes.filter((letter) => letter !== "H"), straight = this.values(table);
      const x = table.turned ? straight[0].map((_, c) => straight.map((row) => row[c])) : straight;
      const [across, down] = table.turned ? [axes[0], axes[1]] : [axes[1], axes[0]];
      const names = (letter, count) => this.words[letter] ?? [...Array(count).keys()].map((c) => String(c + 1));
      const columns = table.columns.length ? table.columns : names(across, x[0].length);
      const rows = names(down, x.length).map((word, i) => (table.name === "answers" ? `${word} → ${this.words.V[this.wanted[i]]}` : word));
      const most = table.kind === "share" ? 1 : Math.max(1, ...x.flat().map(number).filter(Number.isFinite).map(Math.abs));
      const lit = (i, c) => (table.turned ? c : i) === this.followed[axes[0]];
      const heat = (value) => (table.kind === "plain" || !Number.isFinite(value) ? {} : { class: value < 0 ? "below" : "above", style: `--heat: ${((100 * Math.abs(value)) / (most || 1)).toFixed(0)}%` });
      const cell = (value, i, c) => {
        const { class: sign = "", style } = heat(number(value));
        return make("td", { class: `${sign}${lit(i, c) ? " lit" : ""}`, style }, value);
      };
      const head = (word, c) => make("th", { scope: "col", lang: this.language(word), class: table.turned && lit(0, c) ? "lit" : null }, make("span", {}, word));
      const caption = make("caption", {}, make("div", {}, symbols(table.title), make("span", {}, " (", table.axes.map((letter, i) => [i ? ", " : "", axis(letter)]), `) = (${table.shape.join(", ")})${table.shown && `, ${table.shown}`}`)));
      return make("div", { class: "scrolls", "data-title": table.title }, make("table", { class: `matrix tensor${columns.length > 6 ? " wide" : ""}${table.turned ? " turned" : ""}`, "data-name": table.name }, caption,
        make("thead", {}, make("tr", {}, make("td"), columns.map(head))),
        make("tbody", {}, x.map((row, i) => make("tr", {}, make("th", { scope: "row", lang: this.language(rows[i].split(" → ")[0]), class: !table.turned && lit(i, 0) ? "lit" : null }, rows[i]), row.map((value, c) => cell(value, i, c)))))));
    }

    // The weights of the attention that the step belongs to.
    weights(step) {
      const near = this.steps.find((other) => other.says === "looks" && other.side === step.side && other.layer === step.layer && other.box === step.box);
      return near?.tables.find(({ kind }) => kind === "share");
    }

    // What the numbers say of the followed token: words and elements.
    say(step) {
      const t = this.followed.T, word = this.quoted(this.words[SIDES[step.side]][this.followed[SIDES[step.side]]]);
      if (step.says === "looks") {
        const table = this.weights(step), scores = this.values(step.tables[0]), i = this.followed[table.axes[1]];
        const found = this.values(table)[i].map((share, j) => [scores[i][j], share, this.quoted(this.words[table.axes[2]][j])]);
        const open = found.filter(([score]) => score !== "−∞"), most = open.filter(([, share]) => open.length <= MANY || number(share) > 0);
        const seen = most.map(([, share, other]) => [`${share} from `, other]);
        if (most.length < open.length) seen.push(["0.00 from the rest"]);
        const hidden = found.filter(([score]) => score === "−∞").map(([, , other]) => other);
        return [word, " takes ", listed(seen), ".", hidden.length ? [" Hidden: ", listed(hidden), "."] : []];
      }
      if (step.says === "next") {
        const chances = this.steps.flatMap(({ tables }) => tables).find(({ name }) => name === "probabilities").values[this.run][t];
        const best = this.best[this.run][t], right = this.wanted[t]; // the rounded numbers may be equal
        const verdict = this.own ? [] : best === right ? " That is right." : [" Right would be ", this.quoted(this.words.V[right]), `, ${chances[right]}.`];
        return ["After ", word, " the most probable token is ", this.quoted(this.words.V[best]), `, ${chances[best]}.`, verdict];
      }
      return [];
    }

    // In the row of tokens: which sentence is looked at here, and in an attention what each of its tokens gives.
    mark(step) {
      const table = step.part ? this.weights(step) : null, keys = table?.axes[2];
      const shares = table ? this.values(table)[this.followed[table.axes[1]]] : [];
      ["S", "T"].forEach((letter, n) => {
        const here = SIDES[step.side] === letter || keys === letter;
        this.tokens[n].classList.toggle("aside", !here);
        this.tokens[n].querySelectorAll(".share").forEach((bar, j) => {
          bar.style.width = letter === keys ? `${(100 * number(shares[j])).toFixed(0)}%` : "0";
        });
      });
    }

    // The ways around the sub-layers, and that of the memory. Only where the columns stand side by side.
    trace() {
      const frame = this.map.getBoundingClientRect(), path = [];
      const at = (element) => {
        const { left, right, top, bottom } = element.getBoundingClientRect();
        const centre = (left + right) / 2 - frame.left, middle = (top + bottom) / 2 - frame.top;
        return { left: left - frame.left, right: right - frame.left, top: top - frame.top, bottom: bottom - frame.top, centre, middle };
      };
      const tip = (x, y, way) => `M${x - 5 * way} ${y - 4}L${x} ${y}L${x - 5 * way} ${y + 4}`;
      const [reading, writing] = this.map.querySelectorAll(".column");
      this.lines.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
      if (at(reading).right <= at(writing).left) {
        for (const column of [reading, writing]) {
          const way = column === reading ? 1 : -1; // around on the outer side
          const stops = [...column.querySelectorAll(":scope > .box, .layer > *")].map(at);
          stops.slice(1).forEach(({ centre, top }, n) => path.push(`M${centre} ${stops[n].bottom}V${top}M${centre - 3} ${top - 3.5}L${centre} ${top}L${centre + 3} ${top - 3.5}`));
          for (const norm of column.querySelectorAll(".norm")) {
            const from = at(norm.previousElementSibling), to = at(norm), edge = way > 0 ? "left" : "right", side = from[edge] - 9 * way;
            path.push(`M${from.centre} ${from.top - 6}H${side}V${to.middle}H${to[edge] - way}`, tip(to[edge] - way, to.middle, way));
          }
        }
        const norms = reading.querySelectorAll(".norm"), memory = at(norms[norms.length - 1]), between = at(writing).left - 6;
        const goals = this.steps.flatMap((step, n) => (step.box === "Cross-attention" && step.part === "weights" ? [at(this.boxes[n].closest(".group"))] : []));
        goals.forEach((goal) => path.push(`M${memory.right} ${memory.middle}H${between}V${goal.middle}H${goal.left - 1}`, tip(goal.left - 1, goal.middle, 1)));
      }
      this.lines.replaceChildren(draw("path", { d: path.join("") }));
    }
  }

  window.walk = { walked };
  customElements.define("walk-figure", WalkFigure);
})();

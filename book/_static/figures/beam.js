// Beam search over a table of probabilities: step by step, with width and penalty to change, beside greedy and exhaustive search.
"use strict";
(() => {
  const { Figure, asShare, draw, make, slider, written } = window.figures;

  // The searches. A table has, for a beginning (ids with blanks between), the tokens that may follow: [id, log-probability].
  // The rules are those of the package; of equal extensions the earlier hypothesis comes first, then the earlier token.

  const penalty = (length, alpha) => ((5 + length) / 6) ** alpha;
  const hypothesis = (ids, logP, alpha) => ({ ids, logP, score: logP / penalty(ids.length, alpha) });
  const byScore = (a, b) => b.score - a.score;
  const byLogP = (a, b) => b.logP - a.logP;
  const after = ({ rows }, ids) => {
    const row = rows[ids.join(" ")];
    if (!row) throw new Error(`the table has no row for ${ids.join(" ")}`);
    return [...row].sort(([, a], [, b]) => b - a);
  };

  const greedy = (table, alpha) => {
    let ids = [], logP = 0;
    do {
      const [[id, p]] = after(table, ids);
      ids = [...ids, id];
      logP += p;
    } while (ids.at(-1) !== table.end && ids.length < table.most);
    return hypothesis(ids, logP, alpha);
  };

  // Every step says which extensions there were, which were kept, what is finished by then and what goes on.
  const beam = (table, width, alpha) => {
    let going = [{ ids: [], logP: 0 }], finished = [];
    const steps = [];
    while (going.length) {
      const length = steps.length + 1;
      const longer = going.flatMap((h) => after(table, h.ids).map(([id, p]) => ({ ids: [...h.ids, id], logP: h.logP + p })));
      longer.sort(byLogP);
      const kept = longer.slice(0, width);
      const ends = ({ ids }) => ids.at(-1) === table.end || length === table.most;
      finished = [...finished, ...kept.filter(ends).map((h) => hypothesis(h.ids, h.logP, alpha))].sort(byScore).slice(0, width);
      going = kept.filter((h) => !ends(h));
      const hope = going.length ? going[0].logP / penalty(table.most, alpha) : -Infinity;
      const worst = finished.length === width ? finished.at(-1).score : -Infinity;
      steps.push({ longer, kept, ended: kept.filter(ends), finished, going, hope, worst });
      if (!(hope > worst)) going = [];
    }
    return { steps, finished };
  };

  // Every sentence of the table, best first. What may stand outside has no score above `outside`.
  const exhaustive = (table, alpha) => {
    const found = [];
    let open = [{ ids: [], logP: 0 }], outside = -Infinity;
    while (open.length) {
      const longer = open.flatMap((h) => after(table, h.ids).map(([id, p]) => ({ ids: [...h.ids, id], logP: h.logP + p })));
      const ends = ({ ids }) => ids.at(-1) === table.end || ids.length === table.most;
      for (const h of longer.filter(ends)) found.push(hypothesis(h.ids, h.logP, alpha));
      open = [];
      for (const h of longer.filter((begun) => !ends(begun))) {
        if (h.ids.join(" ") in table.rows) open.push(h);
        else outside = Math.max(outside, h.logP / penalty(table.most, alpha));
      }
    }
    return { found: found.sort(byScore), outside };
  };

  const COLUMN = 90, ROW = 38, MOST = 60, BOX = { width: 72, height: 34 };
  const DROPPED = 3, LEAST = 0.001; // so many of those that were not kept are drawn, if they are at least so probable
  const dropped = ({ longer, kept }) => longer.slice(kept.length).filter(({ logP }) => Math.exp(logP) >= LEAST).slice(0, DROPPED);
  const tallest = (steps) => Math.max(2, ...steps.map((step) => step.kept.length + dropped(step).length));
  const number = (x) => written(x, 4);
  const same = (a, b) => a.length === b.length && a.every((id, n) => id === b[n]);
  const begins = (ids, whole) => same(ids, whole.slice(0, ids.length));
  const row = (tag, cells, attributes = {}) => make("tr", attributes, cells.map((cell, n) => make(n || tag === "th" ? tag : "th", tag === "th" ? { scope: "col" } : n ? {} : { scope: "row" }, cell)));

  class BeamFigure extends Figure {
    build(data, live) {
      Object.assign(this, { tables: data.tables, table: data.tables[0], width: data.width, alpha: data.alpha });
      live.setAttribute("aria-label", "Beam search, with sentence, width and penalty to change");
      const select = make("select", {}, this.tables.map(({ text }, n) => make("option", { value: n }, text)));
      select.addEventListener("change", () => { this.table = this.tables[select.value]; this.search(); });
      const change = (name) => (value) => { this[name] = value; this.search(); };
      const widths = slider("width of the beam (1 is greedy)", { min: 1, max: data.widest, step: 1, value: data.width }, String, change("width"));
      const alphas = slider(["length penalty ", make("var", {}, "α")], { min: 0, max: 1.5, step: 0.05, value: data.alpha }, (x) => written(x, 2), change("alpha"));
      const button = (text, press) => {
        const made = make("button", { type: "button" }, text);
        made.addEventListener("click", press);
        return made;
      };
      this.again = button("Start again", () => this.show(0));
      this.next = button("Next step", () => { this.show(this.shown + 1); this.tree.scrollLeft = this.tree.scrollWidth; });
      this.whole = button("All steps", () => this.show(this.steps.length));
      this.status = make("p", { class: "status", role: "status" });
      this.tree = make("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "The search as a tree" });
      this.list = make("tbody");
      this.rivals = make("tbody");
      const scrolls = (name, head, body, kind = "") => make("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": name },
        make("table", { class: `numbers ${kind}` }, make("thead", {}, row("th", head)), body));
      const part = (title, ...children) => make("div", { class: "part" }, make("p", { class: "name" }, title), ...children);
      live.append(
        make("div", { class: "sliders" }, make("label", { class: "sentence" }, make("span", {}, "sentence"), select), widths.label, alphas.label),
        make("div", { class: "controls" }, this.again, this.next, this.whole), this.status,
        part("The search: in each column the best beginnings, the most probable on top, each with its probability",
          make("p", { class: "legend" }, ["kept", "dropped", "finished", "best"].map((kind) => make("span", { class: kind }, kind))), this.tree),
        part("Hypotheses", this.room = scrolls("Hypotheses", ["sentence", "tokens", "log-probability", "penalty", "score", "state"], this.list, "hypotheses")),
        part("Three searches, and the best sentence of each", scrolls("Three searches", ["search", "best sentence", "log-probability", "score"], this.rivals, "rivals"),
          this.proof = make("p", { class: "after-inputs" })));
      const searched = (table, width) => { try { return beam(table, width, data.alpha).steps; } catch { return []; } }; // a table may have no row for it
      const searches = data.tables.flatMap((table) => [...Array(data.widest).keys()].map((n) => searched(table, n + 1)));
      const lines = searches.flatMap((steps) => steps.map((step, n) => step.finished.length + (n < steps.length - 1 ? step.going.length : 0)));
      this.room.style.setProperty("--rows", Math.max(...lines)); // for the longest list of any search: what is below stays
      this.tall = Math.max(...searches.map(tallest)) * ROW;
      this.search(true);
    }

    // A sentence, in its language.
    say(ids) {
      return ids.length ? make("span", { lang: this.table.language }, ids.map((id) => this.table.tokens[id]).join(" ")) : "start";
    }

    // Another table, width or penalty. A search that was seen whole is seen whole again. The figure opens at its first step.
    search(first = false) {
      const seen = first ? 1 : this.shown < this.steps.length ? this.shown : Infinity;
      const { steps, finished } = beam(this.table, this.width, this.alpha);
      Object.assign(this, { steps, finished });
      const { found, outside } = exhaustive(this.table, this.alpha);
      const line = (name, h) => row("td", [name, this.say(h.ids), number(h.logP), number(h.score)]);
      this.rivals.replaceChildren(line("greedy", greedy(this.table, this.alpha)), line(`beam of ${this.width}`, finished[0]), line("exhaustive", found[0]));
      const beyond = outside === -Infinity ? "There are no others" : `Others could not score above ${number(outside)}`;
      this.proof.textContent = `Exhaustive search compares ${found.length} sentences. ${beyond}${outside < found[0].score ? ", so its best is the best of all" : ""}.`;
      this.show(Math.min(seen, steps.length), first);
    }

    // So many steps of the search, and no more.
    show(count, first = false) {
      this.shown = count;
      const { steps } = this, now = steps[count - 1], last = count === steps.length;
      this.best = last ? this.finished[0] : null;
      const active = document.activeElement; // a button that is switched off gives its focus on
      this.again.disabled = false;
      this.next.disabled = this.whole.disabled = last;
      if (!count && active === this.again) this.next.focus();
      if (last && [this.next, this.whole].includes(active)) this.again.focus();
      this.again.disabled = !count;
      this.tree.replaceChildren(this.drawn(count));
      const finished = now?.finished ?? [], going = last ? [] : now ? now.going : [{ ids: [], logP: 0 }];
      this.list.replaceChildren(
        ...finished.map((h, n) => row("td", [this.say(h.ids), String(h.ids.length), number(h.logP), number(penalty(h.ids.length, this.alpha)), number(h.score), last && !n ? "best" : "finished"], { class: last && !n ? "best" : "finished" })),
        ...going.map((h) => row("td", [this.say(h.ids), String(h.ids.length), number(h.logP), "", "", "goes on"])));
      const words = this.words(now, last);
      if (first) this.status.replaceChildren(...words);
      else this.announce(this.status, words);
    }

    words(now, last) {
      if (!now) return ["Nothing is written yet. The search begins with an empty sentence."];
      const told = `Step ${this.shown}: ${now.ended.length} of ${now.kept.length} kept hypotheses end here.`;
      if (!last) return [told];
      const why = now.going.length ? `no unfinished one can get above ${number(now.hope)}` : "nothing is left to extend";
      return [`${told} The search stops: ${why}. Best: “`, this.say(this.best.ids), `”, score ${number(this.best.score)}.`];
    }

    // A column for each of so many steps: what was kept on top, what was dropped below. All of them fit, so nothing below moves.
    drawn(count) {
      const nodes = [[{ ids: [], kind: "kept", y: 0 }]];
      for (const step of this.steps) {
        const { kept, ended } = step;
        nodes.push([...kept, ...dropped(step)].map((h, y) => ({ ...h, y, kind: !kept.includes(h) ? "dropped" : ended.includes(h) ? "finished" : "kept" })));
      }
      const row = Math.min(MOST, this.tall / tallest(this.steps));
      nodes.length = count + 1;
      const width = nodes.length * COLUMN, height = this.tall;
      const x = (column) => column * COLUMN + (COLUMN - BOX.width) / 2, y = (n) => n * row + (row - BOX.height) / 2;
      const kindOf = ({ ids, kind }) => (this.best && begins(ids, this.best.ids) ? `${kind} best` : kind);
      const edges = nodes.flatMap((column, c) => (c ? column.map((node) => {
        const parent = nodes[c - 1].find(({ ids }) => same(ids, node.ids.slice(0, -1)));
        const [x0, y0, x1, y1] = [x(c - 1) + BOX.width, y(parent.y) + BOX.height / 2, x(c), y(node.y) + BOX.height / 2];
        return draw("path", { class: `edge ${kindOf(node)}`, d: `M${x0} ${y0}C${x0 + 14} ${y0} ${x1 - 14} ${y1} ${x1} ${y1}` });
      }) : []));
      const boxes = nodes.flatMap((column, c) => column.map((node) => {
        const token = c ? this.table.tokens[node.ids.at(-1)] : "start", middle = x(c) + BOX.width / 2;
        const long = token.length > 8 ? { textLength: BOX.width - 8, lengthAdjust: "spacingAndGlyphs" } : {};
        const frame = (inset) => draw("rect", { x: x(c) + inset, y: y(node.y) + inset, width: BOX.width - 2 * inset, height: BOX.height - 2 * inset, rx: 6 - inset });
        return draw("g", { class: `node ${kindOf(node)}` }, frame(0), node.kind === "finished" ? frame(3) : [],
          draw("text", { x: middle, y: y(node.y) + (c ? 14 : 22), "text-anchor": "middle", lang: c ? this.table.language : null, ...long }, token),
          c ? draw("text", { class: "p", x: middle, y: y(node.y) + 29, "text-anchor": "middle" }, asShare(Math.exp(node.logP), 3, { signs: true })) : []);
      }));
      const told = `A tree of ${count} ${count === 1 ? "step" : "steps"}; ${nodes.flat().filter(({ kind }) => kind === "finished").length} hypotheses end in it.`;
      const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told }, edges, boxes);
      Object.assign(svg.style, { width: `${width}px`, height: `${height}px` });
      return svg;
    }
  }

  Object.assign(window.figures, { beam, exhaustive, greedy });
  customElements.define("beam-figure", BeamFigure);
})();

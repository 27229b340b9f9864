// The translator laid open, to be cut: the rows of its tokens, and between them the links of all heads. What a reader changes
// is translated anew at once. A cut can be tried on all sentences, and on another training.
"use strict";
(() => {
const { LOADING, Player, asShare, differing, draw, field, make, onOff, quoted, slider, untrained, written } = window.figures;
const { load, sliced } = window.translator;
const PRONOUNS = ["er", "sie", "es", "ihn"], GENDERS = { er: "m", ihn: "m", sie: "f", es: "n" };
const KINDS = { encoder: "encoder", decoder: "decoder, on German", cross: "decoder, on English" };
const MOST = 18; // tokens of a sentence, and of what is written: more rows could not be followed
const FAINTEST = 0.03, SEEN = 0.5, LIT = 0.1, LISTED = 7, RIVALS = 3; // weights drawn for a followed word, for others, for a head
const BESIDE = matchMedia("(min-width: 761px)");
const ROOMY = matchMedia("(min-width: 600px)");
const AIM = 11, WON = 20, TOGETHER = 2.5, EDGE = 2; // pixels from a line: it is meant; of the followed word, it is cut; two are meant; a wide one comes first
const SPREAD = 800; // milliseconds in which the eye follows what a cut changes
const STEPS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
const SPOT = 13, OWN = ": its own, unchanged", TINT = 0.02;

const [p, div, span, ol] = ["p", "div", "span", "ol"].map((tag) => (kind, ...children) => make(tag, { class: kind }, ...children));
const percent = (x, n) => window.figures.percent(x, n).replaceAll(" ", "\u00a0");
const bare = (text) => text.replace(/[.,]$/, "");
const german = (text) => make("i", { lang: "de" }, text);
const on = (element, events, act) => { for (const kind of events.split(" ")) element.addEventListener(kind, act); };
const named = (text, select) => make("label", { class: "choose" }, span(null, text), select);
const kinds = (...names) => names.filter(Boolean).join(" ") || null;
const press = (button, is) => button.setAttribute("aria-pressed", String(is));
const hovering = (act) => (event) => event.pointerType !== "touch" && act(event);
const parted = (name) => name.split(" ").map((part, n) => (n ? Number(part) : part)); // kind, layer, head, row, column
const said = (parts) => parts.map((part) => part.textContent ?? part).join("");
const shown = (token) => token.replace(/^ /, "").replaceAll("\n", "⏎") || "␣";
const word = (thing, how = "u") => new RegExp(`(?<!\\p{L})${thing}(?!\\p{L})`, how);
const tight = (token, n) => n > 0 && /^[\p{L}\p{N}\p{M}]/u.test(token); // goes on with a word
const sideOf = (kind) => (kind === "encoder" ? "read" : "write");
const numbered = (kind, layer, head) => `${KINDS[kind]}, layer ${layer + 1}, head ${head + 1}`;
const headOf = (name) => numbered(...parted(name));
const pronoun = (german) => german.slice(german.indexOf(",") + 1).replace(".", "").trim().split(" ").find((word) => PRONOUNS.includes(word)) ?? "";
const beforePronoun = (german) => german.slice(0, german.lastIndexOf(` ${pronoun(german)} `));
function* asked(translator, ids, german, changes) {
  const read = yield* translator.encode(ids, changes);
  let state = translator.start(read, changes);
  for (const id of translator.tokens.encode(beforePronoun(german))) { yield; state = translator.write(state, id); }
  return translator.name(translator.rivals(state, 1)[0]).trim();
}
const apart = (a, b) => {
  let [far, long] = [0, 0];
  for (let i = 0; i < a.length; i++) { far += (a[i] - b[i]) ** 2; long += b[i] ** 2; }
  return Math.sqrt(far / long);
};

// Of each row of the decoder the one that it is compared with: it read the same, or stood in its place.
const paired = (...runs) => {
  const [reads, old] = runs.map(({ writes }) => ["<bos>", ...writes]), others = differing(reads, old), found = [];
  let [from, gap] = [0, 0];
  for (const [n, token] of reads.entries()) {
    if (others.includes(n)) { gap += 1; continue; }
    const at = old.indexOf(token, from);
    for (let back = at - from === gap ? gap : 0; back >= 0; back--) found[n - back] = at - back;
    [from, gap] = [at + 1, 0];
  }
  return found;
};

// A run as it is drawn: tokens, the weights of a row, and its vectors (`rows`: depth, row).
const ofModel = (model, read, state) => {
  const steps = state.steps, { n_layers } = model.config;
  const rows = { read: read.rows, write: Array.from({ length: n_layers + 1 }, (_, depth) => steps.map((step) => step.rows[depth])) };
  return {
    reads: read.ids.map((id) => model.name(id)), writes: state.ids.map((id) => model.name(id)), text: model.text(state.ids), rows, state,
    weights: (kind, layer, head, row) => (kind === "encoder" ? read.weights[layer]?.[row]?.[head] : steps[row]?.weights[kind][layer]?.[head]) ?? [],
  };
};
// One that the page has brought along: weights in ten-thousandths.
const ofPage = ({ reads, writes, text, links }) => ({
  reads, writes, text, rows: null,
  weights: (kind, layer, head, row) => {
    const all = new Array(kind === "decoder" ? row + 1 : reads.length).fill(0);
    for (const [column, weight] of links[kind][layer][head][row] ?? []) all[column] = weight / 10_000;
    return all;
  },
});

class CutFigure extends Player {
  beat = 700;
  turn = 0;

  build(data, live) {
    Object.assign(this, { data, model: null, file: data.models[0].file, past: [], stale: true, now: null, aimed: [], guess: null, withheld: false, tally: [0, 0], uncut: {}, kept: {}, came: [], down: [0, 0], trial: 0 });
    this.things = Object.keys(data.genders).flatMap((gender) => Object.keys(data.things).filter((thing) => data.things[thing][1] === gender));
    this.clear();
    this.classList.add("wide");
    live.setAttribute("aria-label", "The translator laid open");
    this.heard = make("p", { class: "heard", role: "status" });
    this.rule = this.button("Try this on all sentences", () => this.tryAll());
    live.append(this.asks(), div("top", this.says = div("says"), this.tools()), div("bench", this.staged(), this.panel()), this.heard);
    this.begun = data.begin ?? data.first[0].english;
    const asked = this.addressed();
    for (const [name, gain] of data.gains ?? []) this.changes.gains.set(name, gain);
    this.settle(asked?.text ?? this.begun);
    this.given = this.changed ? null : data.first.find(({ english }) => english === this.text);
    if (asked || !this.given) this.ready();
    else this.take(ofPage(this.given));
    if (asked) setTimeout(() => scrollY || this.scrollIntoView());
    live.tabIndex = -1;
    on(document, "keydown", (event) => this.isConnected && event.key === "z" && (event.ctrlKey || event.metaKey) && !event.target.matches("[type=text], [type=search]") && this.stepBack());
    on(this, "keydown", (event) => event.key === "Escape" && !event.target.matches("select, [type=text]") && this.escape() && event.preventDefault());
    on(ROOMY, "change", () => { this.more.open = ROOMY.matches; });
    new ResizeObserver(() => this.draw()).observe(this.stage);
    on(this, "pointerenter focusin", () => this.ready(true));
    on(document, "click", (event) => {
      const link = event.target.closest('a[href^="?"]');
      if (!link || !this.isConnected || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      history.replaceState(null, "", link.href);
      this.clear();
      Object.assign(this, { guess: null, opened: null, asked: null, stale: true, holds: false, judged: false, file: data.models[0].file });
      this.settle(this.addressed().text);
      this.ready();
      this.scrollIntoView();
    });
  }

  clear() { this.changes = { gains: new Map(), hidden: new Set(), swaps: new Map(), placed: true }; }

  get changed() {
    const { gains, hidden, swaps, placed } = this.changes;
    return gains.size + hidden.size + swaps.size + !placed;
  }

  asks() {
    const { things, genders } = this.data;
    const changed = () => this.ask(this.about(this.nouns.value, Number(this.frames.value)).english);
    this.frames = make("select", {}, this.data.frames.map((text, n) => make("option", { value: n }, `${n + 1}. ${text}`)), this.own = make("option", { value: "own", hidden: true }, "your own"));
    this.nouns = make("select", {}, Object.entries(genders).map(([gender, article]) => make("optgroup", { label: `German: ${article}` }, this.things.filter((thing) => things[thing][1] === gender).map((thing) => make("option", {}, thing)))), make("option", { value: "", hidden: true }, "your own"));
    on(this.frames, "change", changed);
    on(this.nouns, "change", changed);
    this.chips = ["chair", "lamp", "picture"].filter((thing) => things[thing]).map((thing) => make("button", { type: "button", class: `chip of-${things[thing][1]}` }, thing));
    for (const chip of this.chips) on(chip, "click", () => this.ask(this.about(chip.textContent).english));
    const { form, input } = field("Read it", (text) => this.ask(text));
    this.field = make("details", {}, make("summary", {}, "A sentence of your own"), form, p("ghost", `Room for ${MOST} tokens, with the full stop and <eos>.`));
    on(this.field, "toggle", () => { if (this.field.open && this.known) { input.value = this.text; input.select(); } });
    return div("begin", div("controls", named("sentence", this.frames), div("chips", this.chips), named("noun", this.nouns)), this.field);
  }

  ours(text) { return this.data.sentences.find(({ english }) => english === text); }

  about(noun, n = this.known?.frame ?? 0) { return this.data.sentences.find(({ frame, thing }) => frame === n && thing === noun); }

  settle(text) {
    const known = this.ours(text);
    Object.assign(this, { text, known });
    this.frames.value = known?.frame ?? "own";
    this.own.hidden = Boolean(known);
    if (known) this.field.open = false;
    this.nouns.value = known?.thing ?? "";
    this.nouns.disabled = !known;
    for (const chip of this.chips) press(chip, chip.textContent === known?.thing);
  }

  // What was cut is cut in another sentence, too; in one's own, only heads are.
  ask(text, isTold = false) {
    const roles = this.asked ?? (this.known && this.changed ? this.roles() : null);
    this.settle(text.trim());
    Object.assign(this, { guess: null, opened: null, stale: true });
    if (roles && this.known) this.asked = roles;
    else { this.asked = null; this.changes.hidden.clear(); this.changes.swaps.clear(); }
    this.holds = this.tally[1] > 0 && !isTold;
    this.aim([]);
    this.judged = false;
    this.given = this.data.first.find(({ english }) => english === this.text);
    if (!this.changed && !this.model && this.given) { this.take(ofPage(this.given)); this.ready(true); } else this.ready();
  }

  // `quiet` where the page has what is shown.
  async ready(quiet = false) {
    if (quiet && this.model) return;
    this.moves = !quiet;
    if (this.judged) this.guess = null;
    const mine = this.turn += 1, file = this.file;
    if (!this.model || this.model.file !== file) {
      if (!quiet) this.tell(LOADING);
      try {
        const model = await load(file);
        if (file !== this.file) return;
        this.model = { file, translator: model, donors: {} };
        this.stale = true;
      } catch (error) {
        if (!quiet) this.tell(`${error.message}. What you see was computed before.`);
        return;
      }
    }
    if (mine === this.turn) await this.run();
  }

  async run() {
    const mine = this.turn += 1, stop = () => mine !== this.turn, { translator } = this.model;
    try {
      const ids = translator.read(this.text);
      if (ids.length === 1) throw new Error("a sentence has at least one word");
      if (ids.length > MOST) throw new RangeError(`the sentence has ${ids.length} tokens`);
      const plain = this.stale ? await this.translated(ids, {}, stop) : this.plain;
      if (!plain) return;
      if (this.asked) this.changes = this.within(this.asked, this.known, this.names(this.text));
      this.asked = null;
      const now = this.changed ? await this.translated(ids, this.engine(), stop) : plain;
      if (!now) return;
      this.withheld = Boolean(this.holds && this.changed);
      this.holds = false;
      this.take(this.withheld ? plain : now, plain);
    } catch (error) {
      const [, tokens] = /has (\d+) tokens/.exec(error.message) ?? [], told = tokens ? `Too long: ${tokens} tokens, and the figure has room for ${MOST}. (Words that the model never saw fall into pieces.)` : `This cannot be done: ${error.message}.`;
      if (!this.sound || this.sound === this.text) { this.tell(told); return; }
      this.settle(this.sound); // the last that could be read stays
      Object.assign(this, { left: told, stale: true });
      await this.run();
    }
  }

  async translated(ids, changes, stop) {
    const { translator } = this.model, read = await sliced(translator.encode(ids, changes), { stop });
    const state = read && await sliced(translator.greedy(read, changes), { stop });
    return state && ofModel(translator, read, state);
  }

  engine({ gains, hidden, swaps, placed } = this.changes) {
    return {
      gain: (...head) => gains.get(head.join(" ")) ?? 1,
      hides: (...look) => hidden.has(look.join(" ")), swap: (...place) => this.donated(swaps.get(place.join(" ")), place[0]), placed,
    };
  }

  // The vector of a row of another sentence, each read once.
  donated(from, depth) {
    if (!from) return undefined;
    const { translator, donors } = this.model;
    donors[from.text] ??= window.translator.finish(translator.encode(translator.read(from.text))).rows;
    return donors[from.text][depth][from.row];
  }

  take(now, plain = now) {
    const { reads } = now;
    if (this.sound !== this.text) this.picked = { side: "read", n: Math.max(0, reads.indexOf(" it")) };
    const same = this.sound === this.text && this.now, prior = same && same !== this.plain ? same : null, late = same && !this.changed && (this.playing || !same.rows); // only the weights have come
    this.spread = same && this.moves ? { begun: performance.now(), tints: this.tints, widths: this.widths } : null;
    Object.assign(this, { now, plain, prior, stale: false, sound: this.text, peeked: null, moves: false, twins: paired(now, plain) });
    this.tinted();
    this.last = this.layers + now.writes.length;
    if (!late) { this.pause(); this.stop = this.last; }
    this.time.range.max = this.last;
    this.list("read", reads);
    this.list("write", now.writes.slice(0, MOST));
    this.say();
    this.draw();
    this.open();
    this.mark();
    this.address();
  }

  get layers() { return this.data.layers; }
  get depths() { return [...Array(this.layers + 1).keys()]; }
  get heads() { return this.data.heads; }

  say() {
    if (!this.now) return;
    const { plain, now, withheld } = this, changed = this.changed && !withheld, words = now.text.split(" "), old = plain.text.split(" ");
    const others = differing(words, old), lost = differing(old, words);
    const spaced = (parts) => parts.flatMap((part, n) => [n ? " " : "", part]);
    const line = make("p", { class: "german", lang: "de" }, spaced(changed ? words.map((word, n) => make(others.includes(n) ? "strong" : "span", {}, word)) : old.map((word, n) => this.choice(n, word))));
    const same = plain.text === now.text, [cut, ...more] = this.changes.hidden, weight = same && cut && !more.length && this.weightOf(this.plain, cut);
    const gone = weight >= 0.0005 ? `A weight of ${asShare(weight, 3)} is gone, and no word changed` : "No word changed";
    const about = withheld ? [p("ghost", "Your cut goes along, and its result waits for your guess: which word will it change here? Press it, or ", this.choice(-1, "none"), ", or ", this.button("show it", () => this.ready()), ".")]
      : !changed ? [this.guess === null ? p("ghost", "Guess before you cut: which word will change? Press it, or ", this.choice(-1, "none"), ".") : p("ghost", "Your guess: ", this.guess < 0 ? this.choice(-1, "none") : german(bare(old[this.guess])), ". Now ", this.sheet.hidden ? "cut." : "press the ✂ that is lit.")]
        : [p("verdict", same ? gone : [], ...this.judgement(old, words, lost, same), same ? this.unsettled() : []), ...(same ? [] : [p("ghost", "before: ", german(plain.text))])];
    const unknown = this.model ? untrained(this.model.translator.unknown(this.text)) : [], focused = [...this.says.querySelectorAll("button")].indexOf(document.activeElement);
    const done = this.described();
    this.says.replaceChildren(...this.pronouns(), line, div("about", ...about), ...(this.changed ? [p("done", withheld ? "Not shown yet: " : "Now: ", done, done.endsWith(".”") ? " " : ". ", this.rule)] : []), ...[[this.left], unknown, this.unmeant()].filter(([words]) => words).map((words) => p("ghost", words)));
    if (!this.changed) this.judged = false;
    this.live?.classList.toggle("withheld", withheld);
    this.live?.classList.toggle("guessed", this.guess !== null && !this.changed);
    if (focused >= 0) this.says.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
    if (changed) this.announce(this.heard, german(now.text), " ", ...about.map((part) => part.cloneNode(true)));
    else if (withheld || this.left || this.waiting) this.announce(this.heard, withheld ? about[0].textContent : [this.left || "Nothing is cut.", " ", german(now.text)]);
    this.left = "";
  }

  unsettled() {
    const of = (run) => run.state?.ids.map((id, n) => Math.exp(run.state.steps[n].logP[id])), [before, after] = [of(this.plain), of(this.now)], last = this.prior?.text === this.now.text && of(this.prior);
    if (!before || !after) return [];
    const lost = before.map((p, n) => p - after[n]), n = lost.indexOf(Math.max(...lost));
    if (lost[n] < 0.001 * before[n]) return ["Every word is as sure as before, to within 0.1 %."];
    return ["But ", german(shown(this.now.writes[n])), ` is less sure: ${percent(after[n], 1)} instead of ${percent(before[n], 1)}${last && percent(last[n], 1) !== percent(after[n], 1) && percent(last[n], 1) !== percent(before[n], 1) ? `, and ${percent(last[n], 1)} before this change` : ""}.`];
  }

  choice(n, text) {
    const button = this.button(text, () => {
      this.guess = this.guess === n ? null : n;
      if (this.withheld) { this.ready(); return; }
      if (this.guess !== null && !BESIDE.matches) { this.openUp(null); this.turnTo("word"); this.sheet.scrollTop = 0; }
      this.say();
    });
    press(button, this.guess === n);
    return button;
  }

  weightOf(run, name) {
    const [kind, layer, head, row, column] = parted(name);
    return run.weights(kind, layer, head, row)[column] ?? 0;
  }

  judgement(old, words, lost, same) {
    if (this.guess === null) return same ? [". "] : [];
    const right = this.guess < 0 ? same : lost.includes(this.guess), own = german(bare(old[this.guess] ?? "none"));
    if (!this.judged) { this.judged = true; this.tally[0] += right; this.tally[1] += 1; }
    const [n = 0] = right ? [this.guess] : lost, became = words.length === old.length && words[n] !== old[n] ? [german(bare(old[n])), " became ", german(bare(words[n]))] : ["the words are others"];
    const told = same ? (right ? [", so you were right"] : [", so your guess, ", own, ", was wrong"]) : [right ? "Right: " : ["Your guess, ", own, ", was wrong: "], became, lost.length > 1 ? `, and ${lost.length - 1} more changed` : ""].flat();
    return [...told, this.tally[1] > 1 ? `. (${this.tally[0]} of ${this.tally[1]} guesses were right.) ` : ". "];
  }

  tell(text) {
    this.says.replaceChildren(p("name", text));
    this.announce(this.heard, text);
  }

  tools() {
    const tool = (name, text, checked) => {
      const input = make("input", { type: "radio", name: "cut-tool", value: name, checked });
      on(input, "change", () => { this.tidy(); this.tool = name; this.stage.classList.toggle("cutting", name === "cut"); this.aim([]); });
      return make("label", { class: "tool" }, input, span(null, text));
    };
    this.tool = "look";
    this.pairs = [0, 1, 2].map((n) => this.button("", () => { this.opened = null; this.cut(this.between(this.meant[n])); }));
    [this.pair] = this.pairs;
    this.order = onOff("English word order", true, (on) => { this.tidy(); this.changes.placed = on; this.ready(); });
    this.undoLast = this.button("↶", () => this.stepBack());
    this.undoLast.setAttribute("aria-label", this.undoLast.title = "Undo the last change");
    this.undo = this.button("Undo all", () => { this.clear(); Object.assign(this, { guess: null, opened: null }); if (this.model || this.stale) this.ready(); else this.take(this.plain); });
    this.time = slider([], { min: 0, max: 1, step: 1, value: 1 }, (n) => this.moment(n), (n) => this.go(n));
    this.time.range.setAttribute("aria-label", "how far it has calculated");
    return div("controls tools",
      make("fieldset", {}, make("legend", { class: "heard" }, "What a click on a line does"), tool("look", "look at a line", true), tool("cut", "✂ cut a line")), this.pairs, this.undoLast, this.undo, this.more = make("details", { open: ROOMY.matches }, make("summary", {}, "more"), this.order, this.trained()));
  }

  // What was changed before, in this sentence; what is done at once, as with a slider, is one step.
  remember() {
    const changes = structuredClone(this.changes), is = JSON.stringify(Object.values(changes).map((all) => (all === Object(all) ? [...all] : all)));
    if (this.past[0]?.text !== this.text) this.past = [];
    if (this.past.at(-1)?.is !== is) this.past.push({ text: this.text, is, changes });
  }

  stepBack() {
    if (this.undoLast.disabled) return;
    this.remember();
    this.past.pop();
    if (this.past.length) this.changes = structuredClone(this.past.at(-1).changes);
    else this.clear();
    this.opened = null;
    if (this.model || this.stale) this.ready(); else this.take(this.plain);
  }

  moment(n) {
    if (!this.now) return "";
    if (n === 0) return "only the words";
    if (n <= this.layers) return `read up to layer ${n}`;
    return n >= this.last ? "the whole calculation" : `${n - this.layers} token${n - this.layers > 1 ? "s" : ""} written`;
  }

  show() {
    this.time.range.value = this.stop;
    this.time.tell();
    for (const element of this.stage.querySelectorAll("[data-when]")) element.classList.toggle("later", Number(element.dataset.when) > this.stop);
  }

  staged() {
    this.sides = {};
    for (const side of ["read", "write"]) {
      const list = this.sides[side] = make("div", { class: `tokens ${side}`, role: "group", "aria-label": side === "read" ? "English tokens" : "German tokens", lang: side === "read" ? "en" : "de" });
      const place = ({ target }) => target.closest("button") && { side, n: Number(target.closest("button").dataset.n) };
      on(list, "click", (event) => { if (place(event)) this.follow(place(event)); this.turnTo("word"); });
      on(list, "pointermove", hovering((event) => this.peek(place(event))));
      on(list, "pointerleave", () => this.peek(null));
      on(list, "keydown", (event) => this.key(event, side));
    }
    this.svg = draw("svg", { "aria-hidden": "true" });
    on(this.svg, "click", (event) => {
      const bead = event.target.closest("[data-bead]")?.dataset.bead, links = this.near(event), [link] = links;
      if (Math.hypot(event.clientX - this.down[0], event.clientY - this.down[1]) > AIM) return;
      if (!bead) this.tidy();
      if (bead) this.bead(...parted(bead));
      else if (!link) this.aim([]);
      else if (this.tool === "look") { if (links.length > 1) this.openUp({ lines: links.map(({ name }) => name) }); else this.look(link.name); }
      else if ((event.pointerType === "touch" || !this.isOwn(link)) && this.sure !== link.name) { // it may not be meant
        this.sure = link.name;
        this.aim([link]);
      }
      else this.cut([link.name]);
    });
    on(this.svg, "pointerdown", ({ clientX, clientY }) => { this.down = [clientX, clientY]; });
    on(this.svg, "pointermove", hovering((event) => this.aim(event.buttons || event.target.closest("[data-bead]") ? [] : this.near(event).slice(0, this.tool === "cut" ? 1 : MOST))));
    on(this.svg, "pointerleave", hovering(() => this.aim([])));
    this.pointed = [1, 2].map(() => make("p", { class: "pointed", "aria-hidden": "true" }));
    this.stage = div("stage", this.svg, p("name title-read", "The encoder reads"), this.sides.read, p("name title-write", "The decoder writes"), this.sides.write);
    return div("drawing", div("controls head", div("time", this.player(), this.time.label), this.pointed[0]), this.stage, p("reading", "The wider a line, the more a row takes from another. Cut it, and the row’s other lines share its weight. ", span("tint", "Purple"), " is a vector that your cut has changed, dashed where its row wasn’t there before. A German row reads the word on its left, and writes the one on its right. Press a word to follow it, a line to open it, a point to see its vector.", span("keys", " The arrow keys go from word to word, and 0 cuts the widest line.")));
  }

  list(side, names) {
    const { plain, now } = this, list = this.sides[side], old = side === "write" ? plain.writes : names, others = differing(names, old);
    const had = list.contains(document.activeElement), gender = this.known && this.data.things[this.known.thing][1];
    const place = side === "read" && this.known ? this.places(now.reads, this.known.thing) : null;
    list.replaceChildren(...names.map((name, n) => {
      const differs = others.includes(n), gone = differs && names.length === old.length ? make("s", {}, shown(old[n])) : [], own = place && (place.it === n || place.noun.includes(n));
      return make("button", { type: "button", "data-n": n, class: kinds(own && `of-${gender}`, differs && "differs"), "data-when": side === "write" ? this.layers + n + 1 : 0 }, span(null, tight(name, n) ? "·" : "", shown(name)), gone);
    }), ...(side === "write" && now.writes.length > MOST ? [p("name", `… and ${now.writes.length - MOST} more`)] : []));
    if (had && side === this.picked.side) list.children[Math.min(this.picked.n, names.length - 1)]?.focus({ preventScroll: true });
  }

  key(event, side) {
    if (!this.now) return;
    const n = Number(event.target.dataset.n), [right, down] = STEPS[event.key] ?? [];
    if (event.key === "0") {
      this.tidy();
      this.follow({ side, n });
      const strongest = this.links(this.picked).find(({ cut, unused }) => !cut && !unused);
      if (strongest) this.cut([strongest.name]);
    } else if (right || down) {
      event.preventDefault();
      const there = right ? (right > 0 ? "write" : "read") : side, buttons = this.sides[there].querySelectorAll("button"), to = Math.max(0, Math.min(n + down, buttons.length - 1));
      this.follow({ side: there, n: to });
      buttons[to].focus();
    }
  }

  follow({ side, n }) {
    if (!this.now || (this.picked.side === side && this.picked.n === n && !this.opened)) return;
    this.openUp(null, { side, n });
  }

  peek(place) {
    if (!this.now || (place?.side === this.peeked?.side && place?.n === this.peeked?.n)) return;
    this.peeked = place;
    this.draw();
    if (!this.opened) this.open();
  }

  measure() {
    const { stage, sides: { read, write } } = this, wide = BESIDE.matches, from = read.offsetLeft + read.offsetWidth + 18, to = write.offsetLeft - 22;
    const spread = (a, b) => this.depths.map((depth) => a + ((b - a) * depth) / this.layers);
    const half = from + (to - from) * 0.42;
    const x = wide ? { read: spread(from, half), write: spread(half + (to - from) * 0.24, to) } : { read: spread(from, to - 12), write: spread(64, to - 36) };
    const y = (list) => [...list.querySelectorAll("button")].map((button) => list.offsetTop + button.offsetTop + button.offsetHeight / 2);
    return { width: stage.clientWidth, height: stage.clientHeight, wide, x, y: { read: y(read), write: y(write) } };
  }

  links({ side, n }, least = FAINTEST) {
    const found = [], { now, plain, changes: { gains, hidden, swaps } } = this;
    for (const kind of side === "read" ? ["encoder"] : ["decoder", "cross"]) {
      for (let layer = 0; layer < this.layers; layer++) for (let head = 0; head < this.heads; head++) {
        const row = now.weights(kind, layer, head, n), before = plain.weights(kind, layer, head, this.twin(side, n)), gain = gains.get(`${kind} ${layer} ${head}`) ?? 1, lost = kind === "encoder" && swaps.has(`${layer + 1} ${n}`);
        row.forEach((weight, column) => {
          const name = `${kind} ${layer} ${head} ${n} ${column}`, cut = hidden.has(name);
          if (weight >= least || cut) found.push({ kind, layer, head, row: n, column, weight: cut ? before[kind === "decoder" ? this.twin(side, column) : column] ?? 0 : weight, name, cut, gain, unused: !gain || lost });
        });
      }
    }
    return found.sort((a, b) => b.weight - a.weight);
  }

  draw() {
    if (!this.now || !this.stage.clientWidth) return;
    const at = this.at = this.measure(), { x, y, width, height } = at, { now } = this, picked = this.peeked ?? this.picked;
    const mine = ({ side, n }) => side === picked.side && n === picked.n;
    const sides = { read: now.reads.length, write: Math.min(now.writes.length, MOST) };
    for (const [side, list] of Object.entries(this.sides)) for (const button of list.querySelectorAll("button")) {
      const own = side === this.picked.side && Number(button.dataset.n) === this.picked.n;
      press(button, own);
      if (side === "write") button.style.setProperty("--at", `${this.tints[`write ${this.layers} ${button.dataset.n}`]?.at ?? 0}ms`);
      button.tabIndex = own || (side !== this.picked.side && button.dataset.n === "0") ? 0 : -1;
    }
    if (performance.now() - this.spread?.begun > 2 * SPREAD) this.spread = null;
    this.stage.classList.toggle("spreading", Boolean(this.spread));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const all = Object.entries(sides).flatMap(([side, length]) => Array.from({ length }, (_, n) => ({ side, n })));
    const others = all.filter((place) => !mine(place)).flatMap((place) => this.links(place, SEEN)).filter(({ kind, column, cut }) => cut || kind === "encoder" || (kind === "cross" && picked.side === "read" && column === picked.n));
    const ofLit = ({ name }) => this.lit && name.startsWith(`${this.lit} `), lit = this.lit ? all.flatMap((place) => this.links(place, LIT)).filter(ofLit) : [];
    const own = this.links(picked).filter((link) => !ofLit(link)), g = (kind, ...parts) => draw("g", { class: kind }, ...parts);
    const widths = this.widths = {};
    const path = (link, kind) => draw("path", { style: this.spread && `--was: ${this.spread.widths[link.name] ?? 0}px`, d: this.path(link), class: kinds(kind, link.cut && "cut", link.unused && "unused", this.opened?.lines?.includes(link.name) && "chosen"), "stroke-width": widths[link.name] = this.width(link, kind === "other").toFixed(2), "data-link": link.name, "data-when": this.when(link) });
    this.svg.replaceChildren(
      g("rivers", all.flatMap((place) => this.river(place, mine(place)))),
      g("others", others.map((link) => path(link, "other"))),
      g("own", own.toReversed().map((link) => path(link, "mine"))),
      g("lit", lit.map((link) => path(link, "lit"))),
      g("beads", all.flatMap((place) => this.beads(place))),
      g("said", this.labels((lit.length ? lit : own).filter(({ weight, cut, unused }) => (weight >= 0.4 && !unused) || cut)), this.titles()));
    this.stage.classList.toggle("lighting", lit.length > 0);
    this.lines = [...lit, ...own, ...others.filter((link) => !ofLit(link))];
    this.aim(this.lines.filter(({ name }) => this.aimed.includes(name)));
    this.show();
  }

  width({ weight, cut, gain, unused }, other = false) { return unused ? 1 : cut ? 2 : other ? 3 * weight : 0.8 + 6 * weight * gain; }

  // The lines that a pointer means.
  near({ clientX, clientY, target }) {
    const label = target?.closest("text[data-link]")?.dataset.link, box = this.svg.getBoundingClientRect(), [x, y] = [clientX - box.left, clientY - box.top];
    if (label) return this.lines.filter(({ name }) => name === label);
    const far = (link) => {
      const [x1, y1, x2, y2, x3, y3, x4, y4] = this.curve(link);
      let least = Infinity;
      for (let t = 0.06; t < 0.95; t += 0.01) {
        const s = 1 - t, [a, b, c, d] = [s ** 3, 3 * s * s * t, 3 * s * t * t, t ** 3];
        least = Math.min(least, Math.hypot(a * x1 + b * x2 + c * x3 + d * x4 - x, a * y1 + b * y2 + c * y3 + d * y4 - y));
      }
      return Math.max(0, least - this.width(link) / 2) + least / 100;
    };
    const found = (this.lines ?? []).filter((link) => this.when(link) <= this.stop).map((link) => [far(link), link]).sort((a, b) => a[0] - b[0]);
    const mine = (link) => !link.unused && this.isOwn(link);
    const wide = found.find(([at, link]) => at < EDGE && link.weight >= SEEN && mine(link))?.[1];
    const meant = found.filter(([at, link]) => link !== wide && at < Math.min(AIM, found[0][0] + TOGETHER) && !(wide?.weight > 2 * link.weight)).map(([, link]) => link);
    if (wide) meant.unshift(wide);
    const rank = ([at, { weight }]) => (at < AIM / 2 ? -weight : at);
    const own = this.tool === "cut" ? found.filter(([at, link]) => at < WON && mine(link)).sort((a, b) => rank(a) - rank(b)).map(([, link]) => link) : []; // of the followed word the widest is cut
    return own.length ? own : meant;
  }

  isOwn({ kind, row }) { return row === this.picked.n && sideOf(kind) === this.picked.side; }

  tidy() { if (this.opened?.lines?.length > 1) this.openUp(null); }

  aim(links, press = "press ") {
    const [link] = links, cuts = this.tool === "cut", will = cuts ? (link?.cut ? "mend" : "cut") : "open";
    if (this.sure !== link?.name) this.sure = null;
    const how = this.sure ? "again " : cuts && link && !this.isOwn(link) ? "twice " : "", isOpen = !cuts && this.opened?.lines?.[0] === link?.name;
    this.aimed = links.map(({ name }) => name);
    this.stage.classList.toggle("aiming", Boolean(link));
    for (const line of this.querySelectorAll("path, .links li")) line.classList.toggle("aimed", this.aimed.includes(line.dataset.link));
    const told = links.length > 1 ? `${links.length} lines lie together here. Press to choose one.` : link ? `${this.named(link)}${press && !isOpen ? `: ${press}${how}to ${will}` : ""}` : cuts ? "Press a line to cut it, and once more to mend it." : "";
    for (const place of this.pointed) place.textContent = told;
  }

  crossing(names) {
    if (names.length === 1) return this.sum(names[0]);
    const rows = names.map((one) => this.lines.find(({ name }) => name === one)).filter(Boolean).sort((a, b) => b.weight - a.weight).map((link) => this.lookOf(link, true));
    return [p("name", "Lines that lie together here"), ol("links", rows), this.back()];
  }

  named(link) {
    const { kind, layer, head, row, weight } = link;
    return `${said(this.row(sideOf(kind), row))} looks at ${said(this.column(link))}, ${numbered(kind, layer, head)}: ${asShare(weight, 3)}${link.cut ? ", now cut" : ""}`.replace(/ (?=\d)/g, "\u00a0");
  }

  when({ kind, layer, row }) { return kind === "encoder" ? layer + 1 : this.layers + row + 1; }

  // The four points of a line: heads lie side by side.
  curve({ kind, layer, head, row, column }) {
    const { x, y, wide } = this.at, own = sideOf(kind), from = kind === "decoder" ? "write" : "read", side = (head - (this.heads - 1) / 2) * 7;
    const [x1, y1, x2, y2] = [x[from][kind === "cross" ? this.layers : layer], y[from][column], x[own][layer + 1], y[own][row]];
    if (kind === "cross" && !wide) return [x1, y1, x1 + 24 + side, y1 + 30, x1 + 30 + side, y2, x2, y2];
    const bend = (x2 - x1) * 0.45, bow = y1 === y2 ? 2.2 * side : side;
    return [x1, y1, x1 + bend, y1 + bow, x2 - bend, y2 + bow, x2, y2];
  }

  path(link) {
    const [x, y, ...rest] = this.curve(link).map((place) => Number(place.toFixed(1)));
    return `M${x} ${y}C${rest.join(" ")}`;
  }

  labels(links) {
    const rows = this.at.y.write.map((y) => [this.at.x.write[0] - 26, y]), taken = [...rows];
    return links.flatMap((link) => {
      const at = this.curve(link), [x, y] = [0, 1].map((n) => 0.42 * at[n] + 0.42 * at[n + 2] + 0.14 * at[n + 4] + 0.02 * at[n + 6]);
      if (taken.length > rows.length + 3 || taken.some(([a, b]) => Math.abs(a - x) < 46 && Math.abs(b - y) < 16)) return [];
      taken.push([x, y]);
      return [draw("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": "middle", class: link.cut ? "muted" : null, "data-link": link.name, "data-when": this.when(link) }, link.cut ? "✂" : asShare(link.weight, 3))];
    });
  }

  titles() {
    const { x, y, wide } = this.at, top = (side) => (wide || side === "read" ? y[side][0] - 26 : y.write.at(-1) + 28);
    return ["read", "write"].flatMap((side) => x[side].map((at, depth) => draw("text", { x: at, y: top(side), class: "depth", "text-anchor": "middle" }, depth ? `layer ${depth}` : "start")));
  }

  river({ side, n }, mine) {
    const { x, y } = this.at, xs = x[side];
    return xs.slice(1).map((to, depth) => draw("line", { x1: xs[depth], x2: to, y1: y[side][n], y2: y[side][n], class: kinds("river", mine && "mine", this.isNew(side, n) && "new"), style: this.tint(`${side} ${depth + 1} ${n}`), "data-when": side === "read" ? depth + 1 : this.layers + n + 1 }));
  }

  beads({ side, n }) {
    const { x, y } = this.at, when = this.layers + n + 1, read = side === "read";
    const before = read ? [] : [draw("text", { x: x.write[0] - 12, y: y.write[n] + 4, class: "before", "text-anchor": "end", "data-when": when }, this.readBy(n))];
    return [...before, ...x[side].map((at, depth) => {
      const name = `${side} ${depth} ${n}`, swapped = read && this.changes.swaps.has(`${depth} ${n}`);
      return draw("circle", { cx: at, cy: y[side][n], r: swapped ? 9 : 6, class: kinds(this.opened?.bead === name && "chosen", swapped && "swapped", this.isNew(side, n) && "new"), style: this.tint(name), "data-bead": name, "data-when": read ? depth : when });
    })];
  }

  // The row with which one is compared, -1 if there is none.
  twin(side, n) { return side === "read" ? n : this.twins[n] ?? -1; }

  // How far each vector has moved, and when that is shown: from the cut through the layers, then from row to row.
  tinted() {
    const { now, plain, layers } = this, tints = this.tints = {}, all = [];
    for (const side of now === plain ? [] : ["read", "write"]) now.rows[side].forEach((rows, depth) => rows.forEach((vector, n) => {
      const old = plain.rows[side][depth][this.twin(side, n)], far = old ? apart(vector, old) : 1;
      if (far >= TINT) all.push(tints[`${side} ${depth} ${n}`] = { side, far: Math.min(100, 25 + 75 * far), isNew: !old, depth, n });
    }));
    const least = (of, what) => Math.min(...all.filter(({ side }) => side === of).map((tint) => tint[what])), begin = Math.min(layers + 1, least("read", "depth")), row = least("write", "n");
    for (const tint of all) tint.at = tint.depth - begin + (tint.side === "write" && layers + 1 + Math.min(tint.n - row, 8) / 8);
    const most = Math.max(1, ...all.map(({ at }) => at));
    for (const tint of all) tint.at *= SPREAD / most;
    this.says.style.setProperty("--at", `${this.spread ? tints[`write ${layers} ${row}`]?.at ?? 0 : 0}ms`);
  }

  isNew(side, n) { return this.tints[`${side} 0 ${n}`]?.isNew; }

  tint(name) {
    const { spread } = this, { far = 0, at = 0 } = this.tints[name] ?? {}, was = spread?.tints[name]?.far ?? 0;
    return far || was ? `--far: ${far}%; --from: ${was}%; --at: ${at + (spread?.begun ?? 0) - performance.now()}ms` : null;
  }

  open() {
    const { opened, sheet } = this, had = sheet.contains(document.activeElement) && document.activeElement, link = had && had.closest("[data-link]")?.dataset.link, at = [...sheet.querySelectorAll("button, select")].indexOf(had);
    sheet.replaceChildren(...(opened?.lines ? this.crossing(opened.lines) : opened?.bead ? this.vector(opened.bead) : this.word(this.peeked ?? this.picked)));
    if (had) (sheet.querySelector(`[data-link="${link}"] > ${had.matches(".look") ? "" : ":not(.look)"}`) ?? sheet.querySelectorAll("button, select")[at] ?? sheet.querySelector("button"))?.focus({ preventScroll: true });
  }

  token(n) { return quoted(shown(this.now.reads[n] ?? "").trim(), "en"); }

  readBy(n, { writes } = this.now) { return n ? shown(writes[n - 1] ?? "") : "<bos>"; }

  row(side, n) { return side === "read" ? this.token(n) : ["row ", quoted(this.readBy(n), "de"), " (writes ", quoted(shown(this.now.writes[n] ?? ""), "de"), ")"].flat(); }

  column({ kind, column }) {
    if (kind !== "decoder") return this.token(column);
    return quoted(this.readBy(column), "de");
  }

  word({ side, n }) {
    const links = this.links({ side, n }), shares = side === "write" ? this.rivals(n) : [];
    const vectors = p("vectors", "Its vector: ", this.depths.map((depth) => [" ", this.button(depth ? `layer ${depth}` : "start", () => this.bead(side, depth, n))]));
    return [p("name", this.row(side, n), " looks at"), ...shares, ol("links", links.slice(0, LISTED).map((link) => this.lookOf(link))), vectors];
  }

  lookOf(link, whole = false) {
    const { kind, layer, head, name, weight, cut, unused } = link, side = unused ? "no longer used:" : { cross: "on English,", decoder: "on German," }[kind], look = this.button("", () => this.look(name));
    look.className = "look";
    look.append(span("to", whole ? [this.row(sideOf(kind), link.row), " → "] : [], this.column(link)), span("p", asShare(weight, 3)), span("where", side ? `${side} ` : "", `layer ${layer + 1}, head ${head + 1}`));
    look.style.setProperty("--weight", `${(100 * weight).toFixed(1)}%`);
    const entry = make("li", { class: cut ? "cut" : unused ? "unused" : null, "data-link": name }, look, this.button(cut ? "mend" : "✂ cut", () => this.cut([name])));
    on(entry, "pointerenter focusin", () => this.aim([link], ""));
    on(entry, "pointerleave focusout", () => this.aim([]));
    return entry;
  }

  rivals(n) {
    const step = this.now.state?.steps[n], before = this.plain.state?.steps[this.twin("write", n)];
    if (!step) return [];
    const most = ({ logP }, n) => this.model.translator.rivals({ next: logP }, n);
    return [this.chances([...new Set([...most(step, RIVALS), ...(before && this.changed ? most(before, 1) : [])])].map((id) => [shown(this.model.translator.name(id)), Math.exp(step.logP[id]), before && Math.exp(before.logP[id])]))];
  }

  chances(rows) {
    const rail = (kind, x) => make("span", { class: kind, style: `width: ${(100 * x).toFixed(1)}%` });
    return ol("rivals", rows.map(([name, x, was]) => make("li", { class: GENDERS[name] && `of-${GENDERS[name]}` }, make("span", { class: "to", lang: "de" }, name), make("span", { class: "rail", "aria-hidden": "true" }, this.changed && was !== undefined ? rail("was", was) : [], rail("bar", x)), span("p", percent(x, 1)))));
  }

  // The pronouns that German might have for "it", and what is left for all other words.
  pronouns() {
    const rows = this.now.rows ? this.rivalPronouns() : this.given?.pronouns, left = 1 - (rows ?? []).reduce((sum, [, x]) => sum + x, 0);
    return rows ? [div("bars", p("name", "The pronoun", this.changed ? " (tick: before)" : ""), this.chances(rows), left > 0.001 ? p("ghost", `any other word: ${percent(left, 1)}`) : [])] : [];
  }

  rivalPronouns() {
    const { plain, now, model: { translator } } = this, place = ({ writes }) => writes.findIndex((word, n) => n > writes.indexOf(",") && PRONOUNS.includes(word.trim())), n = place(plain);
    if (n < 0 || !this.its) return null;
    const same = plain.writes.slice(0, n).every((word, i) => word === now.writes[i]), step = now.state.steps[same ? n : place(now)], before = plain.state.steps[n];
    const row = (word) => { const [id] = translator.tokens.encode(` ${word}`); return [word, Math.exp(step.logP[id]), Math.exp(before.logP[id])]; };
    if (!step) return null;
    const [er, sie, es, ihn] = PRONOUNS.map(row);
    return [er[2] > ihn[2] ? er : ihn, sie, es];
  }

  look(name) {
    const [kind, , , n] = parted(name);
    this.openUp({ lines: [name] }, { side: sideOf(kind), n });
  }

  openUp(opened, picked = this.picked) {
    Object.assign(this, { opened, picked });
    if (opened) this.turnTo("word");
    this.draw();
    this.open();
  }

  back() { return this.button("← all looks of this word", () => this.openUp(null)); }

  all(kind) { return Array.from({ length: this.layers * this.heads }, (_, n) => `${kind} ${Math.floor(n / this.heads)} ${n % this.heads}`); }

  sum(name) {
    const [kind, layer, head, row, column] = parted(name);
    const side = sideOf(kind), link = { kind, layer, head, row, column }, cut = this.changes.hidden.has(name);
    const buttons = div("controls", this.button(cut ? "Mend" : "✂ Cut", () => this.cut([name])), this.back());
    const weight = this.weightOf(this.now, name);
    return [p("name", this.row(side, row), " looks at ", this.column(link), `, ${numbered(kind, layer, head)}`), ...this.products(link, weight, cut), buttons];
  }

  products(link, weight, cut) {
    const parts = this.now.rows && this.scored(link);
    if (!parts) return [p(null, "Weight ", asShare(weight, 3), this.now.rows ? "." : ". Touch the figure to load the model that computes it.")];
    const { products, score, scores } = parts, most = Math.max(...products.map(Math.abs)), width = 8 * products.length;
    const bars = draw("svg", { viewBox: `0 0 ${width} 60`, class: "products", role: "img", "aria-label": `${products.length} products of a query and a key` }, products.map((x, n) => draw("rect", { x: 8 * n + 1, width: 6, y: x > 0 ? 30 - (28 * x) / most : 30, height: Math.max(0.5, (28 * Math.abs(x)) / most), class: x > 0 ? "above" : "below" })), draw("line", { x1: 0, x2: width, y1: 30, y2: 30 }));
    const total = products.reduce((sum, x) => sum + x, 0);
    return [bars, p(null, `Query and key have ${products.length} numbers each. Their products, drawn above, add up to ${written(total, 2)}. Divided by √${products.length}, that is a score of ${written(score, 2)}, `, ...(cut ? ["but the line is cut: the row takes nothing here."] : [`and the softmax over all ${scores.filter(Number.isFinite).length} scores of the row makes `, make("b", {}, asShare(weight, 3)), " of it."]))];
  }

  scored({ kind, layer, head, row, column }) {
    const { translator } = this.model, { d_k } = translator.config, rows = {}, changes = this.engine();
    const place = kind === "encoder" ? `encoder.layers.${layer}.self_attention` : `decoder.layers.${layer}.${kind === "cross" ? "cross" : "self"}_attention`;
    const heard = translator.listening((where, found) => { if (where === place) for (const [part, x] of Object.entries(found)) (rows[part] ??= []).push(x); });
    const read = window.translator.finish(heard.encode(translator.read(this.text), changes));
    window.translator.finish(heard.greedy(read, changes, this.now.state.ids.slice(0, -1)));
    if (!rows.q?.[row] || !rows.k?.[column]) return null;
    const own = (x) => [...x].slice(head * d_k, (head + 1) * d_k), [q, k] = [own(rows.q[row]), own(rows.k[column])];
    const products = q.map((x, i) => x * k[i]), length = rows.scores[row].length / this.heads;
    return { products, score: products.reduce((sum, x) => sum + x, 0) / Math.sqrt(d_k), scores: [...rows.scores[row]].slice(head * length, (head + 1) * length) };
  }

  cut(names) {
    const { hidden } = this.changes, mend = names.every((name) => hidden.has(name));
    for (const name of names) hidden[mend ? "delete" : "add"](name);
    this.ready();
  }

  between(thing) {
    const { it, noun } = this.places(this.now.reads, thing);
    return this.all("encoder").flatMap((head) => noun.map((column) => `${head} ${it} ${column}`));
  }

  get wholes() { return this.meant.filter((thing) => this.between(thing).every((name) => this.changes.hidden.has(name))); }

  line(thing) { return `all lines “it” – ${this.known ? "noun" : `“${thing}”`}`; }

  bead(side, depth, n) {
    this.openUp({ bead: `${side} ${depth} ${n}` }, { side, n });
  }

  vector(name) {
    const [side, depth, n] = parted(name), { now, plain } = this;
    const title = p("name", "Vector: ", this.row(side, n), depth ? ` after layer ${depth}` : " at the start");
    if (!now.rows) return [title, p(null, "The model is on its way."), this.back()];
    const twin = this.twin(side, n), x = now.rows[side][depth][n], old = plain.rows?.[side][depth][twin], far = old ? apart(x, old) : 0;
    const swapped = side === "read" && this.changes.swaps.has(`${depth} ${n}`);
    const moved = old && side === "write" && (twin !== n || this.readBy(n) !== this.readBy(twin, plain));
    const said = !old ? `${x.length} numbers. Before your change, there was no such row.` : far < 1e-9 ? `${x.length} numbers. ${swapped ? "The vector that you put in is the same, so nothing is exchanged." : "Nothing that you did has changed them."}` : `${x.length} numbers. Your change has moved the vector by ${percent(far, 0)} of its length.${moved ? ` Before, it was row ${twin + 1}, and read “${this.readBy(twin, plain)}”.` : ""}`;
    const strips = Object.entries(far > 1e-9 ? { now: x, before: old, change: x.map((number, i) => number - old[i]) } : { now: x }), most = Math.max(...strips.flatMap(([, row]) => [...row]).map(Math.abs));
    return [title, ...(side === "read" ? this.offers(depth, n) : []), p("strips", strips.map(([kind, row]) => this.strip(row, kind, most))), p(null, said), this.back()];
  }

  strip(x, kind, most) {
    const tiles = [...x].map((number, i) => draw("rect", { x: (i % 32) * 8, y: 12 * Math.floor(i / 32), width: 7.4, height: 11.4, class: number > 0 ? "above" : "below", "fill-opacity": (Math.abs(number) / most).toFixed(2) }));
    return span(null, make("small", {}, kind), draw("svg", { viewBox: `0 0 256 ${12 * Math.ceil(x.length / 32)}`, class: `strip ${kind}`, "aria-hidden": "true" }, tiles));
  }

  offers(depth, n) {
    const own = this.known?.thing, there = this.changes.swaps.get(`${depth} ${n}`), option = (thing) => make("option", { value: thing }, thing, thing === own ? OWN : "");
    const nouns = make("select", { "aria-label": "the noun of the other sentence" }, this.things.map(option));
    nouns.value = there ? this.ours(there.text)?.thing ?? "" : this.source ?? (this.changed && own ? own : own === this.data.donor ? this.things.find((thing) => thing !== own) : this.data.donor);
    const of = span(null), tell = () => { of.textContent = `“${this.donor(nouns.value, n).word}”`; };
    on(nouns, "change", () => { this.source = nouns.value; tell(); });
    if (nouns.value) tell();
    const put = this.button(there ? "Take it out" : "Put it in", () => {
      if (!there) {
        if (nouns.value !== own) this.source = nouns.value;
        this.swap(depth, n, this.donor(nouns.value, n));
        return;
      }
      this.changes.swaps.delete(`${depth} ${n}`);
      this.ready();
    });
    put.className = "primary";
    nouns.disabled = Boolean(there);
    return [p("offer", ...(there && !nouns.value ? [this.vectorOf(depth, there), " "] : ["Replace by the vector of ", of, " from the sentence about ", nouns, " "]), put)];
  }

  // The row of the same part in the sentence of the same sort about another noun.
  donor(thing, n) {
    const { english } = this.about(thing), [own, theirs] = [this.now.reads, this.names(english)], role = this.role(own, this.places(own, this.known?.thing ?? thing), n);
    const rows = this.rowsOf(role, theirs, this.places(theirs, thing)), row = rows[role[1]] ?? rows[0] ?? Math.min(n, theirs.length - 1);
    return { text: english, row, word: shown(theirs[row]) };
  }

  swap(depth, n, { text, row = n }) {
    this.changes.swaps.set(`${depth} ${n}`, { text, row });
    this.picked = { side: "read", n };
    this.ready();
  }

  panel() {
    const names = { word: "Chosen", heads: "Heads", all: `${this.data.sentences.length} sentences` };
    this.panes = { word: this.sheet = div("sheet"), heads: this.board(), all: this.ruled() };
    this.tabs = Object.fromEntries(Object.entries(names).map(([name, text]) => [name, this.button(text, () => this.tab(name))]));
    this.beside = div("aside", this.pointed[1], make("div", { class: "tabs", role: "group", "aria-label": "Beside the drawing" }, Object.values(this.tabs)), Object.values(this.panes));
    this.turnTo("word", false);
    return this.beside;
  }

  async tab(name) {
    this.tidy();
    this.aim([]);
    this.turnTo(name, this.panes[name].hidden || !this.beside.classList.contains("raised"));
    if (name !== "all") return;
    await this.ready(true);
    if (this.model && !this.changed && this.came.length < this.data.sentences.length) this.tryAll(false);
  }

  escape() {
    const { side, n } = this.picked ?? {}, raised = !BESIDE.matches && this.beside.classList.contains("raised");
    if (this.opened) {
      this.openUp(null);
      this.sides[side].children[n]?.focus({ preventScroll: true });
    } else if (raised) this.beside.classList.remove("raised");
    else return false;
    if (!this.contains(document.activeElement)) this.live.focus({ preventScroll: true });
    return true;
  }

  turnTo(wanted, raised = true) {
    this.beside.classList.toggle("raised", raised); // a sheet, on a phone
    if (raised && !BESIDE.matches && wanted === "word") this.sides[this.picked.side].children[this.picked.n]?.scrollIntoView({ block: "nearest" });
    for (const [name, pane] of Object.entries(this.panes)) {
      pane.hidden = name !== wanted;
      press(this.tabs[name], name === wanted);
    }
  }

  board() {
    this.dials = new Map();
    const dial = (name) => {
      const range = make("input", { type: "range", min: 0, max: 1, step: 0.05, value: 1, "aria-label": headOf(name) }), text = make("span", { "aria-hidden": "true" }), label = make("label", {}, span("n", parted(name)[2] + 1), range, text);
      const light = (lit) => () => { this.lit = lit; this.draw(); };
      on(range, "input", () => { this.tidy(); const gain = Number(range.value); if (gain === 1) this.changes.gains.delete(name); else this.changes.gains.set(name, gain); this.ready(); this.moves = false; });
      on(label, "pointerenter focusin", light(name));
      on(label, "pointerleave focusout", light(null));
      this.dials.set(name, [range, text]);
      return label;
    };
    const group = (kind, layer) => make("fieldset", {}, make("legend", {}, `${KINDS[kind]}, layer ${layer + 1}`), div("dials", this.all(kind).filter((name) => parted(name)[1] === layer).map(dial)));
    return div("board", p("ghost", "Turn a head down, and it gives less. At the left end it is off, and gives nothing. Point at a slider, and its lines light up."), Object.keys(KINDS).flatMap((kind) => this.depths.slice(1).map((depth) => group(kind, depth - 1))));
  }

  mark() {
    for (const [name, [range, text]] of this.dials) {
      const gain = this.changes.gains.get(name) ?? 1;
      if (Number(range.value) !== gain) range.value = gain;
      range.setAttribute("aria-valuetext", `${Math.round(100 * gain)} %`);
      text.textContent = gain === 1 ? "" : gain ? written(gain, 2) : "off";
    }
    const { meant, wholes } = this;
    for (const [n, pair] of this.pairs.entries()) {
      const whole = wholes.includes(meant[n]);
      pair.disabled = !meant[n];
      pair.hidden = n > 0 && !meant[n];
      press(pair, whole);
      pair.textContent = `${whole ? "mend" : "✂"} ${meant[n] ? this.line(meant[n]) : "all lines “it” – noun"}`;
    }
    this.order.firstChild.checked = this.changes.placed;
    if (!this.changed && this.undo === document.activeElement) this.live.focus({ preventScroll: true });
    this.undo.disabled = !this.changed;
    this.undoLast.disabled = !this.changed && this.past.length < 2;
    this.rule.hidden = !this.known || this.withheld;
    const undoes = this.singles.length + this.changes.gains.size;
    for (const option of this.models) option.textContent = this.data.models[option.value].name + (undoes && !option.selected ? ": undoes what is done to single heads" : "");
    this.models.value = this.data.models.findIndex(({ file }) => file === this.file);
    for (const dot of this.grid.children) dot.setAttribute("tabindex", dot.classList.toggle("here", this.data.sentences[dot.dataset.n] === this.known) - 1);
    if (this.tried !== this.signature()) this.blank();
    else if (!this.result) this.waits();
    this.nameDot();
  }

  // What a dot stands for, or this sentence.
  nameDot(dot) { this.noun.textContent = (dot ?? this.grid.querySelector(".here"))?.querySelector("title").textContent ?? ""; }

  trained() {
    const select = make("select", { "aria-label": "which training of the model" }, this.data.models.map(({ name }, n) => make("option", { value: n }, name)));
    on(select, "change", async () => {
      const tried = this.came.length > 0;
      Object.assign(this, { file: this.data.models[select.value].file, stale: true, opened: null });
      this.forget();
      this.blank(true);
      await this.ready();
      if (tried && !this.came.length && (this.known || !this.changed)) this.tryAll(false);
    });
    this.models = select;
    return select;
  }

  ruled() {
    const { sentences, frames, genders, things } = this.data, blocks = Object.keys(genders), columns = blocks.map((gender) => this.things.filter((thing) => things[thing][1] === gender));
    this.spots = Object.fromEntries(columns.flatMap((names, block) => names.map((thing, n) => [thing, [block * (frames.length + 1), n]])));
    this.grid = draw("g", {}, sentences.map((_, n) => this.dot(n)));
    this.dots = draw("svg", { class: "dots", viewBox: `0 -30 ${SPOT * ((frames.length + 1) * blocks.length - 1)} ${SPOT * Math.max(...columns.map(({ length }) => length)) + 30}`, role: "group", "aria-label": "Arrow keys go from sentence to sentence, Enter opens one" }, this.grid,
      blocks.flatMap((_, block) => frames.map((__, n) => draw("text", { x: SPOT * (block * (frames.length + 1) + n + 0.5), y: -4, class: "column", "text-anchor": "middle" }, n + 1))),
      columns.map((names, block) => draw("text", { x: SPOT * block * (frames.length + 1) + 1, y: -18, class: `of-${blocks[block]}` }, `${genders[blocks[block]]}: ${names.length} nouns`)));
    const about = ({ target }) => sentences[target.closest("[data-n]")?.dataset.n];
    on(this.dots, "click keydown", (event) => about(event) && (event.type === "click" || event.key === "Enter") && this.ask(about(event).english, this.came.length > 0));
    on(this.dots, "keydown", (event) => {
      const { thing, frame } = about(event) ?? {}, [right, down] = STEPS[event.key] ?? [];
      const next = this.grid.children[sentences.indexOf(this.about(this.things[this.things.indexOf(thing) + down], frame + right))];
      if (next) { event.preventDefault(); next.focus(); }
    });
    this.noun = p("noun");
    on(this.dots, "pointerover focusin", ({ target }) => this.nameDot(target.closest("[data-n]")));
    on(this.dots, "pointerleave focusout", () => this.nameDot());
    this.counted = make("p", { class: "status counted", role: "status" });
    this.here = this.button("Try your cut on them", () => this.tryAll());
    this.here.className = "primary";
    this.told = ol("told");
    const key = p("ghost", "A row is a noun, a column a sentence. A dot is right; a cross was, before your cut. The colour is the gender of the pronoun that came. Press one to open its sentence.");
    return make("div", { class: "trial", tabindex: 0, role: "group", "aria-label": "All sentences" }, p("name", `Rule or accident? ${this.things.length} nouns in ${frames.length} sentences each`), this.counted, this.here, this.dots, this.noun, key, this.told);
  }

  // A dot is right, a cross was, a ring never was; untried ones are pale.
  dot(n) {
    const { thing, frame, english, german } = this.data.sentences[n], right = pronoun(german), was = this.before[n], now = this.came[n] ?? (this.before.length < this.data.sentences.length ? undefined : was);
    const [x, y] = [this.spots[thing][0] + frame, this.spots[thing][1]].map((place) => SPOT * place + SPOT / 2), wrong = now && now !== right, flipped = wrong && was === right;
    const kind = kinds(now ? `of-${GENDERS[now] ?? "none"}` : "waits", now && !this.came[n] && "uncut", wrong && "wrong", flipped && "flipped", english === this.text && "here");
    return draw("g", { class: kind, "data-n": n, role: "button", tabindex: english === this.text ? 0 : -1 }, draw("title", {}, english, now ? ` → … ${now}${wrong ? `, not ${right}` : ""}` : ""), draw("circle", { cx: x, cy: y, r: flipped ? 6 : wrong ? 4 : 5 }), flipped ? draw("path", { d: `M${x - 4} ${y - 4}l8 8m0-8l-8 8` }) : []);
  }

  blank(training = false) {
    const was = this.came.length, tried = this.signature(), place = this.file + tried, result = this.kept[place], came = this.changed ? [...result?.came ?? []] : [...this.before];
    Object.assign(this, { result: null, stopped: this.trying, trying: false, tried, place, came, trial: this.trial + 1 });
    if (training || came.length || was) this.grid.replaceChildren(...this.data.sentences.map((_, n) => this.dot(n)));
    if (this.changed && result) this.count(result.name);
    else this.waits();
  }

  waits() {
    const all = this.data.sentences.length, n = this.came.length;
    this.rule.classList.toggle("quiet", Boolean(this.trying || this.result));
    this.here.hidden = !this.known || !this.changed || this.trying || this.result;
    this.counted.textContent = !this.known ? "A sentence of your own has none like it here: choose one of the book’s." : this.trying ? `Trying: ${n} of ${all} …` : this.changed ? `${this.stopped ? "You have changed the cut, so the trial has ended. This" : "Your"} cut has not been tried on them yet.` : `${n ? `Nothing cut: ${this.right(this.before)} of ${all} right. ` : ""}Cut something, and the same cut can be tried on all of them.`;
  }

  get singles() {
    const { hidden } = this.changes;
    return [...hidden].filter((name) => { const [kind, , , row, column] = parted(name); return !this.all(kind).every((head) => hidden.has(`${head} ${row} ${column}`)); });
  }

  forget() {
    const { changes: { gains, hidden }, singles } = this, heads = new Set([...singles.map((name) => name.split(" ", 3).join(" ")), ...gains.keys()]);
    this.left = heads.size ? `Undone, since a head of the same number is another head in this training: ${[...heads].map(headOf).join("; ")}.` : "";
    for (const name of singles) hidden.delete(name);
    gains.clear();
  }

  names(text) { return this.model ? this.model.translator.read(text).map((id) => this.model.translator.name(id)) : this.now.reads; }

  places(names, thing) {
    const first = names.join("").search(word(thing)), ends = names.map((_, i) => names.slice(0, i + 1).join("").length);
    return { it: names.indexOf(" it"), noun: ends.flatMap((end, i) => (first >= 0 && end > first && end - names[i].length < first + thing.length ? [i] : [])) };
  }

  // The nouns of the list that "it" may mean: any number in a sentence of one's own.
  get meant() {
    return this.known ? [this.known.thing] : this.its === 1 && this.now.reads.includes(" it") ? this.things.filter((thing) => word(thing).test(this.now.reads.join(""))) : [];
  }

  get its() { return this.now.reads.join("").match(word("it", "giu"))?.length ?? 0; }

  unmeant() {
    const { its } = this;
    if (this.known) return [];
    const [noun, ...more] = this.meant;
    if (noun) return [more.length ? "The figure doesn’t know which of the nouns “it” means here: press ✂ and its name above the drawing." : `I assume that “it” means the ${noun}.`];
    return [`${its > 1 ? "More than one “it”" : !its ? "No “it”" : this.now.reads.includes(" it") ? "No noun of the list" : "“It” in pieces"} in this sentence: cut line by line.`];
  }

  // The part of a row: "it", the noun, or the nth of equal tokens.
  role(names, place, row) {
    if (row === place.it) return ["it"];
    if (place.noun.includes(row)) return ["noun", place.noun.indexOf(row)];
    return ["token", names[row], names.slice(0, row).filter((name) => name === names[row]).length];
  }

  roleIn({ english, thing }, row) {
    const names = this.names(english);
    return this.role(names, this.places(names, thing), row);
  }

  rowsOf([part, what, nth], names, place) {
    if (part === "it") return place.it < 0 ? [] : [place.it];
    if (part === "noun") return place.noun;
    const found = names.flatMap((name, n) => (name === what && !place.noun.includes(n) ? [n] : []));
    return found.length > nth ? [found[nth]] : [];
  }

  // The row that writes the pronoun, where the model is right.
  pronounRow({ german }) { return this.model ? this.model.translator.tokens.encode(beforePronoun(german)).length : 0; }

  // All that has been changed, by parts instead of rows. German rows are counted from the one that writes the pronoun.
  roles() {
    const { gains, hidden, swaps, placed } = this.changes, role = (row) => this.roleIn(this.known, row), from = this.pronounRow(this.known);
    return {
      gains: [...gains], placed,
      hidden: [...hidden].map((name) => {
        const [kind, layer, head, row, column] = parted(name);
        return { head: `${kind} ${layer} ${head}`, row: kind === "encoder" ? role(row) : row - from, column: kind === "decoder" ? column - from : role(column) };
      }),
      swaps: [...swaps].map(([at, { text, row }]) => {
        const [depth, n] = at.split(" ").map(Number), own = this.ours(text);
        return { depth, row: role(n), text, from: row, own, thing: text !== this.text && own?.thing };
      }),
    };
  }

  signature() { return !this.changed ? "" : this.known ? JSON.stringify(this.roles(), (key, value) => (["own", "text", "from"].includes(key) ? undefined : value)) : this.tried; }

  // The same in another sentence. A donor becomes its noun's sentence of that sort.
  within(roles, sentence, names) {
    const place = this.places(names, sentence.thing), from = this.pronounRow(sentence), at = (role) => (Array.isArray(role) ? this.rowsOf(role, names, place) : [role + from].filter((row) => row >= 0));
    const hidden = new Set(roles.hidden.flatMap(({ head, row, column }) => at(row).flatMap((r) => at(column).map((c) => `${head} ${r} ${c}`)))), swaps = new Map();
    for (const { depth, row, text, from, own, thing } of roles.swaps) {
      const donor = own ? this.about(thing || sentence.thing, sentence.frame) : { english: text };
      const theirs = this.names(donor.english), there = own ? this.rowsOf(this.roleIn(own, from), theirs, this.places(theirs, donor.thing)) : [from];
      at(row).forEach((r, n) => swaps.set(`${depth} ${r}`, { text: donor.english, row: there[n] ?? there[0] }));
    }
    return { gains: new Map(roles.gains), hidden, swaps, placed: roles.placed };
  }

  *surveyed(roles) {
    const { before, model: { translator } } = this;
    for (const [n, sentence] of this.data.sentences.entries()) {
      const ids = translator.read(sentence.english);
      before[n] ??= yield* asked(translator, ids, sentence.german, {});
      if (!roles) { yield [n, before[n]]; continue; }
      yield [n, yield* asked(translator, ids, sentence.german, this.engine(this.within(roles, sentence, this.names(sentence.english))))];
    }
    return true;
  }

  async tryAll(show = true) {
    if (this.trying && this.place === this.file + this.signature()) return;
    if (show) {
      this.turnTo("all");
      if (BESIDE.matches) this.dots.scrollIntoView({ block: "nearest" });
      else this.panes.all.scrollTop = 0;
    }
    this.blank(true);
    if (this.result) return;
    this.trying = true;
    this.waits();
    const { data: { sentences, models }, changed, trial, place } = this, roles = changed ? this.roles() : null, name = changed && this.described(true);
    const each = ([n, word]) => {
      this.came[n] = word;
      if (n % 10 < 9 && n < sentences.length - 1) return;
      for (let i = n - (n % 10); i <= n; i++) this.grid.children[i].replaceWith(this.dot(i));
      this.waits();
      this.nameDot();
    };
    if (!await sliced(this.surveyed(roles), { each, stop: () => trial !== this.trial, slice: 16 })) return;
    this.trying = false;
    if (!changed) { this.waits(); return; }
    this.kept[place] = { came: this.came, name };
    this.told.append(make("li", {}, `${models.find(({ file }) => file === this.file).name}, ${name}: ${this.count(name)}`));
  }

  count(name) {
    const counts = {}, right = this.right(this.came), arrow = `${this.right(this.before)} → ${right}`, all = `of ${this.came.length}`;
    for (const word of this.came) counts[word] = (counts[word] ?? 0) + 1;
    const [most, often] = Object.entries(counts).sort((a, b) => b[1] - a[1])[0];
    this.announce(this.counted, `${name[0].toUpperCase()}${name.slice(1)}: `, make("b", {}, arrow), ` ${all} right; the most frequent is `, german(most), ` (${often}).`);
    this.result = { right };
    this.here.hidden = true;
    this.rule.classList.add("quiet");
    return `${arrow} ${all}`;
  }

  right(words) { return words.filter((word, n) => word === pronoun(this.data.sentences[n].german)).length; }

  // The pronouns without a cut; the page brings the wrong ones.
  get before() {
    const { data: { models, sentences }, file } = this, { wrong } = models.find((model) => model.file === file);
    return this.uncut[file] ??= wrong ? sentences.map(({ german }, n) => wrong[n] ?? pronoun(german)) : [];
  }

  // What has been changed; for all sentences without the noun of this one.
  described(everywhere = false) {
    const { gains, hidden, swaps, placed } = this.changes, several = (names, one, many) => (names.length ? [names.length === 1 ? one(names[0]) : `${names.length} ${many}`] : []);
    const { wholes } = this, pairs = wholes.flatMap((thing) => this.between(thing)), lines = [...hidden].filter((name) => !pairs.includes(name));
    return [
      ...wholes.map((thing) => `${this.line(thing)} cut`),
      ...several(lines, (name) => this.lineOf(name, everywhere), wholes.length ? "more lines cut" : "lines cut"),
      ...several([...gains], ([name, gain]) => `${headOf(name)} ${gain ? `at ${written(gain, 2)}` : "off"}`, "heads turned down"),
      ...several([...swaps], ([at, donor]) => this.vectorOf(Number(at.split(" ")[0]), donor), "vectors exchanged"),
      ...(placed ? [] : ["no positions in the English"]),
    ].join("; ");
  }

  lineOf(name, everywhere) {
    const [kind, layer, head, row, column] = parted(name);
    const noun = everywhere && kind !== "decoder" && this.places(this.now.reads, this.known.thing).noun.includes(column);
    return `${said(this.row(sideOf(kind), row))} – ${noun ? "its noun" : said(this.column({ kind, column }))} cut in ${numbered(kind, layer, head)}`;
  }

  vectorOf(depth, { text, row }) { return `vector ${depth ? `after layer ${depth}` : "at the start"}${text === this.text ? OWN : ` from “${this.names(text)[row]?.trim()}” in “${text}”`}`; }

  address() {
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => {
      this.remember();
      const { gains, hidden, swaps, placed } = this.changes, url = new URL(location.href);
      const told = { text: this.text === this.begun && !this.changed ? "" : this.text, gain: [...gains].map(([name, gain]) => `${name.replaceAll(" ", ".")}.${Math.round(100 * gain)}`).join("~"), cut: [...hidden].map((name) => name.replaceAll(" ", ".")).join("~"), swap: [...swaps].map(([at, { text, row }]) => `${at.replace(" ", ".")}.${row}.${text}`).join("~"), order: placed ? "" : "off", model: this.file === this.data.models[0].file ? "" : this.file };
      for (const [name, value] of Object.entries(told)) { if (value) url.searchParams.set(name, value); else url.searchParams.delete(name); }
      if (url.href !== location.href) history.replaceState(null, "", url);
    }, 400);
  }

  addressed() {
    const asked = new URLSearchParams(location.search), text = asked.get("text"), list = (name) => (asked.get(name) ?? "").split("~").filter(Boolean);
    if (!["text", "gain", "cut", "swap", "order", "model"].some((name) => asked.get(name))) return null;
    const { gains, hidden, swaps } = this.changes, refused = [];
    for (const name of ["gain", "cut"]) for (const part of list(name)) {
      const [kind, layer, head, ...rest] = part.split("."), of = `${kind} ${layer} ${head}`, numbers = rest.map((n) => (/^\d{1,3}$/.test(n) ? Number(n) : NaN));
      if (!KINDS[kind] || !this.all(kind).includes(of) || numbers.length !== (name === "cut" ? 2 : 1) || !(Math.max(...numbers) < (name === "cut" ? MOST : 1000))) refused.push(`${name}=${part}`);
      else if (name === "gain") gains.set(of, Math.min(1, numbers[0] / 100));
      else hidden.add(`${of} ${numbers.join(" ")}`);
    }
    this.changes.placed = asked.get("order") !== "off";
    for (const part of list("swap")) {
      const [, depth, n, row, from] = /^(\d)\.(\d{1,2})\.(\d{1,2})\.(.+)$/.exec(part) ?? [];
      if (from) swaps.set(`${depth} ${n}`, { text: from, row: Number(row) });
    }
    if (this.data.models.some(({ file }) => file === asked.get("model"))) this.file = asked.get("model");
    this.left = refused.length ? `The model has no such place: ${refused.join(", ")}.` : "";
    return { text: text || this.begun };
  }
}

customElements.define("cut-figure", CutFigure);
})();

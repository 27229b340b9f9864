// The package's translator in plain JavaScript: tokens, encoder, decoder with a cache, greedy and beam. It calculates in
// double precision with the weights that Python reads, and is held equal to the package's code by tests.
"use strict";
(() => {
  const [PAD, BOS] = [0, 1], SPECIALS = 4, MORE = 50; // as in the package: text.tokens, decoding.limits

  // White space and word characters as Python has them: \s and \w of JavaScript are others. What is attached, marks and
  // joiners, belongs to the character before it.
  const SPACE = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000", WORD = "\\p{L}\\p{N}_";
  const ATTACHED = "\\p{M}\\u180e\\u200c\\u200d", ONE_WORD = `[${WORD}][${WORD}${ATTACHED}]`;
  const PIECES = new RegExp(` ?${ONE_WORD}{0,63}(?![${ATTACHED}])| ?[^${WORD}${SPACE}]{1,64}|[${SPACE}]{1,64}(?![^${SPACE}])|[^]`, "gu");

  // One spelling for texts that look the same: text.normalise of the package, step by step.
  const UNSEEN = /[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]+/gu;
  const BLANK = /[\u2800\u3164\uffa0]/gu, HYPHENS = /[\u2010\u2011]/gu;
  const SAME_LETTERS = /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\ufb00-\ufb04]+/gu;
  const TAGS = /(?<![\u{1f3f4}\u{e0020}-\u{e007f}])[\u{e0000}-\u{e007f}]+/gu;
  const MODIFIERS = /(?<![#*0-9\xa9\xae\u0590-\u1cff\u2000-\u{10ffff}])[\u034f\u180b-\u180f\u200c\u200d\ufe00-\ufe0f\u{e0100}-\u{e01ef}]+/gu;
  const SPACES = new RegExp(`[${SPACE}]+`, "gu"), single = (text) => text.replace(SPACES, " ").replace(/^ | $/g, "").normalize("NFC");
  const once = (text) => {
    const seen = text.replace(UNSEEN, "").replace(BLANK, " ").replace(HYPHENS, "-");
    return single(single(seen.replace(SAME_LETTERS, (letters) => letters.normalize("NFKC"))).replace(TAGS, "").replace(MODIFIERS, ""));
  };
  const normalise = (text) => { for (let next; (next = once(text)) !== text; text = next); return text; };
  const visible = (byte) => byte > 32 && (byte < 127 || byte > 160) && byte !== 173;
  const ALL = [...Array(256).keys()], BYTES = [...ALL.filter(visible), ...ALL.filter((byte) => !visible(byte))];

  // Byte-pair encoding: text to ids and back. Each merge joins two ids to a new one.
  class Tokens {
    constructor(merges) {
      this.bytes = [...Array(SPECIALS).fill([]), ...BYTES.map((byte) => [byte])];
      this.first = []; // the id of each byte
      BYTES.forEach((byte, n) => { this.first[byte] = SPECIALS + n; });
      this.joined = new Map();
      for (const [a, b] of merges) {
        this.joined.set(`${a} ${b}`, this.bytes.length);
        this.bytes.push([...this.bytes[a], ...this.bytes[b]]);
      }
    }

    encode(text) { return this.cut(text).flatMap((ids) => finish(this.joins([ids]))[0]); }

    // The pieces of a text, which no merge crosses, each as the ids of its bytes.
    cut(text) {
      if (/\p{Cs}/u.test(text)) throw new RangeError("the text has half a character");
      return (text.match(PIECES) ?? []).map((piece) => [...new TextEncoder().encode(piece)].map((byte) => this.first[byte]));
    }

    // The pair that was learned first is joined, wherever it stands; then again. Yields each new id and the pieces with it.
    *joins(pieces) {
      for (;;) {
        const found = pieces.flatMap((ids) => ids.slice(1).map((id, n) => this.joined.get(`${ids[n]} ${id}`) ?? Infinity));
        const next = found.reduce((least, id) => Math.min(least, id), Infinity);
        if (next === Infinity) return pieces;
        pieces = pieces.map((ids) => this.join(ids, next));
        yield [next, pieces];
      }
    }

    join(ids, next) {
      const shorter = [];
      for (let n = 0; n < ids.length; n++) {
        const [a, b] = [ids[n], ids[n + 1]];
        if (this.joined.get(`${a} ${b}`) === next) { shorter.push(next); n++; } else shorter.push(a);
      }
      return shorter;
    }

    decode(ids) {
      const bytes = Uint8Array.from(ids.flatMap((id) => this.bytes[id]));
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    }
  }

  const softmax = (scores) => {
    const top = scores.reduce((most, s) => Math.max(most, s), -Infinity);
    const exps = scores.map((s) => Math.exp(s - top)), total = exps.reduce((sum, e) => sum + e, 0);
    return exps.map((e) => e / total);
  };

  // The logarithms of a softmax: of large numbers none is lost.
  const logSoftmax = (logits) => {
    const top = logits.reduce((most, s) => Math.max(most, s), -Infinity);
    const log = top + Math.log(logits.reduce((sum, s) => sum + Math.exp(s - top), 0));
    return logits.map((s) => s - log);
  };

  const penalty = (length, alpha) => ((5 + length) / 6) ** alpha;

  // The `most` largest numbers of a row by their places, largest first; of equal ones the first.
  const largest = (row, most) => {
    const places = [];
    row.forEach((x, id) => {
      if (places.length === most && x <= row[places[most - 1]]) return;
      const at = places.findIndex((place) => row[place] < x);
      places.splice(at < 0 ? places.length : at, 0, id);
      places.length = Math.min(places.length, most);
    });
    return places;
  };

  // A row rounded to so many bits, as training.int8 of the package does it: integers, a half to the even one, and their scale.
  const SCALE_BITS = 17;
  const toEven = (x) => { const low = Math.floor(x), over = x - low; return low + (over > 0.5 || (over === 0.5 && low % 2 !== 0)); };
  const inBits = (row, bits) => {
    const largest = row.reduce((most, w) => Math.max(most, Math.abs(w)), 0), wanted = largest ? largest / (2 ** (bits - 1) - 1) : 1;
    const digit = 2 ** (Math.floor(Math.log2(wanted)) + 1 - SCALE_BITS), scale = Math.ceil(wanted / digit) * digit;
    return { integers: row.map((w) => toEven(w / scale)), scale };
  };

  // Nothing is changed in the model. Readers change it, in whatever part of this they give: `gain(kind, layer, head)` is what
  // a head's contribution is multiplied by, 0 where it is switched off; `even(kind, layer, head)` says which heads look evenly
  // at all they may see, and `hides(kind, layer, head, row, column)` which looks are forbidden; `swap(depth, row)` gives another
  // vector for a row of the encoder, after so many layers; `placed` says whether the encoder adds positions. Kinds are
  // encoder, decoder and cross.
  const AS_IT_IS = { gain: () => 1, even: () => false, hides: () => false, swap: () => undefined, placed: true };

  class Translator {
    constructor({ config, merges, words, shapes, integers, scales }) {
      const { activation, attention_bias, norm_first, final_norm } = config;
      if (activation !== "relu" || attention_bias || norm_first || final_norm) throw new Error("only the paper's model is written here");
      this.config = config;
      this.tokens = new Tokens(merges);
      this.words = new Set(words);
      const bytes = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0)).buffer;
      const whole = new Int8Array(bytes(integers)), scale = new DataView(bytes(scales));
      Object.assign(this, { shapes, weights: {} });
      let [at, row] = [0, 0];
      for (const [name, shape] of Object.entries(shapes)) {
        const width = shape.at(-1), weight = this.weights[name] = new Float64Array(shape.reduce((a, b) => a * b));
        for (let n = 0; n < weight.length; n++) weight[n] = whole[at++] * scale.getFloat32(4 * (row + Math.floor(n / width)), true);
        row += weight.length / width;
      }
    }

    // The same model with its matrices rounded to so many bits. Vectors stay as they are.
    rounded(bits) {
      const weights = { ...this.weights };
      for (const [name, [, width]] of Object.entries(this.shapes).filter(([, shape]) => shape.length > 1)) {
        const exact = this.weights[name], weight = weights[name] = new Float64Array(exact.length);
        for (let n = 0; n < exact.length; n += width) {
          const { integers, scale } = inBits(exact.subarray(n, n + width), bits);
          weight.set(integers.map((whole) => whole * scale), n);
        }
      }
      return Object.assign(Object.create(this), { weights });
    }

    // The same model, with somebody who notes what it calculates: each place in it, and its rows there by their names.
    listening(note) { return Object.assign(Object.create(this), { note }); }

    // What the model reads: ids, the last of them for the end.
    read(text) {
      const { eos_id, max_len } = this.config, ids = [...this.tokens.encode(normalise(text)), eos_id];
      if (ids.length > max_len) throw new RangeError(`the sentence has ${ids.length} tokens, and the model reads ${max_len} at most: split it`);
      return ids;
    }

    // One token as text.
    name(id) {
      const { bos_id, eos_id } = this.config;
      return id === bos_id ? "<bos>" : id === eos_id ? "<eos>" : this.tokens.decode([id]);
    }

    // The words and signs of a text that the model was never trained on, as they are written.
    unknown(text) { return [...new Set(normalise(text).match(new RegExp(`${ONE_WORD}*|[^${WORD}${SPACE}.,?]+`, "gu")))].filter((word) => !this.words.has(word)); }

    // One line: an end of line within what was written becomes a space.
    text(ids) { return this.tokens.decode(ids.filter((id) => id !== this.config.eos_id)).replace(/^[\r\n]+|[\r\n]+$/g, "").replace(/[\r\n]+/g, " "); }

    // A linear layer: the rows of its matrix times x. Four sums at a time, as a processor waits for each of its additions.
    linear(name, x) {
      const weight = this.weights[`${name}.weight`], bias = this.weights[`${name}.bias`], w = x.length;
      const out = new Float64Array(weight.length / w);
      for (let o = 0, n = 0; o < out.length; o += 4, n += 3 * w) {
        let a = 0, b = 0, c = 0, d = 0;
        for (let i = 0; i < w; i++, n++) {
          a += weight[n] * x[i];
          b += weight[n + w] * x[i];
          c += weight[n + 2 * w] * x[i];
          d += weight[n + 3 * w] * x[i];
        }
        out[o] = a;
        out[o + 1] = b;
        out[o + 2] = c;
        out[o + 3] = d;
      }
      if (bias) for (let o = 0; o < out.length; o++) out[o] += bias[o];
      return out;
    }

    addNorm(name, x, more) {
      const weight = this.weights[`${name}.norm.weight`], bias = this.weights[`${name}.norm.bias`];
      const sum = x.map((number, i) => number + more[i]), d = sum.length;
      const mean = sum.reduce((a, b) => a + b, 0) / d;
      const variance = sum.reduce((a, b) => a + (b - mean) ** 2, 0) / d, root = Math.sqrt(variance + this.config.norm_eps);
      const out = sum.map((number, i) => ((number - mean) / root) * weight[i] + bias[i]);
      this.note?.(name, { added: sum, out });
      return out;
    }

    feedForward(name, x) {
      const hidden = this.linear(`${name}.w_1`, x);
      for (let i = 0; i < hidden.length; i++) if (hidden[i] < 0) hidden[i] = 0;
      const out = this.linear(`${name}.w_2`, hidden);
      this.note?.(name, { hidden, out });
      return out;
    }

    // The row of the table times √d, and its position, if it is given one.
    embed(side, id, position, placed = true) {
      const { d_model } = this.config, rows = this.weights["embedding.weight"].slice(id * d_model, (id + 1) * d_model);
      const scaled = rows.map((number) => number * Math.sqrt(d_model)), positions = rows.map((_, c) => {
        const angle = position * 10000 ** (-(c - (c % 2)) / d_model);
        return placed ? (c % 2 ? Math.cos(angle) : Math.sin(angle)) : 0;
      });
      const sum = scaled.map((number, c) => number + positions[c]);
      this.note?.(side, { ids: [id], rows, scaled, positions, sum });
      return sum;
    }

    // What a row offers to those that ask.
    offer(name, x) {
      const k = this.linear(`${name}.w_k`, x), v = this.linear(`${name}.w_v`, x);
      this.note?.(name, { k, v });
      return [k, v];
    }

    // One row asks, in every head: what it takes, and the weights with which it does.
    attend(name, [kind, layer], x, keys, values, row, changes) {
      const { n_heads, d_k, d_v } = this.config, q = this.linear(`${name}.w_q`, x);
      const joined = new Float64Array(n_heads * d_v), weights = [], all = [];
      for (let head = 0; head < n_heads; head++) {
        const even = changes.even(kind, layer, head);
        const seen = keys.map((_, column) => !changes.hides(kind, layer, head, row, column));
        const scores = keys.map((key, column) => {
          if (!seen[column]) return -Infinity;
          if (even) return 0;
          let sum = 0;
          for (let i = head * d_k; i < (head + 1) * d_k; i++) sum += q[i] * key[i];
          return sum / Math.sqrt(d_k);
        });
        all.push(scores);
        weights.push(seen.includes(true) ? softmax(scores) : scores.map(() => 0));
        const gain = changes.gain(kind, layer, head);
        if (!gain) continue;
        values.forEach((value, column) => {
          for (let i = head * d_v; i < (head + 1) * d_v; i++) joined[i] += weights[head][column] * value[i];
        });
        if (gain !== 1) for (let i = head * d_v; i < (head + 1) * d_v; i++) joined[i] *= gain;
      }
      const taken = this.linear(`${name}.w_o`, joined);
      this.note?.(name, { q, scores: all.flat(), weights: weights.flat(), joined, out: taken });
      return { taken, weights };
    }

    // The encoder, row after row. What is long rests at each `yield`, so that a page can breathe.
    *encode(ids, changes = AS_IT_IS) {
      const { swap, placed, ...others } = { ...AS_IT_IS, ...changes };
      const swapped = (depth, rows) => rows.map((row, n) => swap(depth, n) ?? row);
      let x = swapped(0, ids.map((id, position) => this.embed("encoder", id, position, placed)));
      const weights = [], rows = [x]; // the vectors before, between and after the layers
      for (let layer = 0; layer < this.config.n_layers; layer++) {
        const name = `encoder.layers.${layer}`, attention = `${name}.self_attention`, keys = [], values = [], next = [];
        for (const row of x) {
          const [k, v] = this.offer(attention, row);
          keys.push(k);
          values.push(v);
          yield;
        }
        weights.push([]);
        for (const [n, row] of x.entries()) {
          const found = this.attend(attention, ["encoder", layer], row, keys, values, n, others);
          const y = this.addNorm(`${name}.addnorm_1`, row, found.taken);
          next.push(this.addNorm(`${name}.addnorm_2`, y, this.feedForward(`${name}.feed_forward`, y)));
          weights[layer].push(found.weights);
          yield;
        }
        rows.push(x = swapped(layer + 1, next));
      }
      const memory = [];
      for (let layer = 0; layer < this.config.n_layers; layer++) {
        const name = `decoder.layers.${layer}.cross_attention`;
        const offered = x.map((row) => this.offer(name, row));
        memory.push({ keys: offered.map(([k]) => k), values: offered.map(([, v]) => v) });
        yield;
      }
      return { ids, memory, weights, rows };
    }

    // The start of a translation: nothing is written yet. `most` is how long it may become.
    start(read, changes = AS_IT_IS) {
      const { n_layers, max_len } = this.config, most = Math.min(read.ids.length + MORE, max_len);
      const cache = Array.from({ length: n_layers }, () => ({ keys: [], values: [] }));
      return this.step({ read, changes: { ...AS_IT_IS, ...changes }, most, cache, ids: [], logP: 0, steps: [] }, BOS);
    }

    // The decoder for one more token: keys and values of the earlier ones are kept. What it is given stays as it was.
    step(state, id) {
      const { read, changes } = state, row = state.ids.length, cache = [], seen = { decoder: [], cross: [] };
      let x = this.embed("decoder", id, row);
      const rows = [x];
      for (let layer = 0; layer < this.config.n_layers; layer++) {
        const name = `decoder.layers.${layer}`, kept = state.cache[layer];
        const [own, gives] = this.offer(`${name}.self_attention`, x), keys = [...kept.keys, own], values = [...kept.values, gives];
        cache.push({ keys, values });
        const back = this.attend(`${name}.self_attention`, ["decoder", layer], x, keys, values, row, changes);
        x = this.addNorm(`${name}.addnorm_1`, x, back.taken);
        const { keys: k, values: v } = read.memory[layer];
        const across = this.attend(`${name}.cross_attention`, ["cross", layer], x, k, v, row, changes);
        x = this.addNorm(`${name}.addnorm_2`, x, across.taken);
        x = this.addNorm(`${name}.addnorm_3`, x, this.feedForward(`${name}.feed_forward`, x));
        rows.push(x);
        seen.decoder.push(back.weights);
        seen.cross.push(across.weights);
      }
      const logits = this.linear("embedding", x), logP = logSoftmax(logits), steps = [...state.steps, { logP, weights: seen, rows }];
      this.note?.("", { logits, probabilities: softmax(logits) });
      return { ...state, cache, steps, next: logP };
    }

    // The same with a token written: the one that is chosen, and what it makes of the sentence's log-probability.
    write(state, id) {
      const ids = [...state.ids, id], logP = state.logP + state.next[id];
      const ended = id === this.config.eos_id || ids.length === state.most;
      return ended ? { ...state, ids, logP, ended } : this.step({ ...state, ids, logP }, id);
    }

    // The ids that may be written, likeliest first.
    rivals(state, most) {
      return largest(state.next.map((p, id) => (id === PAD || id === BOS ? -Infinity : p)), most);
    }

    // Always the likeliest next token, after the `begun` ones.
    *greedy(read, changes, begun = []) {
      let state = this.start(read, changes);
      for (const id of begun) { if (!state.ended) state = this.write(state, id); yield state; }
      while (!state.ended) { state = this.write(state, this.rivals(state, 1)[0]); yield state; }
      return state;
    }

    // Several unfinished sentences side by side, the best of them go on. Yields what there is after each step.
    *beam(read, { width = 4, alpha = 0.6, changes } = {}) {
      const score = ({ ids, logP }) => logP / penalty(ids.length, alpha);
      let alive = [this.start(read, changes)], finished = [];
      const { most } = alive[0];
      while (alive.length) {
        const next = alive.flatMap((state) => this.rivals(state, width).map((id) => ({ state, id, logP: state.logP + state.next[id] })));
        next.sort((a, b) => b.logP - a.logP);
        const written = [];
        for (const { state, id } of next.slice(0, width)) { written.push(this.write(state, id)); yield null; }
        finished.push(...written.filter(({ ended }) => ended));
        finished = finished.sort((a, b) => score(b) - score(a)).slice(0, width);
        alive = written.filter(({ ended }) => !ended);
        yield { alive, finished };
        const hope = Math.max(...alive.map(({ logP }) => logP)) / penalty(most, alpha);
        if (finished.length === width && !(hope > score(finished.at(-1)))) alive = [];
      }
      return finished.map((state) => ({ ids: state.ids, text: this.text(state.ids), logP: state.logP, score: score(state) }));
    }
  }

  // A calculation to its end at once; and in slices of a few milliseconds, between which the page answers. `stop` says
  // when nobody waits for it any more; what it yields goes to `each`.
  const finish = (steps) => { for (;;) { const { done, value } = steps.next(); if (done) return value; } };
  const sliced = async (steps, { stop = () => false, each = () => {}, slice = 8 } = {}) => {
    for (;;) {
      const begun = performance.now();
      while (performance.now() - begun < slice) {
        const { done, value } = steps.next();
        if (done) return value;
        if (value) each(value);
      }
      await new Promise((go) => setTimeout(go));
      if (stop()) return undefined;
    }
  };

  // A script beside this one's folder, which comes when somebody asks for it; once.
  const home = globalThis.document?.currentScript?.src, coming = {}, models = {};
  const bring = (file) => (coming[file] ??= new Promise((come, fail) => {
    const script = document.createElement("script");
    script.src = new URL(`../${file}`, home).href;
    script.onload = come;
    script.onerror = () => { delete coming[file]; script.remove(); fail(new Error("the model could not be loaded")); };
    document.head.append(script);
  }));
  // The weights are such a script, and so are those of another training. What they are called is the name of the file.
  const load = (file = "phrasebook.js") => bring(file).then(() => (models[file] ??= new Translator(window[file.replace(".js", "")])));

  globalThis.translator = { Translator, Tokens, bring, finish, inBits, load, normalise, sliced, softmax };
})();

// What the translator of the pages answers, for a test: a line of JSON comes in, a line goes out.
const fs = require("node:fs");
const [, , ...scripts] = process.argv;
globalThis.window = globalThis;
Object.assign(globalThis, { HTMLElement: class {}, customElements: { define() {} } }); // nothing is drawn
for (const path of scripts) (0, eval)(fs.readFileSync(path, "utf8"));
const { Translator, finish, normalise } = globalThis.translator;
const model = new Translator(globalThis.phrasebook);

// What is changed, as lists: gains of heads, looks that are hidden, rows that come from another text.
const changed = ({ gains = [], evens = [], hidden = [], swaps = [], placed }) => {
  const gain = new Map(gains.map(([kind, layer, head, gain]) => [String([kind, layer, head]), gain])), [hides, even] = [hidden, evens].map((list) => new Set(list.map(String)));
  const rows = new Map(swaps.map(([depth, row, text, there]) => [String([depth, row]), finish(model.encode(model.read(text))).rows[depth][there]]));
  return {
    ...(evens.length && { even: (...head) => even.has(String(head)) }),
    ...(gains.length && { gain: (...head) => gain.get(String(head)) ?? 1 }), ...(hidden.length && { hides: (...look) => hides.has(String(look)) }),
    ...(swaps.length && { swap: (...place) => rows.get(String(place)) }), ...(placed !== undefined && { placed }),
  };
};

const ASKED = {
  ids: ({ text }) => model.read(text),
  normalised: ({ text }) => normalise(text),
  unknown: ({ text }) => model.unknown(text),
  line: ({ ids }) => model.text(ids),
  pieces: ({ text }) => model.tokens.encode(text),
  cut: ({ text }) => model.tokens.cut(text).map((ids) => model.tokens.decode(ids)),
  joins: ({ text }) => {
    const cut = model.tokens.cut(text);
    return [[null, cut], ...model.tokens.joins(cut)];
  },
  text: ({ ids }) => model.tokens.decode(ids),
  greedy: ({ text, begun, ...changes }) => {
    const read = finish(model.encode(model.read(text), changed(changes)));
    const { ids, logP, steps } = finish(model.greedy(read, changed(changes), begun));
    const weights = (kind) => steps.map(({ weights }) => weights[kind]);
    return {
      ids, logP, text: model.text(ids), next: steps.map((step) => [...step.logP]),
      encoder: read.weights, decoder: weights("decoder"), cross: weights("cross"),
    };
  },
  rows: ({ text, ids: written, ...changes }) => { // the vectors before, between and after all layers, of both sides
    const read = finish(model.encode(model.read(text), changed(changes)));
    const { steps } = finish(model.greedy(read, changed(changes), written));
    const plain = (rows) => rows.map((row) => [...row]);
    return { read: read.rows.map(plain), wrote: steps.map(({ rows }) => plain(rows)) };
  },
  next: ({ asked, ...changes }) => asked.map(([text, begun]) => { // what follows what was begun
    const read = finish(model.encode(model.read(text), changed(changes)));
    return model.rivals(begun.reduce((state, id) => model.write(state, id), model.start(read, changed(changes))), 1)[0];
  }),
  weights: ({ bits }) => { // all of them, as bytes
    const all = Object.values(model.rounded(bits).weights);
    return all.map((weight) => Buffer.from(weight.buffer).toString("base64"));
  },
  rounds: ({ row, bits }) => globalThis.translator.inBits(row, bits),
  written: ({ texts, bits, most }) => {
    const rounded = model.rounded(bits);
    if (most) rounded.config = { ...model.config, max_len: most };
    return texts.map((text) => {
      const { ids, logP } = finish(rounded.greedy(finish(rounded.encode(model.read(text)))));
      return [ids, logP];
    });
  },
  most: ({ text, max_len }) => {
    const short = Object.assign(Object.create(model), { config: { ...model.config, max_len } });
    return short.start(finish(short.encode(short.read(text)))).most;
  },
  walk: ({ text, model: given, likeliest }) => finish(globalThis.walk.walked(model, model.read(text), given, likeliest)),
  overheard: ({ texts }) => { // two calculations side by side, each of which is listened to
    const ids = texts.map(() => []);
    const side = (n) => model.listening((place, { ids: noted }) => { if (place === "encoder") ids[n].push(...noted); });
    const runs = texts.map((text, n) => side(n).encode(model.read(text)));
    while (runs.map((run) => run.next().done).includes(false));
    const read = finish(model.encode(model.read(texts[0])));
    return { ids, plain: finish(model.greedy(read)).logP };
  },
  beam: ({ text, width, alpha, ...changes }) => {
    const read = finish(model.encode(model.read(text), changed(changes)));
    return finish(model.beam(read, { width, alpha, changes: changed(changes) }));
  },
};

require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { what, ...question } = JSON.parse(line);
  let answer;
  try { answer = { answer: ASKED[what](question) }; } catch (error) { answer = { error: String(error.message) }; }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
});

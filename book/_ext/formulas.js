// Formulas from TeX to MathML: a line with {tex, display, room} comes in, a line with {mathml} or {error} goes out.
//
// MathJax reads the TeX. The MathML that it would write leans on what browsers leave out: letters by mathvariant, lines
// and alignment of tables, TeX's spaces. So its tree is written here, for MathML Core and the classes of book.css.
const folder = process.argv[2];
const KEPT = ["class", "stretchy", "minsize", "maxsize", "movablelimits", "displaystyle", "scriptlevel", "width"];
const ALPHABETS = { bold: "𝐀𝐚𝟎", "sans-serif": "𝖠𝖺𝟢", "double-struck": "𝔸𝕒𝟘" };
const LETTERLIKE = { C: "ℂ", H: "ℍ", N: "ℕ", P: "ℙ", Q: "ℚ", R: "ℝ", Z: "ℤ" };

// What columns and rows of a table look like: the class of book.css, for what stands in all columns or between them.
const COLUMNS = { center: "", right: "right", left: "left", "right left": "pairs" };
const BETWEEN = { "": "", "1em": "", "0em": "joined", "0em 2em": "joined" };
const ROWS = { "": "", "4pt": "", "3pt": "", ".2em": "", "0.9em": "airy" };
const LINES = {
  row: { "": "", none: "", "first solid": "ruled-row" }, column: { "": "", none: "", "first solid": "ruled-column" },
};

const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

function element(name, attributes, inside) {
  const pairs = Object.entries(attributes).filter(([, value]) => value !== "" && value !== undefined);
  return `<${name}${pairs.map(([key, value]) => ` ${key}="${escaped(String(value))}"`).join("")}>${inside}</${name}>`;
}

// Letters of an alphabet are characters of their own; of italic ones a browser takes care.
function lettered(text, variant) {
  const starts = [...ALPHABETS[variant]].map((c) => c.codePointAt(0));
  const letter = (c) => starts[/[A-Z]/.test(c) ? 0 : /[a-z]/.test(c) ? 1 : 2] + c.charCodeAt(0);
  const first = (c) => (/[A-Z]/.test(c) ? "A" : /[a-z]/.test(c) ? "a" : "0").charCodeAt(0);
  return text.replace(/[A-Za-z0-9]/g, (c) =>
    (variant === "double-struck" && LETTERLIKE[c]) || String.fromCodePoint(letter(c) - first(c)));
}

const SPACES = { thinmathspace: "0.167em", mediummathspace: "0.222em", thickmathspace: "0.278em" };
const inRow = (node) => node.parent.isKind("mrow") || node.parent.isInferred;

// The space that TeX puts before a part of a row: it goes to the operator beside it, or stands between two others.
function spaces(root) {
  const found = new Map();
  const put = (node, side, space) => found.set(node, { ...found.get(node), [side]: space });
  root.walkTree((row) => {
    if (!row.isKind("mrow") && !row.isInferred) return;
    row.childNodes.forEach((part, n) => {
      const space = n && SPACES[part.texSpacing()];
      const before = row.childNodes[n - 1];
      if (!space) return;
      if (part.isEmbellished) put(part.coreMO(), "lspace", space);
      else if (before.isEmbellished) put(before.coreMO(), "rspace", space);
      else put(part, "alone", space);
    });
  });
  return found;
}

// What a list such as "right left right left" says of a table is told by its shortest beginning that repeats.
function look(table, name, number, classes) {
  const given = table.attributes.get(name).trim().split(/\s+/);
  const list = Array.from({ length: number }, (_, n) => given[Math.min(n, given.length - 1)]);
  const repeats = (size) => list.every((value, n) => value === list[n % size]);
  const first = list.slice(1).every((value) => value === "none") && `first ${list[0]}`;
  const key = [first, list.slice(0, 1).join(), list.slice(0, 2).join(" ")].find((key, n) => key in classes && (!n || repeats(n)));
  if (key === undefined) throw Error(`no rule for a table with ${name} "${list.join(" ")}"`);
  return classes[key];
}

function tableClasses(table) {
  const rows = table.childNodes.length;
  const columns = Math.max(...table.childNodes.map((row) => row.childNodes.length));
  return [
    table.attributes.getExplicit("class"), look(table, "columnalign", columns, COLUMNS),
    look(table, "columnspacing", columns - 1, BETWEEN),
    look(table, "rowspacing", rows - 1, ROWS), look(table, "rowlines", rows - 1, LINES.row),
    look(table, "columnlines", columns - 1, LINES.column),
  ].filter(Boolean).join(" ");
}

// About how wide a part of a formula is, in em: enough to know what a phone cannot show in one line.
function width(node) {
  const inside = (node.childNodes ?? []).map((child) => width(child));
  const sum = inside.reduce((a, b) => a + b, 0);
  switch (node.kind) {
    case "text": return 0.5 * [...node.getText()].length;
    case "mo": return sum + (node.texClass > 1 && node.texClass < 4 ? 0.7 : 0);
    case "mspace": return parseFloat(node.attributes.getExplicit("width")) || 0;
    case "msup": case "msub": return inside[0] + 0.7 * inside[1];
    case "mfrac": case "munder": case "mover": case "munderover": return Math.max(...inside);
    case "mtable": {
      const rows = node.childNodes.map((row) => row.childNodes.map((cell) => width(cell)));
      const columns = rows[0].map((_, n) => Math.max(...rows.map((row) => row[n] ?? 0)));
      return columns.reduce((a, b) => a + b + (BETWEEN[node.attributes.get("columnspacing").trim()] === "joined" ? 0 : 1), 0);
    }
    default: return sum;
  }
}

const SMALL = 18; // so wide a part fits a phone in smaller letters only

// A row that is too wide for a phone is cut where it may break there (book.css): between formulas, and within a long one
// before a relation, a sign that adds, or another matrix.
const has = (node, kind) => node.isKind?.(kind) || (node.childNodes ?? []).some((child) => has(child, kind));
const isGap = (node) => !has(node, "text") && width(node) >= 1;
function breaks(node, before) {
  const sign = node.isEmbellished && node.coreMO();
  if (sign) return sign.texClass === 3 || (sign.texClass === 2 && /[+−-]/.test(sign.getText()));
  return has(node, "mtable") && before.some((part) => has(part, "mtable"));
}
function cut(row, at) {
  const found = [[]];
  for (const node of row) {
    if (found.at(-1).length && at(node, found.at(-1))) found.push([]);
    found.at(-1).push(node);
  }
  return found;
}
function parts(row, gaps, room) {
  const formulas = cut(row, (node, before) => isGap(node) !== isGap(before[0]));
  const long = (part, most = room) => part.reduce((sum, node) => sum + width(node), 0) > most;
  const found = formulas.flatMap((part) => (long(part) ? cut(part, breaks) : [part]));
  const made = (part) => part.map((node) => written(node, gaps)).join("");
  const name = (part) => (long(part, SMALL) ? "part small" : "part");
  return found.filter((part) => part.length).map((part) => element("mrow", { class: name(part) }, made(part))).join("");
}

function inParts(root, gaps, room) {
  const row = root.isInferred ? root.childNodes : [root];
  if (row.length > 1) return parts(row, gaps, room);
  if (!row[0]?.isKind("mtable")) return written(root, gaps);
  const cell = (node) => element("mtd", {}, parts(node.childNodes[0].childNodes, gaps, room));
  const lines = row[0].childNodes.filter((line) => line.isKind("mtr"));
  if (lines.length < row[0].childNodes.length) return written(root, gaps);
  const made = lines.map((line) => element("mtr", {}, line.childNodes.map(cell).join(""))).join("");
  const attributes = Object.fromEntries(KEPT.map((key) => [key, row[0].attributes.getExplicit(key)]));
  return element("mtable", { ...attributes, class: tableClasses(row[0]) }, made);
}

function written(node, gaps) {
  const inside = () => node.childNodes.map((child) => written(child, gaps)).join("");
  const attributes = Object.fromEntries(KEPT.map((key) => [key, node.attributes?.getExplicit(key)]));
  const alone = gaps.get(node)?.alone ? element("mspace", { width: gaps.get(node).alone }, "") : "";
  const only = node.childNodes?.length === 1 && node.childNodes[0];
  switch (node.kind) {
    case "text":
      return escaped(node.getText());
    case "inferredMrow":
      return inside();
    case "TeXAtom":
    case "mstyle": {
      const row = only.isInferred ? only.childNodes : node.childNodes;
      const plain = !attributes.class && (node.kind === "TeXAtom" || row.every((part) => part.isKind("mspace")));
      if (plain && (row.length === 1 || (!row.length && inRow(node)))) return alone + inside();
      return alone + element(node.kind === "mstyle" ? "mstyle" : "mrow", attributes, inside());
    }
    case "mi":
    case "mn": {
      const variant = node.attributes.getExplicit("mathvariant");
      const text = only ? node.childNodes[0].getText() : "";
      if (!text && inRow(node)) return "";
      const own = variant in ALPHABETS;
      if (variant && !own && variant !== "normal") throw Error(`no letters for mathvariant "${variant}"`);
      const kind = variant === "normal" && text.length === 1 ? "mtext" : node.kind; // Firefox keeps space around an upright mi
      return alone + element(kind, attributes, escaped(own ? lettered(text, variant) : text));
    }
    case "mo":
      if (!node.getText() && inRow(node)) return "";
      return element("mo", { ...attributes, lspace: "0", rspace: "0", ...gaps.get(node) }, inside().replace(/^\^$/, "ˆ"));
    case "munder":
    case "mover":
      if (node.childNodes[1].isKind("mo")) attributes[node.kind === "mover" ? "accent" : "accentunder"] = "true";
      break;
    case "mspace":
      if (node.attributes.getExplicit("linebreak")) throw Error("a line ends outside of an environment");
      break;
    case "mtable":
      attributes.class = tableClasses(node);
  }
  return alone + element(node.kind, attributes, inside());
}

require(`${folder}/node-main.js`).init({
  loader: { paths: { mathjax: folder }, load: ["input/tex-full", "adaptors/liteDOM"] },
  tex: { packages: ["base", "ams", "html"], formatError: (_, error) => { throw error; } },
}).then((MathJax) => {
  const { STATE } = MathJax._.core.MathItem;
  const answer = ({ tex, display, room }) => {
    try {
      const root = MathJax.startup.document.convert(tex, { display, end: STATE.CONVERT });
      root.setTeXclass(null);
      const [whole, gaps] = [root.childNodes[0], spaces(root)];
      const wide = display && width(whole) > room;
      const attributes = display ? { display: "block", "data-wide": wide ? "yes" : "" } : {};
      return { mathml: element("math", attributes, wide ? inParts(whole, gaps, room) : written(whole, gaps)) };
    } catch (error) {
      return { error: error.message };
    }
  };
  const lines = require("readline").createInterface({ input: process.stdin });
  lines.on("line", (line) => console.log(JSON.stringify(answer(JSON.parse(line)))));
});

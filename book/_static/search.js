// The order of what the search finds, over Sphinx's own: a page or section of that name and the home of a word first,
// then chapters by how much they use the words, and what one looks up last. The index is that of _ext/finding.py.
{
  const GREEK = Object.fromEntries("alpha α beta β gamma γ delta δ epsilon ε eta η theta θ lambda λ mu μ pi π sigma σ tau τ phi φ omega ω infinity ∞ sqrt √ sum ∑ cdot · times ×".match(/\w+ \S/g).map((pair) => pair.split(" ")));
  // A formula as the index has it, from TeX too.
  const plain = (text) =>
    text.normalize("NFKC").toLowerCase().replaceAll("−", "-").replace(/\\frac\{(.*?)\}\{/g, "$1/{")
      .replace(/\\(mathsf|mathrm|mathbf|text|operatorname|left|right|top)(?![a-z])/g, (_, name) => (name === "top" ? "t" : ""))
      .replace(/\\?([a-z]+)/g, (word, name) => GREEK[name] ?? (word[0] === "\\" ? name : word))
      .replace(/√\(?/g, "√").replace(/[\s^_(){}[\]·⋅*,\u2061-\u2064\\]/g, "");
  const stemmer = new Stemmer();
  const stems = (text) => splitQuery(text.replace(/&#?\w+;/g, " ").toLowerCase()).map((word) => stemmer.stemWord(word)).join(" ");
  let asked = "";

  // How well a name answers: 1 where it is what was asked, less where it has more, 0 where it lacks some of it.
  const fits = (name, words) => (` ${name}`.includes(` ${words}`) ? words.length / name.length : 0);

  Search._performSearch = (query, terms) => {
    const { docnames, filenames, titles, alltitles, indexentries, homes, formulas, reference } = Search._index;
    const words = stems(query), found = new Map(), later = (page) => (reference.includes(page) ? 60 : 0);
    asked = query;
    const add = (page, place, title, score) => {
      const key = `${page}#${place}`;
      if (score > (found.get(key)?.[4] ?? -Infinity))
        found.set(key, [docnames[page], title ? `${titles[page]} › ${title}` : titles[page], place && `#${place}`, null, score, filenames[page], page]);
    };
    const sections = new Map(), isName = (page) => docnames[page].includes("/api/");
    for (const [title, places] of Object.entries(alltitles))
      for (const [page, place] of places) {
        const own = titles[page] === title, fit = words && fits(stems(title), words);
        sections.set(`${page}#${place}`, own ? "" : title);
        if (fit && (own || !isName(page))) add(page, own ? "" : place, own ? "" : title, 40 + 60 * fit + 40 * own - later(page));
      }
    for (const [name, places] of Object.entries(words ? indexentries : {})) {
      const fit = fits(stems(name), words);
      if (fit) for (const [page, place] of places) add(page, place, name, 20 + 60 * fit * fit);
    }
    for (const [name, [page, place]] of Object.entries(words ? homes : {})) {
      const fit = fits(stems(name), words);
      if (fit) add(page, place, sections.get(`${page}#${place}`) ?? "", 30 + 100 * fit * fit);
    }

    // The pages that have all words (of four, three are enough), those first that use them most. A word that no page has may
    // be a part of others.
    const lists = [...terms].filter((word, _, all) => word.length > 1 || all.size === 1).map((word) => [
      Search._index.terms[word] ?? Object.entries(Search._index.terms).filter(([whole]) => word.length > 2 && whole.includes(word)).flatMap(([, pages]) => pages),
    ].flat(2));
    for (const page of new Set(lists.flat())) {
      const ranks = lists.filter((pages) => pages.includes(page)).map((pages) => 1 - pages.indexOf(page) / pages.length);
      const share = ranks.reduce((a, b) => a + b) / lists.length, missed = lists.length - ranks.length;
      if (missed <= lists.length / 4) add(page, "", "", 20 + 30 * share - 10 * missed - later(page) / 2);
    }
    const objects = new Set(splitQuery(query.toLowerCase()));
    for (const name of objects.size > 1 ? [...objects].filter((name) => name.length > 2) : objects)
      for (const [doc, title, place, description, score, file] of Search.performObjectSearch(name, objects))
        found.set(place, [doc, title, place, description, score > 10 ? (/[_.]/.test(query) ? 150 : 15) : score - 20, file]);

    // Formulas, where signs ask for one, or where no page has the word.
    const formula = plain(query);
    if (formula.length > 1 && (/[\\^_√=/∑Α-ω]/.test(query) || !found.size)) {
      const best = new Map();
      for (const [text, places] of Object.entries(formulas))
        if (text.includes(formula))
          places.forEach(([page, place], rank) => {
            const score = formula.length / text.length / (1 + rank), [sum, top] = best.get(page) ?? [0, [0]];
            const here = place === "summary" ? score / 9 : score; // it is explained elsewhere
            best.set(page, [sum + score, here > top[0] ? [here, place] : top]);
          });
      for (const [page, [sum, [, place]]] of best)
        add(page, place, sections.get(`${page}#${place}`) ?? "", 90 + Math.min(40, 20 * sum) - later(page));
    }

    // A page that stands there with a section need not come once more.
    const all = [...found.values()].sort((a, b) => a[4] - b[4] || b[6] - a[6]);
    const named = new Set(all.filter((item) => item[2] && item[6] !== undefined && item[4] > 50).map((item) => item[6]));
    return all.filter((item) => item[2] || item[4] > 60 || !named.has(item[6]));
  };

  // A formula in a line of text.
  const line = (part) => {
    const parts = [...part.children].map(line), [a, b, c] = parts;
    switch (part.localName) {
      case "mfrac": return `${a}/${b}`;
      case "msqrt": return `√${parts.join("")}`;
      case "msub": return `${a}_${b}`;
      case "msup": return b === "′" ? a + b : `${a}^${b}`;
      case "msubsup": return `${a}_${b}^${c}`;
      case "mtd": case "mtr": return `${parts.join("")} `;
      default: return parts.length ? parts.join("") : part.textContent.normalize("NFKC");
    }
  };
  Search.htmlToText = (text, anchor) => {
    const page = new DOMParser().parseFromString(text, "text/html"), article = page.querySelector("article");
    let part = (anchor && page.getElementById(anchor.slice(1))) || article;
    if (part.localName === "dt") part = part.nextElementSibling;
    part.querySelector("h1, h2, h3")?.remove(); // it is the name of what was found
    for (const e of part.querySelectorAll(".headerlink, script, style, nav, button, summary, .cell_input, .unfold, .badge-line, .small-print")) e.remove();
    for (const e of part.querySelectorAll("math")) e.replaceWith(line(e));
    return part.textContent.replace(/\s+/g, " ").trim();
  };
  // A piece of the text from whole words, around what was asked.
  Search.makeSearchSummary = (html, words, anchor) => {
    const text = Search.htmlToText(html, anchor), lower = text.toLowerCase();
    const letters = [...asked.replace(/\s/g, "")].map((letter) => letter.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const places = [lower.search(new RegExp(letters.join("\\s*"), "i")), ...[...words].map((word) => lower.indexOf(word))];
    const middle = places.find((place) => place >= 0) ?? 0;
    const from = middle < 120 ? 0 : text.indexOf(" ", middle - 120) + 1;
    const to = from + 240 < text.length ? text.lastIndexOf(" ", from + 240) : text.length;
    const summary = document.createElement("p");
    summary.className = "context";
    summary.textContent = (from ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
    return text ? summary : null;
  };
}

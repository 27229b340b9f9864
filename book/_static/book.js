// What a page needs at reading time: boxes that scroll sideways can be reached and scrolled with the keyboard.
// All are measured before one is changed: a change between two measurements would lay the page out anew each time. What
// lies in a shut fold has no layout until somebody asks; when it opens, the text gets longer, and all are measured again.
const reach = () => {
  const all = [...document.querySelectorAll(".bd-article :is(div.math, pre, .pst-scrollable-table-container)")];
  const boxes = all.filter((box) => box.checkVisibility());
  const scrolls = boxes.map((box) => box.scrollWidth > box.clientWidth + 1);
  boxes.forEach((box, n) => (scrolls[n] ? box.setAttribute("tabindex", 0) : box.removeAttribute("tabindex")));
};
window.addEventListener("load", reach);
// The text also gets narrower when the menu comes in beside it, which is no resizing of the window.
window.addEventListener("DOMContentLoaded", () => {
  const watch = new ResizeObserver(reach);
  for (const text of document.querySelectorAll(".bd-article")) watch.observe(text);
});

// The meaning of a word of the glossary: while the word is pointed at or has the focus, until Escape.
const meaning = document.createElement("div");
meaning.className = "meaning";
meaning.id = "meaning";
meaning.role = "tooltip";
meaning.hidden = true;
let leaving;
const explain = (term) => {
  clearTimeout(leaving);
  meaning.textContent = term.dataset.meaning;
  meaning.hidden = false;
  term.setAttribute("aria-describedby", "meaning");
  const line = term.getClientRects()[0];
  const room = document.documentElement.clientWidth - meaning.offsetWidth - 16;
  const below = line.bottom + meaning.offsetHeight + 12 < innerHeight;
  meaning.style.left = `${scrollX + Math.max(16, Math.min(line.left, room))}px`;
  meaning.style.top = `${scrollY + (below ? line.bottom + 4 : line.top - meaning.offsetHeight - 4)}px`;
};
const explained = (term) => {
  term.addEventListener("mouseenter", () => explain(term));
  term.addEventListener("focus", () => explain(term));
  term.addEventListener("mouseleave", leave);
  term.addEventListener("blur", leave);
};
const leave = () => (leaving = setTimeout(() => (meaning.hidden = true), 150));
window.addEventListener("DOMContentLoaded", () => {
  document.body.append(meaning);
  meaning.addEventListener("mouseenter", () => clearTimeout(leaving));
  meaning.addEventListener("mouseleave", leave);
  document.addEventListener("keydown", (event) => event.key === "Escape" && (meaning.hidden = true));
  for (const door of document.querySelectorAll("a.door[title]")) {
    door.dataset.meaning = door.title; // for those who use keys, too
    door.removeAttribute("title");
    if (door.querySelector("math")) door.setAttribute("aria-label", door.textContent.trim()); // formulas name no link
  }
  for (const term of document.querySelectorAll("a[data-meaning]")) explained(term);
});

// A formula is copied as its TeX, a part of it as the whole.
document.addEventListener("copy", (event) => {
  const range = document.getSelection().rangeCount ? document.getSelection().getRangeAt(0).cloneRange() : new Range();
  const around = (node) => (node.closest ? node : node.parentElement).closest("math");
  if (around(range.startContainer)) range.setStartBefore(around(range.startContainer));
  if (around(range.endContainer)) range.setEndAfter(around(range.endContainer));
  const copied = document.createElement("div");
  copied.append(range.cloneContents());
  const formulas = copied.querySelectorAll("math");
  if (!formulas.length) return;
  event.clipboardData.setData("text/html", copied.innerHTML);
  for (const formula of formulas) {
    const marks = formula.hasAttribute("display") ? "$$" : "$";
    formula.replaceWith(marks + formula.dataset.tex + marks);
  }
  for (const block of copied.querySelectorAll("p, li, tr, pre, div, h1, h2, h3, h4")) block.append("\n");
  event.clipboardData.setData("text/plain", copied.textContent.trim());
  event.preventDefault();
});

// A picture that a narrow page shows smaller than it was drawn opens at its own size, to be moved about in: by a tap, or by
// the button below it.
const enlarge = (picture, opener) => {
  const large = document.createElement("dialog"), pane = document.createElement("div"), shut = document.createElement("button");
  const copy = picture.cloneNode(true);
  large.className = "large-picture";
  large.setAttribute("aria-label", picture.getAttribute("aria-label"));
  pane.tabIndex = 0; // arrow keys move the picture
  pane.autofocus = true;
  pane.role = "group";
  pane.setAttribute("aria-label", "The picture at its own size");
  shut.textContent = "Close";
  copy.style.width = `${sizeOf(picture)}px`;
  pane.append(copy);
  large.append(shut, pane);
  large.addEventListener("click", () => large.close());
  large.addEventListener("keydown", (event) => event.key === "Escape" && large.close()); // the theme keeps it from the browser
  large.addEventListener("close", () => {
    large.remove();
    opener.focus(); // not every browser gives it back to a button that was tapped
  });
  document.body.append(large);
  large.showModal();
};
const sizeOf = (picture) => Number(picture.getAttribute("width")) || picture.viewBox.baseVal.width * 1.1;
// at two thirds of its size a picture can still be read
const isSmall = (picture) => picture.checkVisibility() && picture.getBoundingClientRect().width < (picture.closest(".drawn") ? 0.68 : 1) * sizeOf(picture) - 1;
const openers = new Map();
const offer = () => {
  const small = [...openers].map(([picture]) => isSmall(picture));
  [...openers.values()].forEach((opener, n) => (opener.hidden = !small[n]));
};
window.addEventListener("DOMContentLoaded", () => {
  for (const picture of document.querySelectorAll(".bd-article :is(svg.architecture, .drawn > svg[role])")) {
    const button = document.createElement("button"), drawn = picture.closest(".drawn");
    button.className = "enlarge";
    button.hidden = true;
    button.textContent = drawn ? "+" : "Enlarge the picture";
    if (drawn) button.setAttribute("aria-label", "Enlarge the picture");
    (drawn ?? picture).after(button);
    openers.set(picture, button);
    button.addEventListener("click", () => enlarge(picture, button));
    drawn?.addEventListener("click", () => isSmall(picture) && enlarge(picture, button));
  }
  const watch = new ResizeObserver(offer);
  for (const text of document.querySelectorAll(".bd-article")) watch.observe(text);
});

// One switch opens all folds of a page, and those of the next one. Solutions stay shut. The other lights the doors.
const unfold = document.getElementById("unfold");
const open = () => {
  for (const fold of document.querySelectorAll("details:is(.mark, .deeper):not(.failed)")) fold.open = unfold.checked;
};
const lit = document.getElementById("doors"); // its style is in book.css
for (const box of [unfold, lit]) {
  try {
    if (box) box.checked = localStorage.getItem(box.id) === "yes";
  } catch {} // a browser that stores nothing
  box?.addEventListener("change", () => {
    if (box === unfold) open();
    try {
      localStorage.setItem(box.id, box.checked ? "yes" : "no");
    } catch {}
  });
}
if (unfold?.checked) open();

// A question to guess: a choice is marked, the right one is said, and what follows opens. Who asks to be shown need not guess.
for (const guess of document.querySelectorAll(".guess")) {
  const answer = guess.nextElementSibling, choices = [...guess.querySelectorAll("button")];
  const said = guess.querySelector("[role=status]"), right = guess.querySelector("[data-right]");
  guess.addEventListener("click", (event) => {
    const chosen = event.target.closest("button");
    if (!chosen || answer.open) return;
    choices.forEach((choice) => choice.setAttribute("aria-pressed", choice === chosen));
    said.textContent = chosen === right ? "That’s right." : "Not this one: the right answer has the ✓.";
    answer.open = true;
  });
  answer.addEventListener("toggle", () => {
    for (const choice of choices) {
      choice.setAttribute("aria-disabled", answer.open);
      if (!answer.open) choice.removeAttribute("aria-pressed");
    }
    if (!answer.open) said.textContent = "";
    tellAnswered();
  });
}

// What a door shows waits for the answer to a question as long as it lies in the fold of that answer.
const waiting = (door) => cellOf(door)?.closest(".guess + details:not([open])");
const tellAnswered = () => {
  for (const door of document.querySelectorAll(".door[data-answered]")) if (!waiting(door)) door.dataset.meaning = door.dataset.answered;
};
window.addEventListener("DOMContentLoaded", tellAnswered);

// A link to what lies in a fold opens it; browsers do so themselves, but not all of them.
const reveal = () => {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const shut = [...document.querySelectorAll("details:not([open])")].filter((fold) => place && fold.contains(place));
  for (const fold of shut) fold.open = true;
  if (shut.length) place.scrollIntoView();
};
window.addEventListener("hashchange", reveal);
reveal();

// A number that leads to its cell: what it leads to has the way back.
const cellOf = (door) => document.getElementById(decodeURIComponent(door.hash.slice(1)));
const doors = [...document.querySelectorAll(".bd-article a.door:is([href^='#code-'], [href^='#out-'])")];
const nameOf = (door) => (door.id ||= `number-${ways.indexOf(door)}`);
const back = document.createElement("a");
back.className = "way-back";
back.textContent = "← the sentence";
const goTo = (door) => {
  for (let fold = door.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  history.replaceState(null, "", location.pathname + location.search); // a copied address leads to the page
  back.remove();
  unmark();
  door.focus({ preventScroll: true });
  meaning.hidden = true; // what was just looked at need not cover the sentence
  door.scrollIntoView({ block: "center" });
};

// What a door says of its cell is marked there: the line that was printed, or the code that holds the number.
const LETTER = /[^\s|,…]/, POWER = /e([+-]?)0*(\d+)/g, RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"; // 1e-09 is shown as 1 · 10⁻⁹
const raised = (line) => line.replace(POWER, (_, sign, digits) => `·10${sign === "-" ? "⁻" : ""}${[...digits].map((n) => RAISED[n]).join("")}`);
const TYPED = { "−": "-", "’": "'", "“": '"', "”": '"' }; // a page writes 1,000 with a space
const lettersOf = (texts) =>
  texts.flatMap((node) => node.data.split("").flatMap((letter, at) => (LETTER.test(letter) ? [[TYPED[letter] ?? letter, node, at]] : [])));
const unmark = () => {
  for (const mark of document.querySelectorAll("mark.held")) {
    const around = mark.parentNode;
    mark.replaceWith(...mark.childNodes);
    around.normalize();
  }
};
const markIn = (box, line) => {
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT), texts = [];
  for (let node; (node = walker.nextNode()); ) {
    const around = node.parentElement;
    if (!around.closest("svg, math, .way-back, .in-text") && around.checkVisibility()) texts.push(node);
  }
  const letters = lettersOf(texts), wanted = line.split("").filter((letter) => LETTER.test(letter)).join("");
  const at = letters.map(([letter]) => letter).join("").indexOf(wanted);
  if (at < 0 || !wanted) return false;
  const [, first, begin] = letters[at], [, last, end] = letters[at + wanted.length - 1];
  for (const node of texts.slice(texts.indexOf(first), texts.indexOf(last) + 1)) {
    if (!node.data.trim() && !node.parentElement.closest("pre")) continue; // between the cells of a table
    if (node === last) node.splitText(end + 1);
    const mark = document.createElement("mark"), held = node === first ? node.splitText(begin) : node;
    mark.className = "held";
    held.replaceWith(mark);
    mark.append(held);
  }
  return true;
};
const markOf = (door) => {
  const [, line] = /^(?:printed|checked|in the code): (.*)/s.exec(door.dataset.meaning) ?? [];
  const place = cellOf(door), cell = place.closest(".cell") ?? place.parentElement;
  for (const fold of cell.querySelectorAll("details.hide")) fold.open = true; // numbers that a picture keeps below it
  if (line && [line, raised(line)].some((said) => markIn(place, said) || markIn(cell, said))) cell.querySelector("mark.held").scrollIntoView({ block: "nearest" });
};

// Who leaves a page by a number finds the way back there, and comes back to the number by the browser's own way, too. The tab
// remembers where they went, from which page, and by which number, until they are back or elsewhere.
const ways = [...document.querySelectorAll(".bd-article a.door")];
const LEFT = "left by a number", here = location.href.replace(/#.*/, "");
const putBack = (place) => {
  const heading = place.querySelector(":scope > :is(h1, h2, h3, h4)");
  heading ? heading.after(back) : place.prepend(back);
};
const arrive = (event) => {
  const [there, from, number] = JSON.parse(sessionStorage.getItem(LEFT)) ?? [];
  const returns = event.persisted || performance.getEntriesByType("navigation")[0]?.type === "back_forward";
  if (there === location.href && cellOf(location)) {
    back.href = from;
    putBack(cellOf(location));
  } else {
    sessionStorage.removeItem(LEFT);
    if (from === here && returns && ways[number]) setTimeout(goTo, 0, ways[number]);
  }
};
window.addEventListener("pageshow", (event) => {
  try {
    arrive(event);
  } catch {} // a browser that stores nothing
});
const depart = (door) => {
  try {
    sessionStorage.setItem(LEFT, JSON.stringify([door.href, here, ways.indexOf(door)]));
  } catch {}
};

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a"), to = link?.hash?.startsWith("#number-") && document.getElementById(link.hash.slice(1));
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return; // it opens elsewhere
  if (to) {
    event.preventDefault();
    goTo(to);
  } else if (link?.matches(".door.waits") && waiting(link)) {
    event.preventDefault(); // a door does not answer what a reader is still asked
    explain(link);
  } else if (link && link === back) {
    event.preventDefault();
    history.back();
  } else if (ways.includes(link) && link.pathname !== location.pathname) depart(link);
  else if (ways.includes(link) && cellOf(link)) {
    back.href = `#${nameOf(link)}`;
    unmark(); // what another door has marked
    doors.includes(link) ? cellOf(link).prepend(back) : putBack(cellOf(link));
    setTimeout(() => {
      reveal(); // the second time the address stays as it is
      if (doors.includes(link)) markOf(link);
    });
  }
});

// And the other way round: below the code of a cell, once it is seen, are the numbers of the text that are from there.
const sentenceOf = (door) => {
  const block = door.closest("p, td, figcaption, dd, li, dt") ?? door.parentElement, before = new Range(), after = new Range();
  before.setStart(block, 0);
  before.setEndBefore(door);
  after.setStartAfter(door);
  after.setEnd(block, block.childNodes.length);
  const [end] = after.toString().split(/(?<=[.!?:])\s/), begin = before.toString().split(/(?<=[.!?:])\s+/).at(-1);
  return `${begin}${door.textContent}${end}`.replace(/\s+/g, " ").trim();
};
const lineOf = (from) => {
  const line = document.createElement("p");
  line.className = "in-text";
  line.append("In the text: ");
  from.forEach((door, n) => {
    const link = document.createElement("a");
    link.href = `#${nameOf(door)}`;
    if (door.parentElement.matches("div.math")) link.append("a formula");
    else {
      link.append(...[...door.childNodes].map((part) => part.cloneNode(true)));
      if (door.querySelector("math")) link.setAttribute("aria-label", door.textContent.trim());
      link.dataset.meaning = sentenceOf(door);
      explained(link);
    }
    line.append(n ? " · " : "", link);
  });
  return line;
};
const readIn = new Map();
for (const door of doors) {
  const cell = door.hash.replace(/^#\w+-/, "");
  readIn.set(cell, [...(readIn.get(cell) ?? []), door]);
}
const tell = () => {
  for (const [cell, from] of readIn) {
    const box = (document.getElementById(`code-${cell}`) ?? document.getElementById(`out-${cell}`))?.closest(".cell");
    if (box?.closest("details:not([open])")) continue;
    readIn.delete(cell);
    if (box && !box.closest("#exercises")) box.append(lineOf(from)); // a solution says nothing
  }
};
document.addEventListener("toggle", tell, true);
tell();

// The book remembers in which section of a chapter it was last read, and the first page leads back there.
const LAST_READ = "last read", subtitle = document.querySelector("#the-tested-transformer > h1 + p"); // of the first page
const remember = () => {
  const passed = [...document.querySelectorAll(".bd-article section > h2")].filter((h2) => h2.checkVisibility() && h2.getBoundingClientRect().top < innerHeight / 2);
  if (!passed.length) return; // only looked into
  const [page, section] = [document.querySelector(".bd-article h1"), passed.at(-1)].map((heading) => heading.firstChild.textContent);
  try {
    localStorage.setItem(LAST_READ, JSON.stringify([`${here}#${passed.at(-1).parentElement.id}`, `${page}: ${section}`]));
  } catch {}
};
if (subtitle) {
  try {
    const [address, place] = JSON.parse(localStorage.getItem(LAST_READ)), link = document.createElement("a");
    link.href = address;
    link.textContent = place;
    subtitle.append(" Go on reading: ", link);
  } catch {} // nothing was read, or a browser stores nothing
} else if (document.getElementById("going-deeper")) { // what is only looked up has no such part
  let still;
  document.addEventListener("scroll", () => {
    clearTimeout(still);
    still = setTimeout(remember, 1000);
  }, { passive: true });
}

// On paper the folds stand open and the ground is white.
let before;
window.addEventListener("beforeprint", () => {
  before = { theme: document.documentElement.dataset.theme, shut: document.querySelectorAll("details:not([open])") };
  document.documentElement.dataset.theme = "light";
  for (const fold of before.shut) fold.open = true;
});
window.addEventListener("afterprint", () => {
  document.documentElement.dataset.theme = before.theme;
  for (const fold of before.shut) fold.open = false;
});

// Read from the disk, the search lists pages without a piece of their text, which a browser may not fetch there.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

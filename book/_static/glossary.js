// Above the glossary: a field that leaves the words with what is typed, and the letters.
{
  const words = [...document.querySelectorAll(".glossary > dt")].map((dt) => {
    const name = dt.textContent.replace("#", ""), dd = dt.nextElementSibling;
    return { dt, dd, name, text: (name + dd.textContent).toLowerCase() };
  });
  const lists = document.querySelectorAll("dl.glossary");
  const put = (tag, into, fields) => into.appendChild(Object.assign(document.createElement(tag), fields));
  const finder = document.querySelector(".finder");
  finder.role = "search";
  const field = put("input", put("label", finder, { textContent: "Find a word " }), { type: "search" });
  const count = put("span", finder, { role: "status" });
  const letters = put("p", finder);
  const begins = (letter) => ({ name }) => RegExp(`(^|, |\\()${letter}`, "i").test(name);
  for (const letter of "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
    const link = words.some(begins(letter)) && { href: `#${letter}` };
    put(link ? "a" : "span", letters, { textContent: letter, ...link });
  }
  put("a", letters, { textContent: "all", href: "#glossary" });

  const leave = (keep, hash = "") => {
    const left = words.filter((word) => !(word.dt.hidden = word.dd.hidden = !keep(word))).length;
    for (const list of lists) list.parentElement.hidden = !list.querySelector("dt:not([hidden])");
    count.textContent = `${left} of ${words.length} words`;
    for (const link of letters.children) link.ariaCurrent = link.hash === hash;
  };
  field.oninput = () => leave(({ text }) => text.includes(field.value.trim().toLowerCase()));
  const follow = ({ hash }) => {
    field.value = "";
    leave(hash.length === 2 ? begins(hash[1]) : () => true, hash);
  };
  letters.onclick = ({ target }) => target.hash && follow(target);
  onhashchange = () => {
    follow(location);
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  };
  follow(location);
}

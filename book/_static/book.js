// What a page needs at reading time: boxes that scroll sideways can be reached and scrolled with the keyboard.
const reach = () => {
  for (const box of document.querySelectorAll(".bd-article :is(div.math, pre, .pst-scrollable-table-container)")) {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
window.addEventListener("load", () => (window.MathJax?.startup?.promise ?? Promise.resolve()).then(reach));
window.addEventListener("resize", reach);

"""Figures do not jump: whatever is set, their height stays the same by a line, and a window of 900 pixels holds them.

A beam of another width is another tree: there only the steps keep the height, and the widest is seen whole.
"""

import pytest

LINE = 26
FIGURES = {
    "attention": "attention",
    "beam": "decode",
    "cost": "scale",
    "film": "translation",
    "geometry": "attention",
    "heads": "looking",
    "live": "decode",
    "parts": "order",
    "positions": "positions",
    "sampler": "gpt",
    "schedule": "schedule",
    "smoothing": "loss",
}
# Everything that can be set, to its ends; what is said about it comes half a second later.
HEIGHTS = """async name => {
  const live = document.querySelector(`${name}-figure .live`), found = [];
  const look = async what => {
    for (const pause of [20, 600]) {
      await new Promise(done => setTimeout(done, pause));
      found.push([live.getBoundingClientRect().height, what]);
    }
  };
  const set = async (field, value) => {
    field.value = value;
    for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, {bubbles: true}));
    await look(`${field.closest('label')?.innerText} ${value}`);
  };
  await look('at first');
  for (const list of name === 'beam' ? [] : live.querySelectorAll('select')) {
    const [first] = list.options;
    for (const option of [...list.options].reverse()) await set(list, option.value);
    await set(list, first.value);
  }
  for (const range of live.querySelectorAll('input[type=range]')) {
    const before = range.value;
    const beam = name === 'beam' && range.max === '5';
    for (const value of beam ? [] : [range.max, range.min, before]) await set(range, value);
  }
  for (const kind of live.querySelectorAll('.kinds input')) { kind.click(); await look(kind.parentElement.innerText); }
  for (const box of name === 'heads' ? [] : live.querySelectorAll('input[type=checkbox]'))
    for (const way of ['on', 'off']) { box.click(); await look(`${box.parentElement.innerText} ${way}`); }
  const again = [...live.querySelectorAll('button')].find(button => button.textContent === 'Start again');
  if (again) { again.click(); await look('started again'); }
  const next = [...live.querySelectorAll('button')].find(button => button.textContent === 'Next step');
  while (next && !next.disabled) { next.click(); await look('next'); }
  return found;
}"""


def heights(page, name):
    found = page.evaluate(HEIGHTS, name)
    return min(found), max(found)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_keeps_its_height_and_is_seen_whole(visit, name):
    page = visit(f"book/{FIGURES[name]}.html", reduced_motion="reduce", hurry=True)
    if name == "live":
        page.get_by_role("button", name="Load the model").click()
        page.wait_for_function("document.querySelector('live-figure').frames")
    for _ in range(4 if name == "beam" else 1):
        (low, shortest), (high, tallest) = heights(page, name)
        assert high - low <= LINE, f"{low}: {shortest}; {high}: {tallest}"
        assert high <= 900, tallest
        if name == "beam":
            page.locator("beam-figure").get_by_label("width of the beam").press("ArrowRight")


@pytest.mark.parametrize(
    "name", ["beam", "cost", "geometry", "heads", "parts", "positions", "sampler", "schedule", "smoothing"]
)
def test_it_keeps_its_height_on_a_phone(visit, name):
    page = visit(f"book/{FIGURES[name]}.html", width=390, height=844, reduced_motion="reduce", hurry=True)
    (low, shortest), (high, tallest) = heights(page, name)
    assert high - low <= LINE, f"{low}: {shortest}; {high}: {tallest}"

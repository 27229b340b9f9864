"""What a model costs: the page calculates what the package does, at every setting of the sliders."""

import pytest

from tested_transformer.book import figures
from tested_transformer.book.cost import price
from tested_transformer.config import BASE, BIG, Config

OURS = Config(1760, d_model=128, d_ff=256, n_heads=4, n_layers=2)
LARGE = Config(64_000, d_model=8192, d_ff=32_768, n_heads=64, n_layers=53)
MODELS = {"our translator": OURS, "base": BASE, "big": BIG, "100 billion": LARGE}
SIZES = ("d_model", "d_ff", "n_heads", "n_layers", "vocab_size")


def figure():
    return figures.scale.cost(MODELS, ("base", 25, 1000), figures.scale.bills({"a": {"weights": 1.0}}, "GB"))


@pytest.fixture
def page(show):
    return show(figure())


def steps(page, name):
    return page.evaluate("name => figures.STEPS[name]", name)


def to(page, **sizes):
    """Move sliders to these values."""
    names = list(page.evaluate("Object.keys(figures.STEPS)"))
    for name, value in sizes.items():
        slider = page.locator("input[type=range]").nth(names.index(name))
        slider.fill(str(steps(page, name).index(value)))


def row(page, name):
    return page.locator("dl div", has_text=name).locator("dd").text_content()


@pytest.mark.parametrize("config", [OURS, BASE, BIG, LARGE, Config(50, d_model=8, d_ff=24, n_heads=2, n_layers=3)])
def test_all_prices_are_those_of_the_package(page, config):
    sizes = {size: getattr(config, size) for size in SIZES}
    for n, sentences in [(1, 1), (25, 1000), (3072, 7)]:
        found = page.evaluate("([c, n, s]) => figures.price(c, n, s)", [sizes, n, sentences])
        assert found == pytest.approx(price(config, n, sentences), rel=1e-12)


def test_every_model_of_the_book_can_be_set_by_the_sliders(page):
    for config in MODELS.values():
        assert config.d_model in steps(page, "d_model")
        assert config.n_layers in steps(page, "n_layers")
        assert config.vocab_size in steps(page, "vocab_size")
        assert config.d_ff / config.d_model in steps(page, "ratio")
    assert 25 in steps(page, "n")
    assert 1000 in steps(page, "sentences")


def test_the_page_shows_what_the_models_cost(page):
    assert row(page, "parameters") == "63.0 million"
    assert row(page, "memory to train") == "14.0 GB: fits a GPU of 16 GB"
    page.get_by_role("button", name="our translator").click()
    assert row(page, "parameters") == "884\u202f736"
    page.get_by_role("button", name="big").click()
    told = price(BIG, 25, 1000)
    memory = sum(told[k] for k in ("weights", "gradients", "Adam", "kept by layers", "kept by the loss"))
    assert row(page, "memory to train").startswith(f"{memory / 1e9:.1f} GB")
    page.get_by_role("button", name="100 billion").click()
    assert row(page, "parameters") == "100 billion"
    assert row(page, "memory to train").endswith("fits no GPU of 80 GB")


def test_areas_are_the_terms_of_a_layer_and_half_of_it_is_attention_at_six_times_the_width(page):
    for n in (25, 512, 3072, 24576):
        to(page, n=n)
        ends = page.locator(".areas rect").evaluate_all(
            "all => all.map(r => [r.getAttribute('class'), +r.getAttribute('x'), +r.getAttribute('width')])"
        )
        assert [kind for kind, _, _ in ends] == ["projections"] * 4 + ["feed-forward"] * 8 + ["attention"] * 2
        unit = ends[1][1]
        assert ends[-1][2] / unit == pytest.approx(n / 512, rel=0.01)
        assert max(x + width for _, x, width in ends) <= 640
        share = 2 * n / (12 * 512 + 2 * n)
        said = page.locator(".legend .attention").text_content()
        assert float(said.split()[1]) == pytest.approx(100 * share, abs=0.51)
    to(page, n=3072)
    assert page.locator(".legend .attention").text_content() == "attention 50 %"


def test_a_model_is_pressed_as_long_as_all_its_sizes_are_there(page):
    def pressed():
        return page.locator("button[aria-pressed=true]").all_text_contents()

    assert pressed() == ["base"]
    to(page, n=50, sentences=64)
    assert pressed() == ["base"]
    to(page, d_model=1024)
    assert pressed() == ["big"]  # its heads are as wide as those of the base model
    to(page, n_layers=12)
    assert pressed() == []


def test_sliders_have_names_and_move_by_keyboard(page):
    names = ("d, the width", "layers on each side", "feed-forward, × width", "tokens in the vocabulary")
    for name, value in zip(names, ("8\u202f192", "53", "8", "128\u202f000"), strict=True):
        slider = page.get_by_role("slider", name=name)
        slider.focus()
        page.keyboard.press("End")
        assert slider.get_attribute("aria-valuetext") == value
    page.get_by_text("fits no GPU of 80 GB.").wait_for()

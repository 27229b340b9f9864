"""The errata: each has its row, its source and what catches it; tests and objects that they name exist; and padding."""

import pkgutil
import re

import numpy as np
import pytest
import torch
from guards import BOOK, ROOT, cells
from helpers import normal

from tested_transformer.byhand.encoder import encoder_layer, part
from tested_transformer.byhand.transformer import create_params
from tested_transformer.config import TINY
from tested_transformer.model.encoder import Encoder

CONFIG = TINY.replace(n_layers=3)
WIDTH, HEADS = CONFIG.d_model, CONFIG.n_heads
PARAMS = part(create_params(CONFIG, np.random.default_rng(0)), "encoder")


def by_hand(x, mask):
    """The weights of every layer, for each layer (B, H, S, S)."""
    found = []
    for i in range(CONFIG.n_layers):
        x, saved = encoder_layer(x, part(PARAMS, f"layers.{i}"), HEADS, mask)
        found.append(saved["self_attention"]["weights"])
    return found


def in_pytorch(x, mask):
    """The same from the modules, each layer asked on what the layer before really made."""
    encoder = Encoder(CONFIG).double().eval()
    encoder.load_state_dict({name: torch.tensor(value) for name, value in PARAMS.items()})
    x, mask, found = torch.tensor(x), None if mask is None else torch.tensor(mask), []
    with torch.no_grad():
        for layer in encoder.layers:
            found.append(layer.self_attention(x, x, x, mask, need_weights=True)[1].numpy())
            x = layer(x, mask)
    return found


@pytest.mark.parametrize("maps", [by_hand, in_pytorch], ids=lambda f: f.__name__)
def test_padding_changes_no_weight_in_any_layer(maps):
    x = normal(2, 5, WIDTH)
    visible = np.arange(5) < np.array([5, 2])[:, None]
    padded, short = maps(x, visible[:, None, None]), maps(x[1:, :2], None)
    for layer, alone in zip(padded, short, strict=True):
        assert np.allclose(layer[1:, :, :2, :2], alone, rtol=0, atol=1e-12)
        assert np.all(layer[1, :, :, 2:] == 0)


TEXT = "\n\n".join(c["source"] for c in cells(BOOK / "errata.ipynb") if c["cell_type"] == "markdown")
HEAD = ["Source", "Says", "Is", "Kind", "Caught by"]
SEEN = r"https://github\.com/[\w.-]+/[\w.-]+/(blob/[0-9a-f]{40}/\S+|issues/\d+)\)"


def rows(text):
    """The rows of the tables with which the page begins, each a list of cells, by the section that they lead to."""
    lines = [line for line in text.partition("\n## ")[0].splitlines() if re.match(r"\|(?! Source|:--)", line)]
    for line in lines:
        row = [cell.strip() for cell in line.strip("|").split("|")]
        yield (re.findall(r"\]\(#([\w-]+)\)", row[3]) or [""])[0] if len(row) == len(HEAD) else "", row


def sections(text):
    """The errata, each with its part of the page, by their address; and whether it is about a program."""
    part = re.search(r"^## Programs$.*?(?=^## From your text)", text, re.M | re.S)[0]
    for found in re.finditer(r"^### (.+)\n((?:(?!#{2,3} ).*\n?)*)", part, re.M):
        address = re.sub(r"[^a-z0-9]+", "-", re.sub(r"[`*$]", "", found[1]).lower()).strip("-")
        yield address, (found[2], found.start() < part.index("\n## The five texts"))


def lacking(text):
    """What the errata lack: a row, a full one, a source that can be looked up, what catches the error."""
    found, there = dict(sections(text)), list(rows(text))
    addresses = [address for address, _ in there]
    for address, row in there:
        if len(row) != len(HEAD) or not all(row):
            yield f"a row with an empty cell, or too few: {row}"
        if address not in found:
            yield f"a row that leads to no erratum: {row}"
        elif found[address][1] and not re.search(SEEN, row[0]):
            yield f"{address}: neither a file at a commit nor a report"
    for address, (words, _) in found.items():
        if addresses.count(address) != 1:
            yield f"{address}: {addresses.count(address)} rows"
        if "*Caught by:*" not in words:
            yield f"{address}: nothing catches it"
    if [address for address in addresses if address in found] != sorted(
        (address for address in addresses if address in found), key=lambda address: not found[address][1]
    ):
        yield "a text stands before a program"


def test_every_erratum_has_its_row_its_source_and_what_catches_it():
    assert list(lacking(TEXT)) == []
    assert all(f"| {' | '.join(HEAD)} |" in table for table in re.findall(r"(?:^\|.*\n){3,}", TEXT, re.M)[:2])


@pytest.mark.parametrize(
    ("pattern", "put", "fault"),
    [
        (r"\*Caught by:\*", "Caught, perhaps,", "one-sum: nothing catches it"),
        (r"blob/[0-9a-f]{40}(?=/labml)", "blob/master", "where-i-begins: neither a file at a commit nor a report"),
        (r"^\| the guide .*#one-sum.*\n", "", "one-sum: 0 rows"),
        (r"\| all nine sums, by a computer \|", "| |", "a row with an empty cell"),
        (r"#one-sum", "#two-sums", "a row that leads to no erratum"),
        (r"^(\| labml.*\n)((?:.*\n)*\| the guide.*\n)", r"\2\1", "a text stands before a program"),
    ],
)
def test_what_an_erratum_lacks_is_found(pattern, put, fault):
    changed = re.sub(pattern, put, TEXT, flags=re.M)
    assert changed != TEXT
    assert any(fault in what for what in lacking(changed))


def test_every_test_that_the_errata_name_is_there():
    named = set(re.findall(r"`(test_\w+)`", TEXT))
    there = {
        n
        for f in (ROOT / "tests").rglob("test_*.py")
        for n in re.findall(r"^def (test_\w+)", f.read_text("utf-8"), re.M)
    }
    assert named
    assert named <= there


def test_every_object_in_the_tables_from_texts_to_this_book_can_be_imported():
    section = re.search(r"^## From your text to this book$(.*?)^## ", TEXT, re.M | re.S)[1]
    table = [line.strip("|").split("|") for line in section.splitlines() if re.match(r"\|(?! There|:--)", line)]
    assert table
    for there, here, where in table:
        assert re.search(r"\]\(.+\)", where), f"{there}: no place"  # where it leads is checked with all links
        for name in re.findall(r"`([a-z]\w*(?:\.\w+)+)`", here):
            pkgutil.resolve_name(f"tested_transformer.{name}")

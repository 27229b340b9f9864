"""The page's translator under Node answers what the package answers: it is tested where there is no browser, too."""

import base64
import json
import pathlib
import re
import subprocess
import unicodedata
from itertools import pairwise

import guards
import numpy as np
import parity
import pytest
import torch
import weights
from guards import BOOK, SCRIPTS
from node import NODE
from spellings import KEPT, LOOK_ALIKE, ODD_CHARACTERS, ONE_EMOJI, ONE_WORD, UNSEEN

from tested_transformer.book.coreference import SENTENCES as SENTENCES_WITH_IT
from tested_transformer.book.coreference import THINGS, before_pronoun, pronoun
from tested_transformer.book.pretrained import it_and_thing
from tested_transformer.decoding.limits import max_lengths
from tested_transformer.text.merges import merge
from tested_transformer.text.normalise import normalise
from tested_transformer.text.tokens import BYTE_IDS, split
from tested_transformer.training.int8 import BITS, rounded, to_int8

SENTENCES = parity.asked(50)
CUTS = "The armchair is a chair.", "Donaudampfschifffahrt", "Käse 🙂 and tea", "aaaaaaaa eeeee", "the the the"


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Asks the scripts, in a process of their own."""
    script = tmp_path_factory.mktemp("weights") / weights.NAME
    script.write_text(weights.script(), encoding="utf-8")
    scripts = [script, *(SCRIPTS / name for name in ("common.js", "model.js", "walk.js"))]
    command = [NODE, pathlib.Path(__file__).with_suffix(".js").with_name("model.js"), *scripts]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(command, **pipes) as process:

        def asked(what, **question):
            print(json.dumps({"what": what, **question}), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield asked
        process.stdin.close()


@pytest.fixture
def answered(ask):
    def answer(what, **question):
        said = ask(what, **question)
        assert "error" not in said, said["error"]
        return said["answer"]

    return answer


def test_texts_become_the_same_ids(answered):
    for text in SENTENCES:
        assert answered("ids", text=text) == parity.translator().encode(text, 1), text


def led_through(tokens, text):
    """Each merge that finds its pair in a text, by the id that it makes, with the pieces that it leaves; first none."""
    pieces = [[BYTE_IDS[byte] for byte in piece.encode()] for piece in split(text)]
    found, there = [[None, pieces]], neighbours(pieces)
    for new, pair in enumerate(tokens.merges, start=tokens.vocab_size - len(tokens.merges)):
        if tuple(pair) in there:
            pieces = [merge(ids, pair, new) for ids in pieces]
            there = neighbours(pieces)
            found.append([new, pieces])
    return found


def neighbours(pieces):
    """The pairs that a merge could find: most merges find none."""
    return {pair for ids in pieces for pair in pairwise(ids)}


@pytest.mark.parametrize("text", [*SENTENCES[:45], *CUTS])
def test_merges_join_the_same_pairs_in_the_same_order(answered, text):
    tokens = parity.translator().tokens
    wanted = led_through(tokens, text)
    assert answered("joins", text=text) == wanted
    assert [i for ids in wanted[-1][1] for i in ids] == tokens.encode(text)


def test_every_character_is_of_the_same_kind(answered):
    """Letters, marks and white space between two letters, as far as Python knows them; of rare ones every 29th."""
    tokens = parity.translator().tokens
    some = [*range(0x3000), *range(0x3000, 0x11_0000, 29)]
    known = [chr(n) for n in some if unicodedata.category(chr(n)) not in ("Cn", "Cs")]
    step = 400
    for first in range(0, len(known), step):
        text = "".join(f"a{char}b {char}{char}" for char in known[first : first + step])
        assert answered("pieces", text=text) == tokens.encode(text), f"{ord(known[first]):x}"
        assert answered("cut", text=text) == split(text), f"{ord(known[first]):x}"


def test_texts_are_cut_at_the_same_places(answered):
    long = (
        "กี่" * 50,
        "x" + "กี่" * 21 + "กี",
        "a" * 64 + "\u0301b",
        "go a" + "\u0301" * 100 + "b",
        "\u0301 \u0301a",
        "x " + "a!" * 130,
    )
    for text in (*long, *(f" a {word}, {word}\t" for word in (ONE_WORD | ONE_EMOJI).values())):
        assert answered("cut", text=text) == split(text), ascii(text)


def test_texts_are_normalised_alike(answered):
    texts = [
        *LOOK_ALIKE.values(),
        *UNSEEN,
        *KEPT,
        *ONE_WORD.values(),
        "Ａ４ ﬁnd e\u0301\u0323",
        "\u1100\u0301\u180e\u3099\u180b",
    ]
    draws = np.random.default_rng(0)
    texts += ["".join(draws.choice(ODD_CHARACTERS, 8)) for _ in range(2000)]
    for text in texts:
        assert answered("normalised", text=text) == normalise(text), ascii(text)
        assert answered("cut", text=text) == split(text), ascii(text)


def test_every_character_is_normalised_alike(answered):
    """Each between letters, after another mark, alone, and after an emoji; of rare ones every 29th."""
    some = [*range(0x3000), *range(0x3000, 0x11_0000, 29), *range(0xE0000, 0xE0200), *range(0xFE00, 0x1_0000)]
    known = [chr(n) for n in some if unicodedata.category(chr(n)) not in ("Cn", "Cs")]
    for first in range(0, len(known), 400):
        text = "".join(f"a{char}b {char}{char} क{char}👩{char}\n" for char in known[first : first + 400])
        assert answered("normalised", text=text) == normalise(text), f"{ord(known[first]):x}"


def test_a_word_is_known_or_unknown_as_a_whole(answered):
    words = [word for name, word in ONE_WORD.items() if name != "a key of a telephone"]
    assert answered("unknown", text=f"I {' '.join(words)}\u200b, the ch\xadair") == [*map(normalise, words)]


def test_a_sign_that_no_sentence_had_is_unknown(answered):
    assert answered("unknown", text="I love you, 🙂 and the chair!") == ["🙂", "and", "!"]


def test_an_end_of_line_that_the_model_writes_is_a_space(answered):
    asked = parity.translator()
    for text in ("\neins\r\n\rzwei\n", "eins\u2028zwei\tdrei", "\n", "Ich brauche den Stuhl."):
        ids = [*asked.tokens.encode(text), 2]
        assert answered("line", ids=ids) == asked._text(ids)


def test_ids_become_the_same_text(answered):
    tokens = parity.translator().tokens
    every = [[i] for i in range(tokens.vocab_size)]
    some = [[4 + n, 4 + m] for n in range(100, 256, 5) for m in range(0, 256, 3)]  # parts of characters, broken ones
    for ids in [*every, *some]:
        assert answered("text", ids=ids) == tokens.decode(ids), ids


@pytest.mark.parametrize("text", SENTENCES)
def test_the_translation_and_all_weights_are_the_same(answered, text):
    assert parity.equal(answered("greedy", text=text), parity.answer(text)) is None


@pytest.mark.parametrize(("width", "alpha"), [(1, 0.6), (2, 0.0), (4, 0.6), (5, 1.5)])
def test_the_beam_is_the_same(answered, width, alpha):
    for text in ("I need it because it is old.", "I love AI", "Hello world!", "", *SENTENCES[40:44]):
        found = answered("beam", text=text, width=width, alpha=alpha)
        assert parity.same_beam(found, parity.beams(text, width, alpha)) is None, text


THREAD = "I need the chair because it is old."


@pytest.mark.parametrize("more", [0, 1, 49, 50, 51, 1000])
def test_a_translation_may_become_as_long_as_in_the_package_and_never_longer_than_the_model_can_write(answered, more):
    ids = parity.translator().encode(THREAD, 1)
    config = parity.translator().model.config.replace(max_len=len(ids) + more)
    assert (
        answered("most", text=THREAD, max_len=config.max_len) == max_lengths(torch.tensor([ids]), None, config).item()
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"gains": [["encoder", 1, 2, 0]]},
        {"gains": [["cross", 1, 0, 0], ["decoder", 0, 3, 0.25], ["encoder", 0, 0, 1.5]]},
        {"hidden": [["encoder", 1, 2, 5, 3]]},
        {"hidden": [["cross", 0, 1, 2, 6], ["decoder", 1, 2, 4, 1]]},
        {"swaps": [[2, 5, "I need the lamp because it is old.", 5]]},
        {"swaps": [[0, 3, "My dog eats the newspaper.", 4], [1, 0, "I love AI.", 2]]},
        {"placed": False},
        {"begun": [parity.translator().tokens.encode(" Ich")[0]]},
    ],
    ids=str,
)
def test_what_a_reader_changes_changes_the_same(answered, changes):
    assert parity.equal(answered("greedy", text=THREAD, **changes), parity.answer(THREAD, **changes)) is None


KINDS = ("encoder", "decoder", "cross")


def drawn(lots, text, n):
    """Changes drawn by lot for a text of n tokens, some of each kind."""
    places = [[kind, layer, head] for kind in KINDS for layer in range(2) for head in range(4)]
    heads = [places[i] for i in lots.permutation(len(places))]
    others = [other for other in SENTENCES[42:] if other != text]
    rows = lots.permutation(n)
    changes = {
        "gains": [[*head, float(lots.choice([0, 0.25, 0.5, 1.5]))] for head in heads[: lots.integers(3)]],
        "evens": heads[3 : 3 + lots.integers(2)],
        "hidden": [[*head, *map(int, lots.integers(n, size=2))] for head in heads[4 : 4 + lots.integers(4)]],
        "swaps": [
            [int(lots.integers(3)), int(row), str(lots.choice(others)), int(lots.integers(3))]
            for row in rows[: lots.integers(3)]
        ],
    }
    return {name: told for name, told in changes.items() if told} | ({} if lots.integers(4) else {"placed": False})


def test_all_vectors_and_weights_of_any_sentence_with_any_changes_are_those_of_the_package(answered, monkeypatch):
    monkeypatch.setattr(parity, "NEAR", 1e-9)  # as near as the page says
    lots, tried = np.random.default_rng(61), 0
    for text in SENTENCES:
        if not 3 < (n := len(parity.translator().encode(text, 1))) < 30:
            continue
        changes = drawn(lots, text, n)
        found, wanted = answered("greedy", text=text, **changes), parity.answer(text, **changes)
        assert parity.equal(found, wanted) is None, (text, changes)
        mine, theirs = answered("rows", text=text, **changes), parity.rows(text, found["ids"], **changes)
        for name, rows in zip(("read", "wrote"), theirs, strict=True):
            assert np.allclose(mine[name], rows, rtol=0, atol=1e-9), (text, changes, name)
        for row in (w for step in (*found["decoder"], *found["cross"]) for heads in step for w in heads):
            assert abs(sum(row) - any(row)) < 1e-12  # all of a row may be hidden
        tried += 1
    assert tried >= 25


def test_what_changes_nothing_changes_nothing(answered):
    """To the last bit: a gain of one, and a row in its own place. Nor does it matter where a head that is off looks."""
    plain, head = answered("greedy", text=THREAD), ["encoder", 1, 2]
    same = {"gains": [[kind, n, h, 1] for kind in KINDS for n in (0, 1) for h in range(4)]}
    same["swaps"] = [[depth, row, THREAD, row] for depth in range(3) for row in range(10)]
    assert answered("greedy", text=THREAD, **same, placed=True) == plain
    off = answered("rows", text=THREAD, gains=[[*head, 0]])
    assert off != answered("rows", text=THREAD)
    assert off == answered("rows", text=THREAD, gains=[[*head, 0]], hidden=[[*head, 5, 3]])


def test_the_counts_of_the_chapters_are_those_of_the_pages(answered):
    """How many pronouns of all sentences stay right, as `conclude` and the first page print it."""
    tokens, head = parity.translator().tokens, ["encoder", 1, 2]
    said, right = [*SENTENCES_WITH_IT], [tokens.encode(f" {pronoun(s.german)}")[0] for s in SENTENCES_WITH_IT]
    begun = [tokens.encode(before_pronoun(s.german)) for s in said]

    def stay(**changes):
        asked = [[s.english, ids] for s, ids in zip(said, begun, strict=True)]
        return sum(np.equal(answered("next", asked=asked, **changes), right))

    def without(heads):
        found = 0
        for s, ids, wanted in zip(said, begun, right, strict=True):
            noun = next(thing for thing in THINGS if f" {thing} " in s.english)
            it, pieces = it_and_thing(parity.translator(), s.english, noun)
            cut = [[*h, it, piece] for h in heads for piece in pieces]
            found += answered("next", asked=[[s.english, ids]], hidden=cut)[0] == wanted
        return found

    everywhere = [["encoder", n, h] for n in (0, 1) for h in range(4)]
    assert stay() == 270
    assert (stay(gains=[[*head, 0]]), stay(evens=[head])) == (104, 151)
    assert (without([head]), without(everywhere)) == (111, 93)


def test_a_head_that_is_off_changes_the_pronoun(answered):
    whole, without = (answered("greedy", text=THREAD, gains=off)["text"] for off in ([], [["encoder", 1, 2, 0]]))
    assert whole == "Ich brauche den Stuhl, weil er alt ist."
    assert without != whole


def test_what_cannot_be_read_is_refused_with_a_reason(ask):
    with pytest.raises(ValueError, match="the model reads 1024 at most"):
        parity.translator().encode(parity.TOO_LONG, 1)
    assert "3002 tokens, and the model reads 1024 at most: split it" in ask("ids", text=parity.TOO_LONG)["error"]
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        parity.translator().encode("\ud83d", 1)
    assert ask("ids", text="\ud83d")["error"] == "the text has half a character"


# Weights of fewer bits

OFTEN, SOME = 500, 125
RUBBISH = 16  # so many tokens of what 2 bits write are enough: it goes on to the end


@pytest.mark.parametrize("bits", BITS)
def test_every_weight_is_rounded_to_the_same_number(answered, bits):
    wanted = rounded(parity.translator().model.state_dict(), bits)
    found = [np.frombuffer(base64.b64decode(weight), "<f8") for weight in answered("weights", bits=bits)]
    assert sum(map(len, found)) == 884_736
    for mine, (name, theirs) in zip(found, wanted.items(), strict=True):
        assert np.array_equal(mine, theirs.numpy().ravel()), name
    packed = answered("weights", bits=8)
    assert (answered("weights", bits=bits) == packed) == (bits == 8), "8 bits change nothing"


@pytest.mark.parametrize("bits", BITS)
def test_any_row_is_rounded_to_the_same_integers_and_scale(answered, bits):
    """Of all sizes, and among them powers of two, which a logarithm may miss, halves of steps, and zeros."""
    draws = np.random.default_rng(bits)
    rows = [draws.normal(0, 10.0**size, 7) for size in range(-28, 34, 3)]
    most = 2 ** (bits - 1) - 1
    rows += [np.array([1.0, -0.5, 0.25, 0.0]) * most * 2.0**power for power in range(-90, 110, 7)]
    rows += [np.arange(-2 * most, 2 * most + 1) / 2, np.zeros(3), np.array([0.0, -3.0]), np.array([most - 2.0**-40])]
    for row in rows:
        (integers, scale), found = to_int8(torch.from_numpy(row), bits), answered("rounds", row=row.tolist(), bits=bits)
        assert found["integers"] == integers.tolist(), row
        assert float(found["scale"]) == scale.item(), row


PARTS = [slice(SOME), pytest.param(slice(SOME, OFTEN), marks=[pytest.mark.slow, pytest.mark.nightly])]


@pytest.mark.parametrize("part", PARTS, ids=["first", "others"])
@pytest.mark.parametrize("bits", BITS[:-1])
def test_five_hundred_sentences_become_what_they_become_in_the_package_with_the_same_weights(answered, bits, part):
    """At 8 bits the weights are the packed ones, and `test_live_figure.py` asks as many sentences of these."""
    every, most = parity.asked(OFTEN), RUBBISH if bits == 2 else None
    assert len({*every}) == OFTEN
    texts = every[part]
    wanted = parity.many(texts, bits, most)
    for text, mine, theirs in zip(texts, answered("written", texts=texts, bits=bits, most=most), wanted, strict=True):
        assert mine[0] == theirs[0], text
        assert abs(mine[1] - theirs[1]) < parity.NEAR, text


# The walk through the model, at a sentence of the reader's own


@pytest.fixture(scope="module")
def chapter():
    """What the chapter has stored: how many tokens are shown, and its run of the translator."""
    (html,) = (html for html in guards.outputs(BOOK / "transformer.ipynb", "text/html") if "<walk-figure>" in html)
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.S)[1])
    (model,) = (model for model in data["models"] if model["asked"])
    return {"likeliest": data["likeliest"], "model": model}


def tables(model):
    """Every table by its name, with what its cells say."""
    found = [table for step in model["steps"] for table in step["tables"]]
    return {table["name"]: table | {"cells": table["values"][0]} for table in found}


def test_the_tables_of_the_chapters_sentence_are_the_chapters_cell_by_cell(answered, chapter):
    """As they are printed: no number is so near to a half of the last digit that the order of a sum could tell."""
    stored = chapter["model"]
    made = answered("walk", text=stored["asked"], **chapter)
    assert len(stored["steps"]) == len(made["steps"]) == 41
    for key in ("words", "wanted", "best", "runs", "asked"):
        assert made[key] == stored[key], key
    for mine, theirs in zip(made["steps"], stored["steps"], strict=True):
        end = theirs["box"] == "Loss"  # nobody says what is right of a reader's sentence: words there are others
        others = {"tables", "about"} if end else {"tables"}
        assert {key: mine[key] for key in mine.keys() - others} == {key: theirs[key] for key in theirs.keys() - others}
        for one, other in zip(mine["tables"], theirs["tables"], strict=True):
            others = {"title"} if end else set()
            assert one.keys() == other.keys()
            for key in one.keys() - others:
                assert one[key] == other[key], (one["name"], key)
    cells = sum(np.size(table["cells"]) for table in tables(made).values())
    assert cells > 5000
    for name, x in parity.walked(stored["asked"])["exact"].items():
        assert not name.endswith(".ids") or np.issubdtype(x.dtype, np.integer)
        assert name.endswith(".ids") or np.abs(np.abs(x[np.isfinite(x)]) * 100 % 1 - 0.5).min() > 1.5e-4, name


@pytest.mark.parametrize(
    "text",
    [
        "It is old.",
        "I need the chair because it is old.",
        "Hello world!",
        "🙂",
        "I love music although it rains and I am old, because you sing.",
    ],
)
def test_the_tables_of_any_sentence_are_those_that_python_writes(answered, chapter, text):
    made, stored = answered("walk", text=text, **chapter), parity.walked(text)
    for key in ("words", "wanted", "best"):
        assert made[key] == stored[key], key
    mine, theirs = tables(made), tables(stored)
    assert mine.keys() == theirs.keys()
    for name, table in mine.items():
        assert table["shape"] == list(theirs[name]["shape"]), name
        assert table["shown"] == theirs[name]["shown"], name
        assert np.shape(table["cells"]) == np.shape(theirs[name]["cells"]), name
        for one, other, x in zip(
            *map(np.ravel, (table["cells"], theirs[name]["cells"], stored["exact"][name])), strict=True
        ):
            assert one == other or parity.half(x, theirs[name]["places"]), (name, one, other, x)


def test_of_a_long_sentence_every_token_that_is_written_is_shown(answered, chapter):
    """More than the ten likeliest, where the sentence itself needs more."""
    text = "I need the chair because it is old and I love the new lamp."
    made = answered("walk", text=text, **chapter)
    wrote = parity.answer(text)["ids"]
    assert len({*wrote}) > chapter["likeliest"]
    assert [made["words"]["V"][i] for i in made["wanted"]] == [parity.translator().name(i) for i in wrote]
    assert tables(made)["probabilities"]["shown"] == f"the {len({*wrote})} likeliest"


def test_nothing_is_called_right_of_a_readers_sentence(answered, chapter):
    end = answered("walk", text="It is old.", **chapter)["steps"][-1]
    said = " ".join([end["about"], *(table["title"] for table in end["tables"])])
    assert "the right answers" in [table["title"] for table in chapter["model"]["steps"][-1]["tables"]]
    assert "right answers" not in said
    assert "Nobody has told the page which tokens are right." in said


def test_who_listens_changes_nothing_and_two_that_listen_hear_their_own(answered):
    plain, heard = answered("greedy", text=THREAD), answered("overheard", texts=[THREAD, "It is old."])
    assert heard["plain"] == plain["logP"]
    assert heard["ids"] == [parity.translator().encode(text, 1) for text in (THREAD, "It is old.")]

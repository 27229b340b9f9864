"""Folders that we write: Hugging Face's library reads the same weights, and gives the same numbers."""

import json
import logging

import pytest
import tokenizers
import torch
import transformers
from foreign import BERT, MARIAN, precise, theirs
from helpers import unchecked
from test_families import CASES as MARIANS
from test_families import VITS, differences, sentences
from test_loading import CASES, case, texts, with_pooling
from test_loading import differences as of_tokens
from torch import nn

from tested_transformer.config import TINY, SpecialIds
from tested_transformer.decoding.greedy import greedy
from tested_transformer.model.bert import Bert, Classifier, DistilBert, MaskedLM, Pretraining, SentenceBert
from tested_transformer.model.feedforward import FeedForward
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.llama import Llama, LlamaConfig
from tested_transformer.model.marian import Marian, MarianConfig
from tested_transformer.model.patches import VisionTransformer
from tested_transformer.model.transformer import Transformer
from tested_transformer.published.loading import load_published
from tested_transformer.published.writing import to_huggingface
from tested_transformer.text.bert import BertWordPiece
from tested_transformer.text.byte_level import ALPHABET, ByteLevelBPE
from tested_transformer.text.tokens import WordPiece

ALL = CASES | {name: ("MarianMTModel", s) for name, s in MARIANS.items()}
ALL |= {name: ("ViTForImageClassification", s) for name, s in VITS.items()}
ALL = {name: made for name, made in ALL.items() if name != "Llama, rope llama3"}


ROUND = ("llama", "qwen2", "qwen3", "vit")
"""In their own softmax, to float32."""


def written(name, folder):
    """Ours that was read from their folder, and what theirs reads from the folder that ours has written."""
    kind, settings = ALL[name]
    other = case(name) if name in CASES else theirs(kind, settings)
    other.save_pretrained(folder / "theirs")
    ours, _ = load_published(folder / "theirs", dtype=torch.float64)
    to_huggingface(ours, folder / "ours")
    told = json.loads((folder / "ours" / "config.json").read_text())
    kind = getattr(transformers, told["architectures"][0])
    attention = {"attn_implementation": "sdpa" if told["model_type"] in ROUND else "eager"}
    settings = attention | {"dtype": torch.float64, "output_loading_info": True}
    read = kind.from_pretrained(folder / "ours", **settings)
    return ours, *read


@pytest.mark.parametrize("name", ALL)
def test_what_is_written_is_read_with_the_same_numbers(tmp_path, name):
    ours, read, info = written(name, tmp_path)
    lacking = {"pooler.dense.weight", "pooler.dense.bias"} if name == "BERT without pooler" else set()
    assert {key: {*keys} for key, keys in info.items() if keys} == ({"missing_keys": lacking} if lacking else {})
    again, _ = load_published(tmp_path / "ours", dtype=torch.float64)
    body, its = (getattr(m, "bert", m) for m in (ours, again))
    assert (type(again), type(its), its.config) == (type(ours), type(body), body.config)
    state, same = ours.state_dict(), again.state_dict()
    assert all(torch.equal(state[key], same[key]) for key in state)
    if name == "BERT without pooler":
        read.pooler = None
    if isinstance(ours, VisionTransformer):
        x = torch.ones(2, ours.channels, 24, 24).double().cumsum(-1) / 24
        assert (ours(x) - read(x).logits).abs().max() <= 1e-10
    elif isinstance(ours, Marian):
        with precise(read):
            assert max(differences(ours, read).values()) <= 1e-10
    else:
        with precise(read):
            assert max(of_tokens(ours, read).values()) <= 1e-10


def test_a_marian_writes_there_what_it_writes_here(tmp_path):
    """Their generate has from the folder that padding is the begin and never written, however likely, and the end."""
    theirs("MarianMTModel", MARIAN).save_pretrained(tmp_path / "theirs")
    ours, _ = load_published(tmp_path / "theirs", kind=Marian, dtype=torch.float64)
    pad = ours.config.pad_id
    with torch.no_grad():
        ours.embedding.bias[pad] += 100
    to_huggingface(ours, tmp_path / "ours")
    read = transformers.MarianMTModel.from_pretrained(tmp_path / "ours", dtype=torch.float64)
    source, _ = sentences(pad, n=20)
    with precise(read):
        out = read.generate(source, attention_mask=(source != pad).long(), max_new_tokens=15)
    found = greedy(ours, source, 15)
    assert torch.equal(out[:, 1 : found.size(1) + 1], found)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_the_dtype_stays(tmp_path, dtype):
    case("GPT-2").save_pretrained(tmp_path / "theirs")
    to_huggingface(load_published(tmp_path / "theirs", dtype=dtype)[0], tmp_path / "ours")
    read = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "ours")
    assert {p.dtype for p in read.parameters()} == {dtype}


@pytest.mark.parametrize(("mode", "normalised"), [("mean_tokens", True), ("cls_token", False), ("max_tokens", True)])
def test_vectors_of_sentences_are_written_with_their_pooling(tmp_path, mode, normalised):
    theirs("BertModel", BERT).save_pretrained(tmp_path / "theirs")
    with_pooling(tmp_path / "theirs", tmp_path / "pooled", mode, normalised, 12)
    ours, _ = load_published(tmp_path / "pooled", kind=SentenceBert)
    to_huggingface(ours, tmp_path / "ours")
    again, _ = load_published(tmp_path / "ours", kind=SentenceBert)
    assert (again.pooling, again.normalised, again.max_tokens) == (ours.pooling, normalised, 12)
    ids, segments = texts(0, padded=True)
    assert torch.equal(again(ids, segments), ours(ids, segments))
    assert isinstance(transformers.AutoModel.from_pretrained(tmp_path / "ours"), transformers.BertModel)


# Tokenisers

SENTENCES = ["You see the old woman.", "  two  spaces ", "Ä é 日本 ﬁ <s>", ""]


def byte_level():
    vocab = {char: i for i, char in enumerate(["<s>", "</s>", *ALPHABET.values(), "Ġt", "he", "Ġthe"])}
    merges = [["Ġ", "t"], ["h", "e"], ["Ġt", "he"]]
    tokens = ByteLevelBPE.from_json(
        {
            "added_tokens": [{"id": i, "content": c, "special": True} for i, c in enumerate(["<s>", "</s>"])],
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
            "model": {"type": "BPE", "vocab": vocab, "merges": merges},
        },
        SpecialIds(1, 0, 1, 1),
    )
    tokens.chat_template = "{{ messages }}"
    return tokens


def gpt(tokens):
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 1, "activation": "gelu_tanh", "attention_bias": True}
    ids = {f"{n}_id": i for n, i in tokens.special_ids._asdict().items()}
    return Gpt(TINY.replace(vocab_size=tokens.vocab_size, norm_first=True, **sizes, **ids))


@pytest.mark.parametrize("begins", [False, True])
def test_a_byte_level_tokeniser_is_written_with_the_model(tmp_path, begins):
    tokens = byte_level()
    tokens.add_bos = begins
    to_huggingface(gpt(tokens), tmp_path / "new", tokens)
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "new" / "tokenizer.json"))
    again = load_published(tmp_path / "new")[1]
    read = transformers.AutoTokenizer.from_pretrained(tmp_path / "new")
    assert (read.bos_token_id, read.eos_token_id, read.pad_token_id) == (0, 1, 1)
    assert (again.chat_template, again.add_bos) == (tokens.chat_template, begins)
    assert again.special_ids == tokens.special_ids
    for text in SENTENCES:
        ids = tokens.encode(text, special=True)
        assert again.encode(text, special=True) == ids
        assert library.encode(text).ids == [*[0] * begins, *ids]
        assert read(text)["input_ids"] == [*[0] * begins, *ids]
        assert read.decode(ids, skip_special_tokens=True) == tokens.decode(ids)


def test_a_wordpiece_tokeniser_is_written_with_the_model(tmp_path):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "you", "see", "the", "old", "wo", "##man", ".", "two"]
    tokens = BertWordPiece.from_vocab("\n".join(words), {})
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 1, "attention_bias": True}
    config = TINY.replace(vocab_size=len(words), pad_id=0, bos_id=2, eos_id=3, unk_id=1, **sizes)
    to_huggingface(Bert(config), tmp_path, tokens)
    again = load_published(tmp_path)[1]
    read = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in SENTENCES:
        assert again.encode(text) == tokens.encode(text)
        wanted = tokens.wrap(text, "The woman.")
        assert (read(text, "The woman.")["input_ids"], read(text, "The woman.")["token_type_ids"]) == wanted
    assert again.special_ids == tokens.special_ids
    assert again.special_tokens == tokens.special_tokens


def test_a_tokeniser_that_they_cannot_read_is_refused_and_nothing_written(tmp_path):
    pieces = WordPiece.train(["low lower lowest"], 20)
    with unchecked(), pytest.raises(TypeError, match="a WordPiece has no files that they read"):
        to_huggingface(gpt(byte_level()), tmp_path / "new", pieces)
    with pytest.raises(ValueError, match=r"the tokeniser has \d+ tokens, the model 16"):
        to_huggingface(Gpt(TINY), tmp_path / "new", byte_level())
    assert not (tmp_path / "new").exists()


# What is refused

BIG = {"vocab_size": 16, "d_model": 16, "d_ff": 32, "n_heads": 2, "n_layers": 1, "max_len": 17}
HF = TINY.replace(**BIG, attention_bias=True)
LLAMA = LlamaConfig(**BIG)
WRONG = [
    (
        Transformer(TINY),
        TypeError,
        "Transformer cannot be written; these can: Marian, Llama, Gpt, VisionTransformer, Bert",
    ),
    (nn.Linear(2, 2), TypeError, "Linear cannot be written"),
    (Gpt(HF), ValueError, r"norm_first \(False\) must be True: a GPT-2 has no other"),
    (Gpt(HF.replace(norm_first=True, attention_bias=False)), ValueError, r"attention_bias \(False\) must be True"),
    (Gpt(HF.replace(norm_first=True, final_norm=False)), ValueError, r"final_norm \(False\) must be True"),
    (Gpt(HF.replace(norm_first=True, d_k=4)), ValueError, r"d_v \(8\) must be 4|d_k \(4\) must be 8"),
    (Gpt(HF.replace(norm_first=True, d_k=4, d_v=4)), ValueError, r"d_k \(4\) must be 8"),
    (Bert(HF.replace(norm_first=True)), ValueError, r"norm_first \(True\) must be False: a BERT has no other"),
    (Bert(HF.replace(attention_bias=False)), ValueError, r"attention_bias \(False\) must be True"),
    (Bert(HF, 1, 5), ValueError, r"first_position \(5\) must be pad_id \+ 1"),
    (Pretraining(Bert(HF, 1, 1)), ValueError, r"without a next_head"),
    (MaskedLM(Bert(HF, 1, 1)), ValueError, r"a word_head with GELU"),
    (DistilBert(HF), ValueError, r"norm_eps \(1e-05\) must be 1e-12: a DistilBERT has no other"),
    (VisionTransformer(HF, 2, 3), ValueError, r"norm_first \(False\) must be True: a ViT"),
    (VisionTransformer(HF.replace(norm_first=True, max_len=13), 2, 3), ValueError, r"max_len \(13\) must be one more"),
    (Llama(LlamaConfig(**BIG, dropout=0.1)), ValueError, r"dropout \(0.1\) must be 0.0: a Llama"),
    (Llama(LlamaConfig(**BIG, norm_first=False)), ValueError, r"norm_first \(False\) must be True"),
    (Llama(LlamaConfig(**BIG, d_v=4)), ValueError, r"d_v \(4\) must be 8"),
    (
        Llama(LlamaConfig(**BIG, rope_factors=(1.0, 2.0, 2.0, 2.0))),
        ValueError,
        "rope_factors must be one for all pairs",
    ),
    (Marian(MarianConfig(**BIG, norm_eps=1e-6)), ValueError, r"norm_eps \(1e-06\) must be 1e-05: a Marian"),
    (Marian(MarianConfig(**BIG, attention_bias=False)), ValueError, r"attention_bias \(False\) must be True"),
    (Marian(MarianConfig(**BIG, norm_first=True)), ValueError, r"norm_first \(True\) must be False"),
]


@pytest.mark.parametrize(("model", "kind", "words"), WRONG, ids=lambda x: str(x)[:30] if isinstance(x, str) else "")
def test_what_theirs_would_compute_differently_is_refused(tmp_path, model, kind, words):
    with pytest.raises(kind, match=words):
        to_huggingface(model, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_module_of_somebodys_own_is_refused(tmp_path):
    class Mine(FeedForward):
        """Of another class."""

    model = Gpt(HF.replace(norm_first=True))
    model.decoder.layers[0].feed_forward = Mine(16, 32)
    with pytest.raises(TypeError, match=r"decoder\.layers\.0\.feed_forward is a module of your own"):
        to_huggingface(model, tmp_path)


def test_a_folder_with_files_in_it_is_left_alone(tmp_path):
    (tmp_path / "a").write_text("mine")
    with pytest.raises(ValueError, match=r"is not empty: its files could be of another model"):
        to_huggingface(Gpt(HF.replace(norm_first=True)), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_classifier_says_how_many_classes_it_has(tmp_path):
    to_huggingface(Classifier(Bert(HF), 5), tmp_path)
    assert load_published(tmp_path, kind=Classifier)[0].head.out_features == 5
    assert transformers.AutoConfig.from_pretrained(tmp_path).num_labels == 5


# CTranslate2, where it and SentencePiece are installed


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_ctranslate2_converts_a_marian_and_translates_as_we_do(tmp_path):
    other = pytest.importorskip("ctranslate2")
    pytest.importorskip("sentencepiece")
    from test_sentence_pieces import ENGLISH, GERMAN, trained, vocabulary_of

    from tested_transformer.text.sentence_pieces import SentencePieces

    models = trained(ENGLISH), trained(GERMAN)
    vocab = vocabulary_of(models)
    pad = len(vocab) - 1
    tokens = SentencePieces.marian(vocab, *models, {}, pad)
    ids = {"vocab_size": len(vocab), "pad_token_id": pad, "decoder_start_token_id": pad}
    theirs("MarianMTModel", MARIAN | ids).float().save_pretrained(tmp_path / "theirs")
    ours, _ = load_published(tmp_path / "theirs", kind=Marian)
    with torch.no_grad():
        ours.embedding.weight[pad] = 0.0  # as published: a translation begins with nothing
    to_huggingface(ours, tmp_path / "ours", tokens)
    logging.getLogger("transformers").setLevel(logging.ERROR)
    other.converters.TransformersConverter(str(tmp_path / "ours")).convert(str(tmp_path / "made"))
    engine = other.Translator(str(tmp_path / "made"), inter_threads=1, intra_threads=1)
    for text in ENGLISH:
        source = [*tokens.encode(text), tokens.special_ids.eos]
        asked = [[tokens.tokens[i] for i in source]]
        found = engine.translate_batch(asked, beam_size=1, max_decoding_length=15)[0].hypotheses[0]
        wanted = [tokens.tokens[i] for i in greedy(ours, torch.tensor([source]), 15)[0].tolist()]
        assert found == [token for token in wanted if token != "</s>"], text

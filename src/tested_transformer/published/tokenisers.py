"""The tokeniser of a published model: which files it is in, and what they leave open."""

from collections.abc import Mapping
from reprlib import repr as short
from typing import Any

from tested_transformer.config import SpecialIds
from tested_transformer.published.about import About, naming
from tested_transformer.published.folder import (
    GENERATION,
    SOURCE_SPM,
    TARGET_SPM,
    TEMPLATE,
    XLM_R_SPM,
    Folder,
)
from tested_transformer.published.gguf import GgufFile
from tested_transformer.text._published import Published, entry
from tested_transformer.text.bert import BertWordPiece
from tested_transformer.text.byte_level import ByteLevelBPE
from tested_transformer.text.sentence_pieces import SentencePieces

SETTINGS = "tokenizer_config.json"
CUT_BY_FILE = ("qwen2", "qwen3")
"""Kinds of models whose tokenisers do not cut as GPT-2's does."""


def read_tokens(folder: Folder, about: About) -> tuple[Published | None, SpecialIds]:
    """The tokeniser in a folder, and the special ids; from config.json if it has none."""
    config = folder.json(SETTINGS) if folder.has(SETTINGS) else {}
    template = config.get("chat_template")
    if folder.has(TEMPLATE):  # where their library writes it today
        template = folder.text(TEMPLATE)
    kind = about.fields.get("model_type")
    bert = kind in ("bert", "distilbert")
    tokens: Published | None = None
    with naming(folder.path):
        if kind == "marian" and folder.has(SOURCE_SPM):
            tokens = SentencePieces.marian(
                folder.json("vocab.json"),
                folder.content(SOURCE_SPM),
                folder.content(TARGET_SPM),
                config,
                about.integer("decoder_start_token_id", 58100),
            )
        elif kind == "xlm-roberta" and folder.has(XLM_R_SPM):
            tokens = SentencePieces.xlm_roberta(folder.content(XLM_R_SPM))
        elif folder.has("tokenizer.json"):
            found = folder.json("tokenizer.json")
            if bert:
                tokens = BertWordPiece.from_json(found)
            else:
                before, after = around(found.get("post_processor"))
                ids = special_ids(about, config, found)
                if len(before) > 1:
                    rule = "puts several ids before a text: one is known here"
                    raise ValueError(f"tokenizer.json {rule}, not {before!r:.80}")
                ids = ids._replace(bos=before[0]) if before else ids
                tokens = ByteLevelBPE.from_json(found, ids)
                if beyond := [i for i in after if not 0 <= i < tokens.vocab_size]:
                    rule = f"puts id {beyond[0]} after a text, and has no such token"
                    raise ValueError(f"tokenizer.json {rule}")
                tokens.add_bos, tokens.after = bool(before), tuple(after)
        elif bert and folder.has("vocab.txt"):
            tokens = BertWordPiece.from_vocab(folder.text("vocab.txt"), config)
        elif folder.has("vocab.json") and folder.has("merges.txt"):
            if kind in CUT_BY_FILE:
                rule = "which says how texts are cut: have their library save it again"
                raise ValueError(f"{folder.path} has no tokenizer.json, {rule}")
            vocab = folder.json("vocab.json")
            tokens = ByteLevelBPE.from_merges(vocab, folder.text("merges.txt"))
    if tokens is None:
        return None, special_ids(about, {}, {})
    if isinstance(template, list):  # several, each with a name
        named = {each.get("name"): each for each in template if isinstance(each, dict)}
        template = named.get("default", {}).get("template")
    if isinstance(template, str):
        tokens.chat_template = template
    if not folder.has("tokenizer.json"):  # which says itself what is around a text
        tokens.add_bos = config.get("add_bos_token") is True
    tokens.ends = ends(folder, about)
    if kind == "marian" and len(tokens.ends) > 1:
        raise about.error("eos_token_id", f"names {tokens.ends}: a search has one end")
    return tokens, tokens.special_ids


def ends(folder: Folder, about: About) -> tuple[int, ...]:
    """The ids that end a text: all that config.json and generation_config.json name."""
    found = about.ids("eos_token_id")
    if folder.has(GENERATION):
        more = About(folder.json(GENERATION), folder.path / GENERATION)
        found += more.ids("eos_token_id")
    return tuple(dict.fromkeys(found))


def around(processor: Any) -> tuple[list[int], list[int]]:
    """The ids that a post_processor of a `tokenizer.json` puts before a text, and after.

    One that is not known is a ValueError.
    """
    before: list[int] = []
    after: list[int] = []
    kind = processor.get("type") if isinstance(processor, dict) else processor
    if kind == "TemplateProcessing":
        before, after = _in_template(processor)
    elif kind in ("BertProcessing", "RobertaProcessing"):
        before, after = ([_pair_id(processor, name)] for name in ("cls", "sep"))
    elif kind == "Sequence":
        for part in entry(processor, "processors", list, "the post_processor"):
            found = around(part)
            if any(found) and (before or after):
                raise ValueError("the post_processor: two of a Sequence add ids")
            before, after = found if any(found) else (before, after)
    elif kind not in (None, "ByteLevel"):
        known = (
            "ByteLevel, TemplateProcessing, BertProcessing, RobertaProcessing, Sequence"
        )
        raise ValueError(f"the post_processor is {kind!r:.80}; known are {known}")
    return before, after


def _in_template(processor: Any) -> tuple[list[int], list[int]]:
    """The ids around the text in a TemplateProcessing of one text."""
    where = "the post_processor"
    known = entry(processor, "special_tokens", dict, where)
    parts: tuple[list[int], list[int]] = [], []
    texts = 0
    for piece in entry(processor, "single", list, where):
        if isinstance(piece, dict) and "Sequence" in piece:
            texts += 1
        else:
            name = entry(entry(piece, "SpecialToken", dict, where), "id", str, where)
            ids = entry(entry(known, name, dict, where), "ids", list, where)
            parts[texts > 0].extend(ids)
    if texts != 1 or any(type(i) is not int for part in parts for i in part):
        raise ValueError(f"{where}: single must have the text once, and ids around it")
    return parts


def _pair_id(processor: Any, name: str) -> int:
    """The id in a pair of a token and its id."""
    pair = entry(processor, name, list, "the post_processor")
    if len(pair) != 2 or type(pair[1]) is not int:
        raise ValueError(f"the post_processor: {name} must be a token and its id")
    return pair[1]


def special_ids(
    about: About, config: Mapping[str, Any], tokenizer: Mapping[str, Any]
) -> SpecialIds:
    """The ids that config.json names, or the tokens that tokenizer_config.json names.

    Where neither names one, it has the id of the end.
    """
    added = tokenizer.get("added_tokens")
    ids = (
        {t.get("content"): t.get("id") for t in added if isinstance(t, dict)}
        if isinstance(added, list)
        else {}
    )
    found: dict[str, int | None] = {}
    for name in SpecialIds._fields:
        token = config.get(f"{name}_token")
        token = token.get("content") if isinstance(token, dict) else token
        known = ids.get(token) if isinstance(token, str) else None
        named = about.ids(f"{name}_token_id")
        found[name] = named[0] if named else known if type(known) is int else None
    other = min({0, 1} - {found["pad"]})
    end = next((i for i in (found["eos"], found["bos"]) if i is not None), other)
    return SpecialIds(*(end if i is None else i for i in found.values()))


END_OF_TURN = "tokenizer.ggml.eot_token_id"
"""A second end that a GGUF file may name, after a turn of a conversation."""


def gguf_tokens(file: GgufFile) -> Published:
    """The tokeniser in a GGUF file."""
    with naming(file.path):
        tokens = ByteLevelBPE.from_gguf(file.fields)
    template = file.fields.get("tokenizer.chat_template")
    tokens.chat_template = template if isinstance(template, str) else None
    tokens.add_bos = file.fields.get("tokenizer.ggml.add_bos_token") is True
    end = file.fields.get(END_OF_TURN)
    if end is not None:
        if type(end) is not int or not 0 <= end < tokens.vocab_size:
            rule = f"must be the id of a token, from 0 to {tokens.vocab_size - 1}"
            raise ValueError(f"{file.path}: {END_OF_TURN} ({short(end)}) {rule}")
        tokens.ends = (end,)
    return tokens

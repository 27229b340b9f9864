"""The tokeniser of a published model: which files it is in, and what they leave open."""

from collections.abc import Mapping
from typing import Any

from tested_transformer.config import SpecialIds
from tested_transformer.published.about import About, naming
from tested_transformer.published.folder import (
    SOURCE_SPM,
    TARGET_SPM,
    TEMPLATE,
    XLM_R_SPM,
    Folder,
)
from tested_transformer.published.gguf import GgufFile
from tested_transformer.text._published import Published
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
    found: dict[str, Any] = {}
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
                tokens = ByteLevelBPE.from_json(
                    found, special_ids(about, config, found)
                )
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
    if isinstance(template, str):
        tokens.chat_template = template
    tokens.add_bos = config.get("add_bos_token") is True or _begins_with_special(found)
    return tokens, tokens.special_ids


def _begins_with_special(tokenizer: Any) -> bool:
    """Whether a tokenizer.json puts a special token before a text."""
    if isinstance(tokenizer, dict) and tokenizer.get("type") == "TemplateProcessing":
        single = tokenizer.get("single")
        first = single[0] if isinstance(single, list) and single else None
        return isinstance(first, dict) and "SpecialToken" in first
    if not isinstance(tokenizer, dict):
        return False
    inner = tokenizer.get("post_processor", tokenizer.get("processors"))
    parts = inner if isinstance(inner, list) else [inner]
    return any(map(_begins_with_special, parts))


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


def gguf_tokens(file: GgufFile) -> Published:
    """The tokeniser in a GGUF file."""
    with naming(file.path):
        tokens = ByteLevelBPE.from_gguf(file.fields)
    template = file.fields.get("tokenizer.chat_template")
    tokens.chat_template = template if isinstance(template, str) else None
    tokens.add_bos = file.fields.get("tokenizer.ggml.add_bos_token") is True
    return tokens

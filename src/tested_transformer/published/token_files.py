"""The files of a tokeniser as Hugging Face's libraries read them."""

import json
from typing import Any

from tested_transformer import files
from tested_transformer.published.folder import SOURCE_SPM, TARGET_SPM, XLM_R_SPM
from tested_transformer.text._published import Published
from tested_transformer.text.bert import BertWordPiece
from tested_transformer.text.byte_level import ByteLevelBPE
from tested_transformer.text.sentence_pieces import SentencePieces


def token_files(tokens: Published) -> dict[str, bytes]:
    """The content of each file, by its name."""
    if isinstance(tokens, SentencePieces) and tokens.codes:
        return {
            SOURCE_SPM: tokens.source,
            TARGET_SPM: tokens.target,
            "vocab.json": files.to_json({t: i for i, t in enumerate(tokens.tokens)}),
            **_settings(tokens, "MarianTokenizer", ("pad", "eos", "unk")),
        }
    if isinstance(tokens, SentencePieces):
        return {XLM_R_SPM: tokens.source, **_settings(tokens, "XLMRobertaTokenizer")}
    if isinstance(tokens, ByteLevelBPE):
        decoder = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
        before = [tokens.special_ids.bos] if tokens.add_bos else []
        more = {"decoder": decoder | {"use_regex": True}}
        return _fast(tokens, more | _frame(tokens, before, [*tokens.after]))
    if isinstance(tokens, BertWordPiece):
        ids, cleanup = tokens.special_ids, {"type": "WordPiece", "prefix": "##"}
        more = {"decoder": cleanup | {"cleanup": False}}
        return _fast(tokens, more | _frame(tokens, [ids.bos], [ids.eos]))
    raise TypeError(f"a {type(tokens).__name__} has no files that they read")


def _fast(tokens: Published, more: dict[str, Any]) -> dict[str, bytes]:
    """The two files that the library `tokenizers` needs."""
    parts = json.loads(tokens.to_json())["tokenizer"]
    parts.pop("special_ids", None)  # of ours alone
    for step in (cut := parts["pre_tokenizer"]).get("pretokenizers", [cut]):
        if step["type"] == "ByteLevel":
            step.setdefault("trim_offsets", True)
    whole = {"version": "1.0", "truncation": None, "padding": None} | parts | more
    return {
        "tokenizer.json": files.to_json(whole),
        **_settings(tokens, "PreTrainedTokenizerFast"),
    }


def _frame(tokens: Published, before: list[int], after: list[int]) -> dict[str, Any]:
    """What puts special tokens around a text, and around a second one."""
    if not before and not after:
        return {"post_processor": None}

    def special(i: int, text: int) -> dict[str, Any]:
        return {"SpecialToken": {"id": name_of(tokens, i), "type_id": text}}

    def text(name: str, number: int) -> list[dict[str, Any]]:
        sequence = {"Sequence": {"id": name, "type_id": number}}
        return [sequence, *(special(i, number) for i in after)]

    single = [*(special(i, 0) for i in before), *text("A", 0)]
    names = {name_of(tokens, i): i for i in (*before, *after)}
    return {
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, *text("B", 1)],
            "special_tokens": {
                name: {"id": name, "ids": [i], "tokens": [name]}
                for name, i in names.items()
            },
        }
    }


def _settings(
    tokens: Published, kind: str, names: tuple[str, ...] = ("pad", "bos", "eos", "unk")
) -> dict[str, bytes]:
    """What tokenizer_config.json says."""
    told: dict[str, Any] = {"tokenizer_class": kind}
    if isinstance(tokens, BertWordPiece):
        told["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    ids = tokens.special_ids._asdict()
    named = {f"{name}_token": name_of(tokens, ids[name]) for name in names}
    told |= {name: token for name, token in named.items() if token}
    if tokens.chat_template is not None:
        told["chat_template"] = tokens.chat_template
    if tokens.add_bos:
        told["add_bos_token"] = True
    return {"tokenizer_config.json": files.to_json(told)}


def name_of(tokens: Published, i: int) -> str:
    """A special token as it is written."""
    return next((t for t, own in tokens.special_tokens.items() if own == i), "")

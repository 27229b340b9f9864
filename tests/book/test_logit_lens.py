"""The logit lens: what is kept of a step, and that the record is of this model."""

from functools import cache

import numpy as np
import pytest
import torch
from guards import BOOK

from tested_transformer.book import logit_lens
from tested_transformer.book.chat_model import lens, residuals, write
from tested_transformer.decoding.conversation import Conversation
from tested_transformer.files import read_json
from tested_transformer.model.llama import Llama, LlamaConfig
from tested_transformer.published.installed import CHAT, installed
from tested_transformer.published.loading import load_published

IDS = [5, 9, 2, 30, 7]
RECORD = BOOK / "results" / "layers.json"


@cache
def small():
    """Three random layers in float64."""
    torch.manual_seed(0)
    return Llama(LlamaConfig(40, 16, 32, 4, 3, n_kv_heads=2)).double().eval()


def test_a_step_has_the_likeliest_of_each_layer_and_the_place_of_what_was_written():
    written = [11, 4]
    rows = residuals(small(), torch.tensor([[*IDS, 11]]))[:, 0, 4:]
    for n, step in enumerate(logit_lens.steps(small(), IDS, written)):
        p = lens(small(), rows[:, n]).softmax(-1)
        assert step.token == written[n]
        assert step.output == logit_lens._best(p[-1], 5)
        for layer in range(4):
            order = p[layer].argsort(descending=True).tolist()
            assert [i for i, _ in step.layers[layer]] == order[:3]
            assert step.ranks[layer] == order.index(written[n])
            assert step.written[layer] == p[layer, written[n]].item()


@pytest.mark.parametrize(
    ("ranks", "layer"), [([3, 2, 1, 0], 3), ([0, 0, 0], 0), ([0, 5, 0, 0], 2), ([9, 0, 7, 0, 0, 0], 3)]
)
def test_a_token_takes_over_where_nothing_is_before_it_any_more(ranks, layer):
    assert logit_lens.takes_over({"ranks": ranks}) == layer


def test_no_probability_of_a_record_is_the_whole_or_more_exact_than_three_decimals():
    assert [*map(logit_lens._rounded, (1.0, 0.99996, 0.12345, 0.0004))] == [0.9999, 0.9999, 0.123, 0.0]


# The record


def test_the_record_is_whole_and_keeps_its_rules():
    record = read_json(RECORD, "record of the layers")
    assert {p["text"]: len(p["steps"]) <= logit_lens.PROMPTS[p["text"]] for p in record["prompts"]} == dict.fromkeys(
        logit_lens.PROMPTS, True
    )
    for prompt in record["prompts"]:
        assert prompt["ended"] == (prompt["steps"][-1]["token"] == "<|im_end|>")
        for step in prompt["steps"]:
            (first, p), (_, second), *_ = step["output"]
            assert first == step["token"]
            assert p - second >= logit_lens.LEAD - 0.001
            assert (step["written"][-1], step["ranks"][-1]) == (p, 0)
            assert len(step["layers"]) == record["layers"] + 1
            assert [rank == 0 for rank in step["ranks"]] == [row[0][0] == first for row in step["layers"]]


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 3, 8, 10])
def test_the_model_says_again_what_is_recorded(n):
    before = read_json(RECORD, "record of the layers")["prompts"][n]
    model, tokens = smol()
    again = logit_lens.recorded(model, tokens, before["text"], logit_lens.PROMPTS[before["text"]])
    for name in ("text", "prompt", "ended"):
        assert again[name] == before[name]
    for one, other in zip(again["steps"], before["steps"], strict=True):
        assert one["token"] == other["token"]
        assert np.allclose(one["written"], other["written"], rtol=0, atol=0.005)
        for these, those in zip([one["output"], *one["layers"]], [other["output"], *other["layers"]], strict=True):
            assert np.allclose([p for _, p in these], [p for _, p in those], rtol=0, atol=0.005)
            if those[0][1] - those[1][1] > 0.01:  # else either may be first
                assert these[0][0] == those[0][0]


@pytest.mark.slow
def test_a_prompt_is_what_a_conversation_reads():
    model, tokens = smol()
    chat = Conversation(model, tokens)
    written = list(chat.say("What is 2 + 3?"))
    ids = logit_lens.prompt_ids(tokens, "What is 2 + 3?")
    assert chat.ids[: len(ids)] == ids
    answer = [step.id for step in write(model, ids, {tokens.special_tokens["<|im_end|>"]}, 12)]
    assert tokens.decode(answer) == "".join(written)
    assert logit_lens.name(tokens, answer[-1]) == "<|im_end|>"


@cache
def smol():
    return load_published(installed(CHAT))

"""A GPT-2 and a Llama beside Hugging Face's of the same size: training, prefill and writing, in tokens a second.

    pip install transformers
    python benchmarks/language.py [--rounds 5] [--threads 1] [--out FOLDER]

The sides take turns, and the median of each counts. Weights are random, in float32. Training is forward, loss,
backward and Adam on 4 texts of 256 tokens. Prefill reads 1,024 tokens and gives the logits after the last. Writing
goes on greedily from 16 tokens to 80, and nobody may write the end.

Then a published model, SmolLM2 (134,515,008 numbers): a single text and 8 at once, in float32 and, ours only, in
bfloat16. "products" are the bare matrix products of one token after the other, which is as fast as it could be.
"""

import argparse
import functools
import pathlib
import re

import bench
import torch
from torch.nn import functional as F

from tested_transformer.config import Config
from tested_transformer.decoding.cache import GptCache
from tested_transformer.decoding.sampling import sample
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.llama import Llama, LlamaConfig
from tested_transformer.names import LLAMA
from tested_transformer.published.installed import CHAT, installed
from tested_transformer.published.loading import load_published
from tested_transformer.training.adam import create_adam

SIZE = {"vocab_size": 8000, "d_model": 384, "n_layers": 6, "n_heads": 6, "dropout": 0.0, "max_len": 1024}
MODELS = ("gpt", "llama")


def ours(kind):
    """The model of this package."""
    if kind == "gpt":
        return Gpt(Config(**SIZE, d_ff=1536, activation="gelu", attention_bias=True, norm_first=True))
    return Llama(LlamaConfig(**SIZE, d_ff=1024, n_kv_heads=2))


def theirs(kind):
    """Hugging Face's model of the same size."""
    import transformers as t

    same = {"vocab_size": 8000, "attn_implementation": "sdpa", "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    if kind == "gpt":
        sizes = {"n_embd": 384, "n_layer": 6, "n_head": 6, "n_positions": 1024}
        dropouts = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
        return t.GPT2LMHeadModel(t.GPT2Config(**same, **sizes, **dropouts))
    sizes = {"hidden_size": 384, "intermediate_size": 1024, "num_hidden_layers": 6, "num_attention_heads": 6}
    sizes |= {"num_key_value_heads": 2, "max_position_embeddings": 1024, "tie_word_embeddings": True}
    return t.LlamaForCausalLM(t.LlamaConfig(**same, **sizes))


def training(side, model):
    """One step."""
    model.train()
    adam, ids = create_adam(model.parameters(), lr=1e-5), torch.randint(4, 8000, (4, 257))

    def step():
        logits = model(ids[:, :-1]) if side == "ours" else model(ids[:, :-1], use_cache=False).logits
        F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
        adam.step()
        adam.zero_grad()

    return step, 4 * 256


def prefill(side, model):
    """A long prompt, and the logits after its last token."""
    ids = torch.randint(4, 8000, (1, 1024))

    @torch.inference_mode()
    def read():
        if side == "ours":
            return GptCache(model).read(ids, torch.tensor([1024]))
        return model(ids, use_cache=True, logits_to_keep=1).logits

    return read, 1024


def writing(batch):
    """So many texts at once, each 64 tokens longer."""

    def made(side, model):
        ids = torch.randint(4, 8000, (batch, 16))

        def write():
            if side == "ours":
                return sample(model, ids, 80, top_k=1, suppress_tokens=[model.config.eos_id])
            limits = {"max_new_tokens": 64, "min_new_tokens": 64, "do_sample": False}
            return model.generate(ids, attention_mask=torch.ones_like(ids), **limits)

        return write, batch * 64

    return made


TASKS = {"training": training, "prefill": prefill, "writing, single": writing(1), "writing, batch 16": writing(16)}


@functools.cache
def published(dtype):
    """SmolLM2 in our layers."""
    return load_published(installed(CHAT), kind=Llama, dtype=dtype)[0]


def published_theirs():
    """The same numbers in Hugging Face's."""
    import transformers as t

    ours, c = published(torch.float32), published(torch.float32).config
    sizes = {"vocab_size": c.vocab_size, "hidden_size": c.d_model, "intermediate_size": c.d_ff}
    sizes |= {"num_hidden_layers": c.n_layers, "num_attention_heads": c.n_heads, "num_key_value_heads": c.n_kv_heads}
    sizes |= {"max_position_embeddings": c.max_len, "rms_norm_eps": c.norm_eps, "tie_word_embeddings": True}
    ids = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
    model = t.LlamaForCausalLM(t.LlamaConfig(**sizes, **ids, rope_theta=c.rope_base, attn_implementation="sdpa"))
    names = {own: their for their, own in LLAMA.items() if their != "lm_head.weight"}
    find = re.compile(rf"(?<![^.])({'|'.join(map(re.escape, names))})(?![^.])")
    state = {find.sub(lambda found: names[found[0]], name): value for name, value in ours.state_dict().items()}
    model.load_state_dict(state | {"lm_head.weight": state["model.embed_tokens.weight"]})
    return model.eval()


def products(model, batch):
    """Only the matrix products of 64 tokens, one after the other."""
    matrices = [p for p in model.parameters() if p.dim() == 2]
    rows = {m.size(1): torch.randn(batch, m.size(1)) for m in matrices}

    @torch.inference_mode()
    def multiply():
        for _ in range(64):
            for m in matrices:
                F.linear(rows[m.size(1)], m)

    return multiply


def published_sides(batch):
    """What writes with the published model: {side: action}."""
    make, ours = writing(batch), published(torch.float32)
    acts = {"ours": make("ours", ours)[0], "ours, bfloat16": make("ours", published(torch.bfloat16))[0]}
    acts["products"] = products(ours, batch)
    return acts | {"Hugging Face": make("Hugging Face", published_theirs())[0]}


def measured(case, acts, n_tokens, rounds):
    """A row for each side, which are printed, too."""
    rows, times = [], bench.medians(acts, rounds)
    for side, (cpu, wall) in times.items():
        row = {"case": case, "side": side, "cpu_s": cpu, "wall_s": wall, "per_s": n_tokens / wall}
        rows.append(row | {"times_faster": times["Hugging Face"][0] / cpu})
        print(f"{case:26} {side:14} {row['per_s']:9,.0f} tokens/s {rows[-1]['times_faster']:5.2f} x", flush=True)
    return rows


def main():
    """Measure, print a table, and write it as numbers, table and picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=bench.RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    rows = []
    for kind in MODELS:
        for task, make in TASKS.items():
            models = {"ours": ours(kind).eval(), "Hugging Face": theirs(kind).eval()}
            acts = {side: make(side, model) for side, model in models.items()}
            n_tokens = acts["ours"][1]
            rows += measured(f"{kind}, {task}", {side: act for side, (act, _) in acts.items()}, n_tokens, given.rounds)
    for batch in (1, 8):
        rows += measured(f"SmolLM2, batch {batch}", published_sides(batch), 64 * batch, given.rounds)
    bench.write(given.out, "language", "Language models, tokens a second", rows, "tokens/s")


if __name__ == "__main__":
    main()

"""A GPT-2 and a Llama beside Hugging Face's of the same size: training, prefill and writing, in tokens a second.

    pip install transformers
    python benchmarks/language.py [--rounds 5] [--threads 1] [--out FOLDER]

The sides take turns, and the median of each counts. Weights are random, in float32. Training is forward, loss,
backward and Adam on 4 texts of 256 tokens. Prefill reads 1,024 tokens and gives the logits after the last. Writing
goes on greedily from 16 tokens to 80, and nobody may write the end.
"""

import argparse
import pathlib

import bench
import torch
from torch.nn import functional as F

from tested_transformer.config import Config
from tested_transformer.decoding.cache import GptCache
from tested_transformer.decoding.sampling import sample
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.llama import Llama, LlamaConfig
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
            times = bench.medians({side: act for side, (act, _) in acts.items()}, given.rounds)
            for side, (cpu, wall) in times.items():
                ratio = times["Hugging Face"][0] / cpu
                row = {"case": f"{kind}, {task}", "side": side, "cpu_s": cpu, "wall_s": wall}
                rows.append(row | {"per_s": acts[side][1] / wall, "times_faster": ratio})
                print(f"{rows[-1]['case']:26} {side:14} {rows[-1]['per_s']:9,.0f} tokens/s {ratio:5.2f} x", flush=True)
    bench.write(given.out, "language", "Language models, tokens a second", rows, "tokens/s")


if __name__ == "__main__":
    main()

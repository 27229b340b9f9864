"""Greedy and beam search beside Hugging Face's generate, nn.Transformer, ONNX and CTranslate2: sentences a second.

    pip install transformers ctranslate2 onnxruntime onnxscript
    python benchmarks/decoding.py [--rounds 5] [--threads 1] [--out FOLDER]

The sides take turns, and the median of each counts. All write exactly 50 tokens for each sentence: nobody may write the
end. The weights are random, in float32. nn.Transformer has no cache and calculates the sentence so far again each time.
"""

import argparse
import pathlib
import tempfile

import bench
import torch
from training import SIZES, Torch, some

from tested_transformer.decoding.beam import beam
from tested_transformer.decoding.cache import Cache
from tested_transformer.decoding.greedy import greedy
from tested_transformer.decoding.onnx import OnnxCache, OnnxModel, OnnxSearch, export_onnx
from tested_transformer.model.embedding import Embedding
from tested_transformer.model.transformer import Transformer

SIZE, NEW = SIZES["small"], 50
TASKS = {"greedy": (64, 1), "beam 4": (64, 4), "single greedy": (1, 1), "single beam 4": (1, 4)}
"""Sentences in a batch, and hypotheses."""


class Endless(Embedding):
    """Never says that a sentence ends."""

    cacheable = True

    def logits(self, x):
        """As ever, but for one token."""
        out = super().logits(x)
        out[..., SIZE.eos_id] = -torch.inf
        return out


def ours():
    """This package; the end of a sentence is made impossible."""
    model = Transformer(SIZE).eval()
    model.embedding.__class__ = Endless

    def search(source, width):
        if width == 1:
            return greedy(model, source, NEW)
        return beam(model, source, width, 0.6, NEW)

    return search


class EndlessCache(OnnxCache):
    """As `Endless`, for the graphs of ONNX."""

    def step(self, tokens, mask=None):
        """As ever, but for one token."""
        out = super().step(tokens, mask)
        out[..., SIZE.eos_id] = -torch.inf
        return out


class EndlessSearch(OnnxSearch):
    """A search that no sentence ends."""

    _stepper = EndlessCache


def onnx(threads):
    """The same package and size as graphs of ONNX, which onnxruntime runs."""
    with tempfile.TemporaryDirectory() as folder:
        export_onnx(Transformer(SIZE), folder)
        model = OnnxModel(folder, threads)

    @torch.inference_mode()
    def search(source, width):
        at_work = EndlessSearch(model, source, width, 0.6, NEW)
        while at_work.sentences:
            at_work.step()
        return at_work.finished

    return search


def marian_model():
    """Hugging Face's MarianMTModel of the same size; its positions are fixed and its table is tied, too."""
    from transformers import MarianConfig, MarianMTModel

    c = SIZE
    return MarianMTModel(
        MarianConfig(
            vocab_size=c.vocab_size, d_model=c.d_model, encoder_layers=c.n_layers, decoder_layers=c.n_layers,
            encoder_attention_heads=c.n_heads, decoder_attention_heads=c.n_heads, encoder_ffn_dim=c.d_ff,
            decoder_ffn_dim=c.d_ff, activation_function="relu", scale_embedding=True,
            max_position_embeddings=c.max_len, pad_token_id=0, eos_token_id=2, decoder_start_token_id=1,
            forced_eos_token_id=None,
        )
    ).eval()  # fmt: skip


def marian():
    """Hugging Face's generate, with its cache."""
    model = marian_model()

    def search(source, width):
        return model.generate(
            source, attention_mask=source != 0, max_new_tokens=NEW, min_new_tokens=NEW, num_beams=width,
            length_penalty=0.6, do_sample=False, early_stopping=False,
        )  # fmt: skip

    return search


def theirs():
    """PyTorch's own Transformer: memory once, the sentence so far again for each token."""
    model = Torch(SIZE).eval()

    @torch.inference_mode()
    def search(source, width):
        if width > 1 or len(source) == 1:
            return None  # it has no beam search, and one batch tells enough
        padding = source == 0
        x = model.positions(model.embedding(source) * SIZE.d_model**0.5)
        memory = model.stacks.encoder(x, src_key_padding_mask=padding)
        ids = torch.ones_like(source[:, :1])
        for n in range(1, NEW + 1):
            y = model.positions(model.embedding(ids) * SIZE.d_model**0.5)
            future = torch.ones(n, n, dtype=torch.bool).triu(1)
            out = model.stacks.decoder(y, memory, tgt_mask=future, memory_key_padding_mask=padding)
            logits = out[:, -1] @ model.embedding.weight.T
            logits[:, 2] = -torch.inf
            ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
        return ids

    return search


def ctranslate2(threads):
    """CTranslate2 in float32, from a Marian model of random weights."""
    import ctranslate2 as ct
    from ctranslate2.converters import transformers as converters

    words = [f"w{i}" for i in range(SIZE.vocab_size - 1)]  # the converter takes the last row for padding
    words[:3] = "<pad>", "<s>", "</s>"
    model = marian_model()
    loader = converters.MarianMTLoader()
    spec = loader.get_model_spec(model)
    for register in (spec.register_source_vocabulary, spec.register_target_vocabulary):
        register(words)
    spec.config.bos_token = spec.config.unk_token = spec.config.eos_token = "</s>"
    spec.config.decoder_start_token = "<s>"
    spec.config.add_source_eos = False
    with tempfile.TemporaryDirectory() as folder:
        spec.validate()
        spec.optimize(quantization=None)
        spec.save(folder)
        translator = ct.Translator(folder, compute_type="float32", inter_threads=1, intra_threads=threads)

    def search(source, width):
        sentences = [[words[i % len(words)] for i in row if i] for row in source.tolist()]
        found = translator.translate_batch(
            sentences, beam_size=width, max_decoding_length=NEW, min_decoding_length=NEW, length_penalty=0.6,
            max_batch_size=64,
        )  # fmt: skip
        assert all(len(f.hypotheses[0]) == NEW for f in found)
        return found

    return search


def late_steps(sentences, rounds):
    """Seconds of four cached steps at length 16 and at length 512."""
    model, source = Transformer(SIZE).eval(), some("small, as they come")[0][0][:sentences]
    with torch.inference_mode():
        memory, tokens = model.encode(source), torch.full((sentences, 1), 5)
        caches = {}
        for length in (16, 512):
            caches[length] = cache = Cache(model, memory, source, 1000)
            while cache.length < length:
                cache.step(tokens)
        steps = {n: lambda c=c: [c.step(tokens) for _ in range(4)] for n, c in caches.items()}
        return bench.medians(steps, rounds)


def main():
    """Measure, print a table, and write it as numbers, table and picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--out", type=pathlib.Path, default=bench.RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    sides = {"ours": ours(), "Marian": marian(), "nn.Transformer": theirs()}
    sides["ONNX"] = onnx(given.threads)
    try:
        sides["CTranslate2"] = ctranslate2(given.threads)
    except ImportError as error:
        print(f"without CTranslate2: {error}")
    source, rows = some("small, as they come")[0][0], []
    for task in given.tasks:
        sentences, width = TASKS[task]
        part = source[:sentences, : int((source[:sentences] != 0).sum(1).max())]
        calls = {
            name: lambda search=search, part=part, width=width: search(part, width) for name, search in sides.items()
        }
        if task != "greedy":
            del calls["nn.Transformer"]
        times = bench.medians(calls, given.rounds)
        for side, (cpu, wall) in times.items():
            ratio = times["Marian"][0] / cpu
            row = {"case": task, "side": side, "cpu_s": cpu, "wall_s": wall, "per_s": sentences / wall}
            rows.append(row | {"times_faster": ratio})
            print(f"{task:14} {side:15} {sentences / wall:8.1f} sentences/s  {ratio:5.2f} x", flush=True)
    for sentences in (1, 64):
        steps = late_steps(sentences, given.rounds)
        for length, (cpu, wall) in steps.items():
            ratio = steps[16][0] / cpu
            row = {"case": f"a step, batch {sentences}", "side": f"at {length}", "cpu_s": cpu / 4, "wall_s": wall / 4}
            rows.append(row | {"per_s": 4 * sentences / wall, "times_faster": ratio})
            print(
                f"{row['case']:24} {row['side']} {250 * wall:8.1f} ms  {1 / ratio:5.2f} x as long as at 16", flush=True
            )
    bench.write(given.out, "decoding", "Decoding, sentences or steps a second", rows, "per second")


if __name__ == "__main__":
    main()

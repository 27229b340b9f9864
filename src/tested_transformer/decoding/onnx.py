"""A translator as two graphs of ONNX, and the search that runs them by onnxruntime."""

import logging
import os
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tested_transformer import files
from tested_transformer.checks import instance
from tested_transformer.config import Config
from tested_transformer.decoding.beam import Search
from tested_transformer.decoding.inference import inference
from tested_transformer.decoding.recompute import check_step, passed_by
from tested_transformer.decoding.translator import Candidate, Translator, _check_search
from tested_transformer.model.heads import MultiHeadAttention
from tested_transformer.model.masks import padding_mask
from tested_transformer.model.transformer import Transformer
from tested_transformer.text import tokenizer
from tested_transformer.text.tokenizer import Saved, Tokenizer
from tested_transformer.text.tokens import pad
from tested_transformer.training import checkpoint
from tested_transformer.training.filenames import CONFIG, TOKENS

ENCODER, DECODER = "encoder.onnx", "decoder.onnx"
READS = ("tokens", "place", "mask", "source_mask", "memory_keys", "memory_values")
"""What the graph of a step reads, and then the keys and values so far."""


class EncoderGraph(nn.Module):
    """The encoder, and what each layer of the decoder makes of the memory."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, source: Int[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "L B H S Dk"], Float[Tensor, "L B H S Dv"]]:
        """Keys and values of the memory, for each layer."""
        memory = self.model.encode(source)
        layers: list[Any] = [*self.model.decoder.layers]
        heads = [layer.cross_attention for layer in layers]
        keys = torch.stack([each.keys(memory) for each in heads])
        return keys, torch.stack([each.values(memory) for each in heads])


class StepGraph(nn.Module):
    """A step of decoding, as `Cache.step`, from the earlier keys and values to all."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        tokens: Int[Tensor, "B W"],
        place: Int[Tensor, "1 1"],
        mask: Bool[Tensor, "B 1 W N"],
        source_mask: Bool[Tensor, "B 1 1 S"],
        memory_keys: Float[Tensor, "L B H S Dk"],
        memory_values: Float[Tensor, "L B H S Dv"],
        keys: Float[Tensor, "L B H M Dk"],
        values: Float[Tensor, "L B H M Dv"],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (B, W, V), and the keys and values with those of the new tokens.

        tokens stand side by side at place; mask says which of the N slots each sees, of
        which the last W are their own.
        """
        model, (batch, width) = self.model, tokens.shape
        x = model.embedding(tokens).reshape(batch * width, 1, -1)
        x = model.positions(x, place).reshape(batch, width, -1)
        layers: list[Any] = [*model.decoder.layers]
        seen = []
        for i, layer in enumerate(layers):
            back, across = layer.self_attention, layer.cross_attention
            seen.append(slots := [keys[i], values[i]])
            memory = memory_keys[i], memory_values[i]
            x = layer.steps(
                x,
                partial(_look_back, back, slots, mask),
                partial(_look, across, memory, source_mask),
            )
        made = [torch.stack(each) for each in zip(*seen, strict=True)]
        return model.embedding.logits(model.decoder.norm(x)), made[0], made[1]


def export_onnx(
    model: Transformer, folder: files.StrPath, tokens: Tokenizer | None = None
) -> None:
    """Write the two graphs into a folder, with config.json and, if given, tokens.json.

    Batch, lengths and the width of the beam stay free. The weights must be float32.
    What decodes without a cache cannot be exported.
    """
    _library("onnxscript")
    if other := passed_by(model):
        raise ValueError(f"{other} may need more than a token: it cannot be exported")
    if {p.dtype for p in model.parameters()} != {torch.float32}:
        raise ValueError("the weights must be float32: export after model.float()")
    files.check_name(folder)
    if own := (told := checkpoint.describe(model)).get("replaced"):
        raise ValueError(f"{own[0]} is a module of its own: it cannot be exported")
    folder = Path(folder)
    contents = {CONFIG: files.to_json(told)}
    if tokens is not None:
        checkpoint.check_tokens(tokens, model.config, "the tokeniser")
        contents[TOKENS] = checkpoint.token_file(tokens)
    with inference(model):
        contents[ENCODER] = _encoder(model)
        contents[DECODER] = _decoder(model)
    files.make_folder(folder)
    files.write_all({folder / name: content for name, content in contents.items()})


class Memory(NamedTuple):
    """What every step looks at: keys and values of the source, for each layer."""

    keys: Float[Tensor, "L B H S Dk"]
    values: Float[Tensor, "L B H S Dv"]

    @property
    def dtype(self) -> torch.dtype:
        """That of both."""
        return self.keys.dtype


class OnnxModel:
    """What `export_onnx` wrote, run by onnxruntime with so many threads of the CPU."""

    def __init__(self, folder: files.StrPath, threads: int | None = None) -> None:
        folder = Path(folder)
        library = _library("onnxruntime")
        kind = files.read_json(folder / CONFIG, "export").get("model", "Transformer")
        kinds = {k.__name__: k for k in checkpoint.MODELS if issubclass(k, Transformer)}
        known = kinds.get(str(kind), Transformer)  # of another kind: that is refused
        self.config: Config = checkpoint.read_description(folder / CONFIG, known)[0]
        self.tokens: Saved | None = None
        if (folder / TOKENS).exists():
            self.tokens = tokenizer.load(folder / TOKENS)
            checkpoint.check_tokens(self.tokens, self.config, folder / TOKENS)
        options = library.SessionOptions()
        options.intra_op_num_threads = threads or torch.get_num_threads()
        start = partial(_session, library, options)
        self.encoder = start(folder / ENCODER, ("source",))
        self.decoder = start(folder / DECODER, (*READS, "keys", "values"))

    def encode(self, source: Int[Tensor, "B S"]) -> Memory:
        """What the graph of the encoder gives for a batch."""
        found = self.encoder.run(None, {"source": source.long().numpy()})
        return Memory(*map(torch.from_numpy, found))


class OnnxCache:
    """As `Cache`, with the keys and values that the graph of a step hands over."""

    def __init__(
        self,
        model: OnnxModel,
        memory: Memory,
        source: Int[Tensor, "B S"],
        max_len: int,
        width: int = 1,
    ) -> None:
        self.model, self.memory, self.length = model, memory, 0
        self.source_mask = padding_mask(source, model.config.pad_id)
        self.max_len, self.width = max_len, width
        self.kept = Memory(*(part[:, :, :, :0] for part in memory))

    def step(
        self,
        tokens: Int[Tensor, "B W"],
        mask: Bool[Tensor, "B 1 W N"] | None = None,
    ) -> Float[Tensor, "B W V"]:
        """As `Cache.step`."""
        batch = len(self.source_mask)
        check_step(tokens, (batch, self.width), self.length, self.max_len)
        if mask is None:
            slots = (self.length + 1) * self.width
            mask = torch.ones(batch, 1, self.width, slots, dtype=torch.bool)
        place = torch.tensor([[self.length]])
        parts = [tokens.long(), place, mask, self.source_mask, *self.memory, *self.kept]
        named = zip((*READS, "keys", "values"), parts, strict=True)
        given = {name: part.contiguous().numpy() for name, part in named}
        logits, *kept = map(torch.from_numpy, self.model.decoder.run(None, given))
        self.kept = Memory(*kept)
        self.length += 1
        return logits

    def keep(self, rows: Int[Tensor, "K"]) -> None:
        """As `Cache.keep`."""
        self.source_mask = self.source_mask[rows]
        self.memory = Memory(*(part[:, rows] for part in self.memory))
        self.kept = Memory(*(part[:, rows] for part in self.kept))


class OnnxSearch(Search):
    """A beam search whose steps are those of an `OnnxModel`; of width 1, greedy."""

    _stepper = OnnxCache

    def __init__(
        self,
        model: OnnxModel,
        source: Int[Tensor, "B S"],
        width: int,
        alpha: float,
        max_len: int | None,
    ) -> None:
        super().__init__(model, source, width, alpha, max_len)


class OnnxTranslator(Translator):
    """A `Translator` that runs what `export_onnx` wrote, on a processor."""

    def __init__(
        self, model: OnnxModel, tokens: Tokenizer, width: int = 4, alpha: float = 0.6
    ) -> None:
        instance(OnnxModel, model=model)
        _check_search(width, alpha, model.config)
        checkpoint.check_tokens(tokens, model.config, "the tokeniser")
        self.model: Any = model
        self.tokens, self.width, self.alpha = tokens, width, alpha

    @classmethod
    def load(  # type: ignore[override] # a folder has to be named
        cls,
        folder: str | os.PathLike[str],
        device: torch.device | str = "cpu",
        width: int = 4,
        alpha: float = 0.6,
    ) -> "OnnxTranslator":
        """The model and the tokeniser in folder; device must be "cpu"."""
        if str(device) != "cpu":
            raise ValueError(f"device ({device}) must be cpu for what was exported")
        model = OnnxModel(folder)
        if model.tokens is None:
            raise ValueError(f"{folder} has no {TOKENS}, so it reads no text")
        return cls(model, model.tokens, width, alpha)

    def translate(
        self,
        texts: Sequence[str],
        at_once: int = 64,
        max_len: int | None = None,
        report: Callable[[int], object] = lambda done: None,
    ) -> list[str]:
        """As `Translator.translate`; greedy decoding is a beam of width 1."""
        found = self.n_best(texts, at_once, max_len, report)
        return [candidates[0].text if candidates else "" for candidates in found]

    def n_best(
        self,
        texts: Sequence[str],
        at_once: int = 64,
        max_len: int | None = None,
        report: Callable[[int], object] = lambda done: None,
    ) -> list[list[Candidate]]:
        """As `Translator.n_best`."""

        def search(source: Tensor) -> list[list[Candidate]]:
            with torch.inference_mode():
                at_work = OnnxSearch(
                    self.model, source, self.width, self.alpha, max_len
                )
                while at_work.sentences:
                    at_work.step()
            return [self._candidates(hypotheses) for hypotheses in at_work.finished]

        return [c or [] for c in self._each(self._read(texts), at_once, search, report)]

    def look(self, source: str, target: str) -> Any:
        """Refused: a graph gives no weights of attention."""
        raise ValueError("attention weights are those of a model: load that instead")

    def _batch(self, rows: list[list[int]]) -> Tensor:
        return torch.from_numpy(pad(rows, self.model.config.pad_id))


def _look(
    heads: MultiHeadAttention, slots: Sequence[Tensor], mask: Tensor, x: Tensor
) -> Tensor:
    """Attention of rows to keys and values that are there."""
    return heads.attend(heads.queries(x), slots[0], slots[1], mask)[0]


def _look_back(
    heads: MultiHeadAttention, slots: list[Tensor], mask: Tensor, x: Tensor
) -> Tensor:
    """The same, after their own keys and values have been put behind the others."""
    new = heads.keys(x), heads.values(x)
    slots[:] = (torch.cat(both, 2) for both in zip(slots, new, strict=True))
    return _look(heads, slots, mask, x)


def _encoder(model: Transformer) -> bytes:
    """The graph of the encoder: batch and length stay free."""
    source = torch.full((2, 3), model.config.eos_id)
    return _graph(
        EncoderGraph(model), {"source": source}, {"source": (0, 1)}, READS[4:]
    )


def _decoder(model: Transformer) -> bytes:
    """The graph of a step: batch, width, the source's length and the slots stay free."""
    eos, (batch, width, earlier, length) = model.config.eos_id, (2, 3, 4, 5)
    memory = EncoderGraph(model)(torch.full((batch, length), eos))
    every = torch.ones(batch, 1, width, earlier + width, dtype=torch.bool)
    example = {
        "tokens": torch.full((batch, width), eos),
        "place": torch.tensor([[1]]),
        "mask": every,
        "source_mask": every[:, :, :1, :length],
        "memory_keys": memory[0],
        "memory_values": memory[1],
        "keys": memory[0][:, :, :, :earlier].clone(),
        "values": memory[1][:, :, :, :earlier].clone(),
    }
    free = {"tokens": (0, 1), "mask": (0, 2, 3), "source_mask": (0, 3)}
    free |= dict.fromkeys((*READS[4:], "keys", "values"), (1, 3))
    return _graph(StepGraph(model), example, free, ("logits", "new_keys", "new_values"))


def _graph(
    module: nn.Module,
    example: dict[str, Tensor],
    free: dict[str, tuple[int, ...]],
    outputs: tuple[str, ...],
) -> bytes:
    """The file of a graph, made by calling the module once."""
    either = torch.export.Dim.DYNAMIC
    shapes = {name: dict.fromkeys(free.get(name, ()), either) for name in example}
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it tells what it lacks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch's own parts, about each other
        program: Any = torch.onnx.export(
            module.eval(),
            (*example.values(),),
            input_names=[*example],
            output_names=outputs,
            dynamic_shapes=(*shapes.values(),),
            verbose=False,
        )
    content: bytes = program.model_proto.SerializeToString()
    return content


def _session(library: Any, options: Any, path: Path, names: tuple[str, ...]) -> Any:
    """A graph, ready to run, if it is one of ours."""
    files.check_readable(path, "graph of ONNX")
    try:
        session = library.InferenceSession(str(path), options)
    except Exception as error:  # its own kinds have no common one but this
        told = str(error).partition("\n")[0]
        raise ValueError(
            f"{path} is damaged or no graph of ONNX: {told:.200}"
        ) from None
    found = tuple(each.name for each in session.get_inputs())
    if found != names:
        rule = f"must read {', '.join(names)}, not {', '.join(found):.200}"
        raise ValueError(f"{path} {rule}")
    return session


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ValueError(f"this needs the package {name}: pip install {name}") from None

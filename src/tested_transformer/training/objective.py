"""What training makes small: the loss of a model on examples of its kind."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from tested_transformer.checks import instance, integer, probability
from tested_transformer.config import Config
from tested_transformer.data.batches import (
    EqualPlan,
    Pair,
    check_ids,
    check_pairs,
    plan,
    tensors,
)
from tested_transformer.data.ids import Ids, Packed, check_within
from tested_transformer.data.masking import frame
from tested_transformer.model.bert import Classifier, MaskedLM, Pretraining
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.patches import VisionTransformer
from tested_transformer.model.transformer import Transformer
from tested_transformer.text.tokens import pad
from tested_transformer.training.loss import smoothed_loss
from tested_transformer.training.pretraining import Text, check_texts, prepare

NOT_ASKED = -100
"""What stands where a target is padding, as in PyTorch's cross-entropy."""


Batch = tuple[Tensor, ...]
"""What an objective reads, and what it asks for: a row for each example."""


class Objective(nn.Module, ABC):
    """The loss of a model on examples of its kind, summed over all that it is asked.

    A subclass says what an example is: how many make a batch, what a batch is as
    tensors, and how many answers are asked for in it. Called with a batch, it returns
    the summed loss, and how many answers the model would have got right. `Trainer` does
    the rest.
    """

    model: Any
    kinds: tuple[type[nn.Module], ...]
    unused = False  # may weights of the model have no part in the loss?

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        if not isinstance(model, self.kinds):
            instance(self.kinds[0], model=model)
        self.model = model

    @property
    def config(self) -> Config:
        """The sizes of the model."""
        config: Config = getattr(self.model, "bert", self.model).config
        return config

    @abstractmethod
    def count(self, batch: Sequence[Tensor]) -> int:
        """How many answers a batch asks for."""

    @abstractmethod
    def sides(self, example: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        """What a batch is filled by: an example takes as many tokens as the longer."""

    @abstractmethod
    def tensors(self, examples: Sequence[Any], seed: Sequence[int]) -> Batch:
        """Examples as one batch, a row each. What is drawn by lot has this seed."""

    @abstractmethod
    def check(
        self, examples: Sequence[Any], name: str, batch_tokens: int, ends: bool = False
    ) -> None:
        """Refuse examples that the model cannot learn from; name is theirs.

        With ends, a tokeniser has made them, which ends what a `Translator` reads.
        """

    def described(self) -> dict[str, Any]:
        """What a run that goes on must have as it was, besides sizes and options."""
        return {"objective": type(self).__name__}

    def line(self, example: Any) -> bytes:
        """An example as bytes: two are equal where the examples are."""
        return f"{[*map(int, example)]}\n".encode()

    def plan(
        self, examples: Sequence[Any], max_tokens: int, seed: int, epoch: int
    ) -> Sequence[Any]:
        """The places of the examples of each batch of an epoch."""
        if isinstance(examples, Packed):
            size = max_tokens // (examples.length + 1)
            return EqualPlan(len(examples), size, seed, epoch)
        sides = [self.sides(example) for example in examples]
        return plan(sides, max_tokens, seed, epoch)

    def batches(
        self,
        examples: Sequence[Any],
        max_tokens: int,
        seed: int,
        epoch: int,
        start: int,
        rank: int,
        world_size: int,
    ) -> Iterator[Batch]:
        """The batches of an epoch as in `data.batches`, from number start on.

        Each is made whole, then every process takes its rows: what is drawn by lot does
        not depend on how many they are.
        """
        planned = self.plan(examples, max_tokens, seed, epoch)
        smallest = min(map(len, planned), default=world_size)
        if smallest < world_size:
            rule = f"must have an example for each of {world_size} processes"
            hint = "raise batch_tokens, or start fewer"
            raise ValueError(f"a batch of {smallest} {rule}: {hint}")
        for n in range(start, len(planned)):
            made = self.tensors(taken(examples, planned[n]), (seed, epoch, n))
            yield tuple(rows[rank::world_size] for rows in made)


class NextToken(Objective):
    """The loss of every next token of a translation; an example is a pair of ids.

    Target sentences run from bos_id to eos_id. The model reads all but the last token
    and is asked for all but the first, but not for padding.
    """

    kinds = (Transformer,)

    def __init__(self, model: Transformer, smoothing: float) -> None:
        super().__init__(model)
        self.smoothing = smoothing

    def forward(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """The summed loss and the number of tokens that the model would have chosen."""
        pad, wanted = self.config.pad_id, target[:, 1:]
        logits = self.model(source, target[:, :-1])
        smoothing = self.smoothing if self.training else 0.0
        loss = smoothed_loss(logits, wanted, pad, smoothing, "sum")
        return loss, ((logits.argmax(-1) == wanted) & (wanted != pad)).sum()

    def count(self, batch: Sequence[Tensor]) -> int:
        """All tokens of the targets but the first, and no padding."""
        return int((batch[1][:, 1:] != self.config.pad_id).sum())

    def sides(self, example: Pair) -> Pair:
        """Source and target."""
        return example

    def line(self, example: Pair) -> bytes:
        """As older versions had it."""
        return pair_line(example)

    def tensors(self, examples: Sequence[Pair], seed: Sequence[int]) -> Batch:
        """Source and target ids, filled up with padding."""
        return tensors(examples, self.config.pad_id)

    def check(
        self, examples: Sequence[Any], name: str, batch_tokens: int, ends: bool = False
    ) -> None:
        """As `check_pairs`."""
        check_pairs(examples, name, self.config, batch_tokens, ends)


class LanguageModel(Objective):
    """The loss of every next token of a text; an example is a text of two ids or more.

    The model, a `Gpt`, reads all but the last id and is asked for all but the first.
    Examples may also be the windows of a `Packed`, of a file of any size.
    """

    kinds = (Gpt,)

    def __init__(self, model: Gpt, smoothing: float = 0.0) -> None:
        super().__init__(model)
        probability(smoothing=smoothing)
        self.smoothing = smoothing

    def forward(
        self, ids: Int[Tensor, "B T"], wanted: Int[Tensor, "B T"]
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """The summed loss and the number of tokens that the model would have chosen."""
        logits = self.model(ids)
        smoothing = self.smoothing if self.training else 0.0
        loss = smoothed_loss(logits, wanted, NOT_ASKED, smoothing, "sum")
        return loss, (logits.argmax(-1) == wanted).sum()

    def count(self, batch: Sequence[Tensor]) -> int:
        """All tokens but the first of each text."""
        return int((batch[1] != NOT_ASKED).sum())

    def sides(self, example: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """What is read; there is no second side."""
        return example, example

    def tensors(
        self,
        examples: Sequence[Sequence[int]] | Int[np.ndarray, "B W"],
        seed: Sequence[int],
    ) -> Batch:
        """What is read, filled up on the right, and what is asked."""
        if isinstance(examples, np.ndarray):  # windows, which have one length
            rows = torch.from_numpy(examples)
            return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()
        read = pad([ids[:-1] for ids in examples], self.config.pad_id)
        wanted = pad([ids[1:] for ids in examples], NOT_ASKED)
        return torch.from_numpy(read), torch.from_numpy(wanted)

    def check(
        self, examples: Sequence[Any], name: str, batch_tokens: int, ends: bool = False
    ) -> None:
        """Refuse texts that are too short or too long, and ids that the model lacks."""
        c = self.config
        if isinstance(examples, Packed):
            check_packed(examples, name, c, batch_tokens)
            return
        for i, ids in counted(examples, name):
            check_ids(ids, f"{name}: text {i}", c, 2, c.max_len + 1, batch_tokens)


class Answers(LanguageModel):
    """The loss of answers only; an example is a question and its answer, as ids.

    The model, a `Gpt`, reads the question with bos_id before it, then the answer. It is
    asked for every token of the answer and for eos_id after it, and for none of the
    question.
    """

    def __init__(self, model: Gpt, smoothing: float = 0.0) -> None:
        super().__init__(model, smoothing)

    def sides(self, example: Any) -> tuple[Sequence[int], Sequence[int]]:
        """What is read; there is no second side."""
        read = [self.config.bos_id, *example[0], *example[1]]
        return read, read

    def line(self, example: Any) -> bytes:
        """Where the answer begins counts, too."""
        return pair_line(example)

    def tensors(
        self, examples: Sequence[Any] | Int[np.ndarray, "B W"], seed: Sequence[int]
    ) -> Batch:
        """What is read, filled up on the right, and what is asked."""
        c = self.config
        read = [torch.tensor(self.sides(example)[0]) for example in examples]
        asked = [[NOT_ASKED] * len(q) + [*a, c.eos_id] for q, a in examples]
        wanted = [torch.tensor(row) for row in asked]
        return pad_sequence(read, True, c.pad_id), pad_sequence(wanted, True, NOT_ASKED)

    def check(
        self, examples: Sequence[Any], name: str, batch_tokens: int, ends: bool = False
    ) -> None:
        """Refuse what is no pair, what is too long, and ids that the model lacks."""
        c = self.config
        for i, example in counted(examples, name):
            where = f"{name}: example {i}"
            if not isinstance(example, (list, tuple)) or len(example) != 2:
                raise ValueError(f"{where} must be a question and its answer")
            ids = [*example[0], *example[1]]
            check_ids(ids, where, c, 2, c.max_len - 1, batch_tokens - 1)


class MaskedWords(Objective):
    """The loss of words that are hidden, other ones each time a text is read.

    An example is a pair of ids, of a first text and of a second, which may be empty; as
    RoBERTa does it, nobody asks whether the second follows.
    """

    kinds = (MaskedLM, Pretraining)
    unused = True  # those of [CLS], which nobody asks

    def __init__(self, model: MaskedLM | Pretraining, mask_id: int) -> None:
        super().__init__(model)
        integer(mask_id=mask_id)
        if not 0 <= mask_id < self.config.vocab_size:
            rule = f"must be at least 0 and below {self.config.vocab_size}"
            raise ValueError(f"mask_id ({mask_id}) {rule}")
        self.mask_id = mask_id

    def forward(
        self,
        ids: Int[Tensor, "B S"],
        chosen: Bool[Tensor, "B S"],
        wanted: Int[Tensor, "B S"],
        segments: Int[Tensor, "B S"],
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """The summed loss of the hidden words, and how many were guessed."""
        if isinstance(self.model, Pretraining):
            logits, _ = self.model(ids, chosen, segments)
        else:
            logits = self.model(ids, segments)[chosen]
        loss = F.cross_entropy(logits, wanted[chosen], reduction="sum")
        return loss, (logits.argmax(-1) == wanted[chosen]).sum()

    def count(self, batch: Sequence[Tensor]) -> int:
        """The hidden words."""
        return int(batch[1].sum())

    def sides(self, example: Text) -> tuple[Sequence[int], Sequence[int]]:
        """Both texts with their marks, as they are read."""
        ids, _ = frame(*example, self.config.special_ids)
        return ids, ids

    def line(self, example: Text) -> bytes:
        """Both texts."""
        return pair_line(example)

    def tensors(self, examples: Sequence[Text], seed: Sequence[int]) -> Batch:
        """What is read, which places are asked, what was there, and the segments."""
        rng = np.random.default_rng(seed)
        return prepare(examples, self.config, self.mask_id, rng)[:4]

    def check(
        self, examples: Sequence[Any], name: str, batch_tokens: int, ends: bool = False
    ) -> None:
        """Refuse texts that are too long with their marks, and ids that the model lacks."""
        bert = self.model.bert
        most = self.config.max_len - bert.first_position
        check_texts(examples)
        for i, example in counted(examples, name):
            ids, what = self.sides(example)[0], f"{name}: text {i}"
            check_ids(ids, what, self.config, 3, most, batch_tokens)

    def described(self) -> dict[str, Any]:
        """The mark of a hidden word, too."""
        return super().described() | {"mask_id": self.mask_id}


class Labels(Objective):
    """The loss of the right class; an example is a text or a picture with its label.

    For a `Classifier` it is (framed ids, label), for a `VisionTransformer` (channels ×
    height × width, label).
    """

    kinds = (Classifier, VisionTransformer)

    def __init__(self, model: Classifier | VisionTransformer) -> None:
        super().__init__(model)

    def forward(
        self, given: Tensor, labels: Int[Tensor, "B"]
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """The summed loss, and how many got their label."""
        logits = self.model(given)
        loss = F.cross_entropy(logits, labels, reduction="sum")
        return loss, (logits.argmax(-1) == labels).sum()

    def count(self, batch: Sequence[Tensor]) -> int:
        """One for each example."""
        return len(batch[1])

    def sides(self, example: tuple[Any, int]) -> tuple[Sequence[Any], Sequence[Any]]:
        """The ids, or as many places as the encoder reads of a picture."""
        read = example[0]
        if isinstance(self.model, VisionTransformer):
            read = range(np.prod(np.shape(read)[1:]) // self.model.size**2 + 1)
        return read, read

    def tensors(
        self, examples: Sequence[tuple[Any, int]], seed: Sequence[int]
    ) -> Batch:
        """Ids or pictures, and labels."""
        given, labels = zip(*examples, strict=True)
        if isinstance(self.model, VisionTransformer):
            like = self.model.class_token.dtype
            read = torch.stack([torch.as_tensor(x, dtype=like) for x in given])
        else:
            read = torch.from_numpy(pad(given, self.config.pad_id))
        return read, torch.tensor(labels)

    def check(
        self, examples: Sequence[Any], name: str, batch_tokens: int, ends: bool = False
    ) -> None:
        """Refuse classes that the model lacks, and what it cannot read."""
        most = self.config.max_len
        for i, example in counted(examples, name):
            if not isinstance(example, (tuple, list)) or len(example) != 2:
                rule = "must be (what is read, its label)"
                raise TypeError(f"{name}: example {i} {rule}, not {example!r:.40}")
            integer(**{f"{name}: the label of example {i}": example[1]})
            if not 0 <= example[1] < (n := self.n_classes):
                rule = f"must be at least 0 and below {n}"
                raise ValueError(
                    f"{name}: the label {example[1]} of example {i} {rule}"
                )
            if isinstance(self.model, Classifier):
                what = f"{name}: text {i}"
                check_ids(example[0], what, self.config, 1, most, batch_tokens)
            else:
                self.check_picture(
                    example[0], f"{name}: picture {i}", min(batch_tokens, most)
                )

    def check_picture(self, picture: Any, what: str, most: int) -> None:
        """Refuse a picture that the model could not cut into its patches."""
        model, shape = self.model, tuple(np.shape(picture))
        if len(shape) != 3 or shape[0] != model.channels:
            rule = f"must be channels × height × width with {model.channels} channels"
            raise ValueError(f"{what} has the shape {shape}; it {rule}")
        n = len(self.sides((picture, 0))[0])
        if any(side % model.size for side in shape[1:]) or n > most:
            rule = (
                f"{model.size} must divide both sides, and {most - 1} patches are most"
            )
            raise ValueError(f"{what} has the shape {shape}; {rule}")

    @property
    def n_classes(self) -> int:
        """How many classes the model knows."""
        head: nn.Linear = self.model.head
        return head.out_features

    def line(self, example: tuple[Any, int]) -> bytes:
        """What is read, and its label."""
        read, label = example
        return np.asarray(read).tobytes() + f" {int(label)}\n".encode()


def pair_line(pair: Pair) -> bytes:
    """A pair of ids as bytes."""
    one, other = pair
    return f"{[*map(int, one)]} {[*map(int, other)]}\n".encode()


def counted(examples: Sequence[Any], name: str) -> Iterator[tuple[int, Any]]:
    """Each example with its number; that there is none is an error."""
    if not len(examples):
        raise ValueError(f"{name} has no examples; there must be at least one")
    return enumerate(examples)


def check_packed(
    examples: Packed, name: str, config: Config, batch_tokens: int
) -> None:
    """Refuse windows that are too long, and ids that the model lacks: all are read."""
    length = examples.length
    if length > config.max_len or length + 1 > batch_tokens:
        rule = f"max_len is {config.max_len}, and a batch has {batch_tokens} tokens"
        raise ValueError(f"{name}: windows of {length} + 1 ids are too long: {rule}")
    for ids in examples.chunks():
        check_within(ids, config.vocab_size, f"{name}: the row")


def taken(examples: Sequence[Any], places: Ids) -> Any:
    """The examples at these places; windows come as one array."""
    if isinstance(examples, Packed):
        return examples.rows(places)
    return [examples[i] for i in places]

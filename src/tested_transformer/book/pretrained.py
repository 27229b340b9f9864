"""The package's trained translator: its tokens, what it has learned, and what it predicts, token by token.

The predictions are made as in training, under teacher forcing: all tokens before are those of a German that is given.
"""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tested_transformer.book.coreference import FRAMES, RUNNING, before_pronoun
from tested_transformer.byhand.loss import cross_entropy
from tested_transformer.decoding.greedy import greedy
from tested_transformer.decoding.translator import Translator
from tested_transformer.phrasebook.corpus import Sentence
from tested_transformer.phrasebook.words import NOUNS, Noun
from tested_transformer.text.tokens import pad
from tested_transformer.training import checkpoint


def load() -> Translator:
    """The translator in float64, which writes the most probable token in each step."""
    translator = Translator.load(width=1)
    translator.model.double()
    return translator


def other_training(weights: str | PathLike[str]) -> Translator:
    """The translator with the weights of another training, from a file; tokens and sizes are the same."""
    translator = load()
    translator.model.load_state_dict(checkpoint.read_weights(Path(weights)))
    return translator


def params(translator: Translator) -> dict[str, np.ndarray]:
    """The numbers that the model has learned, by name, as `byhand` takes them."""
    return {name: w.numpy() for name, w in translator.model.state_dict().items()}


def pieces(translator: Translator, text: str) -> list[tuple[str, int]]:
    """The tokens of a text as the translator reads them, each with its id."""
    return [(translator.name(i), i) for i in translator.tokens.encode(text)]


def token_names(translator: Translator, english: str) -> list[str]:
    """The tokens that the encoder reads, with the mark of the end."""
    return [translator.name(i) for i in translator.encode(english, 1)]


def place(translator: Translator, english: str, word: str) -> int:
    """Where a word of a sentence is read, if it is one token."""
    names = token_names(translator, english)
    if f" {word}" not in names:
        raise ValueError(f"word ({word!r}) must be one token of {english!r}")
    return names.index(f" {word}")


def it_and_thing(
    translator: Translator, english: str, thing: str
) -> tuple[int, list[int]]:
    """Where the model reads "it", and where the pieces of the thing's name."""
    names = token_names(translator, english)
    starts = [len("".join(names[:i])) for i in range(len(names))]
    first = english.index(f" {thing} ")
    within = range(first, first + len(thing) + 1)
    return names.index(" it"), [i for i, start in enumerate(starts) if start in within]


def noun_row(translator: Translator, thing: str) -> np.ndarray:
    """The row of a thing in the model's table, if its English is one token."""
    return translator.model.embedding.weight.detach()[
        token_id(translator, thing)
    ].numpy()


def token_id(translator: Translator, word: str) -> int:
    """The id of a word that is one token."""
    ids = translator.tokens.encode(f" {word}")
    if len(ids) != 1:
        raise ValueError(f"word ({word!r}) must be one token, not {len(ids)}")
    return ids[0]


def noun_rows(translator: Translator) -> tuple[list[Noun], np.ndarray]:
    """The nouns whose English is one token, and the row of each in the model's table."""
    ids = {noun: translator.tokens.encode(f" {noun.english}") for noun in NOUNS}
    nouns = [noun for noun in NOUNS if len(ids[noun]) == 1]
    rows = translator.model.embedding.weight.detach()
    return nouns, rows[[ids[noun][0] for noun in nouns]].numpy()


def read_as(translator: Translator, thing: str) -> str:
    """What is needed in the German of "I need the THING because it is old.", whatever word THING is."""
    (german,) = translator.translate([RUNNING[0].english.replace("chair", thing)])
    return german.removeprefix("Ich brauche ").partition(",")[0]


# Teacher forcing


def source_ids(translator: Translator, *texts: str) -> Tensor:
    """What the encoder reads, a row for each text, filled up with padding: (B, S)."""
    rows = [translator.encode(text, place) for place, text in enumerate(texts, 1)]
    return torch.from_numpy(pad(rows, translator.model.config.pad_id))


def token_ids(
    translator: Translator, sentence: Sentence
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ids of a sentence and of its German as far as it is written at each place, and what should come next."""
    c, german = translator.model.config, translator.tokens.encode(sentence.german)
    source = source_ids(translator, sentence.english).numpy()
    return source, np.array([[c.bos_id, *german]]), np.array([[*german, c.eos_id]])


def begun(translator: Translator, thing: str) -> tuple[np.ndarray, np.ndarray]:
    """The ids of the first frame about a thing: all of the English, and the German up to the word for "it"."""
    sentence = FRAMES[0].say(thing)
    german = before_pronoun(sentence.german)
    return token_ids(translator, sentence._replace(german=german))[:2]


@torch.no_grad()
def logits(
    translator: Translator, english: str, german: str, memory: Tensor | None = None
) -> Tensor:
    """The logits for what comes after each token of the German, and before the first: (B, T, V).

    The decoder reads the memory of the English, or others of the same size, if they are given.
    """
    model, source = translator.model, source_ids(translator, english)
    memory = model.encode(source) if memory is None else memory
    begun = [model.config.bos_id, *translator.tokens.encode(german)]
    target = torch.tensor([begun] * len(memory))
    states = model.decode(target, memory, source.expand(len(memory), -1))
    return model.embedding.logits(states)


def probabilities(
    translator: Translator, english: str, german: str, memory: Tensor | None = None
) -> Tensor:
    """The probabilities of the token that follows: (V,), or (B, V) for several memories."""
    last = logits(translator, english, german, memory)[:, -1]
    return last.softmax(-1).squeeze(0)


def next_word(
    translator: Translator, english: str, german: str, memory: Tensor | None = None
) -> str:
    """The most probable token after this German."""
    p = probabilities(translator, english, german, memory)
    return translator.name(int(p.argmax())).strip()


def at_pronoun(
    translator: Translator, sentence: Sentence, memory: Tensor | None = None
) -> str:
    """What the model writes where a translated frame has its pronoun, if all before it is as it should be."""
    german = before_pronoun(sentence.german)
    return next_word(translator, sentence.english, german, memory)


def surprises(
    translator: Translator, sentence: Sentence
) -> tuple[list[str], np.ndarray]:
    """What should come at each place of the German, and how surprised the model is by it, in nats."""
    right = token_ids(translator, sentence)[2][0]
    names = [translator.name(i).strip() for i in right.tolist()]
    found = logits(translator, *sentence[:2])[0].numpy()
    return names, cross_entropy(found, right)


@torch.no_grad()
def predictions(
    translator: Translator, sentences: Sequence[Sentence]
) -> list[tuple[str, str, str]]:
    """For each token that the decoder reads: it, the one that follows in the German, and the one that the model writes.

    All tokens before it are those of the German, whatever the model would have written.
    """
    c, german = (
        translator.model.config,
        [translator.tokens.encode(s.german) for s in sentences],
    )
    source = source_ids(translator, *[s.english for s in sentences])
    target = torch.from_numpy(pad([[c.bos_id, *row] for row in german], c.pad_id))
    right = torch.from_numpy(pad([[*row, c.eos_id] for row in german], c.pad_id))
    after = translator.model(source, target).argmax(-1)
    triples = torch.stack([target, right, after], -1)[right != c.pad_id].tolist()
    return [tuple(map(translator.name, triple)) for triple in triples]


def written(
    translator: Translator, *texts: str, max_len: int | None = None
) -> list[str]:
    """What the model writes for texts, in one batch and in their order."""
    return write(translator, source_ids(translator, *texts), max_len)


def write(
    translator: Translator, source: Tensor, max_len: int | None = None
) -> list[str]:
    """What the model writes when it reads these ids: (B, S)."""
    c = translator.model.config
    rows = greedy(translator.model, source, max_len).tolist()
    texts = [[i for i in row if i not in (c.eos_id, c.pad_id)] for row in rows]
    return [translator.tokens.decode(text).strip() for text in texts]

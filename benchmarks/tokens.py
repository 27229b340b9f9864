"""Byte-pair encoding on real sentences, beside the library `tokenizers`: speed, and whether the results are the same.

    TESTED_TRANSFORMER_DATA=folder python benchmarks/tokens.py [number of merges]

The folder has train.*.gz, one sentence a line, in it or below it. Both sides run on one core.
"""

import gzip
import json
import os
import pathlib
import sys
import time

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from tested_transformer.text.tokens import PIECES, SPECIALS, BytePairEncoding


def timed(what, action, words=None):
    """Do something once; print the processor seconds that it took, and how many words that is in a second."""
    start = time.process_time()
    result = action()
    seconds = time.process_time() - start
    print(f"{what:34} {seconds:7.2f} s" + (f"   {words / seconds:>12,.0f} words/s" if words else ""))
    return result


def library(texts, vocab_size):
    """The same training by the library: the same pieces, and its byte-level alphabet."""
    theirs = Tokenizer(models.BPE())
    pieces = pre_tokenizers.Split(Regex(PIECES.pattern), "isolated")
    bytewise = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    theirs.pre_tokenizer = pre_tokenizers.Sequence([pieces, bytewise])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=list(SPECIALS), initial_alphabet=alphabet, show_progress=False
    )
    theirs.train_from_iterator(texts, trainer)
    return theirs


def main():
    """Train, encode and decode with both; the exit status is 0 where they agree."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    folder = pathlib.Path(os.environ["TESTED_TRANSFORMER_DATA"])
    n_merges = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    texts = []
    for path in sorted(folder.rglob("train.*.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            texts += [line.rstrip("\n") for line in lines]
    words = sum(len(text.split()) for text in texts)
    print(f"{len(texts):,} sentences, {words:,} words")
    ours = timed(f"ours: {n_merges} merges", lambda: BytePairEncoding.train(texts, n_merges))
    theirs = timed("library: the same", lambda: library(texts, ours.vocab_size))
    ids = timed("ours: encode", lambda: [ours.encode(text) for text in texts], words)
    timed("ours: encode again, remembering", lambda: [ours.encode(text) for text in texts], words)
    their_ids = timed("library: encode, one by one", lambda: [theirs.encode(text).ids for text in texts], words)
    back = timed("ours: decode", lambda: [ours.decode(row) for row in ids], words)
    model = json.loads(theirs.to_str())["model"]
    merges = [(model["vocab"][a], model["vocab"][b]) for a, b in model["merges"]]
    facts = {"same merges": merges == ours.merges, "same ids": their_ids == ids, "text comes back": back == texts}
    print(f"{sum(map(len, ids)):,} tokens, vocabulary {ours.vocab_size:,}; {facts}")
    return int(not all(facts.values()))


if __name__ == "__main__":
    sys.exit(main())

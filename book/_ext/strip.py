"""The line at the head of a chapter that says where one is, and opens the machine as a row of parts.

The parts stand in the direction in which data flow. Each leads to its chapter, and has its colour in the whole book.
"""

from html import escape

# Chapter, what it is called, and its colour in the dictionary; a list is a layer.
MACHINE = [
    ("tokens", "tokens", ""),
    ("embedding", "embedding", "embedding"),
    ("positions", "positions", "embedding"),
    [
        ("encoder", "encoder N×", ""),
        ("attention", "attention", "attention"),
        ("heads", "heads", "attention"),
        ("masks", "masks", "attention"),
        ("addnorm", "add & norm", "norm"),
        ("feedforward", "feed forward", "feed-forward"),
    ],
    ("decoder", "decoder N×", ""),
    ("transformer", "linear & softmax", ""),
    ("decode", "decoding", ""),
]
LEARNING = [
    ("loss", "loss", ""),
    ("adam", "Adam", ""),
    ("schedule", "schedule", ""),
    ("train", "training", ""),
]
# What stands between a part and the one before it, where it is no arrow.
JOINED = {"positions": "+", "attention": "", "heads": "·", "masks": "·"}
PARTS = [
    part
    for entry in (*MACHINE, *LEARNING)
    for part in (entry if isinstance(entry, list) else [entry])
]
NAMES = {name: label for name, label, _ in PARTS}

ENCODER = {name for name, *_ in MACHINE[3]}
WHOLE = set(NAMES) - {name for name, *_ in LEARNING}
# Chapters that are about several boxes, or about none: where one is, in words, and which boxes are lit.
ELSEWHERE = {
    "notation": ("before the machine", set()),
    "recurrence": ("before the machine", set()),
    "vectors": ("before the machine", set()),
    "transformer": ("all of it", WHOLE),
    "order": ("inside attention", {"positions", "attention", "heads"}),
    "translation": ("all of it, trained", WHOLE),
    "generalise": ("has it learned?", WHOLE | {"train"}),
    "cache": ("one token at a time", {"decoder", "decode"}),
    "bleu": ("all of it, judged", WHOLE),
    "looking": ("inside, trained", {"attention", "heads"}),
    "cut": ("inside, opened", {"attention", "heads"}),
    "conclude": ("inside, put to the test", {"attention", "heads"}),
    "bert": ("the encoder alone", ENCODER),
    "gpt": ("the decoder alone", {"decoder"}),
    "patches": ("pictures for words", {"tokens", "embedding"}),
    "scale": ("what it costs", WHOLE),
    "machines": ("on many machines", WHOLE | {"train"}),
    "today": ("the layer, nine years later", ENCODER | {"embedding", "positions"}),
    "chat": ("a chat model, opened", {"decoder", "decode"}),
    "answering": ("it learns to answer", {"decoder", "loss", "train"}),
    "fast": ("many answers, cheaply", {"decoder", "decode"}),
    "derivatives": ("before it learns", set()),
    "backward": (
        "backwards: loss and attention",
        {"loss", "attention", "heads", "masks"},
    ),
    "backward_layer": ("backwards: a layer", ENCODER | {"decoder"}),
    "backward_machine": ("backwards: all of it", WHOLE | {"loss"}),
    "onefile": ("all of it, in one file", WHOLE | {"loss", "adam", "train"}),
}


def has_strip(name):
    """Is this a chapter about the machine, or about what came before or after it?"""
    return name in WHOLE | {box[0] for box in LEARNING} | ELSEWHERE.keys()


def place(name):
    """Where a chapter is, in a few words."""
    if name in ELSEWHERE:
        return f"You are here: {ELSEWHERE[name][0]}"
    learning = [part[0] for part in LEARNING]
    if name in learning:
        return f"Learning, part {learning.index(name) + 1} of {len(learning)}: {NAMES[name]}"
    return f"Part {[*NAMES].index(name) + 1} of {len(WHOLE)}: {NAMES[name]}"


def html(name, link):
    """The line for one chapter, and what it opens. `link(name)` is the address of another one."""
    lit = ELSEWHERE.get(name, ("", {name}))[1]

    def row(entries):
        return f"<ol>{''.join(map(item, entries))}</ol>"

    def marks(chapter, colour):
        return " ".join(filter(None, [colour, "lit" * (chapter in lit)]))

    def item(entry):
        if isinstance(entry, list):
            return f'<li class="layer" data-sign="→">{row(entry)}</li>'
        chapter, label, colour = entry
        sign = JOINED.get(chapter, "→")
        here = ' aria-current="page"' if chapter == name else ""
        part = f'<a class="{marks(chapter, colour)}" href="{escape(link(chapter))}"{here}>{escape(label)}</a>'
        return f'<li data-sign="{sign}">{part}</li>'

    small = "".join(
        f'<i class="{marks(part, colour)}"></i>' for part, _, colour in PARTS
    )
    return (
        '<nav class="machine" aria-label="Where this chapter is in the machine"><details>'
        f'<summary><span aria-hidden="true">{small}</span>{escape(place(name))}</summary>'
        f'{row(MACHINE)}<p class="side">learning:</p>{row(LEARNING)}</details></nav>'
    )

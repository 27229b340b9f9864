"""The strip "you are here" at the head of a chapter: the machine as a row of parts in the direction in which data flow.

A wide page shows the row. On a phone one line says which part it is, and opens the row. Each part leads to its chapter,
and has its colour in the whole book.
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
NAMES = {
    name: label
    for part in (*MACHINE, *LEARNING)
    for name, label, _ in (part if isinstance(part, list) else [part])
}

ENCODER = {name for name, *_ in MACHINE[3]}
WHOLE = dict.fromkeys(
    name
    for entry in MACHINE
    for name, *_ in (entry if isinstance(entry, list) else [entry])
).keys()
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
    "conclude": ("inside, put to the test", {"attention", "heads"}),
    "bert": ("the encoder alone", ENCODER),
    "gpt": ("the decoder alone", {"decoder"}),
    "patches": ("pictures for words", {"tokens", "embedding"}),
    "scale": ("what it costs", WHOLE),
    "machines": ("on many machines", WHOLE | {"train"}),
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
    parts, of = (learning, " of learning") if name in learning else ([*WHOLE], "")
    return f"Part {parts.index(name) + 1} of {len(parts)}{of}: {NAMES[name]}"


def html(name, link):
    """The strip for one chapter. `link(name)` is the address of another one."""
    words, lit = ELSEWHERE.get(name, ("", {name}))
    said = f'<p class="side">you are here:</p><p>{escape(words)}</p>' if words else ""

    def row(entries):
        return f"<ol>{''.join(map(item, entries))}</ol>"

    def item(entry):
        if isinstance(entry, list):
            return f'<li class="layer" data-sign="→">{row(entry)}</li>'
        chapter, label, colour = entry
        sign = JOINED.get(chapter, "→")
        marks = " ".join(filter(None, [colour, "lit" * (chapter in lit)]))
        here = ' aria-current="page"' if chapter == name else ""
        part = f'<a class="{marks}" href="{escape(link(chapter))}"{here}>{escape(label)}</a>'
        return f'<li data-sign="{sign}">{part}</li>'

    return (
        '<nav class="machine" aria-label="Where this chapter is in the machine"><details>'
        f"<summary>{escape(place(name))}</summary>"
        f'{row(MACHINE)}<p class="side">learning:</p>{row(LEARNING)}{said}</details></nav>'
    )

"""The command `export`: write a translator as two graphs of ONNX."""

import argparse

from tested_transformer.command import arguments as shared
from tested_transformer.decoding.onnx import export_onnx


def arguments(add: argparse.ArgumentParser) -> None:
    """What can be said to this command."""
    add.add_argument("folder", type=shared.named, help="where the graphs will be")
    shared.add_folder(add)


def export(given: argparse.Namespace) -> None:
    """Write encoder.onnx, decoder.onnx, config.json and tokens.json, for `translate --onnx`."""
    if given.folder.exists() and any(given.folder.iterdir()):
        raise ValueError(f"{given.folder} is not empty: name a new folder")
    translator = shared.translator_of(given.model)
    export_onnx(translator.model, given.folder, translator.tokens)

"""In tests, and only there, every call of the package is checked against the shapes in its signature."""

import gc
import pkgutil
from importlib.util import find_spec

import torch
import typechecker
from beartype.claw import beartype_package
from hypothesis import Phase, settings
from jaxtyping import install_import_hook

collect_ignore = ["browser"]  # they need a browser; `make browser` names the folder

# Shapes are checked where there are arrays. The grammar of the phrasebook has none, and calls itself so often that the
# check of shapes would make it eight times as slow: its types alone are checked.
inside = pkgutil.iter_modules(find_spec("tested_transformer").submodule_search_locations, "tested_transformer.")
names = {module.name for module in inside} - {"tested_transformer.phrasebook"}
install_import_hook(sorted(names), "typechecker.checked")
beartype_package("tested_transformer.phrasebook", conf=typechecker.STRICTNESS)

# The same examples on each run and each machine, and no clock: a test that fails once fails again.
settings.register_profile("book", derandomize=True, deadline=None, max_examples=30)
settings.load_profile("book")
# Other examples: pytest -m hypothesis --hypothesis-profile=seeds --hypothesis-seed=7
settings.register_profile("seeds", deadline=None, max_examples=30, database=None, print_blob=True)
# For mutants, one counterexample will do; to make it small takes minutes.
settings.register_profile("mutants", settings.get_profile("book"), phases=[Phase.explicit, Phase.generate])

# Tests work on tiny models. On a busy machine two threads, which wait for each other, are many times slower than one.
torch.set_num_threads(1)

# What is loaded while tests are collected stays until the end: nobody has to look whether it is garbage.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()

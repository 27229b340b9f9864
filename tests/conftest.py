"""In tests, and only there, every call of the package is checked against the shapes in its signature."""

import torch
from hypothesis import Phase, settings
from jaxtyping import install_import_hook

collect_ignore = ["browser"]  # they need a browser; `make browser` names the folder

install_import_hook("tested_transformer", "typechecker.checked")

# The same examples on each run and each machine, and no clock: a test that fails once fails again.
settings.register_profile("book", derandomize=True, deadline=None, max_examples=30)
settings.load_profile("book")
# Other examples: pytest -m hypothesis --hypothesis-profile=seeds --hypothesis-seed=7
settings.register_profile("seeds", deadline=None, max_examples=30, database=None, print_blob=True)
# For mutants, one counterexample will do; to make it small takes minutes.
settings.register_profile("mutants", settings.get_profile("book"), phases=[Phase.explicit, Phase.generate])

# Tests work on tiny models. On a busy machine two threads, which wait for each other, are many times slower than one.
torch.set_num_threads(1)

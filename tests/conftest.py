"""In tests, and only there, every call of the package is checked against the shapes in its signature."""

from hypothesis import settings
from jaxtyping import install_import_hook

install_import_hook("tested_transformer", "beartype.beartype")

# The same examples on each run and each machine, and no clock: a test that fails once fails again.
settings.register_profile("book", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("book")

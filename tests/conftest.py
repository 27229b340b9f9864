"""In tests, and only there, every call of the package is checked against the shapes in its signature."""

from jaxtyping import install_import_hook

install_import_hook("tested_transformer", "beartype.beartype")

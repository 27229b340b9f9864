"""How strictly signatures are taken in tests: as written, and an int may stand for a float (PEP 484)."""

from beartype import BeartypeConf, beartype

STRICTNESS = BeartypeConf(is_pep484_tower=True)
checked = beartype(conf=STRICTNESS)

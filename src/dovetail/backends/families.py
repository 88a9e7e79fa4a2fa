"""The families of array kernels of the base library, for backends with different kernels. A family
is a class with an array namespace; its methods are kernels.

::

    from dovetail.backends import families

    class FastScans(families.Scans):
        ...

    register_backend("fast", numpy, families={"reductions.Scans": "package.module.FastScans"})
"""

from typing import Any

from dovetail_aten.backends import (
    FAMILIES,
    Capabilities,
    Family,
    KernelTable,
    Numbers,
    Precision,
    family_class,
    fitted,
    helper,
    operator,
    rounds_once,
    widened,
    wrap_dim,
    wrap_dims,
)

from ..names.missing import names_of

__all__ = [
    "FAMILIES",
    "Capabilities",
    "Family",
    "KernelTable",
    "Numbers",
    "Precision",
    "family_class",
    "fitted",
    "helper",
    "operator",
    "rounds_once",
    "widened",
    "wrap_dim",
    "wrap_dims",
]

_BY_CLASS = {name.rpartition(".")[2]: name for name in FAMILIES}
_absent = names_of(__name__)


def __getattr__(name: str) -> Any:
    """Return the class of a family by its own name: ``Scans``."""
    if name in _BY_CLASS:
        return globals().setdefault(name, family_class(_BY_CLASS[name]))
    return _absent(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_BY_CLASS})

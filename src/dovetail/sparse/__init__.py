"""Sparse tensors, as ``torch.sparse``: products, sums, and constructors of old.

`sparse_coo_tensor` makes one in coordinate form, `sparse_csr_tensor` and `sparse_csc_tensor` in
compressed rows and columns. Layouts of blocks are not there, and say so.
"""

import typing as _typing

from ..names.missing import names_of as _names_of

if _typing.TYPE_CHECKING:
    from .compressed import sampled_addmm as sampled_addmm
    from .compressed import spdiags as spdiags
    from .functions import addmm as addmm
    from .functions import mm as mm
    from .functions import sum as sum

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "addmm",
    "mm",
    "sampled_addmm",
    "spdiags",
    "sum",
]

_FUNCTIONS = {name: f"{__name__}.functions" for name in ("addmm", "mm", "sum")}
_FUNCTIONS |= {name: f"{__name__}.compressed" for name in ("sampled_addmm", "spdiags")}
_PICKLED = {"rebuild_sparse_tensor": f"{__name__}.constructors"}
_TYPES = {name: f"{__name__}.legacy_constructors" for name in __all__ if name.endswith("Tensor")}

if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(
        __name__,
        elsewhere=_FUNCTIONS | _TYPES | _PICKLED,
        remedy="There are products, sums and conversions; for other functions to_dense().",
    )

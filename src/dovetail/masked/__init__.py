"""Reductions and normalizations that leave masked elements out, as ``torch.masked``.

Every function takes `mask`, a tensor of bools that broadcasts to the input: what is False is left
out. Default: nothing is. Where everything is left out, a result is the neutral element of the
operator, or NaN if there is none.

`dim` is a dimension or several, and by default all; `keepdim` says whether they become 1 instead of
going; `dtype` is that of the result, to which the input is converted first.
"""

import sys as _sys

from ..names.stubs import attach_stub as _attach_stub

_ops = _sys.modules[__name__]  # the path by which PyTorch's examples name them
__getattr__ = _attach_stub(__name__)

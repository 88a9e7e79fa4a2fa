"""Reductions and normalizations that ignore masked elements, as in ``torch.masked``.

Every function takes `mask`, a bool tensor that broadcasts to the input: elements with False are
ignored. Default: no elements are ignored. If all elements are ignored, the result is the neutral
element of the operator, or NaN.

`dim` is a dimension or several, and by default all; `keepdim` keeps the reduced dimensions with
size 1; `dtype` is the dtype of the result, to which the input is converted first.
"""

import sys as _sys

from ..names.stubs import attach_stub as _attach_stub

_ops = _sys.modules[__name__]  # the path by which PyTorch's examples name them
__getattr__ = _attach_stub(__name__)

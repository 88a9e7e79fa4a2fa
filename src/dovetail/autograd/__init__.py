"""Automatic differentiation, as in ``torch.autograd``: the public names of `dovetail_autograd`.

May import the packages below.
"""

from ..names.stubs import attach_stub as _attach_stub
from . import function as function  # classes of nodes take its name: here at once
from .gradcheck import gradcheck as gradcheck  # a function and its module: here at once

__getattr__ = _attach_stub(__name__)

"""`Function`, its decorator and its context, under PyTorch's path: ``autograd.function``."""

from dovetail_autograd import (
    BackwardCFunction,
    Function,
    FunctionCtx,
    FunctionMeta,
    _HookMixin,
    _is_setup_context_defined,
    _SingleLevelFunction,
    once_differentiable,
)
from dovetail_kernel import publish

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "_HookMixin",
    "_SingleLevelFunction",
    "_is_setup_context_defined",
    "once_differentiable",
]


class InplaceFunction(Function):
    """`Function` under its old name, for programs that derive from it. Its methods are static.

    Parameters
    ----------
    inplace
        Stored as the attribute ``inplace``. Default: False.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


publish(__name__)

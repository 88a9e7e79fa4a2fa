"""`Function`, its decorator and its context, where a torch user looks for them:
``autograd.function``.
"""

from dovetail_autograd import Function, FunctionNode, once_differentiable

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "once_differentiable",
]

# The context of a call is its node in the graph: one class is both.
FunctionCtx = BackwardCFunction = FunctionNode
FunctionMeta = type(Function)


class InplaceFunction(Function):
    """A `Function` by the name that programs of old derive from; its methods are static all the
    same, and it is never made.
    """

"""`Function`, its decorator and its context, where a torch user looks for them:
``autograd.function``.
"""

from dovetail_autograd import Function, FunctionNode, once_differentiable

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "once_differentiable"]

# The context of a call is its node in the graph: one class is both.
FunctionCtx = BackwardCFunction = FunctionNode

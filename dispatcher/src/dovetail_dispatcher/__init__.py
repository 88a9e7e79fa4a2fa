"""The dispatcher of Dovetail: operators declared by schemas, kernels registered per key, and the calls between."""

from typing import TYPE_CHECKING, Any

from . import fallback_kernels as _fallback_kernels
from . import transactions as _transactions
from .array_kernels import NoArrayKernelError, array_kernels
from .kernels import Kernel, fallthrough_kernel
from .library import Library, _scoped_library
from .operator import Operator
from .ops import OpOverload, OpOverloadPacket, ops
from .schema import FunctionSchema, SchemaError, infer_schema, parse_schema
from .tags import Tag

if TYPE_CHECKING:
    from .custom_ops import CustomOpDef, custom_op
    from .dumps import DispatchTable, dispatch_table
    from .explanation import Explanation, explain
    from .functional import define, impl, register_autograd, register_fake, register_kernel, register_vmap

_fallback_kernels.install()
_transactions.install()

_ON_DEMAND = {
    "CustomOpDef": "custom_ops",
    "DispatchTable": "dumps",
    "Explanation": "explanation",
    "custom_op": "custom_ops",
    "define": "functional",
    "dispatch_table": "dumps",
    "explain": "explanation",
    "impl": "functional",
    "register_autograd": "functional",
    "register_fake": "functional",
    "register_kernel": "functional",
    "register_vmap": "functional",
}
"""Names that most programs do not use, and their modules."""

__all__ = [
    "CustomOpDef",
    "DispatchTable",
    "Explanation",
    "FunctionSchema",
    "Kernel",
    "Library",
    "NoArrayKernelError",
    "OpOverload",
    "OpOverloadPacket",
    "Operator",
    "SchemaError",
    "Tag",
    "_scoped_library",
    "array_kernels",
    "custom_op",
    "define",
    "dispatch_table",
    "explain",
    "fallthrough_kernel",
    "impl",
    "infer_schema",
    "ops",
    "parse_schema",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{_ON_DEMAND[name]}", __name__), name)
    return value

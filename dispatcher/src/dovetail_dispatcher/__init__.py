"""The dispatcher of Dovetail: operators declared by schemas, kernels registered per dispatch key, and the calls between."""

from . import fallback_kernels as _fallback_kernels
from .array_kernels import NoArrayKernelError, array_kernels
from .kernels import Kernel, fallthrough_kernel
from .library import Library, _scoped_library
from .operator import Operator
from .ops import OpOverload, OpOverloadPacket, ops
from .schema import FunctionSchema, SchemaError, infer_schema, parse_schema
from .tags import Tag

_fallback_kernels.install()

__all__ = [
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
    "fallthrough_kernel",
    "infer_schema",
    "ops",
    "parse_schema",
]

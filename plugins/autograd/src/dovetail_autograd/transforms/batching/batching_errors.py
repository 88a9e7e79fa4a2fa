"""Errors of calls on batched tensors, in PyTorch's words, and checks of what batching rules
return.
"""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import OpOverload
from dovetail_kernel import TensorBase

from ..pytree import flatten, flatten_prefix


def unbatched_write_error(op: OpOverload) -> RuntimeError:
    """Return the error of writing a batched value into a tensor that has no batch."""
    name = op._operator.qualified_name if op.namespace != "aten" else op._operator.base_name
    return RuntimeError(
        f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` "
        "in extra_args that "
        "has more elements than `self`. This happened due to `other` being vmapped over but "
        "`self` not being vmapped "
        f"over in a vmap. Please try to use out-of-place operators instead of {name}, or make "
        "`self` from a batched "
        "tensor, with new_zeros or zeros_like."
    )


def loop_refusal(op: OpOverload, batch_size: int = 1) -> str | None:
    """Return why an operator without batching rule cannot be called entry by entry; None if it
    can.
    """
    schema = op._schema
    start = f"Batching rule not implemented for {op._operator.qualified_name}"
    hint = "Register one: dovetail.library.register_vmap."
    if any([a.is_out for a in schema.arguments]):
        return (
            f"{start}; the fallback path doesn't work on out= or "
            "view ops. Use the operator without out=."
        )
    if schema._is_view_op():
        return f"{start}; the fallback path doesn't work on out= or view ops. {hint}"
    if not schema.returns and not schema.is_mutable:
        return f"{start}. The fallback path does not support operations with no returns. {hint}"
    if any(
        [r.real_type.schema_str not in ("Tensor", "Tensor?", "Tensor[]") for r in schema.returns]
    ):
        return f"{start}. We could not generate a fallback. {hint}"
    if batch_size == 0:
        return f"{start}. The fallback path does not support vmap over dims of size 0. {hint}"
    return None


def check_outputs(returned: object, batch_size: int) -> tuple[Any, Any]:
    """Return what a user's rule returned as outputs and their batch dimensions. Raises RuntimeError
    if it is something else, or the dimensions do not fit the outputs: there must be `batch_size`
    entries along them.
    """
    if not isinstance(returned, tuple) or len(returned) != 2:
        got = f"{len(returned)} returns" if isinstance(returned, tuple) else f"a {type(returned)}"
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with "
            "pytree structure "
            f"compatible with the output. Got {got} instead"
        )
    outputs, out_dims = returned
    leaves, structure = flatten(outputs)
    dims = flatten_prefix(out_dims, structure)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, "
            "out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has "
            "structure "
            f"{flatten(out_dims)[1]} but output has structure {structure}. Return one dimension "
            "(or None) per output."
        )
    for dim in dims:
        if not (dim is None or (isinstance(dim, int) and not isinstance(dim, bool))):
            raise TypeError(
                f"a batch dimension is an int or None, but got {dim!r} among out_dims={out_dims}"
            )
    for leaf, dim in zip(leaves, dims, strict=True):
        if isinstance(leaf, TensorBase) and dim is not None:
            shape = tuple(leaf.array.shape)
            if not -len(shape) <= dim < len(shape) or shape[dim] != batch_size:
                raise _wrong_batch(shape, dim, batch_size)
    return outputs, out_dims


def _wrong_batch(shape: tuple[int, ...], dim: int, batch_size: int) -> Exception:
    """Return the error of an output that has no batch along its batch dimension."""
    if not -len(shape) <= dim < len(shape):
        return IndexError(
            f"Dimension out of range (expected to be in range of [{-len(shape)}, "
            f"{len(shape) - 1}], but got {dim}): a batching rule returned it as the batch "
            f"dimension of an output of shape {list(shape)}."
        )
    return RuntimeError(
        f"a batching rule returned an output of shape {list(shape)} with batch dimension {dim}, "
        f"whose size is not the {batch_size} entries of the batch. Return the dimension of that "
        "size, or None for an output that all entries share."
    )

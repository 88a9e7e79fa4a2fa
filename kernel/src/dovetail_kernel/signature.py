"""The signature of a tensor: one int whose bits are all that choosing a kernel needs to know.

The signatures of a call's arguments are or-ed together with the dispatch state, and the sum is the
key under which the call's route is kept. Position is not priority (priority is a table that the
resolver reads): the bits that every call touches lie below bit 30, where CPython's ints have one
digit.
"""

from __future__ import annotations

DTYPE_MASK = (1 << 15) - 1
"""Bits 0-14: the dtype, one-hot in the order of `dovetail_kernel.types.dtype.DTYPES`."""

ZERO_DIM = 1 << 15
"""The array has no dimensions. A call key without this bit knows that no result of a pointwise
operator is a scalar.
"""

GRAD = 1 << 16
"""The tensor requires grad, or may come to (a differentiable view whose base may); it only chooses
the route.
"""

VIEW = 1 << 17
"""A differentiable view: its `grad_fn` may be stale, so its edge has to be asked for, never read.
"""

NORMAL = 1 << 18
"""Not an inference tensor: the tensor carries its Autograd key. Absent on inference tensors, so
or-ing is exact.
"""

OVERRIDES = 1 << 19
"""An argument whose class may override every call on it: its `__torch_function__` is not disabled.
"""

PYTHON_BOOL = 1 << 20
PYTHON_INT = 1 << 21
PYTHON_FLOAT = 1 << 22
PYTHON_COMPLEX = 1 << 23
PYTHON_SCALAR = PYTHON_BOOL | PYTHON_INT | PYTHON_FLOAT | PYTHON_COMPLEX
"""A Python number stands where the schema has a Tensor (only in call keys, never on a tensor)."""

SCALAR_BITS: dict[type, int] = {
    bool: PYTHON_BOOL,
    int: PYTHON_INT,
    float: PYTHON_FLOAT,
    complex: PYTHON_COMPLEX,
}

NO_GRAD = 1 << 24
"""Grad mode is off (only in the dispatch state)."""

META_BIT = 1 << 25
CPU_BIT = 1 << 26
CUDA_BIT = 1 << 27
WRAPPED_BIT = 1 << 29
"""The array is a wrapper of a function transform: a batch of tensors, or a tensor with its tangent.
"""

INFERENCE = 1 << 28
"""An inference tensor: what `NORMAL` cannot tell of a call, that there is one among the arguments.
"""

FIRST_FREE_BIT = 30
"""Other backends and combinations of dispatch state get one-hot bits from here on, by
`dovetail_kernel.types.bits`.
"""

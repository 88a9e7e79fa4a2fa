"""Source text of a program that repeats a recorded call under two configurations."""

from __future__ import annotations

import base64
import zlib
from textwrap import indent
from typing import Any, Final

import numpy as np

from dovetail_dispatcher import _C, python_text

from .parting import Parting
from .recording import values_in
from .settings import Settings
from .values import Value

_SPELT: Final = 64
"""Tensors of more elements stand in the program as compressed bytes."""
_LONGEST: Final = 1 << 20
"""Bytes of arguments that are written out; of more, no program is made."""
_WIDTH: Final = 88


def program_of(parting: Parting, first: Settings, second: Settings) -> str | None:
    """Return the text of a program that compares a single call; None if its arguments are unknown
    or too large.
    """
    if parting.arguments is None:
        return None
    arrays = [each.array for each in values_in(parting.arguments)]
    if sum([0 if each is None else each.nbytes for each in arrays]) > _LONGEST:
        return None
    base, _, overload = parting.name.partition(".")
    namespace, _, name = base.partition("::")
    op = f"dovetail.ops.{namespace}.{name}.{overload or 'default'}"
    schema = _C._dispatch_find_schema_or_throw(base, overload)._schema
    pairs = list(zip(schema.arguments, parting.arguments, strict=True))
    positional = [_text(value) for each, value in pairs if not each.kwarg_only]
    named = [f"{each.name!r}: {_text(value)}" for each, value in pairs if each.kwarg_only]
    text = "\n".join([*positional, *named])
    lines: list[str] = []
    if "frombuffer(" in text:
        lines += ["import base64", "import zlib", ""]
    lines += ["import dovetail  # and the modules that register the kernels", ""]
    body = ["args = [", *[f"    {each}," for each in positional], "]"]
    body += ["kwargs = {", *[f"    {each}," for each in named], "}"] if named else []
    # A process of its own imports the program, and is sent a function of it.
    elsewhere = first.native is not None or second.native is not None
    body += [
        "comparison = dovetail.compare_runs(",
        f"    {'call' if elsewhere else op}, args{', kwargs' if named else ''},",
        f"    first={first.as_code()}, second={second.as_code()},",
        ")",
        "print(comparison)",
    ]
    if not elsewhere:
        return "\n".join(lines + body)
    lines += ["", "def call(*args, **kwargs):", f"    return {op}(*args, **kwargs)", "", ""]
    lines += ['if __name__ == "__main__":', indent("\n".join(body), "    ")]
    return "\n".join(lines)


def _text(value: object) -> str:
    return python_text(value, lambda v: _tensor_text(v) if isinstance(v, Value) else repr(v))


def _tensor_text(value: Value) -> str:
    array = value.array
    assert array is not None
    whole = array
    if 0 in array.strides and array.size:
        array = array[tuple([slice(1) if not step else slice(None) for step in array.strides])]
    if array.size > _SPELT:
        made = _bytes_text(array, value.dtype)
    else:
        made = f"dovetail.tensor({_numbers(array)}, dtype=dovetail.{value.dtype})"
    if array is not whole:
        made += f".expand({list(whole.shape)})"
    elif array.size > 1 and not array.flags.c_contiguous:
        steps = [step // array.itemsize for step in array.strides]
        empty = (
            f"dovetail.empty_strided({list(array.shape)}, {steps}, dtype=dovetail.{value.dtype})"
        )
        made = f"{empty}.copy_(\n        {made}\n    )"
    if value.device != "cpu":
        made += f".to({value.device!r})"
    return f"{made}.requires_grad_()" if value.requires_grad else made


def _numbers(array: np.ndarray[Any, Any]) -> str:
    known = array.astype(np.float64) if array.dtype.kind == "V" else array  # "V": of ml_dtypes
    return python_text(known.tolist())


def _bytes_text(array: np.ndarray[Any, Any], dtype: str) -> str:
    packed = base64.b85encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 9)).decode()
    pieces = [packed[at : at + _WIDTH] for at in range(0, len(packed), _WIDTH)]
    joined = "\n            ".join([repr(each) for each in pieces])
    return (
        "dovetail.frombuffer(\n        bytearray(zlib.decompress(base64.b85decode(\n"
        f"            {joined}\n        ))), dtype=dovetail.{dtype}\n"
        f"    ).reshape({list(array.shape)})"
    )

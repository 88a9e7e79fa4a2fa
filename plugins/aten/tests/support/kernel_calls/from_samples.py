"""Calls of array kernels made of the samples of their operators."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dovetail_kernel import Device, TensorBase, dtype, float32
from dovetail_testing.families import op_infos

Calls = tuple[dict[str, tuple[Any, ...]], dict[str, dict[str, Any]]]


def calls_of_samples(names: Collection[str], native_dtypes: Mapping[dtype, Any]) -> Calls:
    """Return positional and named arguments for the kernels of some operators: their first sample
    in single precision, or in the first dtype that they take.
    """

    def native(value: Any) -> Any:
        if isinstance(value, TensorBase):
            array = value.array.copy()
            array.flags.writeable = False
            return array
        if isinstance(value, list | tuple):
            return type(value)([native(each) for each in value])
        return native_dtypes[value] if isinstance(value, dtype) else value

    calls: dict[str, tuple[Any, ...]] = {}
    keywords: dict[str, dict[str, Any]] = {}
    for info in op_infos():
        name = info.name.partition("::")[2]
        if name in names:
            wanted = float32 if float32 in info.dtypes else min(info.dtypes, key=str)
            sample = next(iter(info.sample_inputs(Device("cpu"), wanted, False)))
            calls[name] = tuple([native(value) for value in sample.arguments])
            keywords[name] = {key: native(value) for key, value in sample.kwargs.items()}
    return calls, keywords

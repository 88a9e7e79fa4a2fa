"""Arrays exchanged with PyTorch and NumPy through DLPack: the memory is one, and what is refused is
refused alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

pytestmark = pytest.mark.cpu_only(reason="the PyTorch of the tests reads memory of the CPU")

DTYPES = (
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_sees_the_memory_of_a_tensor(dtype: str) -> None:
    x = dovetail.tensor([0, 1, 1, 0]).to(getattr(dovetail, dtype))
    seen = torch.from_dlpack(x)
    assert (seen.dtype, seen.data_ptr(), seen.tolist()) == (
        getattr(torch, dtype),
        x.data_ptr(),
        x.tolist(),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_sees_the_memory_of_torch(dtype: str) -> None:
    x = torch.tensor([0, 1, 1, 0]).to(getattr(torch, dtype))
    seen = dovetail.from_dlpack(x)
    assert (seen.dtype, seen.data_ptr(), seen.tolist()) == (
        getattr(dovetail, dtype),
        x.data_ptr(),
        x.tolist(),
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("version", [None, (0, 8), (1, 0)])
def test_a_capsule_of_either_kind_is_read(dtype: str, version: tuple[int, int] | None) -> None:
    x = dovetail.ones(3, dtype=getattr(dovetail, dtype))
    assert torch.from_dlpack(x.__dlpack__(max_version=version)).data_ptr() == x.data_ptr()
    y = torch.ones(3, dtype=getattr(torch, dtype))
    assert dovetail.from_dlpack(y.__dlpack__(max_version=version)).data_ptr() == y.data_ptr()


@pytest.mark.parametrize("version", [None, (1, 0)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "complex64"])
def test_a_capsule_shares_memory_that_is_written(
    dtype: str, version: tuple[int, int] | None
) -> None:
    for exporter in (dovetail, torch):
        for part in (lambda x: x, lambda x: x[1:, ::2], lambda x: x.t(), lambda x: x[0, 0]):
            whole = exporter.zeros(3, 4, dtype=getattr(exporter, dtype))
            source = part(whole)
            made = dovetail.from_dlpack(source.__dlpack__(max_version=version))
            assert made.data_ptr() == source.data_ptr()
            del source
            made.fill_(1)
            assert bool(part(whole).bool().all())


def test_strides_cross_over() -> None:
    assert dovetail.from_dlpack(torch.arange(12).reshape(3, 4).t()[1:]).stride() == (1, 4)
    assert torch.from_dlpack(dovetail.arange(12).reshape(3, 4).t()[1:]).stride() == (1, 4)


def test_what_came_from_torch_stays_alive() -> None:
    seen = dovetail.from_dlpack(torch.full((1000,), 7.0))
    torch.full((1000,), 8.0)
    assert seen.sum().item() == 7000


def pack(lib: Any, capsule: Any) -> Any:
    return lib.utils.dlpack.from_dlpack(capsule).tolist()


def consumed(lib: Any) -> Any:
    capsule = lib.ones(2).__dlpack__()
    return [pack(lib, capsule), pack(lib, capsule)]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "what requires grad": lambda lib: np.from_dlpack(lib.ones(2, requires_grad=True)),
    "a parameter": lambda lib: lib.nn.Parameter(lib.ones(2)).__dlpack__(),
    "what requires grad, by to_dlpack": lambda lib: pack(
        lib, lib.utils.dlpack.to_dlpack(lib.ones(2, requires_grad=True))
    ),
    "to_dlpack of a number": lambda lib: lib.utils.dlpack.to_dlpack(3),
    "a meta tensor": lambda lib: lib.ones(2, device="meta").__dlpack__(),
    "the device of a meta tensor": lambda lib: lib.ones(2, device="meta").__dlpack_device__(),
    "the device of a tensor": lambda lib: [int(n) for n in lib.ones(2).__dlpack_device__()],
    "a stream on cpu": lambda lib: lib.ones(2).__dlpack__(stream=1),
    "a stream that is no number": lambda lib: lib.ones(2).__dlpack__(stream="s"),
    "a stream of -1": lambda lib: pack(lib, lib.ones(2).__dlpack__(stream=-1)),
    "a copy": lambda lib: (
        (x := lib.ones(2)).data_ptr() == lib.from_dlpack(x.__dlpack__(copy=True)).data_ptr()
    ),
    "no copy": lambda lib: (
        (x := lib.ones(2)).data_ptr() == lib.from_dlpack(x.__dlpack__(copy=False)).data_ptr()
    ),
    "a copy of an array": lambda lib: (
        (a := np.ones(2)).ctypes.data == lib.from_dlpack(a, copy=True).data_ptr()
    ),
    "a device": lambda lib: lib.from_dlpack(np.ones(2), device="cpu").tolist(),
    "a number": lambda lib: lib.from_dlpack(3),
    "a capsule twice": consumed,
    "a 0-d array": lambda lib: lib.from_dlpack(np.array(3.0)).tolist(),
    "an array without elements": lambda lib: lib.from_dlpack(np.empty((0, 3))).shape,
    "an array of strings": lambda lib: lib.from_dlpack(np.array(["a"])),
    "a read-only array": lambda lib: lib.from_dlpack(np.broadcast_to(np.ones(1), (3,))).tolist(),
    "an interface for CUDA": lambda lib: lib.ones(2).__cuda_array_interface__,
    "asarray of an exporter": lambda lib: lib.asarray(Exporter(np.arange(3))).tolist(),
}


class Exporter:
    """An array of which only DLPack is known."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        options.pop("stream", None)
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def outcome(program: Callable[[Any], Any], lib: Any) -> Any:
    try:
        return program(lib)
    except Exception as error:
        return type(error), str(error).replace("torch.", "dovetail.").lstrip("_")[:60]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_exchange_is_that_of_torch(name: str) -> None:
    program = PROGRAMS[name]
    ours, theirs = outcome(program, dovetail), outcome(program, torch)
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        assert ours[0] is theirs[0]
        assert ours[1].startswith(theirs[1][:27])
    else:
        assert ours == theirs


class Exchanged:
    """An object that has its memory to offer, and nothing else."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __dlpack__(self, **options: Any) -> Any:
        return self._tensor.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._tensor.__dlpack_device__()


@pytest.mark.parametrize("name", ["tensor", "as_tensor", "asarray"])
@pytest.mark.parametrize("dtype", [None, "int64"])
def test_what_only_offers_its_memory_is_read(name: str, dtype: str | None) -> None:
    def outcome(lib: Any) -> Any:
        given = lib.arange(3.0, device="cpu")
        made = getattr(lib, name)(Exchanged(given), dtype=dtype and getattr(lib, dtype))
        made[0] = 9
        return str(made.dtype).rpartition(".")[2], made.tolist(), given.tolist()

    assert outcome(dovetail) == outcome(torch)

# ruff: noqa: E501 - tables with a row per case read better unbroken
"""Functions that make tensors, and conversions of tensors, compared with PyTorch: results, errors
and warnings.
"""

from __future__ import annotations

import copy
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from cuda_of_pytorch import skip_if_built_with_cuda
from devices import cpu_only_where
from expressions import expressions, shown
from same_programs import Programs, assert_same, plain

import dovetail
import dovetail_aten
import dovetail_kernel

FROM_DATA = """
torch.tensor([torch.tensor([0, 1])] * 2) | torch.tensor([0, torch.tensor([True, False])]) | torch.tensor([torch.ones(2)] * 2)
torch.tensor([torch.arange(2)], dtype=torch.float32) | torch.tensor([0, torch.ones(2)], dtype=torch.int64)
torch.tensor([[1, 2], [3]]) | torch.tensor([[1, 2], 3]) | torch.tensor([1, [2]]) | torch.tensor('a') | torch.tensor(['a'])
torch.tensor(None) | torch.tensor([None]) | torch.tensor([1, 2.0]) | torch.tensor([True, 2]) | torch.tensor([1, 2j])
torch.tensor([]) | torch.tensor([[], []]).shape | torch.tensor([[]]).dtype | torch.tensor(2**63) | torch.tensor([2**63])
torch.tensor(300, dtype=torch.int8) | torch.tensor(2.7, dtype=torch.int64) | torch.tensor(-1, dtype=torch.uint8)
torch.tensor([300], dtype=torch.uint8) | torch.tensor(1e400, dtype=torch.float32) | torch.tensor(1e40, dtype=torch.float16)
torch.tensor(1j, dtype=torch.float32) | torch.tensor(float('nan'), dtype=torch.int64) | torch.tensor(5, dtype=torch.bool)
torch.tensor(x) | torch.tensor([x, x]) | torch.tensor([torch.tensor(1), torch.tensor(2.0)])
torch.tensor([torch.ones(1), torch.ones(1)]) | torch.tensor([np.float64(1), np.float32(2)]) | torch.tensor([np.int32(1)]).dtype
torch.tensor(np.float32(1)).dtype | torch.tensor(np.ones(2, dtype=np.int16)).dtype | torch.tensor(np.array(['a']))
torch.tensor(range(3)) | torch.tensor({1, 2}) | torch.tensor((1, 2)) | torch.tensor(1, device='meta') | torch.as_tensor([1, 2])
torch.as_tensor(x) is x | torch.as_tensor(np.ones(2)) | torch.from_numpy(np.ones(3)[::-1]) | torch.from_numpy([1])
torch.from_numpy(np.array(['a'])) | torch.from_numpy(np.array(1.5)) | torch.from_numpy(np.ones(2, dtype='>f4'))
torch.from_numpy(np.array([1], dtype=object)) | torch.from_numpy(np.float32(1)) | torch.as_tensor(np.ones(3)[::-1])
torch.tensor(np.ones(3)[::-1]) | torch.tensor([[1, 2], [3, 4]], dtype=torch.float16) | torch.asarray([1, 2])
torch.tensor([[[1]], [2]]) | torch.tensor(object()) | torch.tensor([[1], np.ones(2)]) | torch.tensor(np.ones((0, 3))).shape
torch.tensor(2**63 + 5, dtype=torch.uint64) | torch.tensor([2**64 - 1, 0], dtype=torch.uint64)
torch.tensor([[2**63], [7]], dtype=torch.uint64) | torch.tensor([2**63], dtype=torch.float32) | torch.as_tensor([2**63], dtype=torch.uint64) | torch.tensor([2**63, 1], dtype=torch.complex64)
torch.tensor([1.5, 2], dtype=int) | torch.tensor([1], requires_grad=True) | torch.as_tensor(x, dtype=torch.int32).dtype
torch.tensor(np.ones(2), dtype=torch.float32).dtype | torch.tensor([1, 2], dtype='a') | torch.tensor([0.1, True]) | torch.tensor(3)
"""

FACTORIES = """
torch.arange(5) | torch.arange(0, 1, 0.25) | torch.arange(5.0) | torch.arange(1, 5) | torch.arange(end=3) | torch.arange(True)
torch.arange(start=1, end=3) | torch.arange(1, 0) | torch.arange(0, 5, 0) | torch.arange(5, 0, -2) | torch.arange(0, float('inf'))
torch.arange(5, dtype=torch.float32) | torch.arange(torch.tensor(3)) | torch.arange(3, out=torch.empty(0, dtype=torch.int64))
torch.zeros(2, 3) | torch.zeros((2, 3)) | torch.zeros([2]) | torch.zeros(size=(2,)) | torch.zeros(-1) | torch.zeros()
torch.zeros(()) | torch.zeros(2.0) | torch.zeros('a') | torch.zeros(2, dtype=int) | torch.zeros(2, dtype=float)
torch.zeros(2, dtype='a') | torch.zeros(torch.tensor(2)) | torch.zeros(2, dtype=torch.int64, requires_grad=True)
torch.zeros(2, device='foo') | torch.zeros(2, pin_memory=True) | torch.zeros(2, foo=1) | torch.zeros(2, out=torch.empty(0))
torch.full((2,), 3) | torch.full((2,), 3.0) | torch.full((2,), True) | torch.full((2,), 1j) | torch.full((2,), torch.tensor(3))
torch.full(2, 3) | torch.linspace(0, 1, 3) | torch.linspace(0, 1, steps=3, dtype=torch.int64) | torch.eye(2) | torch.eye(2, 3)
torch.eye(3, 2) | torch.rand(2).shape | torch.rand(2, generator=torch.Generator()).shape | torch.randn((2,)).shape
torch.randint(3, (2,)).dtype | torch.randint(0, 3, (2,)).dtype | torch.randint(3, 0, (2,)) | torch.randint(low=1, high=3, size=(2,)).shape
torch.randperm(3).dtype | torch.zeros_like(x, dtype=torch.int8) | torch.empty(2, memory_format=torch.contiguous_format).shape
torch.empty_strided((2, 3), (1, 2)).stride() | torch.scalar_tensor(3) | torch.manual_seed('a')
torch.manual_seed(-1).initial_seed() | torch.initial_seed() | torch.Generator().initial_seed() | torch.Generator(device='cpu').device
torch.Generator().manual_seed(5).initial_seed() | torch.empty(2, 3, 4, 5, device='meta', memory_format=torch.channels_last).stride()
torch.zeros(2, device='meta') | x.new_zeros(2, 3) | x.new_zeros((2, 3)) | x.new_full((2,), 3)
x.new_tensor([1, 2]) | x.new_tensor([1, 2], dtype=torch.int8) | x.new_ones(2, dtype=torch.int32) | torch.ones_like(x)
torch.full_like(x, 2) | torch.rand_like(x).shape | torch.randn_like(x).dtype | torch.empty_like(x).shape | torch.zeros(0)
torch.zeros_like(x, device='meta') | torch.empty_like(m, device='cpu').shape | torch.arange(3, 0, -1) | torch.arange(0.5, 3)
"""

METHODS = """
x.item() | torch.ones(1, 1).item() | bool(x) | bool(torch.ones(0)) | int(torch.tensor(2.7)) | float(x) | x.__index__()
torch.tensor(2.0).__index__() | torch.tensor(True).__index__() | torch.tensor([[3]]).__index__() | len(torch.tensor(1))
iter(torch.tensor(1)) | 'a' in x | 3.0 in x | 7 in x | format(torch.tensor(2.5), '.3f') | format(x, '.3f') | format(x, '')
m.numpy() | torch.ones(2, dtype=torch.bfloat16).numpy() | m.item() | m.cpu() | m.tolist() | bool(m) | bool(m[0, 0]) | float(m[0, 0])
x.type() | x.type(torch.int32).dtype | x.type('torch.IntTensor').dtype | m.type() | x.to(torch.float32) is x | x.to('cpu') is x
x.to('cpu', torch.float64).dtype | x.to(m).device | x.to(torch.float32, copy=True) is x | x.to() | x.to(3)
x.to(dtype=torch.int32).dtype | x.to('cuda') | x.cuda() | x.cpu() is x | x.to(None) is x | x.to(torch.int32, torch.int64)
x.to(device='meta', dtype=torch.int8) | x.to(torch.float64, False, True).dtype | x.to(x) is x | x.to(torch.int64) | x.to(int).dtype
x.to(torch.float32, memory_format=torch.preserve_format) is x | x.to(torch.float32, memory_format=torch.contiguous_format) is x
x.data._version | x.is_contiguous() | torch.ones(1, 3)[:, :1].is_contiguous() | x[:, 0].is_contiguous() | x.get_device() | m.get_device()
np.asarray(x) | x.__array__(np.float64).dtype | x.data_ptr() == x.data.data_ptr() | reversed(x) | x.ndimension()
complex(torch.tensor(1)) | float(torch.tensor(1j)) | int(torch.tensor(1j)) | x.is_same_size(x) | x.storage_offset()
copy.deepcopy(x) is x | [float(v) for v in x[0]] | x.tolist() | torch.tensor(3).tolist() | hash(x) == id(x) | x.double().dtype
x.half().dtype | x.bfloat16().tolist() | x.long() | x.bool() | x.byte() | x.short().dtype | x.cfloat() | len(x) | str(torch.tensor(1.5))
x.float() is x | x.type_as(torch.ones(1, dtype=torch.int64)).dtype | x.numpy(force=True) | 1 + int(torch.tensor([3])) | x.nbytes
torch.ones(2, device=0) | [1, 2, 3][torch.tensor(1)] | x.stride() | x.untyped_storage().nbytes() | x.element_size() | x.numel() | f'{torch.tensor(3)}'
"""


class Ours(SimpleNamespace):
    """What the expressions need, under the names that PyTorch has for it."""

    def __init__(self) -> None:
        names = (
            "int64",
            "int32",
            "int8",
            "uint8",
            "bool",
            "uint64",
            "complex64",
            "float16",
            "float32",
            "float64",
            "bfloat16",
        )
        formats = ("contiguous_format", "preserve_format", "channels_last")
        super().__init__(**{name: getattr(dovetail_kernel, name) for name in (*names, *formats)})
        self.__dict__.update({name: getattr(dovetail_aten, name) for name in dovetail_aten.__all__})


ABOUT_CUDA = re.compile(r"cuda|pin_memory|device=0|to\(3\)")


def outcome(package: Any, text: str) -> tuple[str, list[str]]:
    names = {"torch": package, "np": np, "copy": copy}
    names["x"] = package.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    names["m"] = package.ones(2, 3, device="meta")
    return shown(lambda: eval(text, names))


@pytest.mark.usefixtures("every_warning")
@pytest.mark.parametrize(
    "text",
    cpu_only_where(
        expressions(FROM_DATA),
        lambda each: "2**64 - 1" in each,
        "a device that is printed breaks the line",
    ),
)
def test_tensors_of_data_are_as_in_pytorch(text: str) -> None:
    assert outcome(Ours(), text) == outcome(torch, text)


@pytest.mark.parametrize(
    "text",
    cpu_only_where(
        expressions(FACTORIES),
        lambda each: "Generator()" in each or "pin_memory" in each,
        "generators and pinned memory of the cpu",
    ),
)
def test_factories_are_as_in_pytorch(text: str) -> None:
    if ABOUT_CUDA.search(text):
        skip_if_built_with_cuda()
    assert outcome(Ours(), text) == outcome(torch, text)


NUMBERS: list[Any] = [
    *[-1, [-1], [True, -1], [[1, 2], [3, -4]], [2**63], [2**64], [-(2**70)], 2**64, [1, 2**63]],
    *[[-0.0], [-0.5], [-1.0], -1.5, [1.5], [1, -1.5], [np.float64(-1.5)]],
    *[[255.9], [256.0], [-255.0], [1e30], [float("inf")], [float("nan")], [1 + 0j], [1j]],
    *[[size * sign + step] for size in (2**8, 2**16, 2**32) for sign in (-1, 1) for step in (0, 1)],
    *[lambda lib: [lib.tensor(-1.5)], lambda lib: [lib.tensor(2.0)]],
]
NUMBER_DTYPES = ["uint8", "uint16", "uint32", "uint64", "int8", "int64", "bool", "float32"]


@pytest.mark.parametrize("dtype", NUMBER_DTYPES)
@pytest.mark.parametrize("name", ["tensor", "as_tensor", "new_tensor", "full", "fill_"])
def test_numbers_that_a_dtype_cannot_hold_are_refused(name: str, dtype: str) -> None:
    for each in NUMBERS:
        found = []
        for lib in (dovetail, torch):
            data, kind = each(lib) if callable(each) else each, getattr(lib, dtype)
            number = data[0] if isinstance(data, list) else data
            if name in ("full", "fill_") and (isinstance(number, list) or abs(number) >= 2**63):
                break  # other messages, of how numbers are read
            call = {
                "full": lambda: lib.full((1,), number, dtype=kind),  # noqa: B023
                "fill_": lambda: lib.zeros(1, dtype=kind).fill_(number),  # noqa: B023
                "new_tensor": lambda: lib.ones(1).new_tensor(data, dtype=kind),  # noqa: B023
            }.get(name, lambda: getattr(lib, name)(data, dtype=kind))  # noqa: B023
            try:
                found.append(call().cpu().tolist())
            except (RuntimeError, TypeError, ValueError, OverflowError) as error:
                found.append(type(error))
        assert not found or str(found[0]) == str(found[1]), (each, found)


@pytest.mark.cpu_only(reason="they ask where a tensor is, and for its memory")
@pytest.mark.parametrize("text", expressions(METHODS))
def test_conversions_are_as_in_pytorch(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if ABOUT_CUDA.search(text):
        skip_if_built_with_cuda()
    # Other tests of this process may have loaded a backend that is an accelerator.
    monkeypatch.setattr("dovetail_kernel.devices.device.accelerator", lambda: None)
    assert outcome(Ours(), text) == outcome(torch, text)


FILLS: dict[str, Any] = {
    "arange": lambda lib, out: lib.arange(4.0, out=out),
    "linspace": lambda lib, out: lib.linspace(0, 3, 4, out=out),
    "logspace": lambda lib, out: lib.logspace(0, 3, 4, base=2, out=out),
}

OUTS: dict[str, Any] = {
    "two rows": lambda lib: lib.zeros(2, 2),
    "columns of a tensor": lambda lib: lib.zeros(2, 3).narrow(1, 1, 2),
    "a column": lambda lib: lib.zeros(4, 1),
}

PROGRAMS = Programs(
    {
        "arange by less than one": lambda lib: lib.arange(0, 3, 1j),
        "linspace of integers between complex bounds": lambda lib: lib.linspace(
            3, 1 + 1j, 2, dtype=lib.int64
        ),
        "linspace of floats between complex bounds": lambda lib: lib.linspace(
            3, 1 + 1j, 2, dtype=lib.float32
        ),
        "arange of bytes in fractional steps": lambda lib: lib.arange(-1, 3, 1.5, dtype=lib.int8),
        "arange of bytes by less than one": lambda lib: lib.arange(0, 3, 0.5, dtype=lib.int8),
        "arange of long integers in fractional steps": lambda lib: lib.arange(
            0, 3, 1.5, dtype=lib.int64
        ),
        "arange of long integers by less than one": lambda lib: lib.arange(
            0, 3, 0.5, dtype=lib.int64
        ),
        "arange of integers on the meta device": lambda lib: lib.tensor(
            [
                len(lib.arange(0, 2.5, dtype=each, device="meta"))
                for each in (lib.int32, lib.int64, lib.float32)
            ]
        ),
        "arange of bools": lambda lib: lib.arange(3, dtype=lib.bool),
        "full of no dimensions": lambda lib: lib.full((), 2),
        **{
            f"{name} into {words}": (lambda lib, fill=fill, out=out: fill(lib, out(lib)))
            for name, fill in FILLS.items()
            for words, out in OUTS.items()
        },
        "nothing and nothing along any dimension": lambda lib: plain(
            [lib.cat([lib.zeros(0), lib.zeros(0)], dim=dim) for dim in (0, 1, -2)]
        ),
        "numbers farther apart than the greatest": lambda lib: lib.zeros(2).uniform_(-3e38, 3e38),
    }
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=0, close=True)

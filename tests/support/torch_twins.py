"""Twins of PyTorch's objects here: the tensor with its values, the function of its name, the
program that calls `dovetail` where one calls `torch`.
"""

from __future__ import annotations

import functools
import types
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._utils import wrapper_set_seed

import dovetail

BITS = {torch.bfloat16: torch.int16}
"""Dtypes that NumPy has not, and those of the same size that it has."""


class Absent(Exception):
    """Says that something of PyTorch is not here; its text is the name."""


@functools.cache
def public_names() -> dict[int, str]:
    """Return the dotted names of PyTorch's public functions, by their identity."""
    places = [
        "",
        "Tensor.",
        "nn.functional.",
        "linalg.",
        "fft.",
        "special.",
        "signal.windows.",
        "masked.",
        "masked._ops.",
        "_C._nn.",
        "_C._linalg.",
        "_C._special.",
        "_C._fft.",
    ]
    found: dict[int, str] = {}
    for place in places:
        owner = functools.reduce(getattr, place.split(".")[:-1], torch)
        for name in sorted(dir(owner), key=lambda name: name.startswith("_")):
            value = getattr(owner, name, None)
            if callable(value):
                found.setdefault(id(value), f"{place.replace('masked._ops', 'masked')}{name}")
    return found


def here(name: str) -> Any:
    """Return what has a dotted name in Dovetail."""
    found: Any = dovetail
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except (AttributeError, ImportError):
            raise Absent(name) from None
    return found


def twin(value: Any, memories: dict[int, Any] | None = None) -> Any:
    """Return what is here what `value` is in PyTorch.

    Parameters
    ----------
    value
        A tensor, a number, a function, or lists, tuples and dicts of them.
    memories
        Storages that have twins, by their address: tensors that share memory share it here, too.
        Default: only those within `value`.

    Raises
    ------
    Absent
        If there is nothing like it.
    """
    known = {} if memories is None else memories
    if isinstance(value, torch.Tensor):
        return tensor_twin(value, known)
    if isinstance(value, torch.Size):
        return dovetail.Size(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[twin(each, known) for each in value])
    if isinstance(value, list | tuple):
        return type(value)([twin(each, known) for each in value])
    if isinstance(value, OrderedDict | dict):
        return type(value)({key: twin(each, known) for key, each in value.items()})
    if isinstance(value, slice):
        return slice(*[twin(each, known) for each in (value.start, value.stop, value.step)])
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return here(str(value).rpartition(".")[2])
    if isinstance(value, torch.device):
        return dovetail.device(str(value))
    if isinstance(value, torch.Generator):
        return dovetail.Generator().manual_seed(value.initial_seed())
    if isinstance(value, torch.nn.Module):
        return here(f"nn.{type(value).__name__}")()
    return function_twin(value) if callable(value) else value


def tensor_twin(tensor: Any, memories: dict[int, Any]) -> Any:
    """Return a tensor with the same values, strides and `requires_grad`, in memory as large."""
    if tensor.layout is torch.sparse_coo:
        parts = [tensor_twin(each, {}) for each in (tensor._indices(), tensor._values().detach())]
        return dovetail.sparse_coo_tensor(*parts, tuple(tensor.shape)).requires_grad_(
            tensor.requires_grad
        )
    if tensor.layout is not torch.strided:
        raise Absent(str(tensor.layout))
    dtype = here(str(tensor.dtype).rpartition(".")[2])
    geometry = tuple(tensor.shape), tensor.stride()
    if tensor.device.type == "meta":
        made = dovetail.empty_strided(*geometry, dtype=dtype, device="meta")
        return made.requires_grad_(tensor.requires_grad)
    plain = tensor.detach()
    if plain.is_conj() or plain.is_neg() or plain._is_zerotensor():
        plain = plain.clone().resolve_conj().resolve_neg()
        geometry = tuple(plain.shape), plain.stride()
    memory = plain.untyped_storage()
    key = hash((memory.data_ptr(), plain.dtype)) if memory.nbytes() else id(tensor)
    if key not in memories:
        memories[key] = _memory_twin(plain, dtype), plain
    made = memories[key][0].as_strided(*geometry, plain.storage_offset())
    return made.detach().requires_grad_(tensor.requires_grad)


def _memory_twin(tensor: Any, dtype: Any) -> Any:
    """Return a vector with the elements of the memory that a tensor lies in."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    elements = tensor.as_strided((count,), (1,), 0)
    bits = BITS.get(tensor.dtype)
    array = (elements if bits is None else elements.view(bits)).numpy()
    made = dovetail.from_numpy(np.array(array)).to(dovetail.get_default_device())
    return made if bits is None else made.view(dtype)


def function_twin(function: Any) -> Any:
    """Return the function here that has the name of one of PyTorch's, or runs the same program."""
    if isinstance(function, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return here(f"ops.{function}")
    if isinstance(function, functools.partial):
        return functools.partial(
            function_twin(function.func), *twin(function.args), **twin(function.keywords)
        )
    if function is wrapper_set_seed:
        return _seeded
    private = getattr(function, "__name__", "")
    if private.startswith("_") and getattr(torch, private, None) is function:
        return here(f"ops.aten.{private}")  # functions here have no operators with such names
    name = public_names().get(id(function))
    if name is not None:
        return here(name)
    if isinstance(function, types.MethodWrapperType | types.BuiltinFunctionType):
        return function
    if isinstance(function, types.FunctionType):
        return _program_twin(function)
    return function


def _seeded(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function that draws numbers, from a fixed seed on."""
    dovetail.manual_seed(42)
    return function(*args, **kwargs)


def _program_twin(function: types.FunctionType) -> Any:
    """Return a function with the same code, for which ``torch`` is `dovetail`."""
    names = {**function.__globals__}
    for name in _names_in(function.__code__):
        value = names.get(name)
        if value is torch:
            names[name] = dovetail
        elif value is torch.nn.functional:
            names[name] = dovetail.nn.functional
        elif isinstance(value, types.FunctionType) and value is not function:
            names[name] = function_twin(value)
    cells = tuple([types.CellType(twin(cell.cell_contents)) for cell in function.__closure__ or ()])
    made = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, cells or None
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)

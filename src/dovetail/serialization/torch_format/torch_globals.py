"""Counterparts of the globals in PyTorch's pickles: tensors, storages and containers."""

from __future__ import annotations

import pickle
import re
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, Final

import dovetail_aten as aten
import dovetail_kernel
from dovetail_aten import Tensor
from dovetail_kernel import BY_NAME, Device, Size, TensorBase, printable

from ...nn.parameter import Parameter
from ..checked_json import FormatError
from ..checked_keys import KeyChecks
from ..safe_globals import named_safe_globals
from .rebuilt_tensors import (
    checked_sizes,
    rebuild_meta_tensor_no_storage,
    rebuild_parameter,
    rebuild_parameter_with_state,
    rebuild_sparse_tensor,
    rebuild_tensor,
    rebuild_tensor_v3,
    set_attributes,
)
from .restricted_pickles import corrupt


class Unsupported(FormatError):
    """The file has something that there is none of in this library."""

    remedy = "Change it in PyTorch, and save the state_dict() again."


def _ordered(pairs: Any = ()) -> OrderedDict[Any, Any]:
    if type(pairs) not in (list, tuple) or not all(
        [type(pair) in (list, tuple) and len(pair) == 2 for pair in pairs]
    ):
        raise corrupt("an OrderedDict is made of no list of pairs")
    _check_keys([key for key, _ in pairs])
    return OrderedDict(pairs)


def _counter(counts: Any = None) -> Counter[Any]:
    if counts is not None and type(counts) is not dict:
        raise corrupt("a Counter is made of no dict")
    return Counter(counts)


def _members(values: Any = ()) -> Any:
    if type(values) not in (list, tuple):
        raise corrupt("a set is made of no list")
    _check_keys(values)
    return values


def _check_keys(keys: Any) -> None:
    checks = KeyChecks()
    for key in keys:
        checks.check(key, 0, lambda _: False)


def _set(values: Any = ()) -> set[Any]:
    return set(_members(values))


def _frozenset(values: Any = ()) -> frozenset[Any]:
    return frozenset(_members(values))


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise corrupt("bytes are no string of their values")
    return text.encode("latin-1")


def _bytearray(values: Any = b"", encoding: Any = None) -> bytearray:
    if type(values) is str:
        return bytearray(_encode(values, encoding))
    if type(values) is not bytes:
        raise corrupt("a bytearray is made of no bytes")
    return bytearray(values)


def _bytes() -> bytes:
    return b""


def _complex(real: Any, imag: Any) -> complex:
    if type(real) is not float or type(imag) is not float:
        raise corrupt("a complex number is not made of two floats")
    return complex(real, imag)


def _shape(sizes: Any = ()) -> Size:
    return Size(checked_sizes(sizes))


def _device(kind: Any, index: Any = None) -> Device:
    if type(kind) is not str or len(kind) > 64 or (index is not None and type(index) is not int):
        raise corrupt("a device has no name")
    try:
        return Device(kind) if index is None else Device(kind, index)
    except RuntimeError as error:
        raise corrupt(f"{kind!r} is no device ({error})") from error


def _get_layout(name: Any) -> Any:
    if name not in ("torch.strided", "torch.sparse_coo"):
        raise Unsupported(f"it has the layout {name!r:.60}: to_dense() or to_sparse() it there")
    return getattr(dovetail_kernel, name.removeprefix("torch."))


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Any:
    """Make a tensor that has attributes."""
    if new_type is not Tensor and new_type is not Parameter:
        raise corrupt("a tensor is of a class that is none")
    if type(args) is not tuple or func not in _REBUILD:
        raise corrupt("a tensor with attributes is made of something else")
    made = _called(func, args)
    set_attributes(made, state)
    return made


_COPIED: Final = (str, bytes, list, tuple, dict)
_COPIED_AT_LEAST: Final = 1000
_REBUILD: Final[dict[Any, str]] = {
    rebuild_sparse_tensor: "torch._utils._rebuild_sparse_tensor",
    rebuild_tensor: "torch._utils._rebuild_tensor",
    rebuild_tensor_v3: "torch._utils._rebuild_tensor_v3",
    rebuild_parameter: "torch._utils._rebuild_parameter",
    rebuild_parameter_with_state: "torch._utils._rebuild_parameter_with_state",
    _rebuild_from_type_v2: "torch._tensor._rebuild_from_type_v2",
    rebuild_meta_tensor_no_storage: "torch._utils._rebuild_meta_tensor_no_storage",
}
_CALLS: Final[dict[str, tuple[Any, Callable[..., Any]]]] = {
    "collections.OrderedDict": (OrderedDict, _ordered),
    "collections.Counter": (Counter, _counter),
    "builtins.set": (set, _set),
    "builtins.frozenset": (frozenset, _frozenset),
    "builtins.bytes": (bytes, _bytes),
    "builtins.bytearray": (bytearray, _bytearray),
    "builtins.complex": (complex, _complex),
    "_codecs.encode": (_encode, _encode),
    "torch.Size": (Size, _shape),
    "torch.device": (Device, _device),
    "torch.serialization._get_layout": (_get_layout, _get_layout),
    "torch._utils._rebuild_tensor_v2": (rebuild_tensor, rebuild_tensor),
    **{name: (function, function) for function, name in _REBUILD.items()},
    **{
        f"dovetail_aten.{name}": (getattr(aten, name), getattr(aten, name))
        for name in ("make_subclass", "rebuild_wrapper")
    },
}
_CONSTRUCTORS: Final = {id(named): make for named, make in _CALLS.values()}
_UNSUPPORTED: Final = {
    "_rebuild_qtensor": "a quantized tensor: dequantize() it there",
    "_rebuild_nested_tensor": "a nested tensor: to_padded_tensor() or unbind() it there",
    "_rebuild_wrapper_subclass": "a tensor of a wrapper class: save what it wraps",
    "_rebuild_device_tensor_from_numpy": "a tensor of a device that is not here: cpu() it there",
    "_rebuild_device_tensor_from_cpu_tensor": "a tensor of a device that is not here: cpu() it",
}
_OLD_MODULES: Final = {"__builtin__": "builtins", "copy_reg": "copyreg"}
_OTHER_DTYPES: Final = re.compile(r"(q?u?int|float|bits|complex)\d+\w*|per_(tensor|channel)_\w+")


def global_named(module: str, name: str) -> Any:
    """Return the counterpart of a global in PyTorch's pickles, or None.

    Raises
    ------
    FormatError
        For unsupported kinds of tensors and storages.
    """
    module = _OLD_MODULES.get(module, module)
    found = _CALLS.get(f"{module}.{name}")
    if found is not None:
        return found[0]
    if module == "torch" and name in BY_NAME:
        return BY_NAME[name]
    if module in ("torch", "torch.cuda", "torch.storage") and name.endswith("Storage"):
        return _storage_class(name)
    if module == "torch" and name.endswith("Tensor") and hasattr(aten, name):
        return getattr(aten, name)
    if (module, name) in (("torch.nn.parameter", "Parameter"), ("torch.nn", "Parameter")):
        return Parameter
    if module == "torch._utils" and name in _UNSUPPORTED:
        raise Unsupported(f"it has {_UNSUPPORTED[name]}")
    if module == "torch" and _OTHER_DTYPES.fullmatch(name):
        raise Unsupported(f"it has elements of torch.{name}, which is no dtype here")
    if module in ("torch.cuda", "torch.sparse", "torch.cuda.sparse") and name.endswith("Tensor"):
        raise Unsupported(f"it has a tensor of the class {module}.{name:.60}, which is not here")
    return None


def _storage_class(name: str) -> Any:
    found = getattr(aten, name, None)
    if found is None:
        raise Unsupported(f"it has a storage of the class torch.{name:.60}, which is not here")
    return found


class TorchGlobals:
    """The globals and operations that a pickle may use: creation of tensors and containers, and
    calls of objects allowed by `add_safe_globals`.

    Parameters
    ----------
    file : str
        Name of the file in errors.
    size : int
        Size of the pickle in bytes, which limits the number of copied elements: a copy of a stored
        string or list costs only a few bytes in the file, but full memory.
    """

    def __init__(self, file: str, size: int) -> None:
        self._file = file
        self._left = 2 * size + _COPIED_AT_LEAST
        self._safe = named_safe_globals()
        self._safe_ids = {id(each) for each in self._safe.values()}

    def find(self, module: str, name: str) -> Any:
        """Return the object of a name; raises `pickle.UnpicklingError` if it is not allowed."""
        full = printable(f"{_OLD_MODULES.get(module, module)}.{name}")
        if full in self._safe:
            return self._safe[full]
        found = global_named(module, name)
        if found is None:
            raise pickle.UnpicklingError(
                f"Weights only load failed: {self._file} names {full:.200}, which load does not "
                f"call.\nUnsupported global: GLOBAL {full:.200} was not an allowed global by "
                f"default. {_remedy(full)}"
            )
        return found

    def call(self, function: Any, args: tuple[Any, ...]) -> Any:
        """Return ``function(*args)`` if the function is allowed or creates a tensor or
        container.
        """
        if id(function) in self._safe_ids:
            return function(*args)
        return self._made(function, args)

    def new(self, cls: Any, args: tuple[Any, ...]) -> Any:
        """Return ``cls.__new__(cls, *args)`` for an allowed class."""
        if id(cls) in self._safe_ids and isinstance(cls, type):
            return cls.__new__(cls, *args)
        return self._made(cls, args)

    def _made(self, function: Any, args: tuple[Any, ...]) -> Any:
        self._left -= sum([len(each) for each in args if isinstance(each, _COPIED)])
        if self._left < 0:
            raise corrupt("it copies more elements than it has bytes")
        return _called(function, args)

    def build(self, obj: Any, state: Any) -> None:
        """Set the state of an object of an allowed class; other objects get attributes."""
        if not self.is_trusted(obj):
            if not isinstance(obj, OrderedDict | Counter):
                raise corrupt(f"a {type(obj).__name__} is given a state")
            set_attributes(obj, state)
        elif getattr(type(obj), "__setstate__", Tensor.__setstate__) is not Tensor.__setstate__:
            obj.__setstate__(state)
        else:
            slots: Any = {}
            if type(state) is tuple and len(state) == 2:
                state, slots = state
            vars(obj).update(state or {})
            for name, value in (slots or {}).items():
                if isinstance(obj, Tensor) and name in TensorBase.__slots__:
                    raise corrupt(f"{name!r:.60} is no slot that {type(obj).__name__} adds")
                setattr(obj, name, value)

    def is_trusted(self, obj: Any) -> bool:
        """Return whether the user allowed the class of `obj`."""
        return id(type(obj)) in self._safe_ids


def _called(function: Any, args: tuple[Any, ...]) -> Any:
    make = _CONSTRUCTORS.get(id(function))
    if make is None:
        name = getattr(function, "__name__", type(function).__name__)
        raise corrupt(f"it calls {name:.60}, which makes neither tensors nor containers")
    try:
        return make(*args)
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, FormatError):
            raise
        raise corrupt(f"{make.__name__} does not take the arguments there ({error})") from None


def _remedy(full: str) -> str:
    if full.split(".", maxsplit=1)[0] == "torch":
        return (
            "Save only tensors and plain containers in PyTorch, such as model.state_dict(), or "
            "pass weights_only=False if you trust the file and the class is here under its name."
        )
    short = full.rpartition(".")[2]
    return (
        f"Please use `dovetail.serialization.add_safe_globals([{short}])` or the "
        f"`dovetail.serialization.safe_globals([{short}])` context manager to allowlist this "
        "global if you trust this class/function, or pass weights_only=False, which runs any code "
        "that the file names."
    )

"""Nested Python containers as JSON, with tensors and other objects replaced by their numbers."""

from __future__ import annotations

import base64
import math
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Container
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor, TypedStorage, UntypedStorage
from dovetail_kernel import Device, NamedDtype, Size, dtype, sparse_coo, uint8

from ..nn.parameter import Parameter
from .checked_json import FormatError, checked_integer, checked_list, checked_text, shown
from .checked_keys import KeyChecks
from .stored_tensors import TensorWriter, parts_of_sparse
from .tensor_records import device_name, dtype_named
from .torch_format.rebuilt_tensors import rebuild_sparse_tensor

_LARGE = 2**63
_HEXADECIMAL = re.compile(r"-?0x[0-9a-f]+")
_NOT_FINITE = re.compile(r"nan|-?inf")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_DICTS: dict[str, type[Any]] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}


class Encoder:
    """Turns an object into JSON values.

    Numbers (except nan, infinities and large integers), strings, booleans, None and lists are plain
    JSON; anything else is an object whose key is its type. Dicts and tensors, where they are first,
    have ``"attributes"`` too if they have some. A repeated list, dict or set is
    ``{"again": n}``, counted in the order in which containers start. A repeated non-empty tuple is
    ``{"same": n}``, counted in the order in which tuples end.

    Parameters
    ----------
    tensors : TensorWriter
        Numbers the tensors.

    Attributes
    ----------
    others : list
        Other objects.
    other_types : list of str
        Unique names of the types of other objects.
    """

    def __init__(self, tensors: TensorWriter) -> None:
        self._tensors = tensors
        self._containers: dict[int, int] = {}
        self._tuples: dict[int, int] = {}
        self._others: dict[int, int] = {}
        self.others: list[Any] = []
        self.other_types: list[str] = []

    def encode(self, value: Any, path: str = "") -> Any:
        """Return ``value``, reached by the dotted ``path``, as JSON."""
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            # Decimal digits of a large number take quadratic time, and Python refuses many.
            return value if -_LARGE < value < _LARGE else {"int": hex(value)}
        if kind is float:
            return value if value - value == 0.0 else {"float": repr(value)}
        if kind is complex:
            return {"complex": [self.encode(value.real), self.encode(value.imag)]}
        if kind is bytes:
            return {"bytes": base64.b64encode(value).decode("ascii")}
        if kind is Tensor or kind is Parameter:
            return self._tensor(value, path)
        if isinstance(value, Tensor) and value.is_sparse:
            parts = [self._tensors.index(each, path) for each in parts_of_sparse(value)]
            return {"sparse_coo": [*parts, list(value.shape), value.is_coalesced()]}
        if kind in (UntypedStorage, TypedStorage):
            own = uint8 if kind is UntypedStorage else value.dtype
            whole: Any = aten.empty(0, dtype=own, device=value.device)
            return {kind.__name__: self._tensors.index(whole.set_(value), path)}
        if isinstance(value, dtype):
            return {"dtype": value.name}
        if isinstance(value, Device):
            return {"device": str(value)}
        if kind is Size:
            return {"Size": list(value)}
        if kind is tuple:
            return self._tuple(value, path)
        if kind in (list, set, *_DICTS.values()):
            return self._container(value, kind, path)
        return self._other(value, kind)

    def _tensor(self, tensor: Tensor, path: str) -> dict[str, Any]:
        number = self._tensors.index(tensor, path)
        node: dict[str, Any] = {"tensor": number}
        attributes = self._tensors.new_attributes(tensor, number)
        if attributes:
            node["attributes"] = self._attributes(attributes)
        return node

    def _attributes(self, attributes: dict[str, Any]) -> list[Any]:
        return [[key, self.encode(item)] for key, item in attributes.items()]

    def _items(self, values: Any, path: str) -> list[Any]:
        return [self.encode(item, _join(path, position)) for position, item in enumerate(values)]

    def _tuple(self, value: tuple[Any, ...], path: str) -> Any:
        if id(value) in self._tuples:
            return {"same": self._tuples[id(value)]}
        items = self._items(value, path)
        if items:
            self._tuples[id(value)] = len(self._tuples)
        return {"tuple": items}

    def _container(self, value: Any, kind: type[Any], path: str) -> Any:
        if id(value) in self._containers:
            return {"again": self._containers[id(value)]}
        self._containers[id(value)] = len(self._containers)
        if kind is list:
            return self._items(value, path)
        if kind is set:
            return {"set": self._items(value, path)}
        pairs = [
            [self.encode(key), self.encode(item, _join(path, key))] for key, item in value.items()
        ]
        node: dict[str, Any] = {kind.__name__: pairs}
        if getattr(value, "__dict__", None):
            # A state dict keeps its modules' versions in an attribute.
            node["attributes"] = self._attributes(vars(value))
        return node

    def _other(self, value: Any, kind: type[Any]) -> Any:
        if id(value) not in self._others:
            self._others[id(value)] = len(self.others)
            self.others.append(value)
            name = f"{kind.__module__}.{kind.__qualname__}"
            if name not in self.other_types:
                self.other_types.append(name)
        return {"other": self._others[id(value)]}


class Decoder:
    """Converts JSON values back to objects; raises FormatError for invalid values.

    Parameters
    ----------
    tensor : callable
        Returns a tensor by its number.
    others : list
        The other objects.
    """

    def __init__(self, tensor: Callable[[Any], Tensor], others: list[Any]) -> None:
        self._tensor = tensor
        self._others = others
        self._containers: list[Any] = []
        self._tuples: list[tuple[Any, ...]] = []
        self._keys = KeyChecks()

    def decode(self, node: Any) -> Any:
        """Return the object that ``node`` describes."""
        if isinstance(node, list):
            result: list[Any] = []
            self._containers.append(result)
            result.extend([self.decode(item) for item in node])
            return result
        if not isinstance(node, dict):
            if isinstance(node, float) and not math.isfinite(node):
                raise FormatError("a number is out of range")
            return node
        kind = next(iter(node), "")
        if kind in _DICTS:
            return self._dict(kind, node)
        if kind == "tensor":
            tensor = self._tensor(node[kind])
            if len(node) > 1:
                self._set_attributes(tensor, node)
            return tensor
        if len(node) != 1:
            raise FormatError(f"an object of one key was expected, not {shown(node)}")
        content = node[kind]
        what = f"{shown(kind)} in the description"
        match kind:
            case "sparse_coo":
                return self._sparse(checked_list(content, what))
            case "UntypedStorage":
                return self._tensor(content).untyped_storage()
            case "TypedStorage":
                return self._tensor(content)._typed_storage()
            case "tuple":
                return self._tuple(checked_list(content, what))
            case "set":
                return self._set(checked_list(content, what))
            case "again":
                return self._containers[checked_integer(content, what, len(self._containers))]
            case "same":
                return self._tuples[checked_integer(content, what, len(self._tuples))]
            case "other":
                return self._others[checked_integer(content, what, len(self._others))]
            case "int":
                return _parsed(_HEXADECIMAL, content, what, lambda text: int(text, 16))
            case "float":
                return _parsed(_NOT_FINITE, content, what, float)
            case "complex":
                return self._complex(checked_list(content, what))
            case "bytes":
                return _parsed(_BASE64, content, what, base64.b64decode)
            case "dtype":
                # Of those that no tensor has, too.
                return NamedDtype.members.get(checked_text(content, what)) or dtype_named(
                    content, what
                )
            case "device":
                return _device(device_name(content, what))
            case "Size":
                return Size([_checked_int64(size) for size in checked_list(content, what)])
        raise FormatError(f"{shown(kind)} is no kind of object")

    def _tuple(self, items: list[Any]) -> tuple[Any, ...]:
        result = tuple([self.decode(item) for item in items])
        if result:
            self._tuples.append(result)
        return result

    def _sparse(self, parts: list[Any]) -> Tensor:
        if len(parts) != 4:
            raise FormatError(f"a sparse tensor has four parts, not {shown(parts)}")
        indices, values, size, is_coalesced = parts
        sizes = tuple([_checked_int64(each) for each in checked_list(size, "the size")])
        tensors = self._tensor(indices), self._tensor(values)
        return rebuild_sparse_tensor(sparse_coo, (*tensors, sizes, is_coalesced))

    def _complex(self, parts: list[Any]) -> complex:
        numbers = [self.decode(part) for part in parts]
        if [type(number) for number in numbers] != [float, float]:
            raise FormatError(f"a complex number should be two floats, not {shown(parts)}")
        return complex(*numbers)

    def _set(self, items: list[Any]) -> set[Any]:
        members: set[Any] = set()
        self._containers.append(members)
        for item in items:
            members.add(self._new_key(self.decode(item), members))
        return members

    def _dict(self, kind: str, node: dict[str, Any]) -> Any:
        result: Any = _DICTS[kind]()
        self._containers.append(result)
        for pair in checked_list(node[kind], f"{shown(kind)} in the description"):
            if not isinstance(pair, list) or len(pair) != 2:
                raise FormatError(f"a key and its value should be a list of two, not {shown(pair)}")
            # In this order containers are counted as they were at encoding.
            key = self._new_key(self.decode(pair[0]), result)
            result[key] = self.decode(pair[1])
        if len(node) > 1:
            self._set_attributes(result, node)
        return result

    def _new_key(self, key: Any, known: Container[Any]) -> Any:
        """Return `key` if it can be one of a dict or set, and is not in it."""
        self._keys.check(key, id(known), lambda each: type(each).__hash__ is not None)
        if key in known:
            raise FormatError(f"a dict or set has {key!r:.60} twice")
        return key

    def _set_attributes(self, result: Any, node: dict[str, Any]) -> None:
        if len(node) > 2 or "attributes" not in node or not hasattr(result, "__dict__"):
            raise FormatError(f"an object has one key, or 'attributes' too, unlike {shown(node)}")
        for pair in checked_list(node["attributes"], "the attributes of an object"):
            if not isinstance(pair, list) or len(pair) != 2:
                raise FormatError(f"an attribute should be a list of two, not {shown(pair)}")
            name = checked_text(pair[0], "the name of an attribute")
            if name.startswith("__") or hasattr(result, name):
                raise FormatError(f"{shown(name)} is no attribute of a saved object")
            setattr(result, name, self.decode(pair[1]))


def _parsed(pattern: re.Pattern[str], text: Any, what: str, read: Callable[[str], Any]) -> Any:
    if not pattern.fullmatch(checked_text(text, what)):
        raise FormatError(f"{what} can't be {shown(text)}")
    return read(text)


def _device(name: str) -> Device:
    try:
        return Device(name)
    except RuntimeError as error:
        raise FormatError(f"{shown(name)} is no device ({error})") from error


def _checked_int64(value: Any) -> int:
    if type(value) is not int or not -_LARGE <= value < _LARGE:
        raise FormatError(f"a size should be a 64-bit integer, not {shown(value)}")
    return value


def _join(path: str, part: Any) -> str:
    name = part if isinstance(part, (str, int)) else type(part).__name__
    return f"{path}.{name}" if path else str(name)

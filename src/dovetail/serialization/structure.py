"""Nested Python containers as JSON, with tensors and other objects replaced by their numbers."""

from __future__ import annotations

import base64
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import dovetail_kernel
from dovetail_aten import Tensor
from dovetail_kernel import Device, Size, dtype

from ..nn.parameter import Parameter

__all__ = ["Decoder", "Encoder"]

_DICTS: dict[str, type[Any]] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}


class Encoder:
    """Turns an object into JSON values.

    Numbers (but nan and infinities), strings, booleans, None and lists stand for themselves;
    anything else is an object with one key that says what it is. A list, dict or set that occurs
    again is ``{"again": n}``, counted in order of first occurrence.

    Parameters
    ----------
    tensor_number : callable
        Given a tensor and the path to it, returns its number.

    Attributes
    ----------
    others : list
        Objects that are none of these.
    other_types : list of str
        The names of their types, each once.
    """

    def __init__(self, tensor_number: Callable[[Tensor, str], int]) -> None:
        self._tensor_number = tensor_number
        self._containers: dict[int, int] = {}
        self._others: dict[int, int] = {}
        self.others: list[Any] = []
        self.other_types: list[str] = []

    def encode(self, value: Any, path: str = "") -> Any:
        """Return ``value``, reached by the dotted ``path``, as JSON."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if value - value == 0.0 else {"float": repr(value)}
        if kind is complex:
            return {"complex": [self.encode(value.real), self.encode(value.imag)]}
        if kind is bytes:
            return {"bytes": base64.b64encode(value).decode("ascii")}
        if kind is Tensor or kind is Parameter:
            return {"tensor": self._tensor_number(value, path)}
        if isinstance(value, dtype):
            return {"dtype": str(value).rpartition(".")[2]}
        if isinstance(value, Device):
            return {"device": str(value)}
        if kind is Size:
            return {"Size": list(value)}
        if kind is tuple:
            return {"tuple": self._items(value, path)}
        if kind in (list, set, *_DICTS.values()):
            return self._container(value, kind, path)
        return self._other(value, kind)

    def _items(self, values: Any, path: str) -> list[Any]:
        return [self.encode(item, _join(path, position)) for position, item in enumerate(values)]

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
        attributes = getattr(value, "__dict__", None)
        if attributes:
            # A state dict keeps its modules' versions in an attribute.
            return {
                kind.__name__: pairs,
                "attributes": [[key, self.encode(item)] for key, item in attributes.items()],
            }
        return {kind.__name__: pairs}

    def _other(self, value: Any, kind: type[Any]) -> Any:
        if id(value) not in self._others:
            self._others[id(value)] = len(self.others)
            self.others.append(value)
            name = f"{kind.__module__}.{kind.__qualname__}"
            if name not in self.other_types:
                self.other_types.append(name)
        return {"other": self._others[id(value)]}


class Decoder:
    """Turns JSON values back into the object.

    Parameters
    ----------
    tensor : callable
        Returns a tensor by its number.
    others : list
        The other objects.
    """

    def __init__(self, tensor: Callable[[int], Tensor], others: list[Any]) -> None:
        self._tensor = tensor
        self._others = others
        self._containers: list[Any] = []

    def decode(self, node: Any) -> Any:
        """Return the object that ``node`` describes; raises ValueError or a lookup error if it
        describes none.
        """
        if isinstance(node, list):
            result: list[Any] = []
            self._containers.append(result)
            result.extend(self.decode(item) for item in node)
            return result
        if not isinstance(node, dict):
            return node
        (kind, content), *rest = node.items()
        if kind in _DICTS:
            return self._dict(_DICTS[kind], content, rest)
        match kind:
            case "tensor":
                return self._tensor(content)
            case "tuple":
                return tuple(self.decode(item) for item in content)
            case "set":
                members: set[Any] = set()
                self._containers.append(members)
                members.update(self.decode(item) for item in content)
                return members
            case "again":
                return self._containers[content]
            case "other":
                return self._others[content]
            case "float":
                return float(content)
            case "complex":
                return complex(*(self.decode(part) for part in content))
            case "bytes":
                return base64.b64decode(content)
            case "dtype":
                found = getattr(dovetail_kernel, content)
                if isinstance(found, dtype):
                    return found
            case "device":
                return Device(content)
            case "Size":
                return Size(content)
        raise ValueError(f"{kind!r} with {content!r:.80} is not known")

    def _dict(self, kind: type[Any], pairs: list[Any], rest: list[tuple[str, Any]]) -> Any:
        result: Any = kind()
        self._containers.append(result)
        for key, value in pairs:
            # In this order containers are counted as they were at encoding.
            name = self.decode(key)
            result[name] = self.decode(value)
        for _, attributes in rest:
            for name, value in attributes:
                if name.startswith("__"):
                    raise ValueError(f"{name!r} is no attribute of a saved dict")
                setattr(result, name, self.decode(value))
        return result


def _join(path: str, part: Any) -> str:
    name = part if isinstance(part, (str, int)) else type(part).__name__
    return f"{path}.{name}" if path else str(name)

"""Files of `dovetail.save`, and what chance or an enemy may make of them."""

from __future__ import annotations

import copy
import io
import json
from collections import Counter, OrderedDict
from collections.abc import Callable
from random import Random
from typing import Any

import dovetail
from dovetail import nn

WRONG_VALUES: list[Any] = [
    None, True, False, 0, 1, 2, 5, -1, -2, 64, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63), 10**4000,
    0.5, -0.0, 1e308, "", "x", "0", "a", "cpu", "meta", "cqu",
    "cuda:" + "9" * 5000, "cuda:1", "cpu:-1", "float32",
    "bool", "int64", "complex128", "bfloat16", "save", "Tensor", "F8_E4M3", "F8_E5M2", "BOOL",
    "C64", "I64", "!!!!", "AA==", "A", "0x", "-0x1", "nan", "inf", "\ud800", "é" * 50,
    "__class__", "__pickle__", [], [0], [1], [-1], [2, 3], [3, 2], [0, 12], [12, 0], [2**62, 4],
    [2**40] * 4, [1] * 65, [9] * 3000, [[]], [[1, 2]], [[[], 1]], ["a", "b"], {}, {"tensor": 0},
    {"tensor": -1}, {"tensor": 99}, {"tensor": True}, {"again": 0}, {"again": -1}, {"other": 0},
    {"other": -1}, {"bytes": "!!!!"}, {"bytes": "QQ"}, {"float": "1"}, {"float": "infinity"},
    {"complex": [1.5]}, {"complex": [0.5, "1"]}, {"set": [[]]}, {"set": [1, True]},
    {"dict": [[1, 2], [1, 3]]}, {"dict": [[[], 1]]}, {"dict": [1]}, {"tuple": 1}, {"Size": [-1]},
    {"Size": [0.5]}, {"Size": [2**70]}, {"dtype": "dtype"}, {"device": "cqu"},
    {"int": "0x" + "f" * 5000}, {"int": "12"}, {"eval": "1"},
    {"dict": [], "attributes": [["a", 1]]}, {"OrderedDict": [], "attributes": [["__class__", 1]]},
    {"OrderedDict": [], "attributes": [["items", 1]]}, {"Counter": [["a", None]]},
]  # fmt: skip


def contents(value: Any) -> bytes:
    stream = io.BytesIO()
    dovetail.save(value, stream)
    return stream.getvalue()


def valid_files() -> list[bytes]:
    """Return files that have every kind of part that a file has."""
    base = dovetail.arange(12.0).reshape(3, 4)
    shared = [1, {"k": (2, 3)}]
    state = nn.Sequential(nn.Linear(2, 2), nn.PReLU()).state_dict()
    values: list[Any] = [
        dovetail.arange(5),
        {
            "base": base,
            "view": base.t()[1:],
            "bits": base.view(dovetail.int32),
            "wide": base[0, :1].expand(7),
        },
        [
            dovetail.tensor([True, False]),
            dovetail.ones(3, dtype=dovetail.bfloat16),
            dovetail.empty(0, 3),
        ],
        [
            nn.Parameter(dovetail.ones(2)),
            dovetail.ones(2, requires_grad=True),
            dovetail.ones(1, dtype=dovetail.complex128),
        ],
        {"shared": shared, "again": shared, "set": {1, 2, (2, 3)}, "counter": Counter("aab")},
        [
            10**30,
            1.5,
            float("nan"),
            -2j,
            b"abc",
            dovetail.float16,
            dovetail.device("cpu"),
            dovetail.Size([2]),
        ],
        [state, OrderedDict(a=1), Counter("ab")],
    ]
    return [*map(contents, values), plain_file(contents(values[2])), contents([object, base])]


def plain_file(content: bytes) -> bytes:
    """Return the file as another program writes it: arrays only."""
    header, data = split(content)
    del header["__metadata__"]
    return joined(header, data)


def split(content: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def joined(header: Any, data: bytes) -> bytes:
    return joined_text(json.dumps(header), data)


def joined_text(text: str, data: bytes) -> bytes:
    header = text.encode()
    return len(header).to_bytes(8, "little") + header + data


def opened(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header with its description as JSON values instead of text."""
    header, data = split(content)
    if "dovetail" in header.get("__metadata__", {}):
        header["__metadata__"]["dovetail"] = json.loads(header["__metadata__"]["dovetail"])
    return header, data


def closed(header: Any, data: bytes) -> bytes:
    """Return the file of an opened header."""
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    if isinstance(metadata, dict) and not isinstance(metadata.get("dovetail", ""), str):
        metadata = {**metadata, "dovetail": json.dumps(metadata["dovetail"])}
        header = {**header, "__metadata__": metadata}
    return joined(header, data)


def edited(content: bytes, change: Callable[[Any], Any]) -> bytes:
    """Return the file after `change(description)`."""
    header, data = opened(content)
    change(header["__metadata__"]["dovetail"])
    return closed(header, data)


Path = tuple[Any, ...]


def paths(node: Any, path: Path = ()) -> list[Path]:
    """Return the ways to all values inside of a JSON value."""
    found = []
    items = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, value in items:
        found.append((*path, key))
        if isinstance(value, (dict, list)):
            found += paths(value, found[-1])
    return found


def changed(header: Any, path: Path, change: Callable[[Any, Any], None]) -> Any:
    """Return the header after `change(container, key)` of the value at a path, whose containers are
    copied: the original stays what it is, and shares the others.
    """
    result = container = copy.copy(header)
    for key in path[:-1]:
        container[key] = copy.copy(container[key])
        container = container[key]
    change(container, path[-1])
    return result


def replaced(header: Any, path: Path, value: Any) -> Any:
    return changed(header, path, lambda container, key: container.__setitem__(key, value))


def damaged(random: Random, content: bytes) -> bytes:
    """Return the file with a random damage."""
    kind = random.random()
    if kind < 0.25:
        flipped = bytearray(content)
        for _ in range(random.choice([1, 1, 2, 8])):
            flipped[random.randrange(len(flipped))] ^= 1 << random.randrange(8)
        return bytes(flipped)
    if kind < 0.35:
        start, stop = sorted(random.choices(range(len(content) + 1), k=2))
        return random.choice(
            [content[:start], content[:start] + content[stop:], content + content[start:stop]]
        )
    header, data = opened(content)
    if kind < 0.5:
        text = closed(header, b"")[8:].decode()
        start = random.randrange(len(text))
        piece = random.choice(
            [*'{}[]",:0\\', "null", "9" * 30, "9" * 5000, "[" * 5000, "NaN", "1e999", text[start:]]
        )
        return joined_text(text[:start] + piece + text[start + random.choice([0, 1, 4]) :], data)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        places = paths(header)
        if not places:
            break
        path = random.choice(places)
        if random.random() < 0.2:
            header = changed(header, path, lambda container, key: container.pop(key))
        elif random.random() < 0.3:
            other: Any = header
            for key in random.choice(places):
                other = other[key]
            header = replaced(header, path, other)
        else:
            header = replaced(header, path, random.choice(WRONG_VALUES))
    return closed(header, data)


def check_tree(root: Any) -> None:
    """Look at all of what was loaded; tensors must lie inside of their storages."""
    seen: dict[int, Any] = {}
    rest = [root]
    while rest:
        value = rest.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, dovetail.Tensor):
            check_tensor(value)
        elif isinstance(value, dict):
            rest += [*value, *value.values()]
        elif isinstance(value, (list, tuple, set)):
            rest += value


def check_tensor(value: dovetail.Tensor) -> None:
    last = sum((size - 1) * step for size, step in zip(value.shape, value.stride(), strict=True))
    if value.numel():
        end = (value.storage_offset() + last + 1) * value.dtype.itemsize
        assert end <= value.untyped_storage().nbytes()
    assert not value.requires_grad or value.dtype.is_floating_point or value.dtype.is_complex
    if value.numel() < 1000 and not value.is_meta:
        assert len(value.reshape(-1).tolist()) == value.numel()

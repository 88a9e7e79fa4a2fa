"""NamedTuple: what it makes is what `typing.NamedTuple` makes."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from dovetail_kernel.named_tuple import NamedTuple


class Ours(NamedTuple):
    """A point with a name."""

    x: int
    y: float = 0.5
    name: str = ""

    @property
    def double(self) -> int:
        return self.x * 2


class Theirs(typing.NamedTuple):
    """A point with a name."""

    x: int
    y: float = 0.5
    name: str = ""

    @property
    def double(self) -> int:
        return self.x * 2


ACTIONS: list[Callable[[Any], Any]] = [
    lambda cls: tuple(cls(1)),
    lambda cls: tuple(cls(1, 2.0, "a")),
    lambda cls: tuple(cls(name="a", x=3)),
    lambda cls: cls(1) == (1, 0.5, ""),
    lambda cls: hash(cls(1)),
    lambda cls: repr(cls(1, name="b")).removeprefix(cls.__name__),
    lambda cls: cls(2).double,
    lambda cls: cls(1)._replace(y=3.0, name="c") == (1, 3.0, "c"),
    lambda cls: cls._make([1, 2.0, "a"]) == (1, 2.0, "a"),
    lambda cls: cls(1)._asdict(),
    lambda cls: (cls._fields, cls._field_defaults, cls.__match_args__, cls.__doc__),
    lambda cls: (cls.__bases__, type(cls), cls.__module__),
    lambda cls: hasattr(cls(1), "__dict__"),
    typing.get_type_hints,
    lambda cls: [(p.name, p.default, p.kind) for p in inspect.signature(cls).parameters.values()],
    lambda cls: [type(made) is cls and made == cls(1) for made in copies(cls(1))],
    lambda cls: [each for case in (cls(1), (1, 0.5, "")) for each in matched(case, cls)],
    *[
        lambda cls, args=args, named=named: cls(*args, **named)
        for args, named in [
            ((), {}),
            ((1, 2.0, "a", 4), {}),
            ((1,), {"x": 1}),
            ((1,), {"z": 1}),
            ((), {"name": "a"}),
        ]
    ],
    lambda cls: cls(1)._replace(z=1),
    lambda cls: setattr(cls(1), "x", 2),
]


def copies(made: Any) -> list[Any]:
    return [copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))]


def matched(case: Any, cls: Any) -> list[Any]:
    match case:
        case cls(x, y):
            return [x, y]
    return []


@pytest.mark.parametrize("number", range(len(ACTIONS)))
def test_a_class_does_what_one_of_typing_does(number: int) -> None:
    outcomes = []
    for cls in (Ours, Theirs):
        try:
            outcomes.append(ACTIONS[number](cls))
        except Exception as error:
            outcomes.append((TypeError, ValueError, AttributeError).index(type(error)))
    assert outcomes[0] == outcomes[1]


def test_a_field_without_a_default_comes_first() -> None:
    with pytest.raises(TypeError, match="Wrong: a field without a default"):
        exec("class Wrong(NamedTuple):\n    a: int = 0\n    b: int", {"NamedTuple": NamedTuple})

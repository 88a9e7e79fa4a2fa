"""The modules that classes and functions name as theirs, wherever they are defined."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from dovetail_kernel import defining_module, public_places, publish, publish_loaded, publish_name

Install = Callable[..., ModuleType]


@pytest.fixture(autouse=True)
def own_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish for one test."""
    for name in ("_classes", "_lazy", "_awaited"):
        monkeypatch.setattr(public_places, name, {})
    monkeypatch.setattr(public_places, "_modules", 0)


@pytest.fixture
def install() -> Iterator[Install]:
    """Makes modules that are imported for one test."""
    made: list[str] = []

    def make(name: str, text: str = "", **names: Any) -> ModuleType:
        module = ModuleType(name)
        vars(module).update(names)
        exec(text, vars(module))
        sys.modules[name] = module
        made.append(name)
        return module

    yield make
    for name in made:
        del sys.modules[name]


TEXT = """
class Layer:
    size: "Size"

class Size:
    pass

def function(): pass

def linalg_det(): pass

number = 3
"""


def test_what_a_module_lists_names_it(install: Install) -> None:
    inner = install("dovetail_zz.inner.deep", TEXT)
    names = {"Layer": inner.Layer, "function": inner.function, "number": 3}
    install("dovetail_zz", __all__=["Layer", "function", "number", "missing"], **names)
    publish("dovetail_zz")
    assert inner.Layer.__module__ == inner.function.__module__ == "dovetail_zz"
    assert inner.Size.__module__ == "dovetail_zz.inner.deep"
    assert defining_module(inner.Layer) == defining_module(inner.function) == inner.__name__
    assert typing.get_type_hints(inner.Layer) == {"size": inner.Size}


def test_a_module_of_a_known_place_stays_what_it_is(install: Install) -> None:
    inner = install("dovetail_zz.inner", TEXT)
    publish_name("dovetail_zz", "Layer", inner.Layer)
    assert (inner.Layer.__module__, defining_module(inner.Layer)) == (
        "dovetail_zz",
        "dovetail_zz.inner",
    )
    assert defining_module(3) == "" and defining_module(inspect.getdoc) == "inspect"
    assert defining_module(len) == "builtins"
    assert defining_module(type("Bare", (), {"__module__": None})) == ""
    nowhere: dict[str, Any] = {}
    exec("def f(): pass", nowhere)
    nowhere["f"].__globals__["__name__"] = None
    assert defining_module(nowhere["f"]) == ""


@pytest.mark.parametrize("later_first", [False, True])
@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("dovetail.nn", "dovetail_zz"),
        ("dovetail_zz", "dovetail_zz.part"),
        ("dovetail_zz.part", "dovetail_zz._part"),
        ("dovetail.nn", "dovetail.nn.modules"),
    ],
)
def test_the_best_of_two_places_wins_whichever_comes_first(
    install: Install, better: str, worse: str, later_first: bool
) -> None:
    inner = install("dovetail_zz.inner.very.deep", TEXT)
    for place in (worse, better) if later_first else (better, worse):
        publish_name(place, "function", inner.function)
        publish_name(place, "Layer", inner.Layer)
    assert inner.function.__module__ == inner.Layer.__module__ == better


def test_a_private_name_does_not_take_what_a_public_module_defines(install: Install) -> None:
    defined = install("dovetail.zz.modules.linear", TEXT)
    publish_name("dovetail._zz", "Layer", defined.Layer)
    assert defined.Layer.__module__ == "dovetail.zz.modules.linear"


def test_what_is_not_the_librarys_or_called_otherwise_stays(install: Install) -> None:
    foreign = install("acme_zz", TEXT)
    inner = install("dovetail_zz.inner", TEXT)
    nameless = type("Layer", (), {"__module__": 3})
    publish_name("dovetail_zz", "Layer", foreign.Layer)
    publish_name("dovetail_zz", "Other", inner.Layer)
    publish_name("dovetail_zz", "Layer", nameless)
    publish_name("dovetail_zz", "number", 3)
    assert foreign.Layer.__module__ == "acme_zz"
    assert inner.Layer.__module__ == "dovetail_zz.inner"
    assert nameless.__module__ == 3


def test_a_function_with_a_prefix_loses_it(install: Install) -> None:
    inner = install("dovetail_zz.inner", TEXT)
    install("dovetail.zz_linalg", __all__=["det"], det=inner.linalg_det)
    publish("dovetail.zz_linalg", prefix="linalg_")
    assert inner.linalg_det.__qualname__ == "det"
    assert inner.linalg_det.__module__ == "dovetail.zz_linalg"


def test_names_of_pickles_and_of_another_namespace_are_published(install: Install) -> None:
    inner = install("dovetail_zz.inner", TEXT)
    publish("dovetail_zz", "Layer Size", namespace=vars(inner))
    assert inner.Layer.__module__ == inner.Size.__module__ == "dovetail_zz"
    assert inner.function.__module__ == "dovetail_zz.inner"


@pytest.mark.parametrize("source", ["dovetail_zz.part", "dovetail_zz.inner"])
def test_what_a_package_around_loads_later_names_that_package(
    install: Install, source: str
) -> None:
    install("dovetail_zz", __all__=["Layer"])
    publish("dovetail_zz", lazy={"Layer": source, "Size": "dovetail_zz.other"})
    inner = install("dovetail_zz.inner.deep", TEXT)
    publish_name("dovetail_zz.part", "Layer", inner.Layer)
    publish_name("dovetail_zz.part", "Size", inner.Size)
    assert inner.Layer.__module__ == "dovetail_zz"
    assert inner.Size.__module__ == "dovetail_zz.part"


def test_names_that_are_loaded_later_are_published_then(install: Install) -> None:
    install("dovetail_zz", __all__=["Layer", "late"])
    publish("dovetail_zz", lazy={"Layer": "dovetail_zz.inner", "late": "dovetail_zz.inner"})
    inner = install("dovetail_zz.inner", TEXT)
    publish_loaded()
    assert inner.Layer.__module__ == "dovetail_zz"
    vars(inner)["late"] = exec("def late(): pass", vars(inner)) or inner.late
    publish_loaded()
    assert inner.late.__module__ == "dovetail_zz"
    assert not public_places._awaited


def test_nothing_is_looked_at_until_another_module_is_imported(install: Install) -> None:
    install("dovetail_zz", __all__=[])
    publish("dovetail_zz", lazy={"Layer": "dovetail_zz.inner"})
    publish_loaded()
    assert public_places._modules == len(sys.modules)
    inner = install("dovetail_zz.inner", TEXT)
    publish_loaded()
    assert inner.Layer.__module__ == "dovetail_zz" and not public_places._awaited


def test_the_outermost_package_that_loads_a_name_is_its_place(install: Install) -> None:
    inner = install("dovetail_zz.nn.modules.linear", TEXT)
    for package in ("dovetail_zz", "dovetail_zz.nn", "dovetail_zz.nn.modules"):
        install(package, __all__=[])
    publish("dovetail_zz", lazy={"Layer": "dovetail_zz.nn", "Size": "dovetail_zz.other"})
    publish_name("dovetail_zz.nn", "Layer", inner.Layer)
    publish_name("dovetail_zz.nn", "Size", inner.Size)
    assert inner.Layer.__module__ == "dovetail_zz"
    assert inner.Size.__module__ == "dovetail_zz.nn"


def test_fields_of_a_named_tuple_keep_their_types(install: Install) -> None:
    inner = install(
        "dovetail_zz.inner",
        "from typing import NamedTuple\n"
        "class Size: pass\n"
        "class Pair(NamedTuple):\n    first: 'Size'\n    second: int\n",
    )
    publish_name("dovetail_zz", "Pair", inner.Pair)
    assert typing.get_type_hints(inner.Pair) == {"first": inner.Size, "second": int}

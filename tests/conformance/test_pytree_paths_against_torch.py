"""Paths to the leaves of nested containers, beside PyTorch's."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from importlib import import_module
from typing import Any

import pytest

import dovetail

THEIRS = pytest.importorskip("torch.utils._pytree", reason="PyTorch is the oracle of these tests")
OURS = import_module("dovetail.utils._pytree")
BOTH = pytest.mark.parametrize("pytree", [THEIRS, OURS], ids=["torch", "dovetail"])

Pair = namedtuple("Pair", "first second")

TREES = [
    [1, (2, None)],
    {"b": [1, 2], "a": (3,), 4: ()},
    OrderedDict(x=1, y=[2]),
    defaultdict(list, {"x": {"y": 1}}),
    deque([1, Pair(2, [3])], maxlen=5),
    Pair(1, [2]),
    (),
    3,
]


@dataclasses.dataclass
class Batch:
    inputs: Any
    targets: Any


class Plain:
    def __init__(self, inner: Any) -> None:
        self.inner = inner


class Setting(tuple[Any, ...]):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Setting) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


for each in (THEIRS, OURS):
    each.register_dataclass(Batch)
    each.register_constant(Setting)
    each.register_pytree_node(Plain, lambda x: ([x.inner], None), lambda x, _: Plain(*x))


@pytest.mark.parametrize("tree", [*TREES, Batch([1], {"x": 2}), Setting((1, 2))], ids=repr)
def test_a_path_is_written_and_followed_alike(tree: Any) -> None:
    ours, theirs = (
        [(pytree.keystr(path), leaf) for path, leaf in pytree.tree_leaves_with_path(tree)]
        for pytree in (OURS, THEIRS)
    )
    assert ours == theirs
    leaves, structure = OURS.tree_flatten_with_path(tree)
    assert all(OURS.key_get(tree, path) is leaf for path, leaf in leaves)
    expected = THEIRS.tree_structure(tree)
    for count in ("num_leaves", "num_nodes", "num_children"):
        assert getattr(structure, count) == getattr(expected, count)
    assert structure.is_leaf() == expected.is_leaf()
    assert OURS.tree_unflatten([leaf for _, leaf in leaves], structure) == tree


@BOTH
def test_a_map_sees_paths_and_the_leaves_of_the_other_trees(pytree: Any) -> None:
    mapped = pytree.tree_map_with_path(
        lambda path, x, y: f"{pytree.keystr(path)}={x + y}", {"a": [1, 2]}, {"a": [3, 4]}
    )
    assert mapped == {"a": ["['a'][0]=4", "['a'][1]=6"]}
    with pytest.raises(ValueError, match="mismatch"):
        pytree.tree_map_with_path(lambda path, x, y: x, [1], (1,))
    kept = pytree.tree_leaves_with_path([(1, 2)], is_leaf=lambda x: isinstance(x, tuple))
    assert [leaf for _, leaf in kept] == [(1, 2)]


@BOTH
def test_a_type_registered_without_keys_has_no_paths(pytree: Any) -> None:
    assert pytree.tree_leaves(Plain(1)) == [1]
    with pytest.raises(ValueError, match=r"flatten_with_keys_fn.*Plain"):
        pytree.tree_leaves_with_path(Plain(1))


@BOTH
def test_a_constant_needs_to_be_comparable(pytree: Any) -> None:
    with pytest.raises(TypeError, match="non-default `__eq__`"):
        pytree.register_constant(Plain)


@BOTH
def test_named_tuples_are_told_apart(pytree: Any) -> None:
    assert pytree.is_namedtuple(Pair)
    assert pytree.is_namedtuple(Pair(1, 2))
    assert not pytree.is_namedtuple_instance((1, 2))
    assert not pytree.is_namedtuple_class(tuple)
    assert pytree.map_only(int)(lambda x: x + 1)(1) == 2
    assert pytree.map_only(int)(lambda x: x + 1)("a") == "a"


def test_fields_that_are_left_out_have_their_defaults_again() -> None:
    @dataclasses.dataclass
    class Step:
        value: int
        note: str = "new"

    OURS.register_dataclass(Step, drop_field_names=["note"])
    assert OURS.tree_map(lambda x: x + 1, Step(1, "old")) == Step(2, "new")
    with pytest.raises(ValueError, match="has the fields"):
        OURS.register_dataclass(Batch, field_names=["inputs"])
    with pytest.raises(ValueError, match="field_names must be specified"):
        OURS.register_dataclass(int)


def test_leaves_of_arguments_come_by_position_and_then_by_name() -> None:
    for pytree in (OURS, THEIRS):
        assert pytree.arg_tree_leaves(1, [2, {"a": 3}], b=(4,), c=None) == [1, 2, 3, 4, None]
        assert pytree.arg_tree_leaves() == []


def test_the_sizes_of_a_size_have_paths() -> None:
    import torch

    for pytree, size in ((OURS, dovetail.Size([2, 3])), (THEIRS, torch.Size([2, 3]))):
        paths = pytree.tree_leaves_with_path([size])
        assert [(pytree.keystr(path), leaf) for path, leaf in paths] == [
            ("[0][0]", 2),
            ("[0][1]", 3),
        ]

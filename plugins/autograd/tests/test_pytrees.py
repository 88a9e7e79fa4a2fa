"""`transforms.pytree`: containers taken apart and put together, prefixes, structures as text."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest

from dovetail_autograd.transforms import pytree
from dovetail_kernel import Size

Pair = namedtuple("Pair", "first second")

TREES = [
    (3, [3], "*"),
    (None, [None], "*"),
    ((), [], "()"),
    ((1,), [1], "(*,)"),
    ([1, (2, None)], [1, 2, None], "[*, (*, *)]"),
    ({"b": [1, 2], "a": (3,)}, [1, 2, 3], "{'b': [*, *], 'a': (*,)}"),
    (OrderedDict(x=1, y=[2]), [1, 2], "{'x': *, 'y': [*]}"),
    (defaultdict(list, {"x": 1}), [1], "{'x': *}"),
    (deque([1, 2], maxlen=5), [1, 2], "deque(*, *)"),
    (Pair(1, [2]), [1, 2], "Pair(*, [*])"),
]
IDS = [repr(tree) for tree, _, _ in TREES]


@pytest.mark.parametrize(("tree", "leaves", "text"), TREES, ids=IDS)
def test_a_tree_is_its_leaves_in_order_and_a_structure(tree: Any, leaves: Any, text: str) -> None:
    found, structure = pytree.flatten(tree)
    assert found == leaves
    assert repr(structure) == text
    assert structure.leaf_count == structure.num_leaves == len(leaves)
    again = pytree.unflatten(structure, found)
    assert again == tree
    assert type(again) is type(tree)
    assert getattr(again, "maxlen", None) == getattr(tree, "maxlen", None)
    assert getattr(again, "default_factory", None) == getattr(tree, "default_factory", None)


def test_a_size_comes_back_as_a_tuple() -> None:
    leaves, structure = pytree.flatten(Size([2, 3]))
    assert leaves == [2, 3]
    assert pytree.unflatten(structure, leaves) == (2, 3)


def test_a_structure_tells_its_children_as_pytorch_s_does() -> None:
    _, structure = pytree.flatten([1, (2, 3)])
    assert structure.type is list
    assert structure.num_children == 2
    assert structure.num_nodes == 5
    assert structure.child(1).type is tuple
    assert structure.child(0).is_leaf()
    assert not structure.is_leaf()
    assert structure.child(0).num_nodes == 1


def test_structures_are_equal_where_containers_and_keys_are() -> None:
    def structure(tree: object) -> Any:
        return pytree.flatten(tree)[1]

    assert structure([1, (2,)]) == structure(["a", (None,)])
    assert structure([1]) != structure((1,))
    assert structure({"a": 1}) != structure({"b": 1})
    assert structure(deque([1], maxlen=1)) != structure(deque([1]))


def test_is_leaf_keeps_containers_whole() -> None:
    def is_pair(tree: object) -> bool:
        return isinstance(tree, tuple)

    leaves, structure = pytree.flatten([(1, 2), [3]], is_leaf=is_pair)
    assert leaves == [(1, 2), 3]
    assert repr(structure) == "[*, [*]]"
    assert pytree.flatten((1, 2), is_leaf=is_pair)[0] == [(1, 2)]


def test_a_class_is_a_container_once_it_is_registered() -> None:
    class Box:
        def __init__(self, content: list[Any], label: str) -> None:
            self.content, self.label = content, label

    class Larger(Box):
        pass

    box = Box([1, 2], "a")
    assert pytree.flatten(box)[0] == [box]
    pytree.register_container(
        Box, lambda b: (b.content, b.label), lambda items, label: Box(list(items), label)
    )
    leaves, structure = pytree.flatten((box, 3))
    assert leaves == [1, 2, 3]
    made = pytree.unflatten(structure, [4, 5, 6])[0]
    assert (made.content, made.label) == ([4, 5], "a")
    assert Box in pytree.registered_types()
    larger = Larger([1], "b")
    assert pytree.flatten(larger)[0] == [larger]
    with pytest.raises(ValueError, match="is already registered as pytree node"):
        pytree.register_container(Box, lambda b: ((), None), lambda items, context: None)


def test_leaves_are_mapped_in_place() -> None:
    tree = {"a": [1, 2], "b": Pair(3, None)}
    mapped = pytree.map_leaves(lambda leaf: (leaf or 0) + 1, tree)
    assert mapped == {"a": [2, 3], "b": Pair(4, 1)}


@pytest.mark.parametrize(
    ("prefix", "values"),
    [
        (0, [0, 0, 0]),
        ((0, 1), [0, 1, 1]),
        ((0, {"b": 1, "a": 2}), [0, 2, 1]),
        ((None, 1), [None, 1, 1]),
        ([0, 1], None),
        ((0,), None),
        ((0, {"a": 2}), None),
        ((0, {"a": 2, "c": 3}), None),
        ((0, {"a": 2, "b": (3,)}), None),
        (Pair(0, 1), None),
    ],
)
def test_a_prefix_stands_for_all_below_it(prefix: Any, values: list[Any] | None) -> None:
    _, structure = pytree.flatten((1, {"a": 2, "b": 3}))
    assert pytree.flatten_prefix(prefix, structure) == values


def test_a_prefix_of_a_named_tuple_has_its_class() -> None:
    _, structure = pytree.flatten(Pair([1, 2], 3))
    assert pytree.flatten_prefix(Pair(0, 1), structure) == [0, 0, 1]
    assert pytree.flatten_prefix((0, 1), structure) is None


def test_keys_of_a_default_dict_are_those_of_a_dict() -> None:
    _, structure = pytree.flatten(defaultdict(list, {"x": 1, "y": 2}))
    assert pytree.keys_of(structure) == ("x", "y")
    assert pytree.flatten_prefix(defaultdict(None, {"y": 0, "x": 1}), structure) == [1, 0]


def test_what_lies_along_a_structure_may_go_deeper() -> None:
    _, structure = pytree.flatten([1, {"a": 2}])
    assert pytree.leaves_along(structure, [(5, 6), {"a": [7]}]) == [(5, 6), [7]]
    with pytest.raises(ValueError, match=r"mismatch; expected \[\*, \{'a': \*\}\], but got \[\*\]"):
        pytree.leaves_along(structure, [1])
    with pytest.raises(ValueError, match="Pass trees of one structure"):
        pytree.leaves_along(structure, [1, 2])

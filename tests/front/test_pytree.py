"""``dovetail.utils._pytree``: nested containers."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import NamedTuple

import pytest

import dovetail
from dovetail.utils import _pytree as pytree

Pair = namedtuple("Pair", "first second")

TREES = [
    [1, (2, None)],
    {"b": [1, 2], "a": (3,)},
    OrderedDict(x=1, y=[2]),
    defaultdict(list, {"x": 1}),
    deque([1, 2], maxlen=5),
    Pair(1, [2]),
    (),
    3,
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_a_tree_is_made_again_of_its_leaves(tree) -> None:
    leaves, structure = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, structure)
    assert again == tree
    assert type(again) is type(tree)
    assert getattr(again, "maxlen", None) == getattr(tree, "maxlen", None)


def test_maps_run_over_trees_of_one_structure() -> None:
    assert pytree.tree_map(lambda a, b: a + b, {"x": [1], "y": 2}, {"y": 3, "x": [4]}) == {
        "x": [5],
        "y": 5,
    }
    assert pytree.tree_map(lambda a, b: (a, b), [1], [{"deeper": 2}]) == [(1, {"deeper": 2})]


@pytest.mark.parametrize(("first", "second"), [([1, 2], [3]), ([1], (1,)), ({"a": 1}, {"b": 1})])
def test_trees_of_two_structures_are_refused(first, second) -> None:
    with pytest.raises(ValueError, match=r"mismatch; expected .* but got .* of one structure"):
        pytree.tree_map(lambda a, b: a, first, second)


def test_as_many_leaves_are_needed_as_there_are_places() -> None:
    with pytest.raises(ValueError, match=r"has length 1 but the spec refers to .* holds 2 items"):
        pytree.tree_unflatten([1], pytree.tree_structure([1, 2]))


def test_leaves_can_be_chosen() -> None:
    assert pytree.tree_leaves([(1, 2), 3], is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2), 3]
    assert pytree.tree_map_only(int, lambda x: -x, [1, "a", 2.0]) == [-1, "a", 2.0]
    assert pytree.tree_map_only((int, float), lambda x: -x, [1, "a", 2.0]) == [-1, "a", -2.0]
    assert pytree.tree_map_only(lambda x: x == 2, lambda x: 0, [1, 2]) == [1, 0]
    assert pytree.tree_any_only(int, lambda x: x > 1, ["a", 2])
    assert not pytree.tree_all(lambda x: x > 1, [1, 2])


def test_registered_classes_are_containers_of_transforms_too() -> None:
    class Box:
        def __init__(self, content, label) -> None:
            self.content, self.label = content, label

    pytree.register_pytree_node(
        Box, lambda box: ([box.content], box.label), lambda items, label: Box(items[0], label)
    )
    doubled = pytree.tree_map(lambda x: x * 2, Box([1, 2], "a"))
    assert (doubled.content, doubled.label) == ([2, 4], "a")
    gradient = dovetail.func.grad(lambda box: (box.content**2).sum())(Box(dovetail.ones(2), "b"))
    assert gradient.content.tolist() == [2, 2]
    with pytest.raises(ValueError, match="already registered as pytree node"):
        pytree.register_pytree_node(Box, None, None)


def test_a_class_that_is_a_named_tuple_is_a_container() -> None:
    class Point(NamedTuple):
        x: int
        y: int

    assert pytree.tree_map(lambda v: v + 1, Point(1, 2)) == Point(2, 3)
    assert pytree.tree_is_leaf(None)
    assert not pytree.tree_is_leaf(())


def test_pytorchs_variant_on_optree_has_the_same_names() -> None:
    from dovetail.utils import _cxx_pytree

    assert _cxx_pytree.__all__ == pytree.__all__
    assert _cxx_pytree.tree_map(lambda each: each + 1, {"a": (1, 2)}) == {"a": (2, 3)}


def test_a_tree_that_begins_another_gives_a_value_per_leaf() -> None:
    structure = pytree.tree_structure([0, (0, {"a": 0, "b": 0}), 0])
    assert pytree._broadcast_to_and_flatten([1, (2, 3), 4], structure) == [1, 2, 3, 3, 4]
    assert pytree._broadcast_to_and_flatten(5, structure) == [5] * 5
    assert pytree._broadcast_to_and_flatten([1, 2], structure) is None

"""Sequential, ModuleList, ModuleDict, ParameterList and ParameterDict."""

from collections import OrderedDict

import pytest

import dovetail
from dovetail import nn


def linears(count):
    return [nn.Linear(1, 1) for _ in range(count)]


def test_sequential_calls_its_modules_in_order():
    class Plus(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.n = n

        def forward(self, x):
            return [*x, self.n]

    assert nn.Sequential(Plus(1), Plus(2))([0]) == [0, 1, 2]


def test_sequential_takes_names_from_a_dict():
    model = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Tanh()))
    assert [name for name, _ in model.named_children()] == ["first", "second"]
    assert model[1] is model.second
    assert [name for name, _ in model[1:].named_children()] == ["second"]


def test_sequential_refuses_what_is_no_module():
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        nn.Sequential(3)


@pytest.mark.parametrize(
    "make",
    [lambda modules: nn.Sequential(*modules), nn.ModuleList],
    ids=["Sequential", "ModuleList"],
)
class TestNumberedContainers:
    def test_items_are_indexed_from_both_ends(self, make):
        modules = linears(3)
        container = make(modules)
        assert container[0] is modules[0]
        assert container[-1] is modules[2]
        assert len(container) == 3
        assert list(container) == modules

    def test_a_slice_is_a_container(self, make):
        modules = linears(3)
        part = make(modules)[1:]
        assert type(part) is type(make([]))
        assert list(part) == modules[1:]

    def test_an_index_out_of_range_is_an_index_error(self, make):
        with pytest.raises(IndexError, match="index 3 is out of range"):
            make(linears(1))[3]

    def test_items_are_replaced(self, make):
        container, new = make(linears(2)), nn.ReLU()
        container[-1] = new
        assert container[1] is new

    def test_deleting_closes_up_the_numbers(self, make):
        modules = linears(3)
        container = make(modules)
        del container[0]
        assert [name for name, _ in container.named_children()] == ["0", "1"]
        assert list(container) == modules[1:]
        del container[:]
        assert len(container) == 0

    def test_append_extend_insert_and_pop(self, make):
        a, b, c = linears(3)
        container = make([])
        assert container.append(b).extend([c]) is container
        container.insert(0, a)
        assert list(container) == [a, b, c]
        assert container.pop(1) is b
        assert list(container) == [a, c]

    def test_addition_makes_a_new_container(self, make):
        a, b = linears(2)
        first = make([a])
        assert list(first + make([b])) == [a, b]
        assert list(first) == [a]
        first += make([b])
        assert list(first) == [a, b]

    def test_what_is_no_module_is_not_inserted(self, make):
        container = make([])
        with pytest.raises((TypeError, AssertionError), match="Pass an instance"):
            container.insert(0, 3)
        assert len(container) == 0


def test_inserting_out_of_range_of_a_sequential_is_an_index_error():
    with pytest.raises(IndexError, match="out of range"):
        nn.Sequential().insert(1, nn.ReLU())


def test_a_sequential_is_repeated():
    layer = nn.ReLU()
    model = nn.Sequential(layer) * 3
    assert list(model) == [layer] * 3
    model *= 2
    assert len(2 * model) == 12
    with pytest.raises(ValueError, match="Non-positive multiplication factor 0"):
        model *= 0
    assert len(model) == 6


def test_popping_a_slice_gives_a_container():
    modules = linears(3)
    for container in (nn.Sequential(*modules), nn.ModuleList(modules)):
        popped = container.pop(slice(0, 2))
        assert list(popped) == modules[:2]
        assert list(container) == modules[2:]


def test_parameter_dicts_are_merged_as_dicts_are():
    one = nn.ParameterDict({"a": nn.Parameter(dovetail.ones(1))})
    other = nn.ParameterDict({"b": nn.Parameter(dovetail.ones(1))})
    assert list(one | other) == ["a", "b"]
    assert list(one) == ["a"]
    one |= other
    assert one.popitem()[0] == "b"
    assert one.setdefault("a", 3) is one["a"]
    with pytest.raises(KeyError, match="is empty"):
        nn.ParameterDict().popitem()


def test_module_list_has_no_forward():
    with pytest.raises(
        NotImplementedError,
        match=r'Module \[ModuleList\] is missing the required "forward" function',
    ):
        nn.ModuleList()(1)


def test_module_list_needs_an_iterable():
    with pytest.raises(
        TypeError, match=r"ModuleList.extend should be called with an iterable, but got int"
    ):
        nn.ModuleList(3)


def test_module_list_prints_equal_neighbours_once():
    assert repr(nn.ModuleList([*linears(2), nn.ReLU()])) == (
        "ModuleList(\n  (0-1): 2 x Linear(in_features=1, out_features=1, bias=True)\n  (2): "
        "ReLU()\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict_is_a_dict_of_submodules():
    a, b = linears(2)
    modules = nn.ModuleDict({"a": a})
    modules["b"] = b
    assert list(modules) == ["a", "b"]
    assert list(modules.items()) == [("a", a), ("b", b)]
    assert list(modules.values()) == [a, b]
    assert "a" in modules
    assert len(list(modules.parameters())) == 4
    assert modules.pop("a") is a
    assert list(modules.keys()) == ["b"]
    modules.clear()
    assert len(modules) == 0


def test_module_dict_takes_pairs():
    assert list(nn.ModuleDict([("x", nn.ReLU())])) == ["x"]


@pytest.mark.parametrize("container", ["ModuleDict", "ParameterDict"])
def test_a_dict_container_checks_its_entries(container):
    make = getattr(nn, container)
    with pytest.raises(
        TypeError, match=f"{container}.update should be called with an iterable of key/value pairs"
    ):
        make(3)
    with pytest.raises(ValueError, match="has length 3; 2 is required"):
        make([("a", 1, 2)])
    with pytest.raises(KeyError):
        make()["missing"]


def test_parameter_list_makes_parameters_of_tensors():
    values = nn.ParameterList([dovetail.ones(2), 3])
    values.append(dovetail.ones(1))
    assert isinstance(values[0], nn.Parameter)
    assert values[1] == 3
    assert list(values.state_dict()) == ["0", "2"]
    assert len(values[1:]) == 2
    assert values.pop(1) == 3
    assert [value.shape for value in values] == [(2,), (1,)]


def test_parameter_list_prints_types():
    assert "(1): Object of type: int" in repr(nn.ParameterList([dovetail.ones(2), 3]))


@pytest.mark.parametrize("values", [3, dovetail.ones(2)], ids=["int", "tensor"])
def test_parameter_list_needs_an_iterable(values):
    with pytest.raises(TypeError, match=r"ParameterList.extend should be called with an iterable"):
        nn.ParameterList(values)


def test_parameter_dict_makes_parameters_of_tensors():
    values = nn.ParameterDict({"w": dovetail.ones(2), "n": 5})
    assert isinstance(values["w"], nn.Parameter)
    assert values["n"] == 5
    assert values.get("x", 7) == 7
    assert list(values.state_dict()) == ["w"]
    assert dict(values.items())["n"] == 5
    assert list(values.keys()) == ["n", "w"]  # of a dict in the order of its keys
    assert values.pop("n") == 5
    values.clear()
    assert len(values) == 0
    assert list(values.parameters()) == []


def test_parameter_dict_refuses_names_that_are_attributes():
    with pytest.raises(KeyError):
        nn.ParameterDict({"items": dovetail.ones(1)})

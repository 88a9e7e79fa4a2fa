"""``nn.utils.parametrize``: weights that are functions of what is trained."""

import pytest

import dovetail
from dovetail import nn
from dovetail.nn.utils import parametrize


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, x):
        return x.triu()


class Rounded(nn.Module):
    def forward(self, x):
        return x.round()

    def right_inverse(self, x):
        return x * 1


class Wrong(nn.Module):
    def forward(self, x):
        return x[:1]

    def right_inverse(self, x):
        return x * 0


def parametrized():
    linear = nn.Linear(3, 3)
    return parametrize.register_parametrization(linear, "weight", Symmetric())


def test_a_weight_is_computed_of_what_is_trained():
    linear = parametrized()
    assert dovetail.equal(linear.weight, linear.weight.T)
    linear(dovetail.ones(1, 3)).sum().backward()
    assert linear.parametrizations.weight.original.grad.tolist() == [
        *([1, 2, 2], [0, 1, 2], [0, 0, 1])
    ]
    names = [name for name, _ in linear.named_parameters()]
    assert names == ["bias", "parametrizations.weight.original"]


def test_a_weight_that_is_assigned_goes_through_the_inverse():
    linear = parametrized()
    value = dovetail.tensor([[1.0, 2, 3], [2, 4, 5], [3, 5, 6]])
    linear.weight = value
    assert dovetail.equal(linear.weight, value)
    assert linear.parametrizations.weight.original[1, 0] == 0


def test_a_parametrization_that_does_not_fit_changes_nothing():
    linear = nn.Linear(3, 3)
    before, weight = linear.weight.tolist(), linear.weight
    with pytest.raises(ValueError, match=r"may not change the shape(.|\n)*dovetail.Size\(\[1, 3"):
        parametrize.register_parametrization(linear, "weight", Wrong())
    assert type(linear) is nn.Linear
    assert linear.weight is weight
    assert weight.tolist() == before


def test_within_cached_a_weight_is_computed_once_until_it_is_assigned():
    linear = parametrized()
    with parametrize.cached():
        first = linear.weight
        assert linear.weight is first
        linear.weight = dovetail.zeros(3, 3)
        assert linear.weight.sum() == 0
    assert linear.weight is not linear.weight


def test_removing_the_last_parametrization_gives_the_class_back():
    linear = parametrized()
    value, original = linear.weight, linear.parametrizations.weight.original
    parametrize.remove_parametrizations(linear, "weight")
    assert type(linear) is nn.Linear
    assert linear.weight is original
    assert dovetail.equal(linear.weight, value)
    assert list(linear.state_dict()) == ["bias", "weight"]


def test_a_functional_call_replaces_the_original():
    linear = parametrized()
    key = "parametrizations.weight.original"
    given = {key: dovetail.eye(3), "bias": dovetail.zeros(3)}
    result = dovetail.func.functional_call(linear, given, (dovetail.ones(1, 3),))
    assert result.tolist() == [[1, 1, 1]]


def test_a_functional_call_refuses_to_lose_the_gradient_of_a_parametrized_tensor():
    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    given = dovetail.ones(2, 2, requires_grad=True)
    before = layer.weight.tolist()
    with pytest.raises(RuntimeError, match=r"gradient .*parametrizations.weight.original"):
        dovetail.func.functional_call(layer, {"weight": given}, (dovetail.ones(2),))
    assert layer.weight.tolist() == before


def test_a_functional_call_leaves_the_originals_of_an_inexact_inverse_as_they_were():
    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Rounded())
    original = layer.parametrizations.weight.original
    before = original.tolist()
    dovetail.func.functional_call(layer, {"weight": dovetail.ones(2, 2)}, (dovetail.ones(2),))
    assert layer.parametrizations.weight.original is original
    assert original.tolist() == before

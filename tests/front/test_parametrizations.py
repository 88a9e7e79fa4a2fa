"""``nn.utils.parametrizations``: orthogonal weights, and weights by their norms."""

import pytest

import dovetail
from dovetail import nn
from dovetail.nn.utils import parametrizations


@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
def test_a_weight_stays_orthogonal_while_it_is_trained(shape, orthogonal_map):
    dovetail.manual_seed(0)
    linear = nn.Linear(*shape[::-1], dtype=dovetail.float64)
    parametrizations.orthogonal(linear, orthogonal_map=orthogonal_map)
    target = dovetail.randn(shape, dtype=dovetail.float64)
    optimizer = dovetail.optim.SGD(linear.parameters(), lr=0.05)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = ((linear.weight - target) ** 2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    weight = linear.weight
    small = weight @ weight.T if shape[0] <= shape[1] else weight.T @ weight
    assert dovetail.allclose(small, dovetail.eye(min(shape), dtype=dovetail.float64))


def test_a_spectral_norm_is_one_after_some_steps():
    dovetail.manual_seed(0)
    conv = parametrizations.spectral_norm(nn.Conv2d(3, 4, 3), n_power_iterations=50)
    largest = dovetail.linalg.svdvals(conv.weight.reshape(4, -1))[0]
    assert largest.item() == pytest.approx(1.0, abs=1e-4)


def test_a_weight_keeps_its_value_and_has_its_norms_apart():
    linear = nn.Linear(3, 2)
    weight = linear.weight.detach().clone()
    parametrizations.weight_norm(linear)
    assert dovetail.allclose(linear.weight, weight)
    with dovetail.no_grad():
        linear.parametrizations.weight.original0.fill_(2.0)
    assert linear.weight.norm(dim=1).tolist() == pytest.approx([2.0, 2.0])


def test_unknown_maps_are_refused():
    with pytest.raises(ValueError, match=r'"cayley", "householder"\. Got: qr'):
        parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="qr")

"""``nn.utils.weight_norm`` and ``spectral_norm`` of old."""

import pytest

import dovetail
from dovetail import nn
from dovetail.nn import utils


@pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated:FutureWarning")
def test_a_weight_follows_its_norm_at_every_forward():
    linear = utils.weight_norm(nn.Linear(3, 2, bias=False))
    with dovetail.no_grad():
        linear.weight_g.fill_(3.0)
    linear(dovetail.ones(1, 3))
    assert linear.weight.norm(dim=1).tolist() == pytest.approx([3.0, 3.0])
    utils.remove_weight_norm(linear)
    assert list(linear.state_dict()) == ["weight"]
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        utils.remove_weight_norm(linear)


def test_a_weight_norm_of_old_says_what_is_better():
    with pytest.warns(FutureWarning, match=r"in favor of .*parametrizations.weight_norm"):
        utils.weight_norm(nn.Linear(3, 2))


@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_a_state_dict_without_v_gets_it_back(shape):
    dovetail.manual_seed(0)
    model = utils.spectral_norm(nn.Linear(*shape), n_power_iterations=30)
    model(dovetail.ones(1, shape[0]))
    state = model.state_dict()
    state["weight"] = model.weight.detach().clone()
    del state["weight_v"], state._metadata[""]["spectral_norm"]
    other = utils.spectral_norm(nn.Linear(*shape))
    other.load_state_dict(state)
    assert dovetail.allclose(other.weight_v, model.weight_v, atol=1e-3)


def test_removing_a_spectral_norm_leaves_no_hooks():
    linear = utils.spectral_norm(nn.Linear(3, 2))
    linear(dovetail.ones(1, 3))
    weight = linear.weight.tolist()
    utils.remove_spectral_norm(linear)
    assert linear.weight.tolist() == weight
    assert not linear._forward_pre_hooks
    assert not linear._state_dict_hooks
    assert not linear._load_state_dict_pre_hooks

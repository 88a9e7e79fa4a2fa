"""``state_dict`` and ``load_state_dict``."""

from collections import OrderedDict

import pytest

import dovetail
from dovetail import nn


class Counted(nn.Module):
    """Has extra state."""

    def __init__(self):
        super().__init__()
        self.count = 1

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"]


def model():
    return nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))


def test_keys_are_dotted_names_in_order():
    assert list(model().state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_values_are_detached_and_share_memory():
    linear = nn.Linear(1, 1)
    state = linear.state_dict()
    assert isinstance(state, OrderedDict)
    assert not state["weight"].requires_grad
    state["weight"].fill_(7)
    assert linear.weight.tolist() == [[7.0]]


def test_keep_vars_returns_the_parameters():
    linear = nn.Linear(1, 1)
    assert linear.state_dict(keep_vars=True)["weight"] is linear.weight


def test_prefix_and_destination_are_used():
    destination = OrderedDict(other=1)
    assert nn.Linear(1, 1).state_dict(destination=destination, prefix="x.") is destination
    assert list(destination) == ["other", "x.weight", "x.bias"]


def test_metadata_holds_every_modules_version():
    assert model().state_dict()._metadata == {
        "": {"version": 1},
        "0": {"version": 1},
        "1": {"version": 1},
    }


def test_non_persistent_buffers_are_left_out():
    module = nn.Module()
    module.register_buffer("kept", dovetail.ones(1))
    module.register_buffer("passing", dovetail.ones(1), persistent=False)
    assert list(module.state_dict()) == ["kept"]


def test_loading_copies_and_keeps_the_parameters():
    source, target = model(), model()
    before = list(target.parameters())
    result = target.load_state_dict(source.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert all(new is old for new, old in zip(target.parameters(), before, strict=True))
    assert target[0].weight.tolist() == source[0].weight.tolist()
    source[0].weight.data.fill_(9)
    assert target[0].weight.tolist() != source[0].weight.tolist()


def test_assign_takes_the_tensors_themselves():
    source, target = nn.Linear(1, 1), nn.Linear(1, 1)
    state = source.state_dict()
    target.load_state_dict(state, assign=True)
    state["weight"].fill_(9)
    assert target.weight.tolist() == [[9.0]]
    assert isinstance(target.weight, nn.Parameter)
    assert target.weight.requires_grad


def test_missing_unexpected_and_misshapen_entries_are_reported_together():
    with pytest.raises(
        RuntimeError, match=r"Error\(s\) in loading state_dict for Linear:"
    ) as caught:
        nn.Linear(1, 1).load_state_dict({"weight": dovetail.ones(3), "extra": dovetail.ones(1)})
    text = str(caught.value)
    assert '\n\tMissing key(s) in state_dict: "bias". ' in text
    assert '\n\tUnexpected key(s) in state_dict: "extra". ' in text
    assert "\n\tsize mismatch for weight: copying a param with shape" in text
    assert "the shape in current model is" in text


def test_a_failed_load_changes_nothing():
    linear = nn.Linear(1, 1)
    before = linear.weight.tolist()
    with pytest.raises(RuntimeError, match="Missing key"):
        linear.load_state_dict({"weight": dovetail.full((1, 1), 9.0)})
    assert linear.weight.tolist() == before


def test_a_failed_assigning_load_changes_nothing():
    linear = nn.Linear(1, 1)
    weight = linear.weight
    with pytest.raises(RuntimeError, match="Missing key"):
        linear.load_state_dict({"weight": dovetail.full((1, 1), 9.0)}, assign=True)
    assert linear.weight is weight


def test_not_strict_reports_keys_and_loads_the_rest():
    linear = nn.Linear(1, 1)
    result = linear.load_state_dict(
        {"weight": dovetail.full((1, 1), 9.0), "x": dovetail.ones(1)}, strict=False
    )
    assert result.missing_keys == ["bias"]
    assert result.unexpected_keys == ["x"]
    assert linear.weight.tolist() == [[9.0]]


def test_a_state_dict_that_is_no_mapping_is_refused():
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'int'>"):
        nn.Linear(1, 1).load_state_dict(3)


def test_an_entry_that_is_no_tensor_is_refused():
    with pytest.raises(
        RuntimeError, match=r'"weight", expected .*Tensor-like object from checkpoint but received'
    ):
        nn.Linear(1, 1, bias=False).load_state_dict({"weight": 3})


def test_loading_casts_to_the_parameters_dtype():
    linear = nn.Linear(1, 1, bias=False)
    linear.load_state_dict({"weight": dovetail.ones(1, 1, dtype=dovetail.float64)})
    assert linear.weight.dtype == dovetail.float32


def test_one_element_loads_into_a_scalar():
    module = nn.Module()
    module.scale = nn.Parameter(dovetail.tensor(1.0))
    module.load_state_dict({"scale": dovetail.tensor([3.0])})
    assert module.scale.item() == 3.0


def test_extra_state_travels_along():
    source, target = nn.Sequential(Counted()), nn.Sequential(Counted())
    source[0].count = 5
    state = source.state_dict()
    assert list(state) == ["0._extra_state"]
    target.load_state_dict(state)
    assert target[0].count == 5


def test_missing_extra_state_is_reported():
    with pytest.raises(RuntimeError, match="_extra_state"):
        Counted().load_state_dict({})


@pytest.mark.parametrize(
    ("method", "arguments"), [("get_extra_state", ()), ("set_extra_state", (1,))]
)
def test_extra_state_must_be_defined(method, arguments):
    with pytest.raises(RuntimeError, match="extra state"):
        getattr(nn.Linear(1, 1), method)(*arguments)


def test_state_dict_hooks_run_before_and_after():
    linear, calls = nn.Linear(1, 1), []
    linear.register_state_dict_pre_hook(
        lambda module, prefix, keep_vars: calls.append((prefix, keep_vars))
    )
    linear.register_state_dict_post_hook(
        lambda module, state, prefix, metadata: state.__delitem__(prefix + "bias")
    )
    assert list(nn.Sequential(linear).state_dict()) == ["0.weight"]
    assert calls == [("0.", False)]


def test_load_hooks_convert_and_inspect():
    linear, seen = nn.Linear(1, 1, bias=False), []

    def rename(module, state, prefix, metadata, strict, missing, unexpected, errors):
        state[prefix + "weight"] = state.pop(prefix + "old")

    linear.register_load_state_dict_pre_hook(rename)
    linear.register_load_state_dict_post_hook(lambda module, keys: seen.append(module))
    linear.load_state_dict({"old": dovetail.full((1, 1), 4.0)})
    assert linear.weight.tolist() == [[4.0]]
    assert seen == [linear]


def test_a_post_load_hook_can_forgive_missing_keys():
    linear = nn.Linear(1, 1)
    linear.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    assert repr(linear.load_state_dict({})) == "<All keys matched successfully>"


def test_a_post_load_hook_must_return_none():
    linear = nn.Linear(1, 1)
    linear.register_load_state_dict_post_hook(lambda module, keys: keys)
    with pytest.raises(AssertionError, match="not expected to return new values"):
        linear.load_state_dict(linear.state_dict())


def test_loading_does_not_change_the_given_dict():
    linear = nn.Linear(1, 1, bias=False)
    linear.register_load_state_dict_pre_hook(lambda module, state, *rest: state.pop("extra"))
    state = {"weight": dovetail.ones(1, 1), "extra": 1}
    linear.load_state_dict(state)
    assert "extra" in state


def test_loading_data_into_a_meta_module_warns_or_assigns():
    linear = nn.Linear(1, 1, bias=False, device="meta")
    state = {"weight": dovetail.ones(1, 1)}
    with pytest.warns(UserWarning, match=r"no-op.*assign=True"):
        linear.load_state_dict(state)
    linear.load_state_dict(state, assign=True)
    assert linear.weight.tolist() == [[1.0]]


def test_statistics_saved_without_a_count_of_batches_are_loaded():
    norm = nn.BatchNorm1d(2)
    norm(dovetail.ones(3, 2))
    state = norm.state_dict()
    del state["num_batches_tracked"]
    with pytest.raises(RuntimeError, match=r"Missing key.*num_batches_tracked"):
        norm.load_state_dict(state)
    old = dict(state)  # without metadata, as of old
    assert not nn.BatchNorm1d(2).load_state_dict(old).missing_keys
    assert norm.load_state_dict(old).missing_keys == []
    assert norm.num_batches_tracked == 1

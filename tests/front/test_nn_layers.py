"""Layers, losses, initial values and helpers for gradients."""

import math

import pytest

import dovetail
from dovetail import nn
from dovetail.nn import functional as F


def test_linear_is_a_matrix_product():
    linear = nn.Linear(2, 1)
    linear.load_state_dict(
        {"weight": dovetail.tensor([[2.0, 3.0]]), "bias": dovetail.tensor([1.0])}
    )
    assert linear(dovetail.tensor([[1.0, 10.0]])).tolist() == [[33.0]]


def test_linear_starts_within_its_bound():
    linear = nn.Linear(100, 50)
    assert linear.weight.abs().max().item() <= 0.1
    assert linear.bias.abs().max().item() <= 0.1
    assert linear.weight.var().item() == pytest.approx(0.01 / 3, rel=0.1)


def test_linear_without_bias_has_none():
    assert nn.Linear(1, 1, bias=False).bias is None


def test_linear_takes_a_dtype():
    assert nn.Linear(1, 1, dtype=dovetail.float64).weight.dtype == dovetail.float64


def test_identity_ignores_its_arguments():
    x = dovetail.ones(1)
    assert nn.Identity(1, any=2)(x) is x


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (nn.ReLU(), [0.0, 0.0, 2.0]),
        (nn.PReLU(), [-0.25, 0.0, 2.0]),
        (nn.LeakyReLU(0.1), [-0.1, 0.0, 2.0]),
        (nn.ELU(), [math.expm1(-1), 0.0, 2.0]),
        (nn.Sigmoid(), [1 / (1 + math.e), 0.5, 1 / (1 + math.exp(-2))]),
        (nn.Tanh(), [math.tanh(-1), 0.0, math.tanh(2)]),
        (nn.SiLU(), [-1 / (1 + math.e), 0.0, 2 / (1 + math.exp(-2))]),
        (nn.GELU(), [-0.158655, 0.0, 1.954500]),
        (nn.GELU("tanh"), [-0.158808, 0.0, 1.954598]),
        (nn.Softplus(), [math.log1p(math.exp(-1)), math.log(2), math.log1p(math.exp(2))]),
        (nn.LogSigmoid(), [-math.log1p(math.e), -math.log(2), -math.log1p(math.exp(-2))]),
    ],
    ids=repr,
)
def test_an_activation_has_its_values(module, expected):
    assert module(dovetail.tensor([-1.0, 0.0, 2.0])).tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "module", [nn.ReLU(True), nn.SiLU(True), nn.LeakyReLU(0.1, True), nn.ELU(1.0, True)], ids=repr
)
def test_an_inplace_activation_writes_into_its_input(module):
    x = dovetail.tensor([-1.0, 2.0])
    result = module(x)
    assert x.tolist() == result.tolist()
    assert x.tolist()[0] != -1.0


def test_hardtanh_limits_and_checks_its_bounds():
    assert F.hardtanh(dovetail.tensor([-3.0, 0.5, 3.0])).tolist() == [-1.0, 0.5, 1.0]
    with pytest.raises(ValueError, match="min_val cannot be greater than max_val"):
        F.hardtanh(dovetail.ones(1), 1.0, 0.0)


def test_softmax_sums_to_one_and_log_softmax_is_its_logarithm():
    x = dovetail.tensor([[1.0, 2.0], [0.0, 5.0]])
    soft = nn.Softmax(1)(x)
    assert soft.sum(1).tolist() == pytest.approx([1.0, 1.0])
    assert nn.LogSoftmax(1)(x).exp().tolist()[0] == pytest.approx(soft.tolist()[0])


def test_softmax_without_a_dimension_warns():
    with pytest.warns(
        UserWarning, match="Implicit dimension choice for softmax has been deprecated"
    ):
        assert F.softmax(dovetail.zeros(1, 2)).tolist() == [[0.5, 0.5]]


def test_dropout_scales_while_training_and_is_identity_otherwise():
    x = dovetail.ones(1000)
    dropout = nn.Dropout(0.25)
    seen = set(dropout(x).tolist())
    assert len(seen) == 2
    assert sorted(seen) == pytest.approx([0.0, 4 / 3])
    assert dropout.eval()(x).tolist() == x.tolist()


def test_dropout_in_place_writes_into_its_input_and_has_a_gradient():
    leaf = dovetail.ones(100, requires_grad=True)
    x = leaf * 1
    assert nn.Dropout(0.5, inplace=True)(x) is x
    assert set(x.tolist()) == {0.0, 2.0}
    x.sum().backward()
    assert leaf.grad.tolist() == x.tolist()


@pytest.mark.parametrize("make", [nn.Dropout, lambda p: F.dropout(dovetail.ones(1), p)])
def test_a_dropout_probability_out_of_range_is_refused(make):
    with pytest.raises(
        ValueError, match=r"dropout probability has to be between 0 and 1, but got 2.0"
    ):
        make(2.0)


def test_embedding_looks_up_rows():
    table = nn.Embedding.from_pretrained(dovetail.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert table(dovetail.tensor([[1, 0]])).tolist() == [[[3.0, 4.0], [1.0, 2.0]]]
    assert not table.weight.requires_grad


def test_the_padding_row_is_zero_and_gets_no_gradient():
    table = nn.Embedding(3, 2, padding_idx=-1)
    assert table.padding_idx == 2
    assert table.weight[2].tolist() == [0.0, 0.0]
    table(dovetail.tensor([0, 2])).sum().backward()
    assert table.weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def test_a_padding_index_out_of_range_is_refused():
    with pytest.raises(AssertionError, match="Padding_idx must be within num_embeddings"):
        nn.Embedding(3, 2, padding_idx=3)


def test_embedding_with_max_norm_shortens_the_rows_that_are_picked():
    table = nn.Embedding(3, 2, max_norm=1.0)
    with dovetail.no_grad():
        table.weight.copy_(dovetail.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]))
    picked = table(dovetail.tensor([0, 1, 0]))
    assert dovetail.allclose(picked[0], dovetail.tensor([0.6, 0.8]))
    assert dovetail.allclose(picked[1], dovetail.tensor([0.3, 0.4]))
    assert dovetail.allclose(table.weight[0], dovetail.tensor([0.6, 0.8]))
    assert table.weight[2].tolist() == [6.0, 8.0]
    picked.sum().backward()
    assert table.weight.grad.tolist() == [[2.0, 2.0], [1.0, 1.0], [0.0, 0.0]]


def test_layer_norm_normalises_the_last_dimensions():
    out = nn.LayerNorm(4)(dovetail.tensor([[1.0, 2.0, 3.0, 4.0]]))
    assert out.mean().item() == pytest.approx(0.0, abs=1e-6)
    assert out.var(unbiased=False).item() == pytest.approx(1.0, abs=1e-4)


def test_layer_norm_parameters_are_optional():
    assert list(nn.LayerNorm(2).state_dict()) == ["weight", "bias"]
    assert list(nn.LayerNorm(2, bias=False).state_dict()) == ["weight"]
    assert list(nn.LayerNorm((2, 3), elementwise_affine=False).state_dict()) == []


def test_flatten_and_unflatten_are_inverse():
    x = dovetail.randn(2, 3, 4)
    flat = nn.Flatten()(x)
    assert flat.shape == (2, 12)
    assert nn.Unflatten(1, (3, 4))(flat).tolist() == x.tolist()


# Losses


def test_cross_entropy_is_the_negative_log_likelihood_of_log_softmax():
    x, y = dovetail.randn(4, 3), dovetail.tensor([0, 2, 1, 1])
    expected = nn.NLLLoss()(F.log_softmax(x, 1), y)
    assert nn.CrossEntropyLoss()(x, y).item() == pytest.approx(expected.item(), rel=1e-5)


def test_cross_entropy_reductions_agree():
    x, y = dovetail.randn(4, 3), dovetail.tensor([0, 2, 1, 1])
    each = nn.CrossEntropyLoss(reduction="none")(x, y)
    assert each.shape == (4,)
    assert nn.CrossEntropyLoss(reduction="sum")(x, y).item() == pytest.approx(
        each.sum().item(), rel=1e-5
    )


def test_cross_entropy_ignores_an_index():
    x = dovetail.randn(2, 3)
    ignoring = nn.CrossEntropyLoss(ignore_index=1)(x, dovetail.tensor([0, 1]))
    assert ignoring.item() == pytest.approx(
        nn.CrossEntropyLoss()(x[:1], dovetail.tensor([0])).item(), rel=1e-5
    )


def test_cross_entropy_weights_are_a_buffer():
    loss = nn.CrossEntropyLoss(weight=dovetail.tensor([1.0, 0.0]))
    assert list(loss.state_dict()) == ["weight"]
    x = dovetail.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert loss(x, dovetail.tensor([0, 1])).item() == pytest.approx(math.log1p(math.e), rel=1e-5)


def test_label_smoothing_mixes_with_the_uniform_distribution():
    x = dovetail.tensor([[0.0, 0.0]])
    assert nn.CrossEntropyLoss(label_smoothing=0.5)(
        x, dovetail.tensor([0])
    ).item() == pytest.approx(math.log(2))


def test_label_smoothing_out_of_range_is_refused():
    with pytest.raises(RuntimeError, match=r"label_smoothing must be between 0.0 and 1.0"):
        nn.CrossEntropyLoss(label_smoothing=3.0)(dovetail.ones(1, 2), dovetail.tensor([1]))


@pytest.mark.parametrize(("loss", "expected"), [(nn.MSELoss, 5.0), (nn.L1Loss, 2.0)])
def test_an_elementwise_loss_reduces(loss, expected):
    x, y = dovetail.tensor([1.0, 3.0]), dovetail.tensor([0.0, 0.0])
    assert loss()(x, y).item() == expected
    assert loss(reduction="sum")(x, y).item() == expected * 2
    assert loss(reduction="none")(x, y).sum().item() == expected * 2


def test_an_unknown_reduction_is_refused():
    with pytest.raises(ValueError, match="x is not a valid value for reduction"):
        F.mse_loss(dovetail.ones(1), dovetail.ones(1), reduction="x")


def test_a_loss_of_different_shapes_warns():
    with pytest.warns(
        UserWarning, match="Using a target size .* that is different to the input size"
    ):
        F.mse_loss(dovetail.ones(2), dovetail.ones(2, 2))


def test_the_old_size_flags_warn_and_work():
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(UserWarning, match="please use reduction='none' instead"):
        assert F.mse_loss(dovetail.ones(2), dovetail.zeros(2), reduce=False).tolist() == [1.0, 1.0]


def test_binary_cross_entropy_with_logits_is_stable():
    x, y = dovetail.tensor([100.0, -100.0, 0.0]), dovetail.tensor([0.0, 1.0, 1.0])
    assert nn.BCEWithLogitsLoss(reduction="none")(x, y).tolist() == pytest.approx(
        [100.0, 100.0, math.log(2)]
    )


def test_binary_cross_entropy_weights_multiply():
    x, y = dovetail.tensor([0.0, 0.0]), dovetail.tensor([1.0, 0.0])
    loss = nn.BCEWithLogitsLoss(
        pos_weight=dovetail.tensor([3.0, 1.0]), weight=dovetail.tensor([1.0, 2.0]), reduction="none"
    )
    assert loss(x, y).tolist() == pytest.approx([3 * math.log(2), 2 * math.log(2)])


def test_binary_cross_entropy_needs_equal_shapes():
    with pytest.raises(ValueError, match=r"Target size .* must be the same as input size"):
        nn.BCEWithLogitsLoss()(dovetail.ones(2), dovetail.ones(3))


# Initial values


@pytest.mark.parametrize(
    ("fill", "deviation"),
    [
        (lambda t: nn.init.uniform_(t, -1, 1), math.sqrt(1 / 3)),
        (lambda t: nn.init.normal_(t, 0, 2), 2.0),
        (nn.init.xavier_uniform_, math.sqrt(2 / 300)),
        (nn.init.xavier_normal_, math.sqrt(2 / 300)),
        (nn.init.kaiming_uniform_, math.sqrt(2 / 200)),
        (
            lambda t: nn.init.kaiming_normal_(t, mode="fan_out", nonlinearity="linear"),
            math.sqrt(1 / 100),
        ),
    ],
)
def test_random_initial_values_have_their_spread(fill, deviation):
    tensor = dovetail.empty(100, 200)
    assert fill(tensor) is tensor
    assert tensor.mean().item() == pytest.approx(0.0, abs=deviation / 20)
    assert tensor.var().item() == pytest.approx(deviation**2, rel=0.1)


def test_constant_initial_values():
    assert nn.init.constant_(dovetail.empty(2), 3.0).tolist() == [3.0, 3.0]
    assert nn.init.ones_(dovetail.empty(1)).tolist() == [1.0]
    assert nn.init.zeros_(dovetail.empty(1)).tolist() == [0.0]


def test_filling_a_parameter_records_nothing():
    parameter = nn.init.ones_(nn.Parameter(dovetail.empty(2)))
    assert parameter.is_leaf
    assert parameter.requires_grad


@pytest.mark.parametrize(
    ("name", "gain"),
    [("linear", 1), ("tanh", 5 / 3), ("relu", math.sqrt(2)), ("selu", 0.75), ("sigmoid", 1)],
)
def test_gains_are_the_recommended_ones(name, gain):
    assert nn.init.calculate_gain(name) == pytest.approx(gain)


def test_the_gain_of_leaky_relu_depends_on_its_slope():
    assert nn.init.calculate_gain("leaky_relu", 1.0) == 1.0
    with pytest.raises(ValueError, match="negative_slope x not a valid number"):
        nn.init.calculate_gain("leaky_relu", "x")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.init.calculate_gain("zz"), "Unsupported nonlinearity zz"),
        (
            lambda: nn.init.kaiming_uniform_(dovetail.ones(1)),
            "Fan in and fan out can not be computed",
        ),
        (lambda: nn.init.kaiming_uniform_(dovetail.ones(1, 1), mode="z"), "Mode z not supported"),
    ],
)
def test_impossible_initialisations_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_initialising_nothing_warns():
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        nn.init.kaiming_uniform_(dovetail.empty(0, 3))


# Gradients


def with_gradients(*gradients):
    parameters = [nn.Parameter(dovetail.zeros(len(gradient))) for gradient in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = dovetail.tensor(gradient)
    return parameters


def test_clipping_by_norm_scales_all_gradients_together():
    a, b = with_gradients([3.0], [4.0])
    assert nn.utils.clip_grad_norm_([a, b], 1.0).item() == pytest.approx(5.0)
    assert a.grad.item() == pytest.approx(0.6, rel=1e-5)
    assert b.grad.item() == pytest.approx(0.8, rel=1e-5)


def test_small_gradients_are_not_scaled_up():
    (a,) = with_gradients([0.5])
    nn.utils.clip_grad_norm_(a, 1.0)
    assert a.grad.tolist() == [0.5]


@pytest.mark.parametrize(("order", "norm"), [(1, 7.0), (math.inf, 4.0), (3, 91 ** (1 / 3))])
def test_clipping_knows_other_norms(order, norm):
    assert nn.utils.clip_grad_norm_(
        with_gradients([3.0, -4.0]), 1.0, order
    ).item() == pytest.approx(norm)


def test_clipping_skips_parameters_without_gradient():
    assert nn.utils.clip_grad_norm_([nn.Parameter(dovetail.ones(1))], 1.0).item() == 0.0


def test_clipping_a_half_precision_gradient_does_not_overflow():
    parameter = nn.Parameter(dovetail.zeros(1, dtype=dovetail.float16))
    parameter.grad = dovetail.full((1,), 1000.0, dtype=dovetail.float16)
    assert nn.utils.clip_grad_norm_(parameter, 1.0).item() == pytest.approx(1000.0)


def test_a_norm_that_is_not_finite_can_be_an_error():
    (a,) = with_gradients([math.nan])
    with pytest.raises(
        RuntimeError, match=r"The total norm of order 2.0 for gradients .* is non-finite"
    ):
        nn.utils.clip_grad_norm_(a, 1.0, error_if_nonfinite=True)


def test_clipping_by_value_limits_each_element():
    (a,) = with_gradients([-5.0, 0.5, 5.0])
    nn.utils.clip_grad_value_(a, 1.0)
    assert a.grad.tolist() == [-1.0, 0.5, 1.0]


def test_parameters_become_a_vector_and_come_back():
    linear = nn.Linear(2, 1)
    vector = nn.utils.parameters_to_vector(linear.parameters())
    assert vector.shape == (3,)
    nn.utils.vector_to_parameters(dovetail.tensor([1.0, 2.0, 3.0]), linear.parameters())
    assert linear.weight.tolist() == [[1.0, 2.0]]
    assert linear.bias.tolist() == [3.0]


@pytest.mark.parametrize(
    ("vector", "error", "message"),
    [
        ([1.0], TypeError, "but got: list"),
        (dovetail.ones(2), RuntimeError, "2 elements, but the parameters need 3"),
    ],
    ids=["list", "short"],
)
def test_a_vector_that_does_not_fit_changes_nothing(vector, error, message):
    linear = nn.Linear(2, 1)
    before = linear.weight.tolist()
    with pytest.raises(error, match=message):
        nn.utils.vector_to_parameters(vector, linear.parameters())
    assert linear.weight.tolist() == before

"""Recurrent networks and packed sequences beside PyTorch: values and gradients in float64."""

import numpy as np
import pytest
import torch

import dovetail

BATCH, FEATURES, HIDDEN = 3, 4, 5
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
SIZES = [3, 3, 2, 1]


def maker(library):
    """Return a function that makes tensors of drawn values, the same in both libraries."""
    random = np.random.default_rng(0)

    def make(*shape):
        values = library.tensor(random.standard_normal(shape).tolist(), dtype=library.float64)
        return values.reshape(shape).requires_grad_()

    return make


def assert_alike(program):
    theirs, ours = (
        [np.asarray(each.detach().cpu()) for each in program(library, maker(library))]
        for library in (torch, dovetail)
    )
    assert len(theirs) == len(ours)
    for left, right in zip(theirs, ours, strict=True):
        assert left.shape == right.shape
        np.testing.assert_allclose(right, left, rtol=1e-9, atol=1e-11)


def with_gradients(library, results, inputs):
    """Return results, and the gradients of a weighted sum of them."""
    total = sum((each * each.detach().cos()).sum() for each in results)
    return [*results, *library.autograd.grad(total, inputs)]


def network(make, name, layers, both, biases, projected):
    """Return the first states and the parameters of a network."""
    count, rows, out = layers * (1 + both), GATES[name] * HIDDEN, projected or HIDDEN
    params = []
    for place in range(count):
        features = out * (1 + both) if place > both else FEATURES
        params += [make(rows, features), make(rows, out)]
        params += [make(rows), make(rows)] if biases else []
        params += [make(projected, HIDDEN)] if projected else []
    hidden = make(count, BATCH, out)
    return [hidden, make(count, BATCH, HIDDEN)] if name == "lstm" else hidden, params


CASES = [
    (name, layers, both, biases, projected)
    for name in GATES
    for layers, both, biases in ((1, False, True), (2, True, True), (2, False, False))
    for projected in ((0, 2) if name == "lstm" else (0,))
]


def tensors_of(hx):
    return hx if isinstance(hx, list) else [hx]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize(("name", "layers", "both", "biases", "projected"), CASES)
def test_networks_over_sequences_agree(name, layers, both, biases, projected, batch_first):
    def program(t, make):
        x = make(*((BATCH, 4) if batch_first else (4, BATCH)), FEATURES)
        hx, params = network(make, name, layers, both, biases, projected)
        given = (biases, layers, 0.5, False, both, batch_first)
        found = getattr(t, name)(x, hx, params, *given)
        return with_gradients(t, found, [x, *tensors_of(hx), *params])

    assert_alike(program)


@pytest.mark.parametrize(("name", "layers", "both", "biases", "projected"), CASES)
def test_networks_over_packed_sequences_agree(name, layers, both, biases, projected):
    def program(t, make):
        data = make(sum(SIZES), FEATURES)
        hx, params = network(make, name, layers, both, biases, projected)
        given = (biases, layers, 0.0, True, both)
        found = getattr(t, name)(data, t.tensor(SIZES), hx, params, *given)
        return with_gradients(t, found, [data, *tensors_of(hx), *params])

    assert_alike(program)


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("name", GATES)
def test_cells_agree(name, biases):
    def program(t, make):
        rows = GATES[name] * HIDDEN
        x, weights = make(BATCH, FEATURES), [make(rows, FEATURES), make(rows, HIDDEN)]
        weights += [make(rows), make(rows)] if biases else []
        hx = [make(BATCH, HIDDEN) for _ in range(2)] if name == "lstm" else make(BATCH, HIDDEN)
        found = getattr(t, f"{name}_cell")(x, hx, *weights)
        found = found if isinstance(found, tuple) else [found]
        return with_gradients(t, found, [x, *tensors_of(hx), *weights])

    assert_alike(program)


def test_dropout_between_layers_drops_and_scales():
    x = dovetail.ones(1, 400, 1, dtype=dovetail.float64)
    state = dovetail.zeros(2, 400, 1, dtype=dovetail.float64)
    one = dovetail.ones(1, 1, dtype=dovetail.float64)
    nothing = dovetail.zeros(1, 1, dtype=dovetail.float64)
    params = [one, nothing, one, nothing]
    found, _ = dovetail.rnn_relu(x, state, params, False, 2, 0.25, True, False, False)
    kept = (found > 0).double().mean().item()
    assert 0.6 < kept < 0.9
    np.testing.assert_allclose(found[found > 0].cpu().numpy(), 1 / 0.75)
    idle, _ = dovetail.rnn_relu(x, state, params, False, 2, 0.25, False, False, False)
    assert (idle == 1).all()


def lengths(t, values):
    """Return lengths of sequences, which are on the cpu whichever device is the default."""
    return t.tensor(values, dtype=t.int64, device="cpu")


@pytest.mark.parametrize("batch_first", [False, True])
def test_sequences_are_packed_and_padded_alike(batch_first):
    def program(t, make):
        x = make(*((3, 4) if batch_first else (4, 3)), 2)
        data, sizes = t.ops.aten._pack_padded_sequence(x, lengths(t, [4, 3, 1]), batch_first)
        padded, found = t.ops.aten._pad_packed_sequence(data, sizes, batch_first, 0.5, 6)
        return [sizes, found, *with_gradients(t, [data, padded], [x])]

    assert_alike(program)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_sequences_are_filled_up_alike(side, batch_first):
    def program(t, make):
        sequences = [make(3, 2), make(1, 2), make(4, 2)]
        function = t._C._nn.pad_sequence if t is torch else t._nn.pad_sequence
        found = function(sequences, batch_first, 9.0, side)
        return with_gradients(t, [found], sequences)

    assert_alike(program)


def error_of(call, library):
    with pytest.raises((RuntimeError, IndexError)) as caught:
        call(library)
    return caught.type, str(caught.value)


def cell(t, x=(2, 4), hx=(2, 5), rows=15):
    return t.gru_cell(t.ones(*x), t.ones(*hx), t.ones(rows, 4), t.ones(15, 5))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: cell(t, x=(2, 3)),
        lambda t: cell(t, hx=(2, 4)),
        lambda t: cell(t, hx=(3, 5)),
        lambda t: cell(t, rows=20),
        lambda t: t.lstm_cell(t.ones(2, 4), [t.ones(2, 5)], t.ones(20, 4), t.ones(20, 5)),
        lambda t: t.ops.aten._pack_padded_sequence(t.ones(3, 2), lengths(t, [2, 0]), False),
        lambda t: t.ops.aten._pack_padded_sequence(t.ones(3, 2), lengths(t, [2]), False),
        lambda t: t.ops.aten._pad_packed_sequence(t.ones(4, 2), lengths(t, [2, 2]), False, 0, 1),
        lambda t: t.ops.aten._pad_packed_sequence(t.ones(4, 2), lengths(t, [[2, 2]]), False, 0, 2),
        lambda t: t.ops.aten._pad_packed_sequence(t.ones(0, 2), lengths(t, []), False, 0, 2),
    ],
)
def test_what_does_not_fit_is_refused_in_the_same_words(call):
    their_type, their_text = error_of(call, torch)
    our_type, our_text = error_of(call, dovetail)
    assert our_type is their_type
    wanted = their_text.split(". ")[0].rstrip(".")
    assert our_text.startswith(wanted)

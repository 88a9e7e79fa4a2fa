"""Attention beside PyTorch: values and gradients in float64, and errors."""

import warnings

import numpy as np
import pytest
import torch

import dovetail

LENGTH, KEYS, BATCH, FEATURES, HEADS = 3, 4, 2, 8, 2


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def both_run(program):
    """Run a program with each library, and return its arrays."""
    return [
        [np.asarray(each.detach().cpu()) for each in program(library, maker(library))]
        for library in (torch, dovetail)
    ]


def maker(library):
    """Return a function that makes tensors of drawn values, the same in both libraries."""
    count = iter(range(1000))

    def make(*shape):
        values = library.tensor(array(*shape, seed=next(count)).tolist(), dtype=library.float64)
        return values.requires_grad_()

    return make


def assert_alike(program):
    theirs, ours = both_run(program)
    assert len(theirs) == len(ours)
    for left, right in zip(theirs, ours, strict=True):
        assert left.shape == right.shape
        np.testing.assert_allclose(right, left, rtol=1e-9, atol=1e-11)


def with_gradients(library, results, inputs):
    """Return results, and the gradients of a weighted sum of them."""
    results = [each for each in results if each is not None]
    total = sum((each * each.detach().cos()).sum() for each in results)
    found = library.autograd.grad(total, inputs, allow_unused=True)
    return [*results, *(each for each in found if each is not None)]


MASKS = {
    "none": lambda t: None,
    "bools": lambda t: t.ones(LENGTH, KEYS, dtype=t.bool).tril(),
    "bools that leave nothing of a row": lambda t: t.ones(LENGTH, KEYS, dtype=t.bool).tril(-1),
    "numbers": lambda t: t.arange(KEYS, dtype=t.float64),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("scale", [None, 0.3, -1.0])
def test_scaled_dot_products_agree(mask, scale):
    def program(t, make):
        query, key, value = make(2, LENGTH, 5), make(2, KEYS, 5), make(2, KEYS, 3)
        given = MASKS[mask](t)
        if given is not None and given.dim() == 1:
            given = given.expand(LENGTH, KEYS)
        found = t.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=given, scale=scale
        )
        return with_gradients(t, [found], [query, key, value])

    assert_alike(program)


def test_heads_of_keys_are_shared_by_groups_of_queries():
    def program(t, make):
        query, key, value = make(1, 4, LENGTH, 5), make(1, 2, KEYS, 5), make(1, 2, KEYS, 3)
        found = t.nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=True
        )
        return with_gradients(t, [found], [query, key, value])

    assert_alike(program)


def call(t, make, query=None, key=None, value=None, heads=HEADS, embed=FEATURES, **options):
    """Call `multi_head_attention_forward` with parameters that fit, unless others are given."""
    query = make(LENGTH, BATCH, FEATURES) if query is None else query
    key = make(KEYS, BATCH, FEATURES) if key is None else key
    value = key if value is None else value
    given = {
        "in_proj_weight": make(3 * FEATURES, FEATURES),
        "in_proj_bias": make(3 * FEATURES),
        "bias_k": None,
        "bias_v": None,
        "add_zero_attn": False,
        "dropout_p": 0.0,
        "out_proj_weight": make(FEATURES, FEATURES),
        "out_proj_bias": make(FEATURES),
        **options,
    }
    found = t.nn.functional.multi_head_attention_forward(query, key, value, embed, heads, **given)
    tensors = [query, key, *(each for each in given.values() if isinstance(each, t.Tensor))]
    return found, [each for each in tensors if each.requires_grad]


def square(make):
    return make(FEATURES, FEATURES)


OPTIONS = {
    "plain": lambda t, make: {},
    "unbatched": lambda t, make: {"query": make(LENGTH, FEATURES), "key": make(KEYS, FEATURES)},
    "of itself": lambda t, make: dict.fromkeys(("query", "key"), make(LENGTH, BATCH, FEATURES)),
    "without weights": lambda t, make: {"need_weights": False},
    "weights of each head": lambda t, make: {"average_attn_weights": False},
    "both masks": lambda t, make: {
        "attn_mask": t.ones(LENGTH, KEYS, dtype=t.bool).triu(2),
        "key_padding_mask": t.tensor([[False] * 3 + [True], [True] + [False] * 3]),
    },
    "both masks without weights": lambda t, make: {
        "attn_mask": make(BATCH * HEADS, LENGTH, KEYS),
        "key_padding_mask": make(BATCH, KEYS),
        "need_weights": False,
    },
    "more keys": lambda t, make: {
        "bias_k": make(1, 1, FEATURES),
        "bias_v": make(1, 1, FEATURES),
        "add_zero_attn": True,
        "attn_mask": make(LENGTH, KEYS),
        "key_padding_mask": make(BATCH, KEYS),
    },
    "matrices of their own": lambda t, make: {
        "use_separate_proj_weight": True,
        "in_proj_weight": None,
        "key": make(KEYS, BATCH, 5),
        "value": make(KEYS, BATCH, 6),
        "q_proj_weight": square(make),
        "k_proj_weight": make(FEATURES, 5),
        "v_proj_weight": make(FEATURES, 6),
    },
    "results of another size": lambda t, make: {
        "out_proj_weight": make(3, FEATURES),
        "out_proj_bias": make(3),
    },
    "static keys": lambda t, make: {
        "static_k": make(BATCH * HEADS, 7, FEATURES // HEADS),
        "static_v": make(BATCH * HEADS, 7, FEATURES // HEADS),
    },
    "the causal hint": lambda t, make: {
        "attn_mask": t.zeros(LENGTH, KEYS, dtype=t.float64),
        "is_causal": True,
        "need_weights": False,
    },
    "the causal hint with weights": lambda t, make: {
        "attn_mask": t.zeros(LENGTH, KEYS, dtype=t.float64),
        "is_causal": True,
    },
}


@pytest.mark.parametrize("name", OPTIONS)
def test_attention_of_several_heads_agrees(name):
    def program(t, make):
        results, inputs = call(t, make, **OPTIONS[name](t, make))
        return with_gradients(t, results, inputs)

    assert_alike(program)


REFUSED = {
    "a vector": lambda t, make: {"query": make(FEATURES)},
    "keys of other dimensions": lambda t, make: {"key": make(KEYS, FEATURES)},
    "another embedding": lambda t, make: {"embed": 7},
    "heads that do not divide": lambda t, make: {"heads": 3},
    "values of other shape": lambda t, make: {"value": make(5, BATCH, FEATURES)},
    "no matrix": lambda t, make: {"in_proj_weight": None},
    "no matrix of queries": lambda t, make: {"use_separate_proj_weight": True},
    "an unfit matrix": lambda t, make: {
        "use_separate_proj_weight": True,
        "q_proj_weight": make(7, FEATURES),
        "k_proj_weight": square(make),
        "v_proj_weight": square(make),
    },
    "a mask of other shape": lambda t, make: {"attn_mask": make(LENGTH, LENGTH)},
    "a mask of too few heads": lambda t, make: {"attn_mask": make(BATCH, LENGTH, KEYS)},
    "a mask of four dimensions": lambda t, make: {"attn_mask": make(1, 1, LENGTH, KEYS)},
    "a mask of whole numbers": lambda t, make: {"attn_mask": t.zeros(LENGTH, KEYS, dtype=t.int64)},
    "padding of one dimension": lambda t, make: {"key_padding_mask": make(KEYS)},
    "padding of other length": lambda t, make: {"key_padding_mask": make(BATCH, LENGTH)},
    "a hint without a mask": lambda t, make: {"is_causal": True},
    "one bias": lambda t, make: {"bias_v": make(1, 1, FEATURES)},
    "static keys of fewer heads": lambda t, make: {"static_k": make(3, KEYS, 4)},
    "static values of other heads": lambda t, make: {"static_v": make(4, KEYS, 3)},
    "keys of another batch": lambda t, make: {"key": make(KEYS, 3, FEATURES)},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_in_the_same_words(name):
    errors = []
    for library in (torch, dovetail):
        make = maker(library)
        with pytest.raises((AssertionError, RuntimeError)) as caught:
            call(library, make, **REFUSED[name](library, make))
        errors.append((caught.type, str(caught.value).replace("dovetail", "torch").rstrip(".")))
    (their_type, their_text), (our_type, our_text) = errors
    assert our_type is their_type
    assert our_text.startswith(their_text)  # ours may say what to do


def test_masks_of_two_kinds_are_warned_of():
    for library in (torch, dovetail):
        with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask"):
            call(
                library,
                maker(library),
                attn_mask=library.zeros(LENGTH, KEYS, dtype=library.float64),
                key_padding_mask=library.zeros(BATCH, KEYS, dtype=library.bool),
            )


def test_weights_are_dropped_while_training_only():
    make = maker(dovetail)
    options = {"query": make(LENGTH, BATCH, FEATURES), "key": make(40, BATCH, FEATURES)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (_, kept), _ = call(dovetail, make, **options, dropout_p=0.5, training=False)
        (_, dropped), _ = call(dovetail, make, **options, dropout_p=0.5, average_attn_weights=False)
    np.testing.assert_allclose(kept.sum(-1).detach().cpu().numpy(), 1)
    share = (dropped == 0).double().mean().item()
    assert 0.4 < share < 0.6

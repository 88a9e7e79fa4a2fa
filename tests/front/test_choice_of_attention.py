"""``nn.attention`` and ``nn.parallel``: what is chosen, what runs as it is, what is refused."""

import threading

import pytest

import dovetail
from dovetail import nn
from dovetail.nn.attention import SDPBackend, bias, flex_attention, sdpa_kernel
from dovetail.nn.functional import scaled_dot_product_attention


def attend(*args):
    x = dovetail.ones(1, 2, 4)
    return scaled_dot_product_attention(x, x, x, *args)


def test_kernels_that_are_not_there_are_refused_within_their_block_and_thread():
    results = []
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        with pytest.raises(RuntimeError, match="No viable backend"):
            attend()
        with sdpa_kernel([SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION]):
            attend()
        thread = threading.Thread(target=lambda: results.append(attend().shape))
        thread.start()
        thread.join()
        with pytest.raises(RuntimeError, match="No viable backend"):
            attend()
    attend()
    assert results == [(1, 2, 4)]


def test_one_operator_does_it_unless_only_others_are_allowed():
    x = dovetail.ones(1, 2, 3, 4, requires_grad=True)

    def node(*args, **options):
        return scaled_dot_product_attention(x, x, x, *args, **options).grad_fn.name()

    fused = "ScaledDotProductFlashAttentionForCpuBackward0"
    mask = dovetail.zeros(3, 3, requires_grad=True)
    assert node() == node(is_causal=True) == node(mask) == node(mask > 0) == fused
    assert node(None, 0.5) != fused
    with sdpa_kernel(SDPBackend.MATH):
        assert node() != fused
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
            assert node() == fused
        assert node() != fused


def test_the_kernel_refuses_heads_that_are_not_as_many():
    attention = dovetail.ops.aten._scaled_dot_product_flash_attention_for_cpu
    x = dovetail.ones(1, 2, 3, 4)
    with pytest.raises(RuntimeError, match=r"as many heads .* \(1, 1, 3, 4\).* Expand them"):
        attention(x, x[:, :1], x[:, :1])
    with pytest.raises(RuntimeError, match=r"inputs of at least 2 dims.* Add dimensions with"):
        attention(x[0, 0, 0], x, x)


@pytest.mark.parametrize("factor", [1, 30, 1e3])
@pytest.mark.parametrize("shape", [(3, 5, 4), (2, 2, 300, 8), (1, 3, 512, 4)])
def test_both_kernels_give_the_same_numbers_and_gradients(shape, factor):
    found = []
    for kernel in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
        dovetail.manual_seed(0)
        x, y, z = [dovetail.randn(shape, dtype=dovetail.float64) for _ in range(3)]
        x = (x * factor).requires_grad_()
        y.requires_grad_()
        mask = dovetail.ones(shape[-2], shape[-2], dtype=dovetail.bool).tril(-1)
        for options in ({}, {"is_causal": True}, {"attn_mask": mask}):
            with sdpa_kernel(kernel):
                made = scaled_dot_product_attention(x, y, z, **options)
            found.append([made, *dovetail.autograd.grad(made.sin().sum(), (x, y))])
    for one, other in zip(found[:3], found[3:], strict=True):
        for a, b in zip(one, other, strict=True):
            assert dovetail.allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "shape", [(), (1,), (5,), (4, 1), (1, 5), (3, 1, 1), (2, 1, 4, 5), (2, 3, 4, 1)]
)
@pytest.mark.parametrize("lead", [(2, 3), (7, 2, 3), (2, 3, 2000)])
def test_masks_broadcast_alike_in_both_kernels(shape, lead):
    if len(lead) == 3 and lead[2] == 2000 and len(shape) > 2:
        shape = (*shape[:-2], 1, *shape[-2:])
    x, y = dovetail.randn(*lead, 4, 8), dovetail.randn(*lead, 5, 8)
    for mask in (dovetail.randn(shape), dovetail.randn(shape) > -1):
        found = []
        for kernel in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
            q = x.clone().requires_grad_()
            with sdpa_kernel(kernel):
                made = scaled_dot_product_attention(q, y, y, mask)
            made.sin().sum().backward()
            found.append((made, q.grad))
        for one, other in zip(*found, strict=True):
            assert dovetail.allclose(one, other, rtol=1e-4, atol=1e-5)


def test_what_is_no_kernel_is_refused():
    for wrong in ("math", 3, [SDPBackend.MATH, "math"]):
        with (
            pytest.raises(AssertionError, match="must be an instance of SDPBackend"),
            sdpa_kernel(wrong),
        ):
            pass


def test_a_causal_bias_is_a_mask_where_lengths_differ():
    q, k = dovetail.randn(1, 3, 4), dovetail.randn(1, 5, 4)
    for made, diagonal in ((bias.causal_lower_right, 2), (bias.causal_upper_left, 0)):
        mask = dovetail.ones(3, 5, dtype=dovetail.bool).tril(diagonal)
        expected = scaled_dot_product_attention(q, k, k, mask)
        assert dovetail.allclose(scaled_dot_product_attention(q, k, k, made(3, 5)), expected)


def test_other_functions_refuse_a_causal_bias():
    mask = bias.causal_lower_right(2, 3)
    assert mask.shape == (2, 3)
    with pytest.raises(NotImplementedError, match=r"add.* does not take a CausalBias"):
        mask + 1
    with pytest.raises(ValueError, match="should not be used with causal=True"):
        attend(mask, 0.0, True)


def test_flex_attention_says_what_to_use():
    with pytest.raises(NotImplementedError, match="Pass a mask or a bias as attn_mask"):
        flex_attention.flex_attention(1, 2, 3)


def test_a_data_parallel_module_runs_as_it_is():
    model = nn.DataParallel(nn.Linear(2, 3))
    assert model(dovetail.ones(1, 2)).shape == (1, 3)
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    with pytest.raises(NotImplementedError, match="name 2 devices, but a module runs on one"):
        nn.DataParallel(nn.Linear(2, 3), device_ids=[0, 1])


@pytest.mark.parametrize("name", ["quantized", "qat", "quantizable", "intrinsic"])
def test_quantized_modules_say_that_they_are_not_there(name):
    with pytest.raises(AttributeError, match="Quantized dtypes are not supported"):
        getattr(nn, name)

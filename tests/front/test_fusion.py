"""Folding batch normalisation into layers, and modules made without initial values."""

import pytest

import dovetail
from dovetail import nn
from dovetail.nn import utils


def trained(module):
    dovetail.manual_seed(0)
    with dovetail.no_grad():
        for tensor in module.state_dict().values():
            if tensor.is_floating_point():
                tensor.uniform_(0.5, 1.5)
    return module.eval()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
def test_a_fused_convolution_does_what_both_did(bias, transpose):
    kind = nn.ConvTranspose2d if transpose else nn.Conv2d
    conv, norm = trained(kind(2, 3, 2, bias=bias)), trained(nn.BatchNorm2d(3))
    fused = utils.fuse_conv_bn_eval(conv, norm, transpose)
    x = dovetail.randn(2, 2, 5, 5)
    assert dovetail.allclose(fused(x), norm(conv(x)), atol=1e-5)


def test_groups_of_a_transposed_convolution_are_refused():
    conv, norm = trained(nn.ConvTranspose2d(4, 4, 2, groups=2)), trained(nn.BatchNorm2d(4))
    with pytest.raises(ValueError, match="of 2 groups can't be fused"):
        utils.fuse_conv_bn_eval(conv, norm, transpose=True)


def test_modules_in_training_are_not_fused():
    with pytest.raises(AssertionError, match="only for eval"):
        utils.fuse_linear_bn_eval(nn.Linear(2, 2), nn.BatchNorm1d(2))


def test_a_module_made_without_initial_values_draws_no_numbers():
    dovetail.manual_seed(0)
    expected = dovetail.rand(3)
    dovetail.manual_seed(0)
    linear = utils.skip_init(nn.Linear, 20, 30)
    assert linear.weight.shape == (30, 20)
    assert dovetail.equal(dovetail.rand(3), expected)


def test_weights_are_laid_out_with_channels_last():
    model = nn.Sequential(nn.Conv2d(2, 3, 2), nn.Linear(2, 2))
    x = dovetail.randn(1, 2, 4, 4)
    before = model[0](x)
    utils.convert_conv2d_weight_memory_format(model, dovetail.channels_last)
    assert model[0].weight.is_contiguous(memory_format=dovetail.channels_last)
    assert dovetail.allclose(model[0](x), before, atol=1e-6)

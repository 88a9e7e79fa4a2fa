"""``fuse_conv_bn_eval`` and its kin, ``skip_init``, ``stateless`` beside PyTorch."""

# ruff: noqa: PLC3002 - reading a weight computes it, and a lambda names what a case is about

import pytest
import torch
from same_programs import Programs, assert_same, plain


def cases(lib):
    nn = lib.nn
    U = nn.utils
    found = {}

    def fill(m):
        for i, (_, p) in enumerate(list(m.named_parameters()) + list(m.named_buffers())):
            if p.is_floating_point():
                p.data = ((lib.arange(float(p.numel())).reshape(p.shape) * 0.37 + i) % 2.3) + 0.1
        return m.eval()

    def cb(conv, bn, x, **k):
        c, b = fill(conv), fill(bn)
        f = U.fuse_conv_bn_eval(c, b, **k)
        return (
            f,
            f.bias,
            (f(x) - b(c(x))).abs().max() < 1e-4,
            type(f.weight).__name__,
            f.weight.requires_grad,
        )

    found["conv"] = lambda: cb(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), lib.ones(1, 2, 4, 4))
    found["conv nobias"] = lambda: cb(
        nn.Conv2d(2, 3, 2, bias=False), nn.BatchNorm2d(3), lib.ones(1, 2, 4, 4)
    )
    found["conv noaffine"] = lambda: cb(
        nn.Conv1d(2, 3, 2, bias=False), nn.BatchNorm1d(3, affine=False), lib.ones(1, 2, 4)
    )
    found["convt"] = lambda: cb(
        nn.ConvTranspose2d(2, 3, 2), nn.BatchNorm2d(3), lib.ones(1, 2, 4, 4), transpose=True
    )
    found["lin"] = lambda: (
        lambda c, b: (
            lambda f: (f, f.bias, (f(lib.ones(2, 3)) - b(c(lib.ones(2, 3)))).abs().max() < 1e-4)
        )(U.fuse_linear_bn_eval(c, b))
    )(fill(nn.Linear(3, 2)), fill(nn.BatchNorm1d(2)))
    found["lin nobias"] = lambda: (
        lambda c, b: (
            lambda f: (f.bias, (f(lib.ones(2, 3)) - b(c(lib.ones(2, 3)))).abs().max() < 1e-4)
        )(U.fuse_linear_bn_eval(c, b))
    )(fill(nn.Linear(3, 2, bias=False)), fill(nn.BatchNorm1d(2)))
    found["lin one"] = lambda: (lambda c, b: (lambda f: f.bias)(U.fuse_linear_bn_eval(c, b)))(
        fill(nn.Linear(3, 2)), fill(nn.BatchNorm1d(1))
    )
    found["lin bad"] = lambda: U.fuse_linear_bn_eval(fill(nn.Linear(3, 2)), fill(nn.BatchNorm1d(3)))
    found["train"] = lambda: U.fuse_conv_bn_eval(nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3))
    found["train lin"] = lambda: U.fuse_linear_bn_eval(nn.Linear(2, 3), nn.BatchNorm1d(3))
    found["nostats"] = lambda: U.fuse_conv_bn_eval(
        nn.Conv1d(2, 3, 2).eval(), nn.BatchNorm1d(3, track_running_stats=False).eval()
    )
    found["weights"] = lambda: U.fuse_conv_bn_weights(
        lib.ones(2, 1, 1), None, lib.ones(2), lib.ones(2), 1e-5, None, None
    )
    found["weights2"] = lambda: U.fuse_linear_bn_weights(
        lib.ones(2, 3), None, lib.ones(2), lib.ones(2), 1e-5, lib.ones(2) * 2, lib.ones(2)
    )
    found["wtype"] = lambda: [
        type(x).__name__
        for x in U.fuse_conv_bn_weights(
            lib.ones(2, 1, 1), lib.ones(2), lib.ones(2), lib.ones(2), 1e-5, None, None
        )
    ]
    found["half"] = lambda: [
        x.dtype
        for x in U.fuse_conv_bn_weights(
            lib.ones(2, 1, 1).half(), lib.ones(2).half(), lib.ones(2), lib.ones(2), 1e-5, None, None
        )
    ]
    found["kept"] = lambda: (lambda c, b: (U.fuse_conv_bn_eval(c, b), c.bias is not None))(
        fill(nn.Conv1d(2, 3, 2)), fill(nn.BatchNorm1d(3))
    )
    found["skip"] = lambda: (
        lambda m: (m, m.weight.shape, m.weight.device.type, m.weight.requires_grad)
    )(U.skip_init(nn.Linear, 2, 3))
    found["skip meta"] = lambda: U.skip_init(nn.Linear, 2, 3, device="meta").weight.device.type
    found["skip dtype"] = lambda: U.skip_init(nn.Linear, 2, 3, dtype=lib.float64).weight.dtype
    found["skip nomod"] = lambda: U.skip_init(int, 3)

    class NoDev(nn.Module):
        def __init__(self):
            super().__init__()

    found["skip nodev"] = lambda: U.skip_init(NoDev)
    found["skip relu"] = lambda: U.skip_init(nn.ReLU)

    class KW(nn.Module):
        def __init__(self, **kw):
            super().__init__()
            self.k = sorted(kw)

    found["skip kw"] = lambda: U.skip_init(KW).k
    found["mf"] = lambda: [
        p.stride()
        for p in U.convert_conv2d_weight_memory_format(
            nn.Sequential(nn.Conv2d(2, 3, 2), nn.ConvTranspose2d(2, 3, 2), nn.Conv1d(2, 3, 2)),
            lib.channels_last,
        ).parameters()
    ]
    found["mf3"] = lambda: [
        p.stride()
        for p in U.convert_conv3d_weight_memory_format(
            nn.Sequential(nn.Conv3d(2, 3, 2), nn.Conv2d(2, 3, 2)), lib.channels_last_3d
        ).parameters()
    ]
    found["mf lin"] = lambda: U.convert_conv2d_weight_memory_format(
        nn.Linear(2, 2), lib.channels_last
    )
    found["mf bad"] = lambda: U.convert_conv2d_weight_memory_format(nn.Conv2d(2, 3, 2), "x")
    S = U.stateless
    found["fc"] = lambda: S.functional_call(
        nn.Linear(2, 1), {"weight": lib.ones(1, 2), "bias": lib.zeros(1)}, lib.ones(1, 2)
    )
    found["fc tuple"] = lambda: S.functional_call(
        nn.Linear(2, 1), {"weight": lib.ones(1, 2), "bias": lib.zeros(1)}, (lib.ones(1, 2),)
    )
    found["fc kw"] = lambda: S.functional_call(
        nn.Linear(2, 1),
        {"weight": lib.ones(1, 2), "bias": lib.zeros(1)},
        kwargs={"input": lib.ones(1, 2)},
    )
    found["fc strict"] = lambda: S.functional_call(
        nn.Linear(2, 1), {"weight": lib.ones(1, 2)}, (lib.ones(1, 2),), strict=True
    )
    found["fc unexpected"] = lambda: (
        S.functional_call(nn.Linear(2, 1), {"foo": lib.ones(1, 2)}, (lib.ones(1, 2),)).shape
    )
    return found


programs = Programs()
for name in cases(torch):
    programs(name)(lambda lib, name=name: plain(cases(lib)[name](), 5))


@pytest.mark.filterwarnings("ignore:.*stateless.functional_call. is deprecated:FutureWarning")
@pytest.mark.parametrize("name", programs)
def test_it_does_the_same(name: str) -> None:
    assert_same(programs[name], words=21, warns=False)

"""``nn.utils.weight_norm`` and ``spectral_norm`` of old beside PyTorch."""

# ruff: noqa: E731, PLC3002 - lambdas say what a case is about

import copy
import warnings

import pytest
import torch
from same_programs import Programs, assert_same, plain


def cases(lib):
    nn = lib.nn
    U = lib.nn.utils
    A = lib.tensor([[1.0, 2.0, -1.0], [3.0, 4.0, 0.5]])
    found = {}
    A = lib.tensor([[1.0, 2.0, -1.0], [3.0, 4.0, 0.5]])

    def quiet(f):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f()

    def lin(w=A):
        m = nn.Linear(w.shape[1], w.shape[0])
        m.weight.data = w.clone()
        m.bias.data.zero_()
        return m

    wn = lambda *a, **k: quiet(lambda: U.weight_norm(*a, **k))
    X = lib.ones(1, 3)
    for d in (0, 1, None, -1):
        found[f"wn {d}"] = lambda d=d: (
            lambda m: (m, m.weight, m.weight_g, m.weight_v, list(m.state_dict()))
        )(wn(lin(), dim=d))
    found["wn type"] = lambda: (lambda m: (type(m.weight), type(m.weight_g)))(wn(lin()))
    found["wn fwd"] = lambda: (lambda m: (m.weight_g.data.mul_(2), m.weight, m(X), m.weight))(
        wn(lin())
    )
    found["wn grad"] = lambda: (
        lambda m: (m(X).sum().backward(), m.weight_g.grad, m.weight_v.grad)
    )(wn(lin()))
    found["wn again"] = lambda: wn(wn(lin()))
    found["wn bad"] = lambda: wn(lin(), "foo")
    found["wn two"] = lambda: (lambda m: list(m.state_dict()))(wn(wn(lin()), "bias"))
    found["rm"] = lambda: (
        lambda m: (
            m.weight_g.data.mul_(2),
            U.remove_weight_norm(m) is m,
            m.weight,
            list(m.state_dict()),
            len(m._forward_pre_hooks),
        )
    )(wn(lin()))
    found["rm bad"] = lambda: U.remove_weight_norm(lin())
    found["wn hook"] = lambda: [
        (type(h).__name__, h.name, h.dim) for h in wn(lin())._forward_pre_hooks.values()
    ]
    found["wn copy"] = lambda: copy.deepcopy(wn(lin()))(X)

    def sn(m=None, steps=0, **k):
        m = quiet(lambda: U.spectral_norm(m or lin(), **k))
        m.weight_u.copy_(lib.tensor([0.6, 0.8]))
        m.weight_v.copy_(lib.tensor([0.6, 0.8, 0.0]))
        for _ in range(steps):
            m(X)
        return m

    found["sn warns"] = lambda: U.spectral_norm(lin()) and None
    found["sn"] = lambda: (
        lambda m: (m(X), m.weight, m.weight_u, m.weight_v, m.weight_orig, list(m.state_dict()), m)
    )(sn())
    found["sn type"] = lambda: type(sn().weight)
    found["sn3"] = lambda: sn(steps=3).weight
    found["sn eval"] = lambda: (lambda m: (m.eval(), m(X), m.weight, m.weight_u))(sn())
    found["sn grad"] = lambda: (lambda m: (m(X).sum().backward(), m.weight_orig.grad))(sn())
    found["sn meta"] = lambda: sorted(sn().state_dict()._metadata[""])
    found["sn meta2"] = lambda: sn().state_dict()._metadata[""]["spectral_norm"]
    found["sn rm bad"] = lambda: U.remove_spectral_norm(lin())
    found["sn again"] = lambda: quiet(lambda: U.spectral_norm(sn()))
    found["sn iter"] = lambda: quiet(lambda: U.spectral_norm(lin(), n_power_iterations=0))
    found["sn bad"] = lambda: quiet(lambda: U.spectral_norm(lin(), "foo"))
    found["sn convt"] = lambda: quiet(
        lambda: (lambda m: (m.weight_u.shape, m.weight_v.shape))(
            U.spectral_norm(nn.ConvTranspose2d(2, 3, 3))
        )
    )
    found["sn dim"] = lambda: quiet(
        lambda: (lambda m: (m.weight_u.shape, m.weight_v.shape))(
            U.spectral_norm(nn.Conv2d(2, 3, 3), dim=1)
        )
    )
    found["sn load"] = lambda: (lambda m, n: (n.load_state_dict(m.state_dict()), n.weight_u, n(X)))(
        sn(steps=1), sn()
    )
    found["sn copy"] = lambda: copy.deepcopy(sn(steps=1))(X)
    found["sn hook"] = lambda: [
        (type(h).__name__, h.name, h.dim, h.n_power_iterations, h.eps)
        for h in sn()._forward_pre_hooks.values()
    ]
    found["sn conv"] = lambda: lib.linalg.svdvals(
        (lambda m: (m(lib.ones(1, 2, 4, 4)), m.weight)[1])(
            quiet(lambda: U.spectral_norm(nn.Conv2d(2, 3, 3), n_power_iterations=200))
        ).reshape(3, -1)
    )[0]
    found["names"] = lambda: [
        callable(U.spectral_norm),
        # Ours name the place that programs import them from, PyTorch's the module below it.
        U.spectral_norm.__module__.split(".", 1)[1].startswith("nn.utils"),
        U.weight_norm.__module__.split(".", 1)[1].startswith("nn.utils"),
    ]
    return found


programs = Programs()
for name in cases(torch):
    programs(name)(lambda lib, name=name: plain(cases(lib)[name](), 4))


@pytest.mark.parametrize("name", programs)
def test_it_does_the_same(name: str) -> None:
    assert_same(programs[name], words=35, warns=False)

"""``nn.utils.parametrizations`` beside PyTorch."""

# ruff: noqa: B018, PLC3002 - reading a weight computes it, and a lambda names what a case is about

from importlib import import_module

import pytest
import torch
from same_programs import Programs, assert_same, plain


def cases(lib):
    nn = lib.nn
    Z = import_module(f"{lib.__name__}.nn.utils.parametrizations")
    A = lib.tensor([[1.0, 2.0, -1.0], [3.0, 4.0, 0.5]])
    SQ = lib.tensor([[1.0, 2.0, -1.0], [3.0, 4.0, 0.5], [0.3, -2.0, 1.0]])
    found = {}
    A = lib.tensor([[1.0, 2.0, -1.0], [3.0, 4.0, 0.5]])

    def lin(w=A):
        m = nn.Linear(w.shape[1], w.shape[0])
        m.weight.data = w.clone()
        m.bias.data.zero_()
        return m

    SQ = lib.tensor([[1.0, 2.0, -1.0], [3.0, 4.0, 0.5], [0.3, -2.0, 1.0]])

    def m0(k):
        return {"wide": (2, 3), "tall": (3, 2), "square": (3, 3)}[k]

    def ortho(w, mp=None, **k):
        m = Z.orthogonal(lin(w), orthogonal_map=mp, **k)
        return m

    for k in ("wide", "tall", "square"):
        for mp in (None, "matrix_exp", "cayley", "householder"):
            for tr in (True, False):
                found[f"ortho {k} {mp} {tr}"] = lambda k=k, mp=mp, tr=tr: [
                    (ww @ ww.mT if k != "tall" else ww.mT @ ww)
                    for ww in [
                        ortho(
                            {"wide": A, "tall": A.T, "square": SQ}[k], mp, use_trivialization=tr
                        ).weight
                    ]
                ]
                found[f"value {k} {mp} {tr}"] = lambda k=k, mp=mp, tr=tr: (
                    ortho(
                        {"wide": A, "tall": A.T, "square": SQ}[k], mp, use_trivialization=tr
                    ).weight
                    if (k == "square" or not tr)
                    else None
                )
                found[f"orig {k} {mp} {tr}"] = lambda k=k, mp=mp, tr=tr: (
                    ortho(
                        {"wide": A, "tall": A.T, "square": SQ}[k], mp, use_trivialization=tr
                    ).parametrizations.weight.original
                )
                found[f"set {k} {mp} {tr}"] = lambda k=k, mp=mp, tr=tr: (
                    lambda m, q: (setattr(m, "weight", q), (m.weight - q).abs().max() < 1e-5)
                )(
                    ortho({"wide": A, "tall": A.T, "square": SQ}[k], mp, use_trivialization=tr),
                    lib.eye(3)[: m0(k)[0], : m0(k)[1]],
                )
    found["ortho sd"] = lambda: list(ortho(A).state_dict())
    found["ortho sd2"] = lambda: list(ortho(A, use_trivialization=False).state_dict())
    found["ortho repr"] = lambda: ortho(SQ)
    found["ortho grad"] = lambda: (
        lambda m: (
            (m.weight * lib.arange(9.0).reshape(3, 3)).sum().backward(),
            m.parametrizations.weight.original.grad,
        )
    )(ortho(SQ, "householder", use_trivialization=False))
    found["ortho grad2"] = lambda: (
        lambda m: (
            (m.weight * lib.arange(9.0).reshape(3, 3)).sum().backward(),
            m.parametrizations.weight.original.grad,
        )
    )(ortho(SQ, "cayley"))
    found["ortho name"] = lambda: Z.orthogonal(lin(), "foo")
    found["ortho dim"] = lambda: Z.orthogonal(lin(), "bias")
    found["ortho map"] = lambda: Z.orthogonal(lin(), orthogonal_map="foo")
    found["ortho shape"] = lambda: setattr(ortho(A), "weight", lib.ones(2, 2))
    found["ortho cplx hh"] = lambda: (
        lambda m: (
            setattr(m, "weight", nn.Parameter(lib.ones(2, 2, dtype=lib.complex64))),
            Z.orthogonal(m, orthogonal_map="householder"),
        )
    )(nn.Linear(2, 2))
    found["ortho batch"] = lambda: (
        lambda m: (
            setattr(m, "w", nn.Parameter(lib.stack([SQ, SQ.T + lib.eye(3)]))),
            Z.orthogonal(m, "w"),
            m.w @ m.w.mT,
        )[2]
    )(nn.Module())
    for d in (0, 1, None, -1):
        found[f"wn {d}"] = lambda d=d: (
            lambda m: (
                m,
                m.weight,
                m.parametrizations.weight.original0,
                m.parametrizations.weight.original1,
                list(m.state_dict()),
            )
        )(Z.weight_norm(lin(), dim=d))
    found["wn grad"] = lambda: (
        lambda m: (
            (m.weight * lib.arange(6.0).reshape(2, 3)).sum().backward(),
            m.parametrizations.weight.original0.grad,
            m.parametrizations.weight.original1.grad,
        )
    )(Z.weight_norm(lin()))
    found["wn set"] = lambda: (
        lambda m: (setattr(m, "weight", 2 * A), m.weight, m.parametrizations.weight.original0)
    )(Z.weight_norm(lin()))
    found["wn compat"] = lambda: (
        lambda m: (
            m.load_state_dict({"weight_g": lib.ones(2, 1), "weight_v": A, "bias": lib.zeros(2)}),
            m.weight,
        )
    )(Z.weight_norm(lin()))
    found["wn bad"] = lambda: Z.weight_norm(lin(), "foo")
    found["wn bad dim"] = lambda: Z.weight_norm(lin(), dim=5).weight
    found["wn bias"] = lambda: Z.weight_norm(nn.Conv1d(2, 3, 3), "bias").bias.shape
    found["wn conv"] = lambda: (lambda m: m.parametrizations.weight.original0.shape)(
        Z.weight_norm(nn.Conv2d(2, 3, 3))
    )

    def sn(m=None, steps=0, **k):
        m = Z.spectral_norm(m or lin(), **k)
        s = m.parametrizations.weight[0]
        s._u.copy_(lib.tensor([0.6, 0.8]))
        s._v.copy_(lib.tensor([0.6, 0.8, 0.0]))
        for _ in range(steps):
            m.weight
        return m

    found["sn"] = lambda: (
        lambda m: (m.weight, m.parametrizations.weight[0]._u, m.parametrizations.weight[0]._v)
    )(sn())
    found["sn3"] = lambda: (
        lambda m: (m.weight, m.parametrizations.weight[0]._u, m.parametrizations.weight[0]._v)
    )(sn(steps=3))
    found["sn np"] = lambda: sn(n_power_iterations=20).weight
    found["sn eval"] = lambda: (lambda m: (m.eval(), m.weight, m.parametrizations.weight[0]._u))(
        sn()
    )
    found["sn repr"] = sn
    found["sn sd"] = lambda: list(sn().state_dict())
    found["sn bias"] = lambda: (
        lambda m: (m.bias, m.parametrizations.bias.original, list(m.state_dict()))
    )((lambda m: (m.bias.data.fill_(3), Z.spectral_norm(m, "bias"))[1])(lin()))
    found["sn grad"] = lambda: (
        lambda m: (
            (m.weight * lib.arange(6.0).reshape(2, 3)).sum().backward(),
            m.parametrizations.weight.original.grad,
        )
    )(sn())
    found["sn set"] = lambda: (
        lambda m: (setattr(m, "weight", A * 3), m.parametrizations.weight.original)
    )(sn())
    found["sn name"] = lambda: Z.spectral_norm(lin(), "foo")
    found["sn iter"] = lambda: Z.spectral_norm(lin(), n_power_iterations=0)
    found["sn dim"] = lambda: Z.spectral_norm(lin(), dim=5)
    found["sn dimneg"] = lambda: Z.spectral_norm(lin(), dim=-1).parametrizations.weight[0]._u.shape
    found["sn convt"] = lambda: (lambda s: (s.dim, s._u.shape, s._v.shape))(
        Z.spectral_norm(nn.ConvTranspose2d(2, 3, 3)).parametrizations.weight[0]
    )
    found["sn conv"] = lambda: (lambda s: (s.dim, s._u.shape, s._v.shape))(
        Z.spectral_norm(nn.Conv2d(2, 3, 3)).parametrizations.weight[0]
    )
    found["sn int"] = lambda: Z.spectral_norm(lin(), n_power_iterations=-2)
    found["sn converged"] = lambda: (lambda m: lib.linalg.svdvals(m.weight))(
        Z.spectral_norm(lin(), n_power_iterations=30)
    )
    found["all"] = lambda: (Z.__all__, [n.name for n in Z._OrthMaps])
    return found


programs = Programs()
for name in cases(torch):
    programs(name)(lambda lib, name=name: plain(cases(lib)[name](), 4))


@pytest.mark.parametrize("name", programs)
def test_it_does_the_same(name: str) -> None:
    assert_same(programs[name], words=35, warns=False)

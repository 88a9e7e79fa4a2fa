"""``nn.utils.parametrize`` beside PyTorch."""

# ruff: noqa: B018, PLC3002 - reading a weight computes it, and a lambda names what a case is about

import copy
import pickle
from importlib import import_module

import pytest
import torch
from same_programs import Programs, assert_same, plain


def cases(lib):
    nn = lib.nn
    P = import_module(f"{lib.__name__}.nn.utils.parametrize")
    found = {}

    class Twice(nn.Module):
        def forward(self, x):
            return 2 * x

    class TwiceInv(Twice):
        def right_inverse(self, x):
            return x / 2

    class Bad(nn.Module):
        def forward(self, x):
            return x[:1]

    class BadD(nn.Module):
        def forward(self, x):
            return x.double()

    class BadT(nn.Module):
        def forward(self, x):
            return [x]

    class InvShape(Twice):
        def right_inverse(self, x):
            return lib.ones(7)

    class InvD(Twice):
        def right_inverse(self, x):
            return x.double()

    class InvT(Twice):
        def right_inverse(self, x):
            return 3

    class Sum(nn.Module):
        def forward(self, a, b):
            return a + b

        def right_inverse(self, x):
            return x / 2, x / 2

    class SumNoInv(nn.Module):
        def forward(self, a, b):
            return a + b

    class InvBad2(Sum):
        def right_inverse(self, x):
            return x, 3

    def lin():
        m = nn.Linear(2, 2, bias=True)
        m.weight.data = lib.tensor([[1.0, 2.0], [3.0, 4.0]])
        m.bias.data = lib.tensor([1.0, 2.0])
        return m

    def reg(*ps, name="weight", m=None, **k):
        m = m or lin()
        for p in ps:
            P.register_parametrization(m, name, p, **k)
        return m

    found["repr"] = lambda: reg(Twice())
    found["w"] = lambda: reg(Twice()).weight
    found["w inv"] = lambda: (lambda m: (m.weight, m.parametrizations.weight.original))(
        reg(TwiceInv())
    )
    found["two"] = lambda: (lambda m: (m.weight, m.parametrizations.weight.original))(
        reg(TwiceInv(), Twice())
    )
    found["sd"] = lambda: list(reg(Twice()).state_dict())
    found["sd2"] = lambda: list(reg(Sum()).state_dict())
    found["np"] = lambda: [n for n, _ in reg(Sum()).named_parameters()]
    found["sum"] = lambda: reg(Sum()).weight
    found["bad shape"] = lambda: reg(Bad())
    found["bad dtype"] = lambda: reg(BadD())
    found["bad type"] = lambda: reg(BadT())
    found["bad unsafe"] = lambda: reg(Bad(), unsafe=True).weight
    found["inv shape"] = lambda: reg(InvShape())
    found["inv dtype"] = lambda: reg(InvD())
    found["inv dtype unsafe"] = lambda: reg(InvD(), unsafe=True).weight
    found["inv type"] = lambda: reg(InvT())
    found["inv bad2"] = lambda: reg(InvBad2())
    found["sumnoinv"] = lambda: reg(SumNoInv())
    found["sum second"] = lambda: reg(Twice(), Sum())
    found["no name"] = lambda: reg(Twice(), name="foo")
    found["notmodule"] = lambda: P.register_parametrization(3, "x", Twice())
    found["not module par"] = lambda: reg(3)
    found["lambda par"] = lambda: reg(lambda x: x)
    found["buffer"] = lambda: (
        lambda m: (
            m.running_mean,
            m.parametrizations.running_mean,
            list(m._buffers),
            list(m.state_dict()),
        )
    )(reg(Twice(), name="running_mean", m=nn.BatchNorm1d(2)))
    found["buffer2"] = lambda: (lambda m: dict(m.parametrizations.running_mean.named_buffers()))(
        reg(Twice(), name="running_mean", m=nn.BatchNorm1d(2))
    )
    found["attr"] = lambda: reg(Twice(), name="in_features")

    def setw(p, v=None):
        m = reg(p)
        m.weight = lib.ones(2, 2) if v is None else v
        return m.weight, m.parametrizations.weight.original

    found["set"] = lambda: setw(TwiceInv())
    found["set noinv"] = lambda: setw(Twice())
    found["set shape"] = lambda: setw(TwiceInv(), lib.ones(3, 2))
    found["set dtype"] = lambda: setw(TwiceInv(), lib.ones(2, 2).double())
    found["set sum"] = lambda: (
        lambda m: (
            setattr(m, "weight", lib.ones(2, 2)),
            m.parametrizations.weight.original0,
            m.parametrizations.weight.original1,
        )
    )(reg(Sum()))
    found["del"] = lambda: delattr(reg(Twice()), "weight")
    found["ispar"] = lambda: (
        P.is_parametrized(reg(Twice())),
        P.is_parametrized(reg(Twice()), "weight"),
        P.is_parametrized(reg(Twice()), "bias"),
        P.is_parametrized(lin()),
        P.is_parametrized(lin(), "weight"),
    )
    found["tbp"] = lambda: (
        P.type_before_parametrizations(reg(Twice())).__name__,
        P.type_before_parametrizations(lin()).__name__,
    )

    def rem(*a, p=Twice, name="weight", **k):
        m = reg(p())
        r = P.remove_parametrizations(m, name, **k)
        return (
            r is m,
            m,
            m.weight,
            type(m).__name__,
            list(m.state_dict()),
            hasattr(m, "parametrizations"),
        )

    found["rem"] = rem
    found["rem F"] = lambda: rem(leave_parametrized=False)
    found["rem sum"] = lambda: rem(p=Sum)
    found["rem sum F"] = lambda: rem(p=Sum, leave_parametrized=False)
    found["rem other"] = lambda: rem(name="bias")
    found["rem none"] = lambda: P.remove_parametrizations(lin(), "weight")
    found["rem two"] = lambda: (
        lambda m: (
            P.remove_parametrizations(m, "weight"),
            m,
            type(m).__name__,
            P.remove_parametrizations(m, "bias"),
            type(m).__name__,
        )
    )(reg(Twice(), name="bias", m=reg(Twice())))

    def cache():
        n = [0]

        class C(nn.Module):
            def forward(self, x):
                n[0] += 1
                return x

        m = reg(C())
        n[0] = 0
        m.weight
        m.weight
        a = n[0]
        with P.cached():
            w1 = m.weight
            w2 = m.weight
            with P.cached():
                m.weight
            m.weight
            b = n[0]
        m.weight
        return a, b, n[0], w1 is w2, P._cache, P._cache_enabled

    found["cache"] = cache

    def cacheset():
        m = reg(TwiceInv())
        with P.cached():
            m.weight
            m.weight = lib.ones(2, 2)
            return m.weight, len(P._cache)

    found["deepcopy"] = lambda: (
        lambda m, c: (
            c.weight,
            type(c) is type(m),
            setattr(c, "weight", lib.ones(2, 2)),
            m.weight,
            c.weight,
        )
    )(*(lambda m: (m, copy.deepcopy(m)))(reg(TwiceInv())))
    found["pickle"] = lambda: pickle.dumps(reg(TwiceInv()))
    found["getstate"] = lambda: reg(TwiceInv()).__getstate__()
    found["copy"] = lambda: copy.copy(reg(TwiceInv())).weight
    found["plist"] = lambda: (
        lambda found_list: (
            len(found_list),
            found_list.is_tensor,
            found_list.unsafe,
            found_list.shape,
            found_list.dtype if hasattr(found_list, "dtype") else None,
            found_list(),
        )
    )(reg(TwiceInv()).parametrizations.weight)
    found["plist2"] = lambda: (
        lambda found_list: (
            len(found_list),
            found_list.is_tensor,
            found_list.ntensors,
            found_list.unsafe,
        )
    )(reg(Sum()).parametrizations.weight)
    found["plist empty"] = lambda: P.ParametrizationList([], lib.ones(2))
    found["plist rightinv"] = lambda: reg(Twice()).parametrizations.weight.right_inverse(
        lib.ones(2, 2)
    )
    found["plist mod"] = lambda: reg(Twice()).parametrizations

    def load():
        a, b = reg(TwiceInv()), reg(TwiceInv())
        b.weight = lib.ones(2, 2)
        r = a.load_state_dict(b.state_dict())
        return r, a.weight

    found["load"] = load
    found["load plain"] = lambda: reg(TwiceInv()).load_state_dict(lin().state_dict())

    def tr(name=None):
        a, b = reg(TwiceInv()), lin()
        b.weight.data.zero_()
        r = P.transfer_parametrizations_and_params(a, b, name)
        return r is b, b.weight, b, b.bias

    found["transfer"] = tr
    found["transfer n"] = lambda: tr("weight")
    found["transfer n2"] = lambda: tr("bias")
    found["transfer none"] = lambda: P.transfer_parametrizations_and_params(lin(), lin())
    found["transfer sum"] = lambda: (
        lambda b: (P.transfer_parametrizations_and_params(reg(Sum()), b), b.weight)
    )(lin())

    def tr2():
        a, b = reg(TwiceInv()), reg(Twice())
        P.transfer_parametrizations_and_params(a, b)
        return b, b.weight

    found["transfer to par"] = tr2

    def grad():
        m = reg(Twice())
        m(lib.ones(1, 2)).sum().backward()
        return m.parametrizations.weight.original.grad, m.bias.grad

    found["grad"] = grad
    found["to"] = lambda: reg(Twice()).double().weight.dtype
    found["noleaf"] = lambda: reg(Twice()).weight.requires_grad

    def frozen():
        m = lin()
        m.weight.requires_grad_(False)
        reg(TwiceInv(), m=m)
        a = m.parametrizations.weight.original.requires_grad
        P.remove_parametrizations(m, "weight")
        return a, m.weight.requires_grad, type(m.weight)

    found["frozen"] = frozen
    found["buffer rem"] = lambda: (
        lambda m: (P.remove_parametrizations(m, "running_mean"), list(m._buffers), m.running_mean)
    )(reg(Twice(), name="running_mean", m=nn.BatchNorm1d(2)))
    found["hasattr"] = lambda: sorted(set(dir(reg(Twice()))) - set(dir(lin())))

    def same():
        m = reg(TwiceInv())
        m.weight
        m2 = reg(TwiceInv())
        return type(m) is type(m2)

    found["same"] = same
    found["id kept"] = lambda: (
        lambda m: (lambda w: (reg(TwiceInv(), m=m), m.parametrizations.weight.original is w))(
            m.weight
        )
    )(lin())
    found["id removed"] = lambda: (
        lambda m, w: (reg(TwiceInv(), m=m), P.remove_parametrizations(m, "weight"), m.weight is w)
    )(*(lambda m: (m, m.weight))(lin()))

    def called(given, inverse=True):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = reg((TwiceInv if inverse else Twice)())
                self.scale = lib.ones(1)
                self.count = 3

            def forward(self, x):
                return self.inner(x) * self.scale * self.count

        net = Net()
        before = net.inner.weight.tolist()
        try:
            result = lib.func.functional_call(net, given, lib.ones(2)).tolist()
        except (RuntimeError, TypeError, AttributeError) as error:
            result = type(error).__name__
        return result, net.inner.weight.tolist() == before, hasattr(net, "missing")

    found["functional_call"] = lambda: called({"inner.weight": lib.full((2, 2), 5.0)})
    found["functional_call no inverse"] = lambda: called({"inner.weight": lib.ones(2, 2)}, False)
    found["functional_call original"] = lambda: called(
        {"inner.parametrizations.weight.original": lib.full((2, 2), 5.0)}
    )
    found["functional_call and bias"] = lambda: called(
        {"inner.weight": lib.full((2, 2), 5.0), "inner.bias": lib.zeros(2)}
    )
    found["functional_call attribute"] = lambda: called({"scale": lib.zeros(1)})
    found["functional_call no tensor"] = lambda: called({"count": lib.zeros(1)})
    found["functional_call missing"] = lambda: called({"missing": lib.zeros(1)})
    found["functional_call no module"] = lambda: called({"outer.weight": lib.zeros(1)})
    found["seq"] = lambda: P.register_parametrization(nn.Sequential(lin()), "0", Twice())
    return found


programs = Programs()
for name in cases(torch):
    programs(name)(lambda lib, name=name: plain(cases(lib)[name](), 5))


@pytest.mark.parametrize("name", programs)
def test_it_does_the_same(name: str) -> None:
    assert_same(programs[name], words=35, warns=False)

"""Containers of modules and parameters beside PyTorch's."""

# ruff: noqa: E741, RUF005, PLC3002, PLW0108 - lambdas say what a case is about

import copy
import pickle
from collections import OrderedDict

import pytest
import torch
from same_programs import Programs, assert_same, plain


def cases(lib):
    nn = lib.nn
    L, R, I, T, P = nn.Linear, nn.ReLU, nn.Identity, nn.Tanh, nn.Parameter
    found = {}

    def seq():
        return nn.Sequential(L(1, 2), R(), T())

    found["seq slice"] = lambda: seq()[1:]
    found["seq slice step"] = lambda: seq()[::2]
    found["seq neg"] = lambda: seq()[-1]
    found["seq oob"] = lambda: seq()[3]
    found["seq add"] = lambda: seq() + nn.Sequential(I())
    found["seq add bad"] = lambda: seq() + [I()]
    found["seq iadd"] = lambda: (lambda s: (s.__iadd__(nn.Sequential(I())), s))(seq())
    found["seq iadd bad"] = lambda: seq().__iadd__([I()])
    found["seq mul"] = lambda: nn.Sequential(R()) * 3
    found["seq rmul"] = lambda: 2 * nn.Sequential(R(), T())
    found["seq imul"] = lambda: (lambda s: (s.__imul__(2), s))(nn.Sequential(R(), T()))
    found["seq mul0"] = lambda: nn.Sequential(R()) * 0
    found["seq mul neg"] = lambda: nn.Sequential(R()) * -1
    found["seq mul f"] = lambda: nn.Sequential(R()) * 1.5
    found["seq imul f"] = lambda: nn.Sequential(R()).__imul__("a")
    found["seq imul 0"] = lambda: nn.Sequential(R()).__imul__(0)
    found["seq mul same"] = lambda: (lambda s: s[0] is s[1])(nn.Sequential(R()) * 2)
    found["seq append"] = lambda: seq().append(I())
    found["seq append bad"] = lambda: seq().append(3)
    found["seq insert"] = lambda: seq().insert(1, I())
    found["seq insert neg"] = lambda: seq().insert(-1, I())
    found["seq insert end"] = lambda: seq().insert(3, I())
    found["seq insert oob"] = lambda: seq().insert(4, I())
    found["seq insert noob"] = lambda: seq().insert(-4, I())
    found["seq insert bad"] = lambda: seq().insert(1, 3)
    found["seq extend"] = lambda: seq().extend([I(), R()])
    found["seq extend seq"] = lambda: seq().extend(seq())
    found["seq pop"] = lambda: (lambda s: (s.pop(0), s))(seq())
    found["seq pop sl"] = lambda: (lambda s: (s.pop(slice(0, 2)), s))(seq())
    found["seq del"] = lambda: (lambda s: (s.__delitem__(0), s))(seq())
    found["seq del sl"] = lambda: (lambda s: (s.__delitem__(slice(0, 2)), s))(seq())
    found["seq set"] = lambda: (lambda s: (s.__setitem__(0, I()), s))(seq())
    found["seq set bad"] = lambda: seq().__setitem__(0, 3)
    found["seq od"] = lambda: nn.Sequential(OrderedDict([("a", R()), ("b", T())]))
    found["seq od del"] = lambda: (lambda s: (s.__delitem__(0), s))(
        nn.Sequential(OrderedDict([("a", R()), ("b", T())]))
    )
    found["seq od slice"] = lambda: nn.Sequential(OrderedDict([("a", R()), ("b", T())]))[:1]
    found["seq od append"] = lambda: nn.Sequential(OrderedDict([("a", R()), ("b", T())])).append(
        I()
    )
    found["seq od add"] = lambda: nn.Sequential(OrderedDict([("a", R()), ("b", T())])) + seq()
    found["seq od pop"] = lambda: (lambda s: (s.pop(0), s))(
        nn.Sequential(OrderedDict([("a", R()), ("b", T())]))
    )
    found["seq bad"] = lambda: nn.Sequential(3)
    found["seq list"] = lambda: nn.Sequential([R()])
    found["seq none"] = lambda: nn.Sequential(None)
    found["seq fwd empty"] = lambda: nn.Sequential()(3)
    found["seq len"] = lambda: (len(seq()), [type(x).__name__ for x in seq()], R() in seq())
    found["seq in"] = lambda: (lambda s: s[1] in s)(seq())
    found["seq dir"] = lambda: [x for x in dir(seq()) if x.isdigit()]
    found["seq two"] = lambda: seq()(lib.ones(1, 1), 3)

    def ml():
        return nn.ModuleList([L(1, 2), R(), T()])

    found["ml"] = ml
    found["ml slice"] = lambda: ml()[1:]
    found["ml neg"] = lambda: ml()[-1]
    found["ml oob"] = lambda: ml()[5]
    found["ml noob"] = lambda: ml()[-5]
    found["ml str"] = lambda: ml()["0"]
    found["ml add"] = lambda: ml() + [I()]
    found["ml add ml"] = lambda: type(ml() + ml()).__name__
    found["ml iadd"] = lambda: (lambda m: (m.__iadd__([I()]), m))(ml())
    found["ml insert"] = lambda: (lambda m: (m.insert(1, I()), m))(ml())
    found["ml insert oob"] = lambda: (lambda m: (m.insert(10, I()), m))(ml())
    found["ml pop"] = lambda: (lambda m: (m.pop(1), m))(ml())
    found["ml pop sl"] = lambda: (lambda m: (m.pop(slice(0, 2)), m))(ml())
    found["ml del"] = lambda: (lambda m: (m.__delitem__(0), m))(ml())
    found["ml del sl"] = lambda: (lambda m: (m.__delitem__(slice(0, 2)), m))(ml())
    found["ml set"] = lambda: (lambda m: (m.__setitem__(-1, I()), m))(ml())
    found["ml extend bad"] = lambda: ml().extend(3)
    found["ml extend dict"] = lambda: ml().extend({"a": R()})
    found["ml append none"] = lambda: (lambda m: (m.append(None), len(m)))(ml())
    found["ml append bad"] = lambda: ml().append(3)
    found["ml append ret"] = lambda: (lambda m: m.append(R()) is m)(ml())
    found["ml fwd"] = lambda: ml()(3)
    found["ml init bad"] = lambda: nn.ModuleList(3)
    found["ml init gen"] = lambda: nn.ModuleList(R() for _ in range(3))
    found["ml rep"] = lambda: nn.ModuleList([R(), R(), T(), R()])
    found["ml empty"] = lambda: nn.ModuleList()
    found["ml rev"] = lambda: [type(x).__name__ for x in reversed(ml())]
    found["ml dir"] = lambda: [x for x in dir(ml()) if x.isdigit()]
    found["ml get none"] = lambda: nn.ModuleList([None])[0]

    def md():
        return nn.ModuleDict({"a": R(), "b": L(1, 2)})

    found["md"] = md
    found["md get"] = lambda: md()["a"]
    found["md miss"] = lambda: md()["z"]
    found["md set"] = lambda: (lambda m: (m.__setitem__("c", I()), m))(md())
    found["md set bad"] = lambda: md().__setitem__("c", 3)
    found["md set dot"] = lambda: md().__setitem__("a.b", R())
    found["md set attr"] = lambda: md().__setitem__("keys", R())
    found["md del"] = lambda: (lambda m: (m.__delitem__("a"), m))(md())
    found["md in"] = lambda: (
        "a" in md(),
        "z" in md(),
        len(md()),
        list(md()),
        list(md().keys()),
        [type(x).__name__ for x in md().values()],
        [k for k, _ in md().items()],
    )
    found["md clear"] = lambda: (lambda m: (m.clear(), m))(md())
    found["md pop"] = lambda: (lambda m: (m.pop("a"), m))(md())
    found["md pop miss"] = lambda: md().pop("z")
    found["md update"] = lambda: (lambda m: (m.update({"c": I(), "a": T()}), m))(md())
    found["md update list"] = lambda: (lambda m: (m.update([["c", I()], ("d", T())]), m))(md())
    found["md update od"] = lambda: (lambda m: (m.update(OrderedDict(z=I(), c=T())), m))(md())
    found["md update dict unsorted"] = lambda: nn.ModuleDict({"z": R(), "a": R()})
    found["md update md"] = lambda: (lambda m: (m.update(nn.ModuleDict({"q": I()})), m))(md())
    found["md update bad"] = lambda: md().update(3)
    found["md update bad2"] = lambda: md().update([("a",)])
    found["md update bad3"] = lambda: md().update([3])
    found["md fwd"] = lambda: md()(3)
    found["md none"] = lambda: nn.ModuleDict({"a": None})
    found["md kw"] = lambda: nn.ModuleDict(a=R())
    found["md get dflt"] = lambda: hasattr(md(), "get")

    def pl():
        return nn.ParameterList([P(lib.ones(2)), lib.zeros(1, 2), 3])

    found["pl"] = pl
    found["pl types"] = lambda: [type(x).__name__ for x in pl()]
    found["pl slice"] = lambda: pl()[1:]
    found["pl neg"] = lambda: pl()[-1]
    found["pl oob"] = lambda: pl()[3]
    found["pl set"] = lambda: (lambda p: (p.__setitem__(2, lib.ones(1)), p))(pl())
    found["pl setneg"] = lambda: (lambda p: (p.__setitem__(-1, P(lib.ones(1))), p))(pl())
    found["pl append"] = lambda: (
        lambda p: (p.append(lib.ones(3)) is p, len(p), list(p.state_dict()))
    )(pl())
    found["pl extend"] = lambda: (lambda p: (p.extend([lib.ones(3), "x"]) is p, len(p)))(pl())
    found["pl extend t"] = lambda: pl().extend(lib.ones(2))
    found["pl extend 3"] = lambda: pl().extend(3)
    found["pl extend pl"] = lambda: len(pl().extend(pl()))
    found["pl iadd"] = lambda: (lambda p: len(p.__iadd__([P(lib.ones(1))])))(pl())
    found["pl add"] = lambda: pl() + pl()
    found["pl init bad"] = lambda: nn.ParameterList(3)
    found["pl call"] = lambda: pl()(3)
    found["pl dir"] = lambda: [x for x in dir(pl()) if x.isdigit()]
    found["pl empty"] = lambda: nn.ParameterList()
    found["pl none"] = lambda: nn.ParameterList([None])
    found["pl np"] = lambda: [n for n, _ in pl().named_parameters()]
    found["pl copy"] = lambda: copy.deepcopy(pl())

    def pd():
        return nn.ParameterDict({"a": P(lib.ones(2)), "b": lib.zeros(1, 2), "c": 3})

    found["pd"] = pd
    found["pd types"] = lambda: [type(x).__name__ for x in pd().values()]
    found["pd get"] = lambda: (pd().get("a"), pd().get("z"), pd().get("z", 5), pd()["c"])
    found["pd set"] = lambda: (lambda p: (p.__setitem__("z", lib.ones(1)), p))(pd())
    found["pd set attr"] = lambda: (lambda p: (p.__setitem__("keys", lib.ones(1)), p.keys()))(pd())
    found["pd set dot"] = lambda: (lambda p: (p.__setitem__("x.y", lib.ones(1)), list(p)))(pd())
    found["pd set int"] = lambda: (lambda p: (p.__setitem__(3, lib.ones(1)), list(p)))(pd())
    found["pd del"] = lambda: (lambda p: (p.__delitem__("a"), p))(pd())
    found["pd or"] = lambda: pd() | nn.ParameterDict({"z": P(lib.ones(1))})
    found["pd or dict"] = lambda: pd() | {"z": P(lib.ones(1))}
    found["pd ror"] = lambda: {"z": P(lib.ones(1))} | pd()
    found["pd ior"] = lambda: (lambda p: (p.__ior__({"z": lib.ones(1)}), p))(pd())
    found["pd ior2"] = lambda: (lambda p: (p.__ior__(nn.ParameterDict({"z": lib.ones(1)})), p))(
        pd()
    )
    found["pd rev"] = lambda: list(reversed(pd()))
    found["pd copy"] = lambda: (
        lambda p: (p.copy(), p.copy()["a"] is p["a"], type(p.copy()).__name__)
    )(pd())
    found["pd in"] = lambda: (
        "a" in pd(),
        len(pd()),
        list(pd()),
        list(pd().keys()),
        [k for k, _ in pd().items()],
    )
    found["pd setdefault"] = lambda: (
        lambda p: (p.setdefault("z", lib.ones(1)), p.setdefault("a", 3), p.setdefault("q"), list(p))
    )(pd())
    found["pd clear"] = lambda: (lambda p: (p.clear(), p))(pd())
    found["pd pop"] = lambda: (lambda p: (p.pop("a"), list(p)))(pd())
    found["pd popitem"] = lambda: (lambda p: (p.popitem(), list(p)))(pd())
    found["pd fromkeys"] = lambda: nn.ParameterDict().fromkeys(["x", "y"], lib.ones(1))
    found["pd fromkeys2"] = lambda: pd().fromkeys(["x"])
    found["pd update"] = lambda: (lambda p: (p.update({"z": lib.ones(1), "a": lib.zeros(1)}), p))(
        pd()
    )
    found["pd update pd"] = lambda: (lambda p: (p.update(nn.ParameterDict({"z": lib.ones(1)})), p))(
        pd()
    )
    found["pd update list"] = lambda: (lambda p: (p.update([("z", lib.ones(1))]), p))(pd())
    found["pd update bad2"] = lambda: pd().update([("a",)])
    found["pd update bad3"] = lambda: pd().update([3])
    found["pd of a dict"] = lambda: list(nn.ParameterDict({"b": lib.ones(1), "a": lib.ones(1)}))
    found["pd of an OrderedDict"] = lambda: list(
        nn.ParameterDict(OrderedDict([("b", lib.ones(1)), ("a", lib.ones(1))]))
    )
    found["pd of pairs"] = lambda: list(nn.ParameterDict([("b", lib.ones(1)), ("a", lib.ones(1))]))
    found["pd update order"] = lambda: (
        lambda p: (p.update({"z": lib.ones(1), "y": lib.ones(1)}), list(p), list(p.state_dict()))
    )(pd())
    found["pd order of pd"] = lambda: list(
        nn.ParameterDict(nn.ParameterDict([("b", lib.ones(1)), ("a", lib.ones(1))]))
    )
    found["pd order of copy"] = lambda: list(
        nn.ParameterDict([("b", lib.ones(1)), ("a", lib.ones(1))]).copy()
    )
    found["pd or order"] = lambda: list(pd() | {"z": lib.ones(1), "y": lib.ones(1)})
    found["md order"] = lambda: list(nn.ModuleDict({"b": R(), "a": R()}))
    found["pd call"] = lambda: pd()(3)
    found["pd sd"] = lambda: list(pd().state_dict())
    found["pd deepcopy"] = lambda: copy.deepcopy(pd())
    found["pd pickle"] = lambda: pickle.loads(pickle.dumps(pd()))
    found["pd double"] = lambda: pd().double()
    return found


programs = Programs()
for name in cases(torch):
    programs(name)(lambda lib, name=name: plain(cases(lib)[name](), 5))


@pytest.mark.parametrize("name", programs)
def test_it_does_the_same(name: str) -> None:
    assert_same(programs[name], words=21, warns=False)

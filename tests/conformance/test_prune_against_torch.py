"""``nn.utils.prune`` beside PyTorch."""

# ruff: noqa: PLC3002, PLW0108 - lambdas say what a case is about

import pickle
from importlib import import_module

import pytest
import torch
from same_programs import Programs, assert_same, plain


def cases(lib):
    nn = lib.nn
    P = import_module(f"{lib.__name__}.nn.utils.prune")
    A = lib.tensor([[1.0, -2.0, 0.1], [0.5, 4.0, -0.2]])
    found = {}
    A = lib.tensor([[1.0, -2.0, 0.1], [0.5, 4.0, -0.2]])

    def lin(w=A):
        m = nn.Linear(w.shape[1], w.shape[0])
        m.weight.data = w.clone()
        m.bias.data.zero_()
        return m

    X = lib.ones(1, 3)
    found["l1"] = lambda: (
        lambda m: (m.weight, m.weight_orig, m.weight_mask, list(m.state_dict()), type(m.weight))
    )(P.l1_unstructured(lin(), "weight", 2))
    found["l1f"] = lambda: P.l1_unstructured(lin(), "weight", 0.5).weight_mask
    found["l1 scores"] = lambda: (
        P.l1_unstructured(lin(), "weight", 0.5, importance_scores=-A.abs()).weight_mask
    )
    found["l1 twice"] = lambda: (
        lambda m: (m.weight_mask, [type(h).__name__ for h in m._forward_pre_hooks.values()])
    )(P.l1_unstructured(P.l1_unstructured(lin(), "weight", 2), "weight", 0.5))
    found["l1 0"] = lambda: P.l1_unstructured(lin(), "weight", 0).weight_mask
    found["l1 all"] = lambda: P.l1_unstructured(lin(), "weight", 6).weight_mask
    found["l1 1.0"] = lambda: P.l1_unstructured(lin(), "weight", 1.0).weight_mask
    found["ln"] = lambda: P.ln_structured(lin(), "weight", 1, 2, 0).weight_mask
    found["ln1"] = lambda: P.ln_structured(lin(), "weight", 0.4, 1, 1).weight_mask
    found["ln inf"] = lambda: P.ln_structured(lin(), "weight", 1, float("inf"), 1).weight_mask
    found["ln neginf"] = lambda: P.ln_structured(lin(), "weight", 1, -float("inf"), -1).weight_mask
    found["ln scores"] = lambda: (
        P.ln_structured(lin(), "weight", 1, 2, 0, importance_scores=-A).weight_mask
    )
    found["ru"] = lambda: P.random_unstructured(lin(), "weight", 2).weight_mask.sum()
    found["rs"] = lambda: P.random_structured(lin(), "weight", 1, 1).weight_mask.sum()
    found["id"] = lambda: (lambda m: (m.weight_mask, P.is_pruned(m), P.is_pruned(lin())))(
        P.identity(lin(), "weight")
    )
    found["cm"] = lambda: (
        P.custom_from_mask(lin(), "weight", lib.tensor([[1, 0, 1], [0, 1, 1]])).weight
    )
    found["cm shape"] = lambda: P.custom_from_mask(lin(), "weight", lib.ones(2))
    found["remove"] = lambda: (
        lambda m: (
            P.remove(m, "weight") is m,
            m.weight,
            list(m.state_dict()),
            P.is_pruned(m),
            type(m.weight),
        )
    )(P.l1_unstructured(lin(), "weight", 2))
    found["remove none"] = lambda: P.remove(lin(), "weight")
    found["fwd"] = lambda: (lambda m: (m.weight_orig.data.mul_(2), m(X), m.weight))(
        P.l1_unstructured(lin(), "weight", 2)
    )
    found["grad"] = lambda: (lambda m: (m(X).sum().backward(), m.weight_orig.grad))(
        P.l1_unstructured(lin(), "weight", 2)
    )
    for a in (-1, -0.1, 1.5, 7, "a", None, 2.0):
        found[f"amount {a!r}"] = lambda a=a: P.l1_unstructured(lin(), "weight", a).weight_mask
        found[f"ramount {a!r}"] = lambda a=a: P.random_unstructured(
            lin(), "weight", a
        ).weight_mask.sum()
    found["ln dim"] = lambda: P.ln_structured(lin(), "weight", 1, 2, 5)
    found["ln bias"] = lambda: P.ln_structured(lin(), "bias", 1, 2, 0)
    found["rs bias"] = lambda: P.random_structured(lin(), "bias", 1, 0)
    found["ln many"] = lambda: P.ln_structured(lin(), "weight", 3, 2, 0)
    found["noname"] = lambda: P.l1_unstructured(lin(), "foo", 1)
    found["scores shape"] = lambda: P.l1_unstructured(
        lin(), "weight", 1, importance_scores=lib.ones(2)
    )

    def glob(method=None, **k):
        a, b = lin(), lin(A * 3)
        P.global_unstructured([(a, "weight"), (b, "weight")], method or P.L1Unstructured, **k)
        return a.weight_mask, b.weight_mask

    found["glob"] = lambda: glob(amount=4)
    found["glob f"] = lambda: glob(amount=0.5)
    found["glob rand"] = lambda: sum(int(m.sum()) for m in glob(P.RandomUnstructured, amount=4))
    found["glob struct"] = lambda: glob(P.LnStructured, amount=4)
    found["glob scores"] = lambda: (
        lambda a, b: (
            P.global_unstructured(
                [(a, "weight"), (b, "weight")],
                P.L1Unstructured,
                importance_scores={(a, "weight"): A * 100},
                amount=3,
            ),
            a.weight_mask,
            b.weight_mask,
        )
    )(lin(), lin())
    found["glob str"] = lambda: P.global_unstructured(3, P.L1Unstructured, amount=1)
    found["glob scores bad"] = lambda: glob(amount=1, importance_scores=[1])
    found["glob twice"] = lambda: (
        lambda a: (
            P.global_unstructured([(a, "weight")], P.L1Unstructured, amount=2),
            P.global_unstructured([(a, "weight")], P.L1Unstructured, amount=2),
            a.weight_mask,
        )
    )(lin())
    found["prune"] = lambda: P.L1Unstructured(2).prune(A)
    found["prune mask"] = lambda: P.L1Unstructured(2).prune(
        A, default_mask=lib.tensor([[0.0, 1, 1], [1, 1, 1]])
    )
    found["prune ln"] = lambda: P.LnStructured(1, 2, 1).prune(A)
    found["type"] = lambda: [
        c.PRUNING_TYPE
        for c in (
            P.L1Unstructured,
            P.RandomUnstructured,
            P.Identity,
            P.CustomFromMask,
            P.RandomStructured,
            P.LnStructured,
        )
    ]
    found["base"] = lambda: P.BasePruningMethod()

    class Thr(P.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def __init__(self, threshold):
            self.threshold = threshold

        def compute_mask(self, t, default_mask):
            return (t.abs() > self.threshold) & default_mask.bool()

    found["custom"] = lambda: (lambda m: (Thr.apply(m, "weight", 0.3) and m.weight, m.weight))(
        lin()
    )
    found["custom2"] = lambda: (
        lambda m: (
            type(Thr.apply(m, "weight", threshold=0.3)),
            P.l1_unstructured(m, "weight", 1),
            m.weight,
            [type(h).__name__ for h in m._forward_pre_hooks.values()],
        )
    )(lin())

    def cont():
        c = P.PruningContainer(P.L1Unstructured(1))
        return len(c), type(c[0]).__name__, [type(x).__name__ for x in c], c._tensor_name

    found["cont"] = cont
    found["struct after unstruct"] = lambda: (
        P.ln_structured(P.l1_unstructured(lin(), "weight", 1), "weight", 1, 2, 1).weight_mask
    )
    found["unstruct after struct"] = lambda: (
        P.l1_unstructured(P.ln_structured(lin(), "weight", 1, 2, 1), "weight", 1).weight_mask
    )
    found["struct after struct other"] = lambda: (
        P.ln_structured(P.ln_structured(lin(), "weight", 1, 2, 1), "weight", 1, 2, 0).weight_mask
    )
    found["struct after struct same"] = lambda: (
        P.ln_structured(P.ln_structured(lin(), "weight", 1, 2, 1), "weight", 1, 2, 1).weight_mask
    )
    found["pickle"] = lambda: (lambda m: (lambda n: n.weight)(pickle.loads(pickle.dumps(m))))(
        (lambda m: m)(P.identity(lin(), "weight"))
    )
    found["rnn buf"] = lambda: P.l1_unstructured(nn.BatchNorm1d(3), "running_mean", 1)
    return found


programs = Programs()
for name in cases(torch):
    programs(name)(lambda lib, name=name: plain(cases(lib)[name](), 5))


@pytest.mark.parametrize("name", programs)
def test_it_does_the_same(name: str) -> None:
    assert_same(programs[name], words=22, warns=False)

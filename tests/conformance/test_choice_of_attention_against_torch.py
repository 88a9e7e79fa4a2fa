"""``nn.attention`` beside PyTorch: allowed kernels and causal biases."""

from importlib import import_module

import pytest
import torch
from same_programs import Programs, assert_same, plain


def cases(lib):
    nn = lib.nn
    A = import_module(f"{lib.__name__}.nn.attention")
    B = import_module(f"{lib.__name__}.nn.attention.bias")
    F = nn.functional
    found = {}
    S = A.SDPBackend
    found["members"] = lambda: [(k, int(v)) for k, v in S.__members__.items()]
    found["repr"] = lambda: (repr(S.MATH), str(S.MATH))
    q = lib.arange(24.0).reshape(1, 2, 3, 4) / 10

    def run(*b, **k):
        with A.sdpa_kernel(*b, **k):
            return F.scaled_dot_product_attention(q, q, q).sum()

    found["math"] = lambda: run(S.MATH)
    found["list"] = lambda: run([S.MATH, S.FLASH_ATTENTION])
    found["prio"] = lambda: run([S.MATH, S.FLASH_ATTENTION], set_priority=True)
    found["eff"] = lambda: run(S.EFFICIENT_ATTENTION)
    found["flash"] = lambda: run(S.FLASH_ATTENTION)
    found["cudnn"] = lambda: run(S.CUDNN_ATTENTION)
    found["override"] = lambda: run(S.OVERRIDEABLE)
    found["error"] = lambda: run(S.ERROR)
    found["none"] = run
    found["empty"] = lambda: run([])
    found["str"] = lambda: run("math")
    found["int"] = lambda: run(3)
    found["dec"] = A.sdpa_kernel(S.MATH)(lambda: F.scaled_dot_product_attention(q, q, q).sum())
    found["cur"] = lambda: [int(each) for each in A._cur_sdpa_kernel_backends()]

    def cur():
        with A.sdpa_kernel(S.MATH):
            return [int(each) for each in A._cur_sdpa_kernel_backends()]

    found["cur2"] = cur
    found["lr"] = lambda: repr(B.causal_lower_right(2, 3))
    found["ul"] = lambda: repr(B.causal_upper_left(2, 3))
    found["lr mat"] = lambda: B.causal_lower_right(2, 3)._materialize()
    found["ul mat"] = lambda: B.causal_upper_left(2, 3)._materialize()
    k = lib.arange(40.0).reshape(1, 2, 5, 4) / 10
    found["sdpa lr"] = lambda: F.scaled_dot_product_attention(
        q, k, k, attn_mask=B.causal_lower_right(3, 5)
    )
    found["sdpa ul"] = lambda: F.scaled_dot_product_attention(q, k, k, B.causal_upper_left(3, 5))
    found["sdpa sq"] = lambda: F.scaled_dot_product_attention(q, q, q, B.causal_lower_right(3, 3))
    found["sdpa causal"] = lambda: F.scaled_dot_product_attention(
        q, q, q, B.causal_lower_right(3, 3), is_causal=True
    )
    found["sdpa size"] = lambda: F.scaled_dot_product_attention(q, q, q, B.causal_lower_right(4, 4))
    found["wrong"] = lambda: B.CausalBias(3, 2, 2)
    found["3 of"] = lambda: B.causal_lower_right(2)
    return found


programs = Programs()
for name in cases(torch):
    programs(name)(lambda lib, name=name: plain(cases(lib)[name](), 5))


@pytest.mark.parametrize("name", programs)
def test_it_does_the_same(name: str) -> None:
    assert_same(programs[name], words=48, warns=False)

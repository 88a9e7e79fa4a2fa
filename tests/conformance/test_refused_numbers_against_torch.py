"""Numbers and arguments that PyTorch refuses instead of computing with them: NaN and infinities of
distributions, integers beyond a dtype, a size given twice, switches that are no bool.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dovetail

REFUSED = (
    "L.ones(2, 2, dtype=L.int64).addr_(L.ones(2), L.ones(2))",
    "L.ones(2, 2, dtype=L.bool).addr_(L.ones(2), L.ones(2))",
    "L.ones(2, dtype=L.int64).polygamma_(1)",
    "L.linalg.cholesky(L.full((2, 2), float('nan')))",
    "L.linalg.cholesky(L.eye(3).repeat(2, 1, 1).index_fill_(0, L.tensor([1]), float('nan')))",
    *[f"L.randperm({n}, dtype=L.{dtype})" for n, dtype in ((257, "uint8"), (129, "int8"))],
    *["L.randperm(2**15 + 1, dtype=L.int16)", "L.randperm(2050, dtype=L.float16)"],
    "L.randint(0, 2**70, (3,), dtype=L.float32)",
    "L.randint(-2**70, 3, (3,), dtype=L.float32)",
    "L.ones(2).random_(2**70)",
    *[f"L.ones(2).half().random_({text})" for text in ("0, 65506", "100000", "-65505, 0")],
    *[f"L.{name}(5, size=(2, 2))" for name in ("zeros", "ones", "empty", "rand", "randn")],
    *[f"L.ones(2).new_{name}(5, size=(2, 2))" for name in ("zeros", "ones", "empty")],
    *[f"L.set_grad_enabled({value})" for value in ("None", "1", "'x'", "L.tensor(True)")],
    *[f"L.autograd.set_detect_anomaly({value})" for value in ("None", "1", "'x'")],
    *[f"L.ones(2).uniform_({text})" for text in ("float('nan'), 1.", "0., float('inf')")],
    *["L.ones(2).uniform_(0, float('nan'))", "L.ones(2).uniform_(-1e39, 0.)"],
    *[f"L.ones(2).{name}_(float('nan'))" for name in ("exponential", "geometric")],
    *[f"L.ones(2).{name}_(0., float('nan'))" for name in ("cauchy", "log_normal", "normal")],
    "L.nn.functional.cosine_similarity(L.ones(2, 2), L.ones(2, 2), eps=float('nan'))",
    "L.nn.functional.cosine_similarity(L.ones(2, 2), L.ones(2, 2), eps=-1.)",
    *["L.ones(4).cumsum(0, dtype=1)", "L.ones(4).softmax(0, dtype=6)", "L.ones(4).sum(dtype=True)"],
    *["L.ones(2).new_zeros(2, dtype=6)", "L.zeros_like(L.ones(2), dtype='float32')"],
    *[f"L.ones(2).clone(memory_format={text})" for text in ("0", "'contiguous_format'")],
    "L.nn.functional.avg_pool2d(L.ones(1, 4, 4), L.tensor([1.7, 1.7]))",
    "L.nn.functional.avg_pool2d(L.ones(1, 4, 4), L.tensor([2, 2]))",
    *[f"L.ones(4).reshape(L.tensor({sizes}))" for sizes in ("[2.5, 2.]", "[2, 2]", "[]", "[4.]")],
    *["L.ones(4).roll(L.tensor([1.]))", "L.ones(4).sum(L.tensor([0.]))"],
    *[
        f"L.nn.functional.interpolate(L.ones({shape}), size=3, mode='{mode}', align_corners={text})"
        for shape, mode in (("1, 1, 4", "linear"), ("1, 1, 4, 4", "bilinear"))
        for text in ("'no'", "1", "0.0")
    ],
    *[
        f"L.nn.functional.{call}, align_corners={text})"
        for call in (
            "grid_sample(L.ones(1, 1, 4, 4), L.ones(1, 1, 1, 2)",
            "affine_grid(L.ones(1, 2, 3), (1, 1, 2, 2)",
        )
        for text in ("'no'", "1")
    ],
    *["L.set_autocast_dtype('cpu', 'x')", "L.set_autocast_enabled('cpu', 'x')"],
    *[f"L.autocast('cpu', dtype={text}, enabled=False).__enter__()" for text in ("'x'", "1")],
    "L.autocast('cpu', enabled='x').__enter__()",
    *[
        f"L.native_batch_norm(L.ones(2, 2), None, None, {given}, True, 0.1, 1e-5)"
        for given in ("L.ones(2), None", "None, L.ones(2)")
    ],
    *[
        f"L.nn.functional.batch_norm(L.ones(2, 2), {statistics}, training=True)"
        for statistics in ("L.ones(2), None", "None, L.ones(2)")
    ],
)
ACCEPTED = (
    *["L.randperm(256, dtype=L.uint8)", "L.randperm(128, dtype=L.int8)"],
    *["L.randperm(2049, dtype=L.float16)", "L.randperm(2**15, dtype=L.int16)", "L.randperm(0)"],
    "L.randint(-2**63, 2**63 - 1, (3,))",
    "L.ones(2).uniform_(0.0, 3e38)",
    "L.ones(2, 2, dtype=L.float32).addr_(L.ones(2, dtype=L.float64), L.ones(2, dtype=L.float64))",
)


def error_of(lib: Any, text: str) -> type[Exception] | None:
    try:
        eval(text, {"L": lib})
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("text", REFUSED)
def test_the_same_numbers_are_refused(text: str) -> None:
    wanted, found = error_of(torch, text), error_of(dovetail, text)
    assert wanted is not None
    assert found is not None
    assert issubclass(found, RuntimeError if issubclass(wanted, RuntimeError) else wanted)
    assert dovetail.is_grad_enabled()


SPELLED = {
    "sizes": "broadcast_to expand expand_copy sum_to_size view resize_ new_zeros new_ones",
    "dims": "permute permute_copy flip tile",
    "others": "reshape repeat",
}
"""Methods whose last list of ints may be spelled out."""


@pytest.mark.parametrize("name", " ".join(SPELLED.values()).split())
@pytest.mark.parametrize("given", [(4,), (2, 2), ((2, 2),)])
def test_a_list_that_is_spelled_out_and_given_by_keyword_is_refused(
    name: str, given: tuple[Any, ...]
) -> None:
    keyword = {"reshape": "shape", "repeat": "repeats"}.get(
        name, "dims" if name in SPELLED["dims"] else "size"
    )
    for lib in (torch, dovetail):
        method = getattr(lib.ones(2, 2), name, None)
        if method is not None:
            with pytest.raises(TypeError):
                method(*given, **{keyword: (2, 2)})


FLOATS = ("float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("target", (*FLOATS, "int64", "bool"))
@pytest.mark.parametrize("logits", (*FLOATS, "int64"))
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_the_loss_of_logits_has_the_dtype_of_its_targets(
    logits: str, target: str, reduction: str
) -> None:
    def loss(lib: Any, weights: dict[str, str]) -> Any:
        kinds = {name: lib.ones(2, dtype=getattr(lib, kind)) for name, kind in weights.items()}
        x = lib.ones(2, dtype=getattr(lib, logits))
        x.requires_grad_(logits in FLOATS)
        y = lib.ones(2, dtype=getattr(lib, target))
        try:
            made = lib.nn.functional.binary_cross_entropy_with_logits(
                x, y, reduction=reduction, **kinds
            )
            made.sum().backward()
        except RuntimeError as error:  # NotImplementedError too
            return type(error)
        return str(made.dtype).split(".")[-1], made.tolist(), x.grad.tolist()

    for name in ("weight", "pos_weight"):
        for kind in (*FLOATS, "int64", "bool"):
            wanted, found = loss(torch, {name: kind}), loss(dovetail, {name: kind})
            if isinstance(wanted, type):
                assert found is wanted, (name, kind)
            else:
                assert found[0] == wanted[0], (name, kind)
                assert found[1] == pytest.approx(wanted[1], rel=8e-3), (name, kind)
                assert found[2] == pytest.approx(wanted[2], rel=2e-2, abs=1e-3), (name, kind)


@pytest.mark.parametrize("text", ACCEPTED)
def test_the_same_numbers_are_taken(text: str) -> None:
    assert error_of(torch, text) is None
    assert error_of(dovetail, text) is None


@pytest.mark.parametrize("upper", [False, True])
def test_the_step_at_which_nan_ends_a_factorization_is_pytorchs(upper: bool) -> None:
    nan = float("nan")
    matrices = [
        [[1.0, 0.0], [0.0, nan]],
        [[nan, 0.0], [0.0, 1.0]],
        [[2.0, 1.0], [1.0, 2.0]],
        [[1.0, nan], [nan, 1.0]],
        [[1.0, 2.0], [2.0, 1.0]],
    ]
    wanted = torch.linalg.cholesky_ex(torch.tensor(matrices), upper=upper).info
    found = dovetail.linalg.cholesky_ex(dovetail.tensor(matrices), upper=upper).info
    assert found.tolist() == wanted.tolist()

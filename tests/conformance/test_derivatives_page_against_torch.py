"""The table of docs/derivatives.md says which derivatives either library has."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dovetail

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.cpu_only(reason="the page is about PyTorch's kernels of the CPU")

PAGE = Path(__file__).parents[2] / "docs" / "derivatives.md"
ROW = re.compile(r"^\| (.+) \| PyTorch \| (.+) \|\n\| \| Dovetail \| (.+) \|$", re.MULTILINE)
TABLE = {
    name.replace("`", ""): (theirs.split(" | "), ours.split(" | "))
    for name, theirs, ours in ROW.findall(PAGE.read_text(encoding="utf-8"))
}
Program = tuple[Callable[[Any], Any], Any]


def numbers(lib: Any, *shape: int) -> Any:
    lib.manual_seed(0)
    return lib.rand(*shape, dtype=lib.float64)


def module(lib: Any, name: str, *sizes: int, **options: Any) -> Any:
    lib.manual_seed(0)
    return getattr(lib.nn, name)(*sizes, dtype=lib.float64, **options)


def attention(lib: Any, **options: Any) -> Program:
    attend = lib.nn.functional.scaled_dot_product_attention
    return lambda q: attend(q, q.sin(), q.cos(), **options), numbers(lib, 1, 2, 3, 4)


def multihead(lib: Any) -> Program:
    layer = module(lib, "MultiheadAttention", 4, 2, batch_first=True)
    return lambda q: layer(q, q, q, need_weights=False)[0], numbers(lib, 1, 3, 4)


def encoder(lib: Any) -> Program:
    layer = module(lib, "TransformerEncoderLayer", 4, 2, 8, dropout=0.0, batch_first=True)
    return layer, numbers(lib, 1, 3, 4)


def lstm(lib: Any) -> Program:
    layer = module(lib, "LSTM", 4, 3)
    return lambda x: layer(x)[0], numbers(lib, 2, 1, 4)


def bag(lib: Any) -> Program:
    index = lib.tensor([[0, 2], [1, 1]])
    return lambda w: lib.nn.functional.embedding_bag(index, w, mode="mean"), numbers(lib, 3, 4)


def sampled(lib: Any) -> Program:
    def f(x: Any) -> Any:
        grid = x[:, :2].permute(0, 2, 3, 1) - 0.5
        return lib.nn.functional.grid_sample(x, grid, align_corners=False)

    return f, numbers(lib, 1, 2, 3, 3)


def convolved(lib: Any) -> Program:
    weight, bias = numbers(lib, 2, 2, 3), numbers(lib, 3)
    return lambda x: lib.conv_tbc(x, weight, bias), numbers(lib, 4, 1, 2)


def ctc(lib: Any) -> Program:
    sizes = lib.tensor([[1, 2]]), lib.tensor([4]), lib.tensor([2])
    return lambda x: lib.nn.functional.ctc_loss(x.log_softmax(2), *sizes), numbers(lib, 4, 1, 3)


def margin(lib: Any, name: str, targets: Any) -> Program:
    loss, classes = getattr(lib.nn.functional, name), lib.tensor(targets)
    return lambda x: loss(x, classes), numbers(lib, classes.shape[0], 4)


PROGRAMS: dict[str, Callable[[Any], Program]] = {
    "scaled_dot_product_attention": attention,
    "scaled_dot_product_attention, causal": lambda lib: attention(lib, is_causal=True),
    "nn.MultiheadAttention": multihead,
    "nn.TransformerEncoderLayer": encoder,
    "embedding_bag": bag,
    "cdist": lambda lib: (lambda x: lib.cdist(x, x.sin() + 1), numbers(lib, 3, 4)),
    "pdist": lambda lib: (lib.pdist, numbers(lib, 3, 4)),
    "multi_margin_loss": lambda lib: margin(lib, "multi_margin_loss", [0, 1, 2]),
    "multilabel_margin_loss": lambda lib: margin(lib, "multilabel_margin_loss", [[0, 1, -1, 2]]),
    "grid_sample": sampled,
    "special.gammainc, by its second argument": lambda lib: (
        lambda x: lib.special.gammainc(lib.full_like(x, 2.0), x),
        numbers(lib, 3),
    ),
    "conv_tbc": convolved,
    "nn.LSTM": lstm,
    "ctc_loss": ctc,
}


def derivatives(lib: Any, f: Callable[[Any], Any], x: Any) -> list[str]:
    """Return whether each derivative of the table can be computed."""

    def scalar(value: Any) -> Any:
        return f(value).sin().sum()

    def second() -> None:
        leaf = x.clone().requires_grad_()
        (first,) = lib.autograd.grad(scalar(leaf), leaf, create_graph=True)
        lib.autograd.grad((first * first).sum(), leaf)

    tried: list[Callable[[], Any]] = [
        second,
        lambda: lib.func.jvp(f, (x,), (x,)),
        lambda: lib.func.jvp(lib.func.grad(scalar), (x,), (x,)),
        lambda: lib.func.vmap(lib.func.grad(scalar))(lib.stack([x, x])),
    ]
    found = []
    for each in tried:
        try:
            each()
        except (RuntimeError, NotImplementedError):
            found.append("no")
        else:
            found.append("yes")
    return found


@pytest.mark.filterwarnings("ignore")  # PyTorch warns of slow batching rules
@pytest.mark.parametrize("name", TABLE)
def test_the_table_says_what_either_library_has(name: str) -> None:
    theirs, ours = TABLE[name]
    assert derivatives(torch, *PROGRAMS[name](torch)) == theirs
    assert derivatives(dovetail, *PROGRAMS[name](dovetail)) == ours


@pytest.mark.parametrize("name", [name for name in TABLE if "no" not in TABLE[name][1]])
def test_the_derivatives_agree_with_differences(name: str) -> None:
    f, x = PROGRAMS[name](dovetail)
    x.requires_grad_()
    dovetail.autograd.gradcheck(f, (x,), check_forward_ad=True)
    dovetail.autograd.gradgradcheck(f, (x,))


def test_every_program_has_a_row() -> None:
    assert list(TABLE) == list(PROGRAMS)

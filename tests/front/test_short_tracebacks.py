"""The traceback of a mistake ends at the line of the program."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail import Tensor, nn, ones
from dovetail.library import Library, custom_op
from dovetail.nn import functional
from dovetail.overrides import TorchFunctionMode

MODULES = Path(nn.__file__).parent / "modules"
MISTAKES: dict[str, Callable[[], object]] = {
    "a layer": lambda: nn.Linear(5, 2)(ones(3, 4)),
    "a layer among others": lambda: nn.Sequential(nn.ReLU(), nn.Linear(4, 2))(ones(2, 3)),
    "matmul": lambda: ones(2, 3) @ ones(2, 3),
    "add": lambda: ones(2) + ones(3),
    "add in place": lambda: ones(2).add_(ones(3)),
    "reshape": lambda: ones(6).reshape(4, 2),
    "view": lambda: ones(6).view(4, 2),
    "expand": lambda: ones(2).expand(3, 3),
    "cross entropy": lambda: functional.cross_entropy(ones(3, 4), ones(3)),
    "nll": lambda: functional.nll_loss(ones(3, 4), ones(2).long()),
    "batch norm": lambda: nn.BatchNorm1d(3)(ones(2, 4)),
    "layer norm": lambda: nn.LayerNorm(3)(ones(2, 4)),
    "convolution": lambda: nn.Conv2d(3, 4, 3)(ones(1, 2, 8, 8)),
    "embedding": lambda: nn.Embedding(3, 2)(ones(2)),
    "gather": lambda: dovetail.gather(ones(2, 2), 1, dovetail.tensor([[5]])),
    "cholesky": lambda: dovetail.linalg.cholesky(-dovetail.eye(2)),
    "solve": lambda: dovetail.linalg.solve(ones(2, 2), ones(2)),
    "cat": lambda: dovetail.cat([ones(2, 2), ones(2, 3)], 0),
    "stack": lambda: dovetail.stack([ones(2), ones(3)]),
    "index": lambda: ones(2)[5],
    "item": lambda: ones(2).item(),
    "bool": lambda: bool(ones(2)),
    "numpy": lambda: ones(2, requires_grad=True).numpy(),
    "write to a leaf": lambda: ones(2, requires_grad=True).add_(1),
    "softmax": lambda: ones(2).softmax(3),
    "sum": lambda: ones(2).sum(3),
    "keyword": lambda: dovetail.add(ones(2), ones(2), foo=1),
    "dtype": lambda: ones(2).bool() - ones(2).bool(),
    "squeeze": lambda: ones(2).unsqueeze(5),
    "topk": lambda: ones(2).topk(5),
    "backward twice": lambda: backward_twice(ones(2, requires_grad=True).exp().sum()),
    "backward of a vector": lambda: ones(2, requires_grad=True).backward(),
    "ragged data": lambda: dovetail.tensor([[1, 2], [3]]),
    "device": lambda: ones(2).to("nope"),
    "mask": lambda: ones(3)[dovetail.tensor([True, False])],
    "written slice": lambda: ones(3).__setitem__(slice(0, 2), ones(3)),
    "vmap": lambda: dovetail.vmap(lambda x: x.item())(ones(3)),
    "attention": lambda: nn.MultiheadAttention(4, 2)(*[ones(2, 2, 5)] * 3),
}


def backward_twice(loss: Tensor) -> None:
    loss.backward()
    loss.backward()


def error_of(call: Callable[[], object]) -> Exception:
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("no error")


def of_dovetail(error: Exception) -> list[traceback.FrameSummary]:
    """Return the frames below the program's last line, without those of modules, which PyTorch has
    too.
    """
    frames = traceback.extract_tb(error.__traceback__)
    last = max(at for at, frame in enumerate(frames) if frame.filename == __file__)
    return [f for f in frames[last + 1 :] if MODULES not in Path(f.filename).parents]


@pytest.mark.parametrize("name", MISTAKES)
def test_at_most_three_frames_are_ours_and_nothing_is_chained(name: str) -> None:
    error = error_of(MISTAKES[name])
    assert len(of_dovetail(error)) <= 3
    printed = "".join(traceback.format_exception(error))
    assert printed.count("Traceback") == 1


class Asked(TorchFunctionMode):
    """Sees every function, and changes nothing."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return func(*args, **(kwargs or {}))


class Overriding(Tensor):
    """From its making on, functions ask their arguments."""


@pytest.mark.parametrize("name", MISTAKES)
def test_asking_for_overrides_adds_no_frames(name: str) -> None:
    with Asked():
        assert len(of_dovetail(error_of(MISTAKES[name]))) <= 3
    assert len(of_dovetail(error_of(MISTAKES[name]))) <= 3  # while functions become what they were
    assert len(of_dovetail(error_of(MISTAKES[name]))) <= 3


def test_frames_of_the_program_stay() -> None:
    @custom_op("shortened::doubled", mutates_args=())
    def doubled(x: Tensor) -> Tensor:
        raise ValueError("not today")

    frames = traceback.extract_tb(error_of(lambda: doubled(ones(2))).__traceback__)
    assert frames[-1].name == "doubled" and frames[-1].line is not None
    assert "not today" in frames[-1].line


def test_an_error_that_the_program_was_handling_stays() -> None:
    def call() -> None:
        try:
            raise KeyError("first")
        except KeyError:
            ones(2) + ones(3)

    error = error_of(call)
    assert isinstance(error.__context__, KeyError) and not error.__suppress_context__


def test_all_frames_of_a_defect_stay() -> None:
    names: dict[str, Any] = {"__name__": "dovetail_aten.of_a_test"}
    exec("def kernel(x):\n    return {}['missing']\n", names)
    library = Library("defects", "DEF")
    library.define("looked_up(Tensor x) -> Tensor")
    library.impl("looked_up", names["kernel"], "CompositeExplicitAutograd")
    error = error_of(lambda: dovetail.ops.defects.looked_up(ones(2)))
    library._destroy()
    assert isinstance(error, KeyError)
    assert traceback.extract_tb(error.__traceback__)[-1].name == "kernel"


def test_a_setting_shows_all_frames() -> None:
    short = error_of(MISTAKES["a layer"])
    dovetail.set_full_tracebacks(True)
    try:
        full = error_of(MISTAKES["a layer"])
    finally:
        dovetail.set_full_tracebacks(False)
    assert len(of_dovetail(full)) > len(of_dovetail(short))

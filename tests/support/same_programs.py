"""Programs that take a library as their argument: Dovetail and PyTorch must do the same with them.

A test file collects its programs in a `Programs` and runs each by `assert_same`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from oracle.outcomes import EXACT, Closeness, Comparison, outcome, seen

import dovetail

Program = Callable[[Any], Any]


class Programs(dict[str, Program]):
    """Programs by what they show; used as a decorator with that name, it takes a function in."""

    def __call__(self, name: str) -> Callable[[Program], Program]:
        def note(program: Program) -> Program:
            assert name not in self, name
            self[name] = program
            return program

        return note


def tried(function: Callable[[], Any], *, words: int = 40) -> Any:
    """Return what a call gives, or the type and the first characters of its error."""
    found = outcome(lambda: _listed(function()))
    return found.result if found.error is None else _said(found.error, words)


def _listed(result: Any) -> Any:
    return result.tolist() if hasattr(result, "tolist") else result


def _said(error: Exception, words: int) -> tuple[str, str]:
    return type(error).__name__, str(error).replace("torch.", "dovetail.")[:words]


def plain(result: Any, digits: int = 5) -> Any:
    """Return a result with the tensors anywhere in it as their dtype and values, rounded, and
    modules as text.
    """
    if isinstance(result, dict):
        return {key: plain(value, digits) for key, value in result.items()}
    if isinstance(result, (list, tuple)):
        return [plain(value, digits) for value in result]
    if hasattr(result, "named_modules") and not isinstance(result, type):
        return repr(result).replace("dovetail.", "torch.")
    if isinstance(result, type) or type(result).__name__ == "dtype":
        return str(getattr(result, "__name__", result)).rpartition(".")[2]
    if not hasattr(result, "dtype"):
        return result
    if result.is_meta:
        return "meta", tuple(result.shape)
    values = np.asarray(result.detach().cpu())
    return str(values.dtype), np.round(values, digits).tolist() if values.size else values.shape


def chain(tensor: Any) -> list[str]:
    """Return the names of the nodes from that of a tensor on, always by the first edge."""
    names, node = [], tensor.grad_fn
    while node is not None:
        names.append(node.name().rpartition(":")[2])
        node = node.next_functions[0][0] if node.next_functions else None
    return names


def assert_same(
    program: Program, *, words: int = 40, close: bool = False, warns: bool = False
) -> None:
    """Run a program with either library and compare results and errors.

    Parameters
    ----------
    words
        How many characters of an error's text count.
    close
        Whether the values of tensors may differ by rounding.
    warns
        Whether to compare warnings too; else they are what the settings of the suite make of them.
    """
    import torch

    loose = Closeness(1e-5, 1e-6, of_largest=False)
    comparison = Comparison(
        "reference",
        lambda dtype: loose if close else EXACT,
        lambda mine, other: _said(mine, words) == _said(other, words),
        _heard,
    )
    ours, theirs = (
        outcome(partial(_run, program, library), library if warns else None)
        for library in (dovetail, torch)
    )
    kind, text = comparison.of(ours, theirs)
    assert not text, f"{kind}: {text}"


def _run(program: Program, library: Any) -> Any:
    library.manual_seed(0)
    result = program(library)
    return seen(result) if isinstance(result, library.Tensor) else _anywhere(_listed(result))


def _heard(caught: list[warnings.WarningMessage]) -> list[tuple[type[Warning], str]]:
    return [(each.category, str(each.message)[:60]) for each in caught if not _asks_for_grad(each)]


def _anywhere(result: Any) -> Any:
    """Return a result with texts as if tensors were on the CPU, where those of PyTorch are."""
    if isinstance(result, str):
        device = dovetail.get_default_device()
        here = f"{device}:0"
        plain = ((f", device='{here}'", ""), (f" ({here})", ""), (f".{device}.", "."))
        for words, plain_words in plain:
            result = result.replace(words, plain_words)
        return result
    if type(result) in (list, tuple):
        return type(result)(map(_anywhere, result))
    if type(result) is dict:
        return {key: _anywhere(value) for key, value in result.items()}
    return result


def _asks_for_grad(warning: warnings.WarningMessage) -> bool:
    """Return whether it is the warning of reading ``.grad`` of a non-leaf, which PyTorch gives of
    its own reading too.
    """
    return str(warning.message).startswith("The .grad attribute of a Tensor")

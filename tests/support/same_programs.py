"""Programs that take a library as their argument: Dovetail and PyTorch must do the same with them.

A test file collects its programs in a `Programs` and runs each by `assert_same`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

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


class Values(NamedTuple):
    """A tensor that a program returned."""

    dtype: str
    values: Any


def tried(function: Callable[[], Any], *, words: int = 40) -> Any:
    """Return what a call gives, or the type and the first characters of its error."""
    try:
        result = function()
    except Exception as error:
        return type(error).__name__, str(error).replace("torch.", "dovetail.")[:words]
    return result.tolist() if hasattr(result, "tolist") else result


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

    ours, theirs = (_outcome(program, library, words, warns) for library in (dovetail, torch))
    if close and isinstance(ours[0], Values) and isinstance(theirs[0], Values):
        assert ours[0].dtype == theirs[0].dtype
        np.testing.assert_allclose(ours[0].values, theirs[0].values, rtol=1e-5, atol=1e-6)
        assert ours[1] == theirs[1]
    else:
        assert ours == theirs, (ours, theirs)


def _outcome(program: Program, library: Any, words: int, warns: bool) -> tuple[Any, Any]:
    def run() -> Any:
        library.manual_seed(0)
        result = program(library)
        if not isinstance(result, library.Tensor):
            return _anywhere(result)
        return Values(str(result.dtype).rpartition(".")[2], result.tolist())

    if not warns:
        return tried(run, words=words), None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = tried(run, words=words)
    return result, [
        (each.category, str(each.message)[:60]) for each in caught if not _asks_for_grad(each)
    ]


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

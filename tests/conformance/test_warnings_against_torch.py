"""What PyTorch warns of is warned of here: as often, for the program's line, in its key words."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
import torch
import warning_calls
from fresh_interpreter import printed_by
from warning_calls import AS_ANOTHER, EACH_TIME, NEVER, ONCE, counts_of_repeated_calls, warnings_of

import dovetail

CALLS = EACH_TIME | ONCE | AS_ANOTHER | NEVER


pytestmark = pytest.mark.usefixtures("every_warning")


@pytest.mark.parametrize("name", [name for name in CALLS if name != "a list of arrays"])
def test_a_call_warns_as_often_as_in_pytorch(name: str) -> None:
    theirs, ours = (warnings_of(CALLS[name], lib) for lib in (torch, dovetail))
    assert [each.category for each in ours] == [each.category for each in theirs]
    assert bool(ours) is (name not in NEVER)
    for here, there in zip(ours, theirs, strict=True):
        assert here.filename == warning_calls.__file__
        assert key_words(here) & key_words(there)


def key_words(warning: Any) -> set[str]:
    """Return the words of a message that a filter may look for, without the library's name."""
    words = str(warning.message).partition("(Triggered")[0].replace("torch", "dovetail").split()
    return {word.strip("`.,:()").lower() for word in words if len(word) > 4}


def test_warnings_that_come_once_in_pytorch_come_once_in_a_process() -> None:
    theirs = json.loads(
        printed_by(
            "import sys, json, warnings\n"
            f"sys.path[:0] = {[str(path) for path in support_paths()]}\n"
            "warnings.simplefilter('ignore')\n"
            "import torch, warning_calls\n"
            "print(json.dumps(warning_calls.counts_of_repeated_calls(torch)))"
        )
    )
    dovetail.set_warn_always(False)
    assert counts_of_repeated_calls(dovetail) == theirs


def support_paths() -> list[str]:
    return [warning_calls.__file__.rpartition("/")[0]]


def test_a_warning_that_is_an_error_counts_as_issued() -> None:
    dovetail.set_warn_always(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=r"x\.T"):
            dovetail.ones(3).T  # noqa: B018
        assert dovetail.ones(3).T.shape == (3,)


def test_an_encoder_does_not_warn_of_layers_without_nested_tensors() -> None:
    def make(lib: Any) -> Any:
        return lib.nn.TransformerEncoder(lib.nn.TransformerEncoderLayer(4, 2), 1)

    assert warnings_of(make, dovetail) == []
    (theirs,) = warnings_of(make, torch)
    assert "enable_nested_tensor" in str(theirs.message)


def test_a_number_of_a_detached_view_has_lost_no_gradient() -> None:
    for lib in (torch, dovetail):
        x = lib.ones(2, requires_grad=True)
        assert warnings_of(lambda _, x=x: float(x.detach().reshape(-1)[0]), lib) == []
        assert len(warnings_of(lambda _, x=x: float(x.reshape(-1)[0]), lib)) == 1

"""Tables of expressions: Dovetail and PyTorch must show the same of each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from devices import without_device


def expressions(text: str) -> list[str]:
    """Return the expressions of a table: lines, with bars between."""
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]


def shown(call: Callable[[], Any]) -> tuple[str, list[str]]:
    """Return how a result prints, or the type and first words of the error; and the kinds of the
    warnings.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = repr(call())
        except Exception as error:
            words = [
                word.strip(".:,'") for word in str(error).replace("dovetail.", "torch.").split()
            ]
            result = f"{type(error).__name__}: {' '.join(words[:3])}"
    return without_device(result).replace("dovetail.", "torch."), [
        warning.category.__name__ for warning in caught
    ]

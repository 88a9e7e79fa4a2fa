"""The error of a call whose arguments fit no overload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn


def refuse(
    name: str, signatures: Sequence[str], args: Sequence[object], kwargs: Mapping[str, object]
) -> NoReturn:
    """Raise the TypeError of a call that no overload fits.

    Parameters
    ----------
    name
        The function.
    signatures
        The parameters of its overloads.
    args, kwargs
        The arguments of the call.
    """
    got = [type(value).__name__ for value in args]
    got += [f"{keyword}={type(value).__name__}" for keyword, value in kwargs.items()]
    expected = "".join([f"\n * {signature}" for signature in signatures])
    raise TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(got)}), "
        f"but expected one of:{expected}\n"
        "Give the arguments of one of them."
    )

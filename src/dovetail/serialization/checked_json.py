"""Reads and validates the JSON of a file: every value is checked before use."""

from __future__ import annotations

import json
from typing import Any

_MOST_DIGITS = 4300


class FormatError(ValueError):
    """Raised for an invalid or truncated file; the message has the reason."""

    remedy = (
        "Save it again by dovetail.save (another program's checkpoint: by torch.save or "
        "safetensors), or copy the file again from its source."
    )


class ForeignFile(FormatError):
    """Raised for a file that PyTorch can read, but `load` cannot."""

    remedy = "Load it in PyTorch, and save the state_dict() by torch.save or safetensors."


def parse_json(text: str, what: str) -> Any:
    """Return the value of a JSON text. `what` is its name in errors.

    Stricter than ``json.loads``: no key twice, no ``NaN``, and no number of thousands of digits,
    which would take quadratic time.

    Raises
    ------
    FormatError
        If the text is not such JSON.
    """
    try:
        return _DECODER.decode(text)
    except FormatError as error:
        raise FormatError(f"{what} is corrupt: {error}") from None
    except json.JSONDecodeError as error:
        raise FormatError(f"{what} is corrupt: it is no JSON ({error})") from None
    except RecursionError:
        raise FormatError(f"{what} is nested too deeply") from None


def shown(value: Any) -> str:
    """Return a short spelling of a value for an error message."""
    text = value if isinstance(value, str) else json.dumps(value)
    return repr(text if len(text) <= 60 else text[:57] + "...")


def checked_dict(value: Any, what: str, keys: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return `value` if it is a JSON object with at least these keys."""
    if not isinstance(value, dict):
        raise FormatError(f"{what} should be an object, not {shown(value)}")
    for key in keys:
        if key not in value:
            raise FormatError(f"{what} has no {key!r}")
    return value


def checked_list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise FormatError(f"{what} should be a list, not {shown(value)}")
    return value


def checked_text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise FormatError(f"{what} should be a string, not {shown(value)}")
    return value


def checked_integer(value: Any, what: str, below: int = 2**63) -> int:
    """Return `value` if it is an int, not negative, and less than `below`."""
    if type(value) is not int or not 0 <= value < below:
        raise FormatError(
            f"{what} should be one of the non-negative integers below {below}, not {shown(value)}"
        )
    return value


def checked_integers(value: Any, what: str) -> tuple[int, ...]:
    """Return `value` as a tuple if it is a list of non-negative integers, one for each of at most
    64 dimensions.
    """
    numbers = checked_list(value, what)
    if len(numbers) > 64:
        raise FormatError(f"{what} has {len(numbers)} dimensions; arrays have at most 64")
    return tuple([checked_integer(number, what) for number in numbers])


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise FormatError(f"the key {shown(key)} occurs twice")
            seen.add(key)
    return result


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise FormatError(f"a number has {len(digits)} digits; at most {_MOST_DIGITS} are read")
    return int(digits)


def _refuse_constant(name: str) -> Any:
    raise FormatError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_repetition, parse_int=_integer, parse_constant=_refuse_constant
)

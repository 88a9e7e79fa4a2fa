"""The signatures of functions as people call them."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature

from dovetail_dispatcher.missing import MISSING

from ..templates.numpy_names import MEANING, SURPLUS


def plain_signature(function: Callable[..., object]) -> Signature:
    """Return the signature of a function; of one of the base library, without NumPy's names, and
    with its keyword-only parameters as such.
    """
    found = signature(function)
    parameters = list(found.parameters.values())
    if not any([each.default is MISSING for each in parameters]):
        return found
    names = [each.name for each in parameters]
    slot = next(iter([n for n, name in enumerate(names) if name in (SURPLUS, "old1")]), len(names))
    plain = [_required(each) for each in parameters[:slot] if each.kind is not each.VAR_KEYWORD]
    for each in parameters[slot:]:
        is_slot = each.name.rstrip("0123456789") in (SURPLUS, "old")
        if not is_slot and not (each.name in MEANING and each.default in (None, MISSING)):
            plain.append(_required(each).replace(kind=Parameter.KEYWORD_ONLY))
    return found.replace(parameters=plain)


def _required(parameter: Parameter) -> Parameter:
    """Return a parameter without the default that stands for none."""
    is_required = parameter.default is MISSING
    return parameter.replace(default=Parameter.empty) if is_required else parameter

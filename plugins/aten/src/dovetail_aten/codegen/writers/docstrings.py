"""Writes the docstrings of functions, in NumPy's style: how they are called, what they do, and what
their arguments mean. They are packed into one file, which is read when one is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Final

from dovetail_dispatcher.calls import parameter
from dovetail_dispatcher.schema import Argument

from ...templates.docstrings import DOCSTRINGS
from ...templates.python_function import python_schema, variadic_argument
from ..overload_sets import OverloadSet
from ..readers.documentation import Documentation
from .text import INDENT, WIDTH

ARGUMENTS: Final = {
    "input": "A tensor.",
    "other": "A tensor or a number; shapes are broadcast.",
    "dim": "The dimension, counted from the end if negative.",
    "dims": "The dimensions, counted from the end if negative.",
    "keepdim": "Keep the dimension, with size 1.",
    "alpha": "A factor of `other`.",
    "dtype": "The dtype of the result.",
    "generator": "Source of random numbers; None: the generator of the device.",
    "layout": "`strided`, the only one.",
    "device": "Where the result is.",
    "pin_memory": "Whether the memory is page-locked; only CUDA has such memory.",
    "memory_format": "The order of the result in memory.",
    "requires_grad": "Whether operations on the result are recorded.",
    "reduction": "How losses are reduced: 0 not at all, 1 to their mean, 2 to their sum.",
    "out": "A tensor to write the result into.",
}
"""What arguments mean whose documentation does not say otherwise."""

_MODULES: Final = ("linalg", "fft", "special")
_KINDS: Final = {
    "Scalar": "number",
    "SymInt": "int",
    "ScalarType": "dtype",
    "Generator": "Generator",
}


def write_docstrings(
    sets: Sequence[OverloadSet], documents: Mapping[str, Documentation]
) -> dict[str, str]:
    """Return the file of the docstrings, text by path. It is there even if nothing is documented:
    what has no such file has not been packed.
    """
    texts = {overloads.name: docstring(overloads, documents) for overloads in sets}
    texts = {name: text for name, text in texts.items() if text}
    return {DOCSTRINGS: json.dumps(texts, ensure_ascii=False, indent=0) + "\n"}


def docstring(overloads: OverloadSet, documents: Mapping[str, Documentation]) -> str:
    """Return the docstring of the function that users call by a name; empty for one that nothing is
    said of.
    """
    return "\n".join(_paragraphs(overloads, documents)) if overloads.is_called else ""


def _paragraphs(overloads: OverloadSet, documents: Mapping[str, Documentation]) -> Iterator[str]:
    name = overloads.name
    own = documents.get(name)
    text = documents.get(own.same_as) if own is not None and own.same_as else own
    calls = _calls(overloads)
    if text is None:
        if short := _of_variant(overloads, documents):
            yield from [*calls, "", *_filled(short)]
        return
    yield from [*calls, "", *_filled(text.summary)]
    if own is not text and own is not None:
        first = _public(own.same_as)
        if first == _public(name).rpartition(".")[2]:  # special.softmax and softmax
            first = f"dovetail.{first}"
        yield from ["", *_filled(f"Another name of `{first}`.")]
    if text.formula:
        yield from ["", *_filled(f"Computes ``{text.formula}``.")]
    if text.details:
        yield from ["", *_filled(text.details)]
    if text.source:
        yield from ["", *_filled(f"Source: {text.source.rstrip('.')}.")]
    if parameters := list(_parameters(overloads, text)):
        yield from ["", *_headed("Parameters"), *parameters]
    if text.returns:
        yield from ["", *_headed("Returns"), _returned(overloads), *_filled(text.returns, INDENT)]
    if text.raises:
        yield from ["", *_headed("Raises")]
        for error, when in text.raises.items():
            yield from [error, *_filled(when, INDENT)]


def _of_variant(overloads: OverloadSet, documents: Mapping[str, Documentation]) -> str:
    """Return the sentence about an in-place operator, or about one that copies a view."""
    base = overloads.name.removesuffix("_")
    if base != overloads.name and base in documents:
        return f"Write the result of `{_public(base)}` into `input`, and return `input`."
    viewed = overloads.overloads[0].copy_of
    if viewed is not None:
        return f"Return a copy of the view that `{viewed.partition('.')[0]}` returns."
    return ""


def _public(name: str) -> str:
    """Return how users call an operator: ``linalg.svd``."""
    module, _, rest = name.partition("_")
    return f"{module}.{rest}" if module in _MODULES and rest else name


def _calls(overloads: OverloadSet) -> list[str]:
    """Return how the function is called, a line for each overload."""
    name = _public(overloads.name).rpartition(".")[2]
    calls = []
    for function in overloads.overloads:
        arguments = python_schema(function.schema).arguments
        variadic = variadic_argument(python_schema(function.schema))
        given = [
            f"*{parameter(a)}" if a is variadic else _given(a)
            for a in arguments
            if not a.kwarg_only
        ]
        named = [_given(argument) for argument in arguments if argument.kwarg_only]
        named += ["out=None"] if overloads.out_of(function) is not None else []
        if named and variadic is None:
            given.append("*")
        calls.append(f"{name}({', '.join([*given, *named])})")
    return list(dict.fromkeys(calls))


def _given(argument: Argument) -> str:
    if not argument.has_default_value():
        return parameter(argument)
    return f"{parameter(argument)}={_default(argument)}"


def _default(argument: Argument) -> str:
    return str(argument).partition("=")[2]


def _parameters(overloads: OverloadSet, text: Documentation) -> Iterator[str]:
    """Yield the lines of the section of parameters: those of all overloads."""
    known: dict[str, list[Argument]] = {}
    for function in overloads.overloads:
        for argument in python_schema(function.schema).arguments:
            known.setdefault(parameter(argument), []).append(argument)
    for name, arguments in known.items():
        meaning = text.arguments.get(name) or ARGUMENTS.get(name, "")
        defaults = [_default(each) for each in arguments if each.has_default_value()]
        if defaults and defaults[0] != "None":
            meaning += f" Default: {defaults[0]}."
        kinds = [kind for each in arguments for kind in _kinds(each)]
        yield f"{name} : {' or '.join(dict.fromkeys(sorted(kinds, key='None'.__eq__)))}"
        yield from _filled(meaning.strip(), INDENT)
    if overloads.outs:
        outs = next(iter(overloads.outs.values())).schema.returns
        several = "Tensors to write the results into." if len(outs) > 1 else ARGUMENTS["out"]
        yield "out : Tensor" if len(outs) < 2 else "out : tuple of Tensor"
        yield from _filled(text.arguments.get("out", several), INDENT)


def _kinds(argument: Argument) -> list[str]:
    """Return the types that an argument takes, in words."""
    spelled = argument.real_type.schema_str
    plain = spelled.removesuffix("?")
    none = ["None"] * (spelled != plain)
    if not plain.endswith("]"):
        return [_KINDS.get(plain, plain), *none]
    element, _, size = plain[:-1].rpartition("[")
    inner = _KINDS.get(element.removesuffix("?"), element.removesuffix("?"))
    return [*([inner] if size else []), f"list of {inner}", *none]


def _returned(overloads: OverloadSet) -> str:
    returns = overloads.overloads[0].schema.returns
    kinds = [_KINDS.get(each.real_type.schema_str, each.real_type.schema_str) for each in returns]
    if kinds == ["Tensor[]"]:
        return "tuple of Tensor"
    return kinds[0] if len(kinds) == 1 else f"tuple of {len(kinds)} Tensor"


def _headed(section: str) -> Sequence[str]:
    return section, "-" * len(section)


def _filled(text: str, indent: str = "") -> list[str]:
    return wrap(
        text,
        WIDTH - len(INDENT),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )

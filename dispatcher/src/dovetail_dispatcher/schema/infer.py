"""Infers the schema of a Python function from its annotations."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

_TENSOR = "Tensor"
_NUMBER = frozenset((int, float, bool))
_LISTABLE = ("Tensor", "SymInt", "float", "bool", "Scalar")
_OPTIONAL_LISTABLE = ("SymInt", "float", "bool")
_RETURNABLE = ("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar")
_MUTABLE = ("Tensor", "Tensor?", "Tensor[]", "Tensor?[]")
_SUPPORTED = (
    "Tensor, int, float, bool, str, Number, dtype, device; Optional of each; list, List or "
    "Sequence of Tensor, "
    "Optional[Tensor], int, float, bool, Number; Optional of a list of int, float, bool"
)


def infer_schema(
    prototype_function: Callable[..., object],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: object = (),
) -> str:
    """Return the schema of a function with annotated parameters and return.

    Parameters
    ----------
    prototype_function : callable
        Function whose signature is read. String annotations are evaluated in the globals of the
        function.
    mutates_args : iterable of str or "unknown"
        The names of the parameters that the function writes to; ``"unknown"`` means every tensor.
    op_name : str, optional
        Operator name to prepend to the schema.
    tags : Tag or sequence of Tag, default ()
        ``Tag.inplace`` and ``Tag.out`` make the returns aliases of the mutated parameters.

    Returns
    -------
    str
        Such as ``'(Tensor x, SymInt n=1) -> Tensor'``.

    Raises
    ------
    ValueError
        An annotation is missing or unsupported, a default cannot be written in a schema, or
        ``mutates_args`` or the tags contradict the signature.
    """
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated "
            f"or the string 'unknown'. Write mutates_args=({mutates_args!r},)."
        )
    mutated = None if isinstance(mutates_args, str) else tuple(mutates_args)
    signature = _Signature(prototype_function)
    parameters = [signature.parameter(parameter, mutated) for parameter in signature.parameters]
    if mutated is not None:
        unknown = {
            name for name in mutated if name not in [parameter.name for parameter in parameters]
        }
        if unknown:
            raise signature.error(
                f"{unknown} in mutates_args were not found in the custom op's signature. "
                "mutates_args should contain the names of all args that the custom op mutates, or "
                "just the string 'unknown' if you don't know."
            )
    returns = signature.returns(_tagged_returns(signature, parameters, mutated, _tag_names(tags)))
    return f"{op_name or ''}({_join(parameters)}) -> {returns}"


class _Parameter(typing.NamedTuple):
    name: str
    text: str
    declared: str
    alias: str
    kwarg_only: bool


class _Signature:
    """The signature of one prototype, and the errors that quote it."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function
        self.signature = inspect.signature(function)
        self.parameters = list(self.signature.parameters.values())

    def error(self, problem: str) -> ValueError:
        return ValueError(
            f"infer_schema(func): {problem} Got func with signature {self.signature})"
        )

    def evaluate(self, annotation: object) -> Any:
        function = inspect.unwrap(self.function)
        try:
            while isinstance(annotation, str):
                annotation = eval(annotation, getattr(function, "__globals__", {}))
            return annotation
        except Exception as reason:
            raise self.error(
                f"Unsupported type annotation {annotation}. It is not a type. ({reason}). "
                "Annotations that are strings "
                "are evaluated in the module of the function: define or import the type there."
            ) from reason

    def parameter(
        self, parameter: inspect.Parameter, mutated: tuple[str, ...] | None
    ) -> _Parameter:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise self.error("We do not support positional-only args, varargs, or varkwargs.")
        name = parameter.name
        if parameter.annotation is parameter.empty:
            raise self.error(f"Parameter {name} must have a type annotation.")
        annotation = self.evaluate(parameter.annotation)
        declared = _schema_type(annotation)
        if declared is None:
            raise self.unsupported(
                f"Parameter {name}", annotation, _tuple_hint(annotation), _SUPPORTED
            )
        alias = ""
        if name in mutated if mutated is not None else declared.startswith(_TENSOR):
            if declared not in _MUTABLE:
                raise self.error(
                    f"Parameter {name} is in mutable_args but only Tensors or collections of "
                    "Tensors can be mutated."
                )
            alias = f"(a{self.parameters.index(parameter)}!)"
        text = f"{declared.replace(_TENSOR, _TENSOR + alias, 1)} {name}"
        if parameter.default is not parameter.empty:
            text += "=" + self.default(name, parameter.default)
        return _Parameter(name, text, declared, alias, parameter.kind is parameter.KEYWORD_ONLY)

    def default(self, name: str, value: object) -> str:
        from dovetail_kernel import Device, dtype

        if value is None or isinstance(value, int | float):
            return str(value)
        if isinstance(value, str | Device):
            return f'"{value}"'
        if isinstance(value, dtype):
            return str(value).rpartition(".")[2]
        raise self.error(
            f"Parameter {name} has an unsupported default value type {type(value)}. Use None, an "
            "int, float, bool, str, dtype or device, and make other values in the function."
        )

    def returns(self, tagged: str | None) -> str:
        annotation = self.signature.return_annotation
        if annotation is self.signature.empty:
            raise self.error("No return type annotation was provided. Please add one.")
        if tagged is not None:
            return tagged
        annotation = self.evaluate(annotation)
        if annotation is None:
            return "()"
        if typing.get_origin(annotation) is not tuple:
            return self.returned(annotation, annotation)
        elems = [self.returned(elem, annotation) for elem in typing.get_args(annotation)]
        return f"(({elems[0]}))" if len(elems) == 1 else f"({', '.join(elems)})"

    def returned(self, annotation: object, whole: object) -> str:
        declared = _schema_type(annotation)
        if declared not in _RETURNABLE or typing.get_origin(annotation) is collections.abc.Sequence:
            supported = "Tensor, List[Tensor], int, float, bool, Number, or a Tuple of them"
            raise self.unsupported("Return", whole, "", supported)
        return declared

    def unsupported(self, what: str, annotation: object, hint: str, supported: str) -> ValueError:
        return self.error(
            f"{what} has unsupported type {annotation}. {hint}The valid types are: "
            f"{supported}.{_nearest(annotation)}"
        )


def _schema_type(annotation: object) -> str | None:
    """Return the schema spelling of an annotation, or None if it has none."""
    members = _union_members(annotation)
    if members is not None:
        inner = members - {type(None)}
        if inner == _NUMBER:
            return "Scalar" if len(inner) == len(members) else "Scalar?"
        if len(inner) != 1 or len(inner) == len(members):
            return None
        declared = _schema_type(next(iter(inner)))
        if declared is None or (
            declared.endswith("[]") and declared[:-2] not in _OPTIONAL_LISTABLE
        ):
            return None
        return declared + "?"
    if typing.get_origin(annotation) in (list, collections.abc.Sequence):
        (elem,) = typing.get_args(annotation) or (None,)
        declared = _schema_type(elem)
        return f"{declared}[]" if declared in (*_LISTABLE, "Tensor?") else None
    return _class_type(annotation) if isinstance(annotation, type) else None


def _class_type(annotation: type) -> str | None:
    from dovetail_kernel import Device, TensorBase, dtype

    if typing.get_origin(annotation) is not None:
        return None
    if issubclass(annotation, TensorBase):
        return _TENSOR
    if annotation is dtype:
        return "ScalarType"
    if annotation is Device:
        return "Device"
    return {int: "SymInt", float: "float", bool: "bool", str: "str"}.get(annotation)


def _union_members(annotation: object) -> set[Any] | None:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return set(typing.get_args(annotation))
    return None


def _tuple_hint(annotation: object) -> str:
    if typing.get_origin(annotation) is not tuple:
        return ""
    elems = [elem for elem in typing.get_args(annotation) if elem is not ...]
    example = f"list[{_name(elems[0])}]" if elems and len(set(elems)) == 1 else "list[Tensor]"
    return (
        "We do not support Tuple inputs in schema. As a workaround, please try to use List "
        f"instead. For example, {example}. "
    )


def _name(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _nearest(annotation: object) -> str:
    from difflib import get_close_matches  # only errors need it

    known = ["Tensor", "int", "float", "bool", "str", "Number", "dtype", "device"]
    known += [f"list[{elem}]" for elem in known[:4]] + [f"Optional[{elem}]" for elem in known]
    base = {complex: "float", dict: "list[Tensor]", list: "list[Tensor]", bytes: "str"}
    match = base.get(annotation) if isinstance(annotation, type) else None
    close = (
        [match] if match else get_close_matches(_name(annotation).rpartition(".")[2], known, 1, 0.5)
    )
    return f" The nearest is {close[0]}." if close else ""


# -- tags ------------------------------------------------------------------------------------------


def _tag_names(tags: object) -> set[str]:
    sequence = list(tags) if isinstance(tags, tuple | list | set | frozenset) else [tags]
    return {getattr(tag, "name", "") for tag in sequence}


def _tagged_returns(
    signature: _Signature,
    parameters: list[_Parameter],
    mutated: tuple[str, ...] | None,
    tags: set[str],
) -> str | None:
    """Return the aliased returns that ``Tag.inplace`` and ``Tag.out`` prescribe, or None without
    those tags.
    """
    annotation = signature.evaluate(signature.signature.return_annotation)
    if "inplace" in tags:
        positional = [parameter for parameter in parameters if not parameter.kwarg_only]
        if mutated is None or not positional or mutated != (positional[0].name,):
            shown = "unknown" if mutated is None else mutated
            raise signature.error(
                "torch.Tag.inplace requires mutates_args to contain exactly the first positional "
                f"argument, got {shown}."
            )
        if positional[0].declared != _TENSOR:
            raise signature.error(
                "torch.Tag.inplace requires the first positional argument to be a Tensor."
            )
        if _schema_type(annotation) != _TENSOR:
            raise signature.error(
                "torch.Tag.inplace requires the return annotation to be torch.Tensor."
            )
        return _TENSOR + positional[0].alias
    if "out" not in tags:
        return None
    outs = [parameter for parameter in parameters if parameter.alias]
    if any([not parameter.kwarg_only for parameter in outs]):
        raise signature.error("torch.Tag.out requires mutable arguments to be keyword-only.")
    if not outs or any([parameter.declared != _TENSOR for parameter in outs]):
        raise signature.error(
            "torch.Tag.out requires at least one mutable keyword-only Tensor argument."
        )
    returned = (
        typing.get_args(annotation) if typing.get_origin(annotation) is tuple else (annotation,)
    )
    if len(returned) != len(outs) or any([_schema_type(one) != _TENSOR for one in returned]):
        raise signature.error(
            "torch.Tag.out requires the return annotation to match the mutable keyword-only Tensor "
            f"arguments {tuple([parameter.name for parameter in outs])}."
        )
    aliased = ", ".join([_TENSOR + parameter.alias for parameter in outs])
    return aliased if len(outs) == 1 else f"({aliased})"


def _join(parameters: list[_Parameter]) -> str:
    texts: list[str] = []
    for index, parameter in enumerate(parameters):
        if parameter.kwarg_only and (index == 0 or not parameters[index - 1].kwarg_only):
            texts.append("*")
        texts.append(parameter.text)
    return ", ".join(texts)

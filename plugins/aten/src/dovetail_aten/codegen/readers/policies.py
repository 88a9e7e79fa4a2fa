"""Reads the policies of an operator: its shape, and what the shape alone does not say."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from dovetail_dispatcher import FunctionSchema

from ..errors import DeclarationError
from .entries import Entry

SHAPES = {
    "elementwise": True,
    "reduce": True,
    "along_dim": True,
    "factory": True,
    "data_dependent": True,
    "same_as": False,
    "view": False,
    "unmarked_view": False,
    "matmul": False,
    "joining": False,
    "custom": False,
}
"""The shapes, and whether a batching rule follows from them."""
NAMED = ("view", "unmarked_view", "matmul", "joining", "custom")
"""Shapes that name the function which gives the geometry."""
RESULTS = ("same", "bool", "mask", "int64", "real", "int_to_float", "accumulated")
DEVICES = ("cpu", "cuda")
AUTOCAST = ("lower_precision_fp", "fp32", "fp32_set_opt_dtype", "promote")
NO_RULE = "none"
REFUSED_KINDS = (
    "bool",
    "int",
    "float",
    "complex",
    "any_bool",
    "bool_alpha",
    "wide_unsigned",
    "half",
)
HALF = ("number", "single")
OUTS = {
    "apart": "shared_out",
    "aligned": "partial_out",
    "shared": "",
    "exact": "other_out",
    "cast": "",
    "any": "any_out",
    "typed": "typed_out",
}
"""What an entry says of ``out=``, and what of `Operator.refuses` follows."""
KEYS = ("shape", "result", "batching", "autocast", "public")
_DATA_DEPENDENT_TAGS = ("data_dependent_output", "dynamic_output_shape")


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of one operator.

    Attributes
    ----------
    shape
        One of `SHAPES`; ``""`` for an operator made of others, or of a library without rules.
    function
        Function that the shape names, or ``""``.
    own_batching
        What the entry says of batching: a function, `NO_RULE`, or ``""``.
    result
        Dtypes of the results, where the shape leaves them open.
    autocast
        Device and policy.
    public, public_inplace
        Whether the function and that of the in-place variant are public.
    """

    shape: str = ""
    function: str = ""
    own_batching: str = ""
    result: tuple[str, ...] = ()
    autocast: tuple[tuple[str, str], ...] = ()
    public: bool = True
    public_inplace: bool = False

    @property
    def meta(self) -> str:
        """Function of the folder ``meta`` that gives the shape of the results, or makes the rule
        that does; ``""`` if there is none.
        """
        return self.function or ("" if self.shape == "data_dependent" else self.shape)

    @property
    def implied_batching(self) -> str:
        """The batching rule that follows from the shape, or ``""``."""
        return self.shape if SHAPES.get(self.shape) else self.function

    @property
    def batching(self) -> str:
        """Function of the folder ``batching`` that is the batching rule, or makes it; ``""`` if
        the operator decomposes.
        """
        if self.own_batching == NO_RULE:
            return ""
        return self.own_batching or self.implied_batching


def read_policies(entry: Entry, schema: FunctionSchema, composite: str | None) -> Policies:
    """Return the policies of an entry.

    Parameters
    ----------
    entry
        The entry.
    schema
        Its schema.
    composite
        The dispatch key of its composite kernel, or None.

    Raises
    ------
    DeclarationError
        For a policy that does not exist, or that contradicts the schema or another one.
    """
    shape, function = _shape(entry, schema, composite)
    public = _public(entry)
    own = Policies(
        shape=shape,
        function=function,
        own_batching=entry.text("batching"),
        result=_result(entry, shape, function, schema),
        autocast=_autocast(entry),
        public=public != "false",
        public_inplace=public == "inplace"
        or (public == "" and "method" not in entry.names("variants")),
    )
    if own.own_batching:
        _check_batching(entry, own, composite)
    return own


def missing_policy(policies: Policies) -> tuple[str, str] | None:
    """Return what a library with rules needs to know besides, and the remedy; None if nothing."""
    shape = policies.shape
    if not shape:
        return "has neither a shape nor a composite", f"Add shape: {', '.join(SHAPES)}."
    if shape in NAMED and not policies.function:
        return f"has the shape {shape}, which does not say enough", f"Write {shape}.<function>."
    if not policies.batching and policies.own_batching != NO_RULE:
        return (
            f"has no batching rule: none follows from the shape {shape}",
            "Add batching: <function>.",
        )
    return None


def kind_of(shape: str, tags: Sequence[str]) -> str:
    """Return what the operator table keeps of shape and tags: all that a route asks for."""
    if "nondeterministic_seeded" in tags:
        return "random"
    if shape == "elementwise":
        return "pointwise"
    return shape if shape in ("view", "unmarked_view", "factory") else "other"


def _shape(entry: Entry, schema: FunctionSchema, composite: str | None) -> tuple[str, str]:
    """Return the shape, and the function that it names."""
    text = entry.text("shape")
    if not text:
        return "", ""
    where = entry.lines["shape"]
    shape, dot, function = text.partition(".")
    if shape not in SHAPES or (dot and not function.isidentifier()):
        raise DeclarationError(
            where,
            f"illegal shape '{text}'.",
            f"It is one of: {', '.join(SHAPES)}; with .<function> it names the rule.",
        )
    if composite == "CompositeImplicitAutograd":
        raise DeclarationError(
            where,
            "an operator made of others has their shapes.",
            "Remove 'shape', or make the composite explicit.",
        )
    if problem := _contradiction(shape, schema, entry):
        raise DeclarationError(where, f"the shape is {shape}, but {problem[0]}.", problem[1])
    return shape, function


def _contradiction(shape: str, schema: FunctionSchema, entry: Entry) -> tuple[str, str] | None:
    names = [argument.name for argument in schema.arguments]
    if schema._is_view_op() and shape != "view":
        return "a result shares the memory of an argument", "Write view.<function>."
    if shape == "view" and not schema._is_view_op():
        return "no result shares memory", "Mark it in the schema: Tensor(a) self ... -> Tensor(a)."
    if shape == "unmarked_view" and names[:1] != ["self"]:
        return "the first argument is not 'self'", "Name what the results show so."
    if shape == "along_dim" and "dim" not in names:
        return "there is no argument 'dim'", "Name it so, or write custom.<function>."
    if shape == "factory" and not {"dtype", "device"} <= set(names):
        return "there is no argument 'dtype' or 'device'", "Add them, or write same_as."
    if shape == "data_dependent" and not set(_DATA_DEPENDENT_TAGS) & set(entry.names("tags")):
        return "no tag says so", f"Add one of the tags {', '.join(_DATA_DEPENDENT_TAGS)}."
    return None


def _check_batching(entry: Entry, own: Policies, composite: str | None) -> None:
    given, where = own.own_batching, entry.lines["batching"]
    if composite == "CompositeImplicitAutograd":
        raise DeclarationError(
            where, "an operator made of others is batched as they are.", "Remove 'batching'."
        )
    if given == NO_RULE and composite is None:
        raise DeclarationError(
            where, "only a composite works without a batching rule.", "Name a function."
        )
    if not given.isidentifier():
        raise DeclarationError(
            where, f"illegal batching '{given}'.", f"Name a function, or write {NO_RULE}."
        )
    if given == own.implied_batching:
        raise DeclarationError(
            where,
            f"the shape says already that the batching rule is {given}.",
            "Remove 'batching'.",
        )


def _known(entry: Entry, key: str, kind: str, known: Collection[str], they: str) -> tuple[str, ...]:
    """Return the names that an entry has at a key. Raises DeclarationError for one that is not
    known.
    """
    given = entry.names(key)
    if unknown := [name for name in given if name not in known]:
        raise DeclarationError(
            entry.lines[key],
            f"illegal {kind} '{', '.join(unknown)}'.",
            f"{they} are: {', '.join(known)}.",
        )
    return given


def _result(entry: Entry, shape: str, function: str, schema: FunctionSchema) -> tuple[str, ...]:
    given = _known(entry, "result", "result", RESULTS, "Dtypes of results")
    if not given:
        return ()
    where = entry.lines["result"]
    if shape not in ("reduce", "along_dim", "same_as") or function:
        raise DeclarationError(
            where,
            "the dtype of the result is said twice: by 'result' and by the function of the shape."
            if function
            else f"the shape {shape} says the dtype of the result.",
            "Remove 'result'.",
        )
    if len(given) != len(schema.returns):
        raise DeclarationError(
            where, f"{len(given)} dtypes for {len(schema.returns)} results.", "Give one per result."
        )
    return given


def _autocast(entry: Entry) -> tuple[tuple[str, str], ...]:
    given = entry.values.get("autocast", {})
    by_device = dict.fromkeys(DEVICES, given) if isinstance(given, str) else given
    if not isinstance(by_device, dict):
        raise DeclarationError(
            entry.lines["autocast"],
            f"illegal autocast '{given}'.",
            "Write a policy, or {cpu: policy, cuda: policy}.",
        )
    for device, policy in by_device.items():
        if device not in DEVICES or policy not in AUTOCAST:
            raise DeclarationError(
                entry.lines["autocast"],
                f"illegal autocast '{device}: {policy}'.",
                f"Policies are: {', '.join(AUTOCAST)}; devices: {', '.join(DEVICES)}.",
            )
    return tuple(by_device.items())


def _public(entry: Entry) -> str:
    given = entry.text("public")
    if given not in ("", "false", "inplace"):
        raise DeclarationError(
            entry.lines["public"],
            f"illegal public '{given}'.",
            "Write false for no public function, or inplace if the in-place variant is one too.",
        )
    if given == "inplace" and not any(
        [name.partition(".")[0].endswith("_") for name in entry.names("autogen")]
    ):
        raise DeclarationError(
            entry.lines["public"],
            "there is no in-place variant.",
            "Add it to 'autogen', or remove 'public'.",
        )
    return given


def refused_kinds(entry: Entry, composite: str | None) -> tuple[str, ...]:
    """Return the kinds of dtypes that no kernel of the operator computes in.

    Parameters
    ----------
    entry
        The entry.
    composite
        The dispatch key of its composite kernel, or None.

    Raises
    ------
    DeclarationError
        For a kind that does not exist, or for a composite, whose dtypes nothing looks at.
    """
    given = _known(entry, "refuses", "dtypes", REFUSED_KINDS, "They")
    if given:
        instead = "raise in the composite's function where they take too many"
        _refuse_of_composite(entry, "refuses", composite, "refuses no dtypes", instead)
    return given


def refused_outs(
    entry: Entry, schema: FunctionSchema, shape: str, promotion: str, promote: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the tensors that the operator refuses as ``out=``: words of `OUTS`.

    By default, an elementwise operator writes no part of an operand. An operator that promotes no
    operands writes the dtype of its result, unless it has an argument `dtype`.

    Parameters
    ----------
    entry, schema
        The entry and its schema.
    shape
        The policy of the shape; ``""`` for a composite.
    promotion, promote
        The rule for the dtype of the result, and the promoted arguments.

    Raises
    ------
    DeclarationError
        For a word that does not exist.
    """
    given = _known(entry, "out", "out", OUTS, "Its words")
    words = [OUTS[word] for word in given if OUTS[word]]
    if shape == "elementwise" and promotion != "none" and not {"apart", "shared"} & {*given}:
        words.append("partial_out")
    casts = promotion not in ("none", "same") or len(promote) > 1
    has_dtype = any(argument.name == "dtype" for argument in schema.arguments)
    if shape not in ("", "factory") and not (casts or has_dtype or "cast" in given):
        words.append("other_out")
    return tuple(dict.fromkeys(words))


def half_precision(entry: Entry, composite: str | None) -> str:
    """Return what the operator does not round to half precision on the way, or ``""``.

    Parameters
    ----------
    entry
        The entry.
    composite
        The dispatch key of its composite kernel, or None.

    Raises
    ------
    DeclarationError
        For a word that does not exist, or for a composite, which computes nothing itself.
    """
    given = entry.text("half", "")
    if given and given not in HALF:
        raise DeclarationError(
            entry.lines["half"], f"illegal half '{given}'.", f"It is one of: {', '.join(HALF)}."
        )
    if given:
        _refuse_of_composite(entry, "half", composite, "rounds nothing", "say it of those")
    return given


def _refuse_of_composite(
    entry: Entry, key: str, composite: str | None, truth: str, instead: str
) -> None:
    """Raise an error for a key that describes a kernel of an operator without its own kernel."""
    if composite is not None and composite != "Undefined":
        raise DeclarationError(
            entry.lines[key],
            f"a composite {truth}: the operators that it is made of do.",
            f"Remove '{key}', and {instead}.",
        )

"""The closure of a selective build: which operators those of a list need, and why.

What is selected is a *group*: the overloads of a name with the in-place and out variants derived
from them, called by the name of the functional operator. A group needs those that its composites
and formulas call. What is needed only by a call that no one makes of necessity is left out, and
says so when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dovetail_kernel.errors import did_you_mean

from .errors import DeclarationError
from .readers.native_functions import NativeFunction
from .selection import Selection


@dataclass(frozen=True)
class Need:
    """Why a group is in a build.

    Attributes
    ----------
    group
        What is needed.
    by
        The group that needs it; empty for what is listed, or needed by the package itself.
    through
        What of it: ``listed``, or a place in the sources.
    """

    group: str
    by: str
    through: str


Needs = Mapping[str, Sequence[Need]]
"""What each group needs at once; under the empty name what the package itself needs."""


def groups_of(functions: Sequence[NativeFunction]) -> dict[str, str]:
    """Return the group of every base name: that of what its first overload is derived from."""
    groups: dict[str, str] = {}
    names = {function.name: function.base_name for function in functions}
    for function in functions:
        parent = names.get(function.derived_from or "")
        group = function.base_name if parent is None else groups[parent]
        groups.setdefault(function.base_name, group)
    return groups


def closure(
    selection: Selection, functions: Sequence[NativeFunction], needs: Needs
) -> dict[str, Need]:
    """Return every group of the build, with the first reason found for it.

    Parameters
    ----------
    selection
        What is listed.
    functions
        All declared operators.
    needs
        What each of them needs.

    Raises
    ------
    DeclarationError
        With the line of the list: for names that no operator has, and with all of them for
        operators that are needed although the list says to leave them out.
    """
    groups = groups_of(functions)
    known = {f.name: groups[f.base_name] for f in functions} | groups
    for name in (*selection.ops, *selection.without):
        if name not in known:
            raise DeclarationError(
                selection.where(name),
                f"no operator {name} is declared.{did_you_mean(name, known)}",
                "Correct the list of operators.",
            )
    found: dict[str, Need] = {}
    waiting = [Need(known[name], "", "listed") for name in selection.ops] + list(needs.get("", ()))
    for need in waiting:
        if need.group not in found:
            found[need.group] = need
            waiting += needs.get(need.group, ())
    _check_without(selection, known, found)
    return found


def chain(found: Mapping[str, Need], group: str) -> list[Need]:
    """Return the needs that lead to `group`, from what is listed on."""
    links = [found[group]]
    while links[-1].by:
        links.append(found[links[-1].by])
    return links[::-1]


def explained(found: Mapping[str, Need], group: str) -> str:
    """Return why `group` is in a build, as one line."""
    first, *rest = chain(found, group)
    text = first.group if first.through == "listed" else f"{first.through} needs {first.group}"
    for need in rest:
        text += f", whose {need.through} needs {need.group}"
    return text


def _check_without(
    selection: Selection, known: Mapping[str, str], found: Mapping[str, Need]
) -> None:
    needed = [name for name in selection.without if known[name] in found]
    if needed:
        reasons = "\n".join([f"  {name}: {explained(found, known[name])}" for name in needed])
        raise DeclarationError(
            selection.where(needed[0]),
            f"{', '.join(needed)} cannot be left out:\n{reasons}\n",
            "Take them out of 'without', or leave out what needs them.",
        )

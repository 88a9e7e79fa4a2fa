"""The language of registration programs, which register operators and kernels, call them, and look
at the table.

A program is a list of steps, plain data: the name of a step and what its line is filled with. A
step is one line of Python, so that a program is printed as a script, which runs on either library.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from registration_sides import Observation, Side
from registration_values import BROKEN

ASSIGNED = re.compile(r"\w+ = ")

STALE_CALL = re.compile("'(mode|wrapper|include:.*)'")
"""Calls that PyTorch may lead to what it had in its tables before it computed them anew."""

Step = tuple[str, dict[str, Any]]
Program = list[Step]

LINES = {
    "library": "{var} = S.library({kind!r}, {key!r}{ns})",
    "define": "{var}.define({schema!r}{tags})",
    "impl": "{var}.impl({op!r}, {kernel}, {key!r}{options})",
    "fallback": "{var}.fallback({kernel}, {key!r}{options})",
    "destroy": "{var}._destroy()",
    "function define": "S.lib.library.define(f'{{S.ns}}::{op}', {schema!r}, lib={var})",
    "function impl": "S.lib.library.impl(f'{{S.ns}}::{op}', {types!r}, {kernel}, lib={var})",
    "register_kernel": (
        "S.lib.library.register_kernel(f'{{S.ns}}::{op}', {types!r}, {kernel}, lib={var})"
    ),
    "register_fake": (
        "S.lib.library.register_fake(f'{{S.ns}}::{op}', {kernel}, lib={var}{options})"
    ),
    "register_autograd": (
        "S.lib.library.register_autograd(f'{{S.ns}}::{op}', S.backward({name!r}), "
        "setup_context=S.setup_context({name!r}), lib={var})"
    ),
    "register_vmap": (
        "S.lib.library.register_vmap(f'{{S.ns}}::{op}', S.rule({name!r}, {op!r}), lib={var})"
    ),
    "register_torch_dispatch": (
        "S.lib.library.register_torch_dispatch("
        "f'{{S.ns}}::{op}', S.{cls}, S.dispatch_rule({name!r}), lib={var})"
    ),
    "register_autocast": (
        "S.lib.library.register_autocast(f'{{S.ns}}::{op}', 'cpu', S.lib.bfloat16, lib={var})"
    ),
    "custom_op": (
        "{var} = S.custom_op({op!r}, {kernel}, mutates_args={mutates!r}, "
        "device_types={types!r}, schema={schema!r})"
    ),
    "custom kernel": "S.live({var}).register_kernel({types!r}, {kernel})",
    "custom fake": "S.live({var}).register_fake({kernel})",
    "custom autograd": (
        "S.live({var}).register_autograd("
        "S.backward({name!r}), setup_context=S.setup_context({name!r}))"
    ),
    "custom vmap": "S.live({var}).register_vmap(S.rule({name!r}, {op!r}))",
    "custom destroy": "S.forget({var})",
    "call": "S.call({target!r}, {args!r}, {state!r}{options})",
    "call custom": "S.call(S.live({var}), {args!r}, {state!r}{options})",
    "has": "S.C._dispatch_has_kernel(f'{{S.ns}}::{op}')",
    "has at": "S.C._dispatch_has_kernel_for_dispatch_key(f'{{S.ns}}::{op}', {key!r})",
    "has any": (
        "S.C._dispatch_has_kernel_for_any_dispatch_key(f'{{S.ns}}::{op}', "
        "S.C.DispatchKeySet(S.C._parse_dispatch_key({key!r})))"
    ),
    "has computed": (
        "S.C._dispatch_has_computed_kernel_for_dispatch_key(f'{{S.ns}}::{op}', {key!r})"
    ),
    "falls through": "S.falls_through({op!r}, {key!r})",
    "table": "S.table({op!r})",
    "dump": "S.dump({op!r})",
    "schema": "S.C._dispatch_find_schema_or_throw(f'{{S.ns}}::{op}', '').schema()",
    "overloads": "S.op.{op}.overloads()",
    "attributes": (
        "[str(S.op.{op}.default._schema), S.op.{op}.default.is_view, "
        "S.op.{op}.default._can_decompose(), S.op.{op}.default.name()]"
    ),
    "tags": "[str(tag).rpartition('.')[2] for tag in S.op.{op}.default.tags]",
}
"""The line of each step."""


def line(step: Step) -> str:
    """Return a step as Python."""
    return LINES[step[0]].format(**step[1])


def script(program: Program, side: str = "dovetail") -> str:
    """Return a program as a script that prints what is compared, with our ``tests/support``."""
    lines = ["from registration_sides import Side", "", f"S = Side({side!r})  # or 'torch'"]
    for step in program:
        text = line(step)
        if ASSIGNED.match(text):
            lines += [text]
        else:
            lines += [f"print(S.observe(lambda: {text}))"]
    return "\n".join([*lines, "S.close()"])


def run(lines: Sequence[str], side: str, *, settle: bool = True) -> list[Observation | None]:
    """Run lines on one library; return what is compared of each, None for what is not.

    With `settle`, PyTorch computes its tables anew where its own check fails; what it then runs
    in modes may be there no more.
    """
    S = Side(side)
    names: dict[str, Any] = {"S": S}
    found: list[Observation | None] = []
    settled = False
    try:
        for number, text in enumerate(lines):
            # Code of another name every time: a cell that is run again would replace what it
            # registered before.
            names["__name__"] = f"{S.ns}.step{number}"
            evaluate = exec if ASSIGNED.match(text) else eval
            outcome = S.observe(partial(evaluate, text, names))
            found.append(None if settled and STALE_CALL.search(text) else outcome)
            if settle and side == "torch" and not text.startswith("S.call"):
                settled = bool(S.settle()) or settled
    finally:
        S.close()
    return found


def differences(program: Program) -> list[tuple[str, Observation, Observation]]:
    """Return the lines on which the libraries differ, and what came of each: ours, PyTorch's.

    What PyTorch itself reports as a bug of PyTorch is not compared.
    """
    lines = [line(step) for step in program]
    both = zip(lines, run(lines, "dovetail"), run(lines, "torch"), strict=True)
    return [
        (text, mine or (), other)
        for text, mine, other in both
        if other not in (None, mine) and BROKEN not in other
    ]

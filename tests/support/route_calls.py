"""Makes the calls of `tests/budgets/calls` and counts what their routes do.

There is a file per family, with a call a line, and the states that it is made in; without one a
call is plain. Of the arguments `f` and `e` are float32, `d` double, `h` half, `i` and `j` int64 and
int32, `m` bool, `c` complex, `z`, `zd` and `zi` 0-dim, `inf` an inference tensor, `meta` on the
device meta, `mirror` on a third backend; `g(x)` is a leaf that requires grad, `n(x)` what was
computed of one, `view(x)` a view.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import route_libraries

import dovetail as dt
from dovetail.autograd.graph import saved_tensors_hooks
from dovetail.func import jvp, vmap
from dovetail.utils._python_dispatch import TorchDispatchMode
from dovetail_dispatcher.calls import plans
from dovetail_dispatcher.calls.plan import Around, RoutePlan, Step
from dovetail_dispatcher.calls.printer import build, printed


class _PassingMode(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


FOLDER: Final = Path(__file__).parents[1] / "budgets" / "calls"

LAST: Final = "hooks"
"""The mode after which all recording routes of a process ask for hooks; its calls come last."""

STATES: Final[dict[str, Callable[[], AbstractContextManager[Any]]]] = {
    "plain": nullcontext,
    "no_grad": dt.no_grad,
    "inference": dt.inference_mode,
    "trace": dt.tracing,
    "autocast": partial(dt.autocast, "cpu"),
    "dispatch_mode": _PassingMode,
    "hooks": partial(saved_tensors_hooks, lambda tensor: tensor, lambda tensor: tensor),
}
"""The states in which a call may run. Besides there are the transforms below; ``foreign``, under a
third party's kernel; and ``refused``: the call raises, and has a route all the same."""

TRANSFORMS: Final[dict[str, Callable[..., Any]]] = {
    "vmap": lambda call, first: vmap(call, randomness="different")(first),
    "jvp": lambda call, first: jvp(call, (first,), (first,)),
}
"""The function transforms under which a call may run, as one of its first argument."""


class Work(NamedTuple):
    """What a route does: the steps of its plan, those inside others included, and the calls in its
    text.
    """

    steps: int
    calls: int


_plans: Final[list[RoutePlan]] = []
"""The plans that routes were made of, in their order."""


def _build(plan: RoutePlan) -> Callable[..., Any]:
    _plans.append(plan)
    return build(plan)


def _work(plan: RoutePlan) -> Work:
    nodes = ast.walk(ast.parse(printed(plan).source))
    return Work(_steps(plan.steps), sum(isinstance(each, ast.Call) for each in nodes))


def _steps(steps: tuple[Step, ...]) -> int:
    return sum(1 + (_steps(each.steps) if isinstance(each, Around) else 0) for each in steps)


def collect() -> dict[str, dict[str, Work]]:
    """Return what all routes do, by title, by family."""
    _note_plans()
    calls = [(family, call, mode) for family in families() for call, mode in _calls(family)]
    found: dict[tuple[str, str, str], dict[str, Work]] = {}
    for each in sorted(calls, key=lambda each: each[2] == LAST):
        if each in found:
            raise ValueError(f"{each[1]} | {each[2]} stands twice in {each[0]}.")
        found[each] = dict(_routes_of(*each[1:]))
    collected: dict[str, dict[str, Work]] = {family: {} for family in families()}
    for each in calls:
        collected[each[0]] |= found[each]
    return collected


def plans_of(call: str, mode: str) -> list[RoutePlan]:
    """Return the plans that a call made for its operator, none of which was there before."""
    _note_plans()
    return _made(call, mode)


def _note_plans() -> None:
    if plans.build is not _build:
        plans.build = _build
        route_libraries.define()


def families() -> list[str]:
    """Return the names of the families of calls."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def _calls(family: str) -> Iterator[tuple[str, str]]:
    for line in (FOLDER / f"{family}.txt").read_text("utf-8").splitlines():
        call, _, modes = line.partition(" | ")
        for mode in modes.split() or ["plain"]:
            yield call.strip(), mode


def _routes_of(call: str, mode: str) -> Iterator[tuple[str, Work]]:
    """Make the call, and yield what the routes do that it made for its operator, with titles."""
    for number, plan in enumerate(_made(call, mode), 1):
        yield f"{call} | {mode}" + (f" #{number}" if number > 1 else ""), _work(plan)


def _made(call: str, mode: str) -> list[RoutePlan]:
    name, _, arguments = call.partition("(")
    namespace, _, rest = name.rpartition("::")
    op = getattr(dt.ops, namespace or "aten")
    for part in rest.split("."):
        op = getattr(op, part)
    if "." not in rest:
        op = op.default
    args, kwargs = eval(
        f"_call({arguments}", {**_values(), "_call": lambda *args, **kwargs: (args, kwargs)}
    )
    _plans.clear()
    try:
        _call(op, mode, args, kwargs)
    except Exception as error:
        error.add_note(f"in the call {call} | {mode} of tests/budgets/calls")
        raise
    made = [plan for plan in _plans if plan.op is op._operator]
    if not made:
        raise LookupError(f"{call} | {mode} made no route.")
    return made


def _call(op: Any, mode: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Make the call with no route there yet."""
    op._operator.forget_routes()
    with warnings.catch_warnings(), STATES.get(mode, nullcontext)():
        warnings.simplefilter("ignore")
        if mode in TRANSFORMS:
            TRANSFORMS[mode](lambda first: op(first, *args[1:], **kwargs), args[0])
        elif mode == "refused":
            with suppress(RuntimeError):
                op(*args, **kwargs)
        elif mode == "foreign":
            with route_libraries.foreign_kernel(str(op.name()).partition("::")[2]):
                op(*args, **kwargs)
        else:
            op(*args, **kwargs)


def _values() -> dict[str, Any]:
    """Return the names that calls are written with; the tensors are new, for some calls write to
    them.
    """
    f = dt.arange(6, dtype=dt.float32).reshape(2, 3) / 7 + 0.1
    index = dt.tensor([[0, 1, 0], [1, 0, 1]])
    with dt.inference_mode():
        inferred = f + 1
    return {
        "f": f.clone(),
        "e": f + 1,
        "sq": dt.ones(3, 3),
        "cube": dt.ones(2, 3, 3),
        "row": dt.ones(3),
        "d": f.double(),
        "h": f.half(),
        "i": index,
        "j": index.int(),
        "ix": dt.tensor([1, 0]),
        "m": index > 0,
        "mx": index > 0,
        "c": dt.ones(2, 3, dtype=dt.complex64),
        "z": dt.tensor(0.5),
        "zd": dt.tensor(0.5, dtype=dt.float64),
        "zi": dt.tensor(2),
        "inf": inferred,
        "meta": dt.ones(2, 3, device="meta"),
        "mirror": dt.ones(2, 3, device="mirror"),
        "empty": dt.empty(0),
        "g": lambda x: x.clone().requires_grad_(),
        "n": lambda x: x.clone().requires_grad_() * 1,
        "view": lambda x: x.view(x.shape),
        "float32": dt.float32,
        "float64": dt.float64,
        "int32": dt.int32,
        "int64": dt.int64,
        "cpu": dt.device("cpu"),
    }

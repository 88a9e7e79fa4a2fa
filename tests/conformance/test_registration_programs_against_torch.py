"""Random programs of registrations, calls and looks at the table do on Dovetail what they do on
PyTorch.

`DOVETAIL_REGISTRATIONS=10000` runs more of them, `DOVETAIL_FIRST_REGISTRATION=0` begins at another
seed. What fails is made smaller before it is shown, as a script. Where Dovetail differs on purpose
is listed here and in ``docs/differences.md``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from registration_language import differences, line, run, script
from registration_programs import random_program
from shrinking import smaller

pytestmark = pytest.mark.cpu_only(reason="the programs register kernels for the cpu")

PROGRAMS = int(os.environ.get("DOVETAIL_REGISTRATIONS", "100"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_REGISTRATION", "0"))
PAGE = Path(__file__).parents[2] / "docs" / "differences.md"


def test_random_registration_programs_do_on_dovetail_what_they_do_on_pytorch() -> None:
    print(f"DOVETAIL_FIRST_REGISTRATION={FIRST} DOVETAIL_REGISTRATIONS={PROGRAMS}")
    for seed in range(FIRST, FIRST + PROGRAMS):
        program = random_program(seed)
        if differences(program):
            least = smaller(program, lambda each: bool(differences(each)))
            text = "\n".join(
                f"{where}\n    Dovetail {ours}\n    PyTorch  {theirs}"
                for where, ours, theirs in differences(least)
            )
            pytest.fail(f"program {seed}:\n{script(least)}\n\n{text}")


def test_a_program_prints_itself_as_a_script() -> None:
    program = random_program(3)
    text = script(program, "torch")
    compile(text, "program", "exec")
    assert all(line(step) in text for step in program)


def test_the_smallest_program_that_fails_has_only_what_it_needs() -> None:
    program = next(p for p in map(random_program, range(50)) if len(p) > 6)
    needed = program[len(program) // 2]
    assert smaller(program, lambda each: needed in each) == [needed]


DEFINE = "l0 = S.library('DEF')"
PLAIN = "l0.define('f(Tensor x) -> Tensor')"
WRITES = "l0.define('f(Tensor(a!) x) -> Tensor(a!)')"
OUT = "l0.define('f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)')"
NEW = "S.kernel('k', 'new')"

DELIBERATE: dict[str, tuple[list[str], str, str]] = {
    "unheld library": (
        ["S.unheld('f(Tensor x) -> int')", "S.op.f.overloads()"],
        "['default']",
        "raises AttributeError",
    ),
    "code run again": (
        [
            *(DEFINE, PLAIN),
            *(f"k{i} = S.run_again(l0, {i})" for i in (1, 2)),
            "S.dump('f').count('CPU')",
        ],
        "1",
        "2",
    ),
    "order of registrations": (
        [
            *(DEFINE, PLAIN),
            "l0.impl('f', S.kernel('implicit', 'new'), 'CompositeImplicitAutograd')",
            "l0.impl('f', S.kernel('explicit', 'new'), 'CompositeExplicitAutograd')",
            "S.call('f', ['cpu'])",
        ],
        "explicit [T] ",
        "implicit [T] ",
    ),
    "removed kernels in modes": (
        [
            *(DEFINE, PLAIN),
            "l0.impl('f', S.kernel('first', 'new'), 'CompositeImplicitAutograd')",
            "l1 = S.library('FRAGMENT')",
            "l1.impl('f', S.kernel('second', 'new'), 'CompositeImplicitAutograd')",
            "l1._destroy()",
            "S.call('f', ['cpu'], 'mode')",
        ],
        "first [T] ",
        "second [T] ",
    ),
    "refused registrations leave nothing": (
        [
            "S.custom_op('f', S.kernel('k', 'int'), mutates_args=(), device_types='cpu', "
            "schema='(int n) -> int')",
            "S.C._dispatch_has_kernel(f'{S.ns}::f')",
        ],
        "False",
        "True",
    ),
    "several device types": (
        [
            "c = S.custom_op('f', S.kernel('all', 'new'), mutates_args=(), "
            "device_types=['cpu', 'cuda'], schema='(Tensor x) -> Tensor')",
            "c.register_kernel('cuda', S.kernel('cuda', 'new'))",
            "S.call(c, ['cpu'])",
        ],
        "all [T] ",
        "cuda [T] ",
    ),
    "built-in fallbacks": (
        [
            "l0 = S.library('IMPL', '', '_')",
            "l0.fallback(S.lib.library.fallthrough_kernel, 'AutocastCPU')",
        ],
        "",
        "raises RuntimeError",
    ),
    "undefined tensors": (
        [*(DEFINE, PLAIN, f"l0.impl('f', {NEW}, 'AutogradOther')", "S.call('f', ['none'])")],
        "raises NotImplementedError",
        "float32 cpu [1.0, 1.0]",
    ),
    "keys of allow_override": (
        [
            *(DEFINE, PLAIN, f"l0.impl('f', {NEW}, '')"),
            f"l0.impl('f', {NEW}, 'CompositeImplicitAutograd', allow_override=False)",
        ],
        "raises RuntimeError",
        "",
    ),
    "fake kernels of absent libraries": (
        [f"S.lib.library.register_fake(f'{{S.ns}}::absent', {NEW}) is not None"],
        "True",
        "raises RuntimeError",
    ),
    "allow_override of a fake": (
        [
            "c = S.custom_op('f', S.kernel('k', 'new'), mutates_args=(), "
            "schema='(Tensor x) -> Tensor')",
            f"c.register_fake({NEW})",
            f"S.lib.library.register_fake(f'{{S.ns}}::f', {NEW}, allow_override=False)",
        ],
        "raises RuntimeError",
        "",
    ),
    "autocast over a kernel": (
        [
            *(DEFINE, PLAIN, f"l0.impl('f', {NEW}, 'AutocastCPU')"),
            "S.lib.library.register_autocast(f'{S.ns}::f', 'cpu', S.lib.bfloat16, lib=l0)",
        ],
        "",
        "raises KeyError",
    ),
    "unknown derivatives": (
        [
            *(DEFINE, PLAIN, f"l0.impl('f', {NEW}, 'CPU')"),
            "S.op.f(S.argument('grad')).sum().backward()",
        ],
        "raises RuntimeError",
        "k [T] ",
    ),
    "out= and gradients": (
        [
            *(DEFINE, OUT, "l0.impl('f', S.kernel('k', 'first'), 'CPU')"),
            "S.call('f', ['grad', 'out=cpu'])",
        ],
        "raises RuntimeError",
        "float32 cpu [1.0, 2.0]; version 0",
    ),
    "batching rules are no kernels": (
        [
            *(DEFINE, PLAIN),
            "S.lib.library.register_vmap(f'{S.ns}::f', S.rule('k', 'f'), lib=l0)",
            "S.C._dispatch_has_kernel_for_dispatch_key(f'{S.ns}::f', 'FuncTorchBatched')",
        ],
        "False",
        "True",
    ),
    "batching rules of composites": (
        [
            *(DEFINE, PLAIN, f"l0.impl('f', {NEW}, 'CompositeImplicitAutograd')"),
            "S.lib.library.register_vmap(f'{S.ns}::f', S.rule('k', 'f'), lib=l0)",
        ],
        "raises RuntimeError",
        "",
    ),
    "composites in vmap": (
        [
            *(DEFINE, PLAIN),
            "l0.impl('f', S.kernel('k', 'double'), 'CompositeImplicitAutograd')",
            "[S.call('f', ['cpu'], 'vmap'), str(S.log.count('k [T] '))][1]",
        ],
        "1",
        "2",
    ),
    "what goes with the definition": (
        [
            *(DEFINE, PLAIN, "l1 = S.library('FRAGMENT')"),
            "S.lib.library.register_autograd(f'{S.ns}::f', S.backward('k'), lib=l1)",
            "l0._destroy()",
            "S.C._dispatch_has_kernel(f'{S.ns}::f')",
        ],
        "False",
        "True",
    ),
    "autocast of written arguments": (
        [
            *(DEFINE, WRITES, "l0.impl('f', S.kernel('k', 'add'), 'CPU')"),
            "S.lib.library.register_autocast(f'{S.ns}::f', 'cpu', S.lib.bfloat16, lib=l0)",
            "S.call('f', ['cpu'], 'autocast')",
        ],
        "float32 cpu [2.0, 3.0]; version 1",
        "bfloat16 cpu [2.0, 3.0]; version 0",
    ),
    "results that are arguments": (
        [*(DEFINE, WRITES, f"l0.impl('f', {NEW}, 'CPU')"), "S.call('f', ['cpu'])"],
        "raises RuntimeError",
        "float32 cpu [1.0, 1.0]; version 0",
    ),
    "writes below ADInplaceOrView": (
        ["x = S.argument('cpu')", "S.write_below_inplace_or_view(x)", "x._version"],
        "1",
        "0",
    ),
    "views of custom operators": (
        [
            "c = S.custom_op('f', S.kernel('k', 'view'), mutates_args=(), "
            "schema='(Tensor(a) x) -> Tensor(a)')",
            "S.C._dispatch_has_kernel_for_dispatch_key(f'{S.ns}::f', 'ADInplaceOrView')",
        ],
        "False",
        "True",
    ),
    "wrappers and included keys": (
        [
            *(DEFINE, PLAIN, f"l0.impl('f', {NEW}, 'CPU')", "l1 = S.library('IMPL', '', '_')"),
            "l1.fallback(S.fallback('all'), 'TESTING_ONLY_GenericMode')",
            "S.call('f', ['wrapper'], 'include:TESTING_ONLY_GenericMode')",
        ],
        "float32 cpu [2.0, 2.0]; version 0",
        "reports a bug in itself",
    ),
    "destroyed custom operators": (
        [
            "c = S.custom_op('f', S.kernel('k', 'new'), mutates_args=(), "
            "schema='(Tensor x) -> Tensor')",
            "S.forget(c)",
            "S.lib.library.register_autograd(f'{S.ns}::f', S.backward('k'))",
        ],
        "raises AttributeError",
        "",
    ),
}
"""By name, lines of which the last differs, and what comes of it in Dovetail and in PyTorch."""


@pytest.mark.parametrize("name", DELIBERATE)
def test_a_deliberate_difference_is_there_and_is_documented(name: str) -> None:
    lines, *expected = DELIBERATE[name]
    outcomes = [run(lines, side, settle=False) for side in ("dovetail", "torch")]
    for found, text in zip(outcomes, expected, strict=True):
        assert text in (found[-1] or ("",)), found
    assert outcomes[0][-1] != outcomes[1][-1]
    assert f"| {name} |" in PAGE.read_text(encoding="utf-8")


def test_every_documented_difference_is_tried() -> None:
    registrations = PAGE.read_text(encoding="utf-8").partition("## Operators")[0]
    rows = [row for row in registrations.splitlines() if row.startswith("| ")]
    names = {row.split("|")[1].strip() for row in rows} - {"name"}
    assert names == set(DELIBERATE)

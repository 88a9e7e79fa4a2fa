"""The twenty traps, run on Dovetail, and on PyTorch where it is installed, so that what is expected
stays true.

Where the two differ on purpose:

- trap 4: the computed table never depends on the order of registration, so both orders run
  CompositeExplicitAutograd;
- trap 8: an operator without a derivative, whose kernel cannot be differentiated through, raises in
  backward instead of leaving a gradient None behind a warning; one that can be differentiated
  through does not warn;
- trap 13: types are called dovetail.FloatTensor, as dtypes are called dovetail.float32.

An error message of Dovetail may go on where PyTorch's ends, with what to do.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

TRAPS = Path(__file__).with_name("traps.txt").read_text(encoding="utf-8")
PRELUDE = """
import {library} as torch, warnings
from {library} import Tensor
C = torch._C; A = torch.autograd; one = torch.ones; warnings.simplefilter('ignore')
def L(*defs):
    global l; l = torch.library.Library('t', 'DEF'); [l.define(d) for d in defs]; return torch.ops.t
def E(f, n=90):
    try: return f()
    except Exception as e: return f'{{type(e).__name__}}: {{e}}'[:n]
def tab(*ks):
    L('f(Tensor x) -> Tensor'); [l.impl('f', lambda x: x, k) for k in ks]
    lines = C._dispatch_dump_table('t::f').split('\\n')
    r = dict(q.split(': ', 1) for q in lines if q); l._destroy()
    keys = ('CPU', 'AutogradCPU', 'AutogradCUDA', 'AutogradOther')
    return {{k: r[k].rsplit('[', 1)[1][:-1] for k in keys if k in r}}
"""


def traps() -> list[tuple[int, str, str, str]]:
    """Return number, program, what PyTorch prints and what Dovetail prints of every trap."""
    found = []
    for part in re.split(r"(?m)^# (?=\d+\. )", TRAPS)[1:]:
        title, _, body = part.partition("\n")
        number = int(title.partition(".")[0])
        expected = {"#=>": "", "#dovetail=>": ""}
        program = []
        for line in body.strip().splitlines():
            marker = next((m for m in expected if line.startswith(m)), None)
            if marker:
                expected[marker] = "\n".join(
                    part.strip() for part in line.removeprefix(marker).split("¶")
                )
            else:
                program.append(line)
        found.append(
            (
                number,
                "\n".join(program),
                expected["#=>"],
                expected["#dovetail=>"] or expected["#=>"],
            )
        )
    return found


def run(library: str, program: str) -> str:
    """Run a program in a fresh interpreter, as it was observed, and return what it prints."""
    source = textwrap.dedent(PRELUDE.format(library=library)) + program
    result = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return "\n".join(line.rstrip() for line in result.stdout.strip().splitlines())


@pytest.mark.parametrize(
    ("number", "program", "expected"),
    [(n, p, d) for n, p, _, d in traps()],
    ids=lambda v: str(v) if isinstance(v, int) else "",
)
def test_dovetail_knows_the_trap(number: int, program: str, expected: str) -> None:
    printed, wanted = run("dovetail", program).splitlines(), expected.splitlines()
    assert len(printed) == len(wanted)
    for line, beginning in zip(printed, wanted, strict=True):
        assert line.startswith(beginning) if "Error: " in beginning else line == beginning


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs PyTorch: pip install torch==2.13.0"
)
@pytest.mark.parametrize(
    ("number", "program", "expected"),
    [(n, p, t) for n, p, t, _ in traps()],
    ids=lambda v: str(v) if isinstance(v, int) else "",
)
def test_torch_behaves_as_observed(number: int, program: str, expected: str) -> None:
    assert run("torch", program) == expected

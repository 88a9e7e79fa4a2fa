"""Programs whose output is well known, run on Dovetail, and on PyTorch where it is installed,
so that what is expected stays true. They lie in ``printed``, a file per subject.

Where the two differ on purpose:

- the computed table never depends on the order of registration, so both orders run
  CompositeExplicitAutograd;
- an operator without a derivative, whose kernel cannot be differentiated through, raises in
  backward instead of leaving a gradient None behind a warning; one that can be differentiated
  through does not warn;
- types are called dovetail.FloatTensor, as dtypes are called dovetail.float32.

An error message of Dovetail may go on where PyTorch's ends, with what to do.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

FILES = sorted(Path(__file__).with_name("printed").glob("*.txt"))
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


class Program(NamedTuple):
    """A program, and what either library prints."""

    text: str
    torch: str
    dovetail: str


def programs() -> dict[str, Program]:
    """Return the programs of all files, by subject and title."""
    found = {}
    for file in FILES:
        for part in file.read_text(encoding="utf-8").split("\n# ")[1:]:
            title, *lines = part.strip().splitlines()
            printed = {"#=>": "", "#dovetail=>": ""}
            program = []
            for line in lines:
                marker = next((each for each in printed if line.startswith(each)), None)
                if marker is not None:
                    outputs = line.removeprefix(marker).split("¶")
                    printed[marker] = "\n".join([output.strip() for output in outputs])
                elif not line.startswith("##"):
                    program.append(line)
            theirs = printed["#=>"]
            found[f"{file.stem}: {title}"] = Program(
                "\n".join(program), theirs, printed["#dovetail=>"] or theirs
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


PROGRAMS = programs()


@pytest.mark.parametrize("name", PROGRAMS)
def test_dovetail_prints_what_pytorchs_users_know(name: str) -> None:
    printed = run("dovetail", PROGRAMS[name].text).splitlines()
    wanted = PROGRAMS[name].dovetail.splitlines()
    assert len(printed) == len(wanted)
    for line, beginning in zip(printed, wanted, strict=True):
        assert line.startswith(beginning) if "Error: " in beginning else line == beginning


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs PyTorch: make test ORACLE=1"
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_torch_prints_what_was_observed(name: str) -> None:
    assert run("torch", PROGRAMS[name].text) == PROGRAMS[name].torch

"""A save that is killed at its nth system call, for every n, leaves the old file or the new one."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dovetail

KILLS = int(os.environ.get("DOVETAIL_KILLS", "6"))

CHILDREN = """
import os, sys
import dovetail

kind, path = sys.argv[1:]
new = dovetail.full((3000,), 2.0)
dovetail.save(new, path + ".warm", format=kind)  # imports what a save imports
print(flush=True)
for _ in sys.stdin:  # a child for each line
    ready, go = os.pipe()
    child = os.fork()
    if not child:
        os.read(ready, 1)
        dovetail.save(new, path, format=kind)
        os._exit(0)
    print(child, flush=True)
    sys.stdin.readline()
    os.write(go, b"x")
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os.close(ready)
    os.close(go)
"""


def _may_trace() -> bool:
    """Return whether there is strace, and whether it may attach to processes."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", os.devnull, "true"], check=False).returncode == 0


pytestmark = pytest.mark.skipif(not _may_trace(), reason="there is no strace that may attach")


def _killed_at(number: int, children: subprocess.Popen[str]) -> int:
    """Let a child save, killed at its call of the system of this number; return its status."""
    assert children.stdin
    assert children.stdout
    print(file=children.stdin, flush=True)
    child = children.stdout.readline().strip()
    command = ["strace", "-p", child, "-o", os.devnull]
    inject = ["-e", f"inject=all:signal=KILL:when={number}"]
    tracer = subprocess.Popen([*command, *inject], stderr=subprocess.PIPE, text=True)
    assert tracer.stderr
    assert "attached" in tracer.stderr.readline()
    print(file=children.stdin, flush=True)
    status = int(children.stdout.readline())
    tracer.stderr.close()
    tracer.wait(30)
    return status


@pytest.mark.parametrize("kind", ["safetensors", "torch"])
def test_a_save_killed_at_any_system_call_leaves_a_whole_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    with subprocess.Popen(
        [sys.executable, "-c", CHILDREN, kind, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as children:
        assert children.stdout
        children.stdout.readline()
        calls, found = range(2, 40), []  # the first is the wait for the word to begin
        chosen = sorted(random.Random(seed).sample(calls, min(KILLS, len(calls))))
        for number in [*chosen, 10_000]:
            dovetail.save(dovetail.full((3000,), 1.0), path, format=kind)
            status = _killed_at(number, children)
            saved = dovetail.load(path)
            found.append((status, saved.unique().tolist()))
            assert len([each for each in os.listdir(tmp_path) if each.startswith(".")]) <= 1
        assert children.communicate()[0] == ""
    assert found[-1] == (0, [2.0])
    assert all(values in ([1.0], [2.0]) for _, values in found)
    assert found[0][0] == -signal.SIGKILL
    dovetail.save(1, path)
    assert not [each for each in os.listdir(tmp_path) if each.startswith(".")]

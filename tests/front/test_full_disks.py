"""What a disk that is full leaves behind: for every number of bytes that it still takes, an error,
the old file as it was, and no other file.

The limit of the size of files (`setrlimit`) stands for the disk; a process of its own has it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

resource = pytest.importorskip("resource", reason="there are no limits of processes")

WRITERS = {
    "save": "dt.save({'x': dt.arange(200), 'names': ['a', 'b']}, path)",
    "save of PyTorch's format": "dt.save([dt.arange(200), 'a'], path, format='torch')",
    "save_file": "dovetail.serialization.save_file({'x': dt.arange(200)}, path)",
    "checkpoint of a model": "dt.save(net.state_dict(), path)",
    "trace": "trace.export_json(path)",
    "trace of Chrome": "trace.export_chrome_trace(path)",
    "profile": "profile.export_chrome_trace(path)",
    "compressed profile": "profile.export_chrome_trace(path + '.gz')",
    "stacks": "profile.key_averages(); profile.export_stacks(path)",
    "drawing": "drawing.save(path)",
    "stubs": "assert CliRunner().invoke(app, ['stubs', 'aten', '-o', path]).exit_code == 0",
}

PROGRAM = """
import json, os, resource, signal, sys
import dovetail as dt
import dovetail.serialization
from dovetail.command import app
from typer.testing import CliRunner

folder, steps, code = sys.argv[1], int(sys.argv[2]), compile(sys.argv[3], "writer", "exec")
path = os.path.join(folder, "file")
x = dt.rand(3, requires_grad=True)
net = dt.nn.Linear(4, 4)
drawing = dt.utils.draw_graph((x * 2).sum())
with dt.tracing() as trace:
    x * 2
with dt.profiler.profile(with_stack=True) as profile:
    (x * 2).sum()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def write():
    exec(code)


write()
[name] = os.listdir(folder)
old = open(os.path.join(folder, name), "rb").read()
size = len(old)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
found = []
for limit in sorted({0, 1, size - 1, *range(0, size, max(1, size // steps))}):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        write()
    except (OSError, AssertionError):  # the command ends with another status
        kind = "error"
    else:
        kind = "none"
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    kept = open(os.path.join(folder, name), "rb").read() == old
    found.append([limit, kind, kept, os.listdir(folder) == [name]])
write()
print(json.dumps([size, found]))
"""

STEPS = int(os.environ.get("DOVETAIL_FULL_DISKS", "12"))


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_is_an_error_and_leaves_the_old_file(writer: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), str(STEPS), WRITERS[writer]],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    size, found = json.loads(done.stdout)
    assert size > 0
    assert len(found) >= min(size, 5)
    assert [each for each in found if each[1:] != ["error", True, True]] == []

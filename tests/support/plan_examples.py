"""The plans of forty calls, as `docs/plans.md` has them. Run, it prints them.

The calls are written as those of `tests/budgets/calls`, each with the state that it is made in.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

EXAMPLES: Final = """\
add.Tensor(f, e) | plain
add.Tensor(f, e) | trace
add.Tensor(f, e) | vmap
add.Tensor(g(f), e) | plain
add.Tensor(g(f), e) | no_grad
add.Tensor(g(f), e) | hooks
add.Tensor(f, d) | plain
add.Tensor(f, 2) | plain
add.Tensor(g(f), 2j) | plain
add.Tensor(view(g(f)), view(n(e))) | plain
add.Tensor(meta, meta) | plain
add.Tensor(mirror, z) | plain
add.out(f, e, out=empty) | plain
add_.Tensor(f, e) | plain
add_.Tensor(n(f), e) | plain
add_.Tensor(view(n(f)), e) | plain
add_.Tensor(inf, f) | inference
mul.Tensor(g(f), g(e)) | plain
mul.Tensor(g(f), d) | plain
mul_.Tensor(n(f), e) | plain
exp(g(mirror)) | plain
relu(g(f)) | plain
view(f, (6,)) | plain
view(g(f), (6,)) | plain
view(view(n(f)), (6,)) | plain
transpose.int(g(f), 0, 1) | plain
sum(f) | plain
sum(g(f)) | plain
sum(f, dtype=float64) | plain
max.dim(g(f), 0) | plain
mm(g(f), g(sq)) | plain
addmm(row, g(f), sq, beta=2, alpha=3) | plain
softmax.int(f, 1) | plain
clone(f) | plain
copy_(n(f), g(e)) | plain
empty.memory_format((2, 3)) | plain
index.Tensor(g(f), [ix]) | plain
index_put_(n(f), [ix], g(e)) | plain
linear(f, g(sq), g(row)) | plain
golden::several(g(f)) | plain
"""


def examples() -> str:
    """Return the plans as Markdown, made in a fresh process: others' registrations must not show,
    nor compiled code and several threads, with which plans look at sizes.
    """
    environment = {key: value for key, value in os.environ.items() if key[:9] != "DOVETAIL_"}
    environment |= {"OMP_NUM_THREADS": "1", "DOVETAIL_NATIVE": "0"}
    words = [sys.executable, str(Path(__file__))]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"the plans could not be made:\n{done.stderr}")
    return done.stdout


def main() -> None:
    """Print the plans."""
    from route_calls import plans_of

    for line in EXAMPLES.splitlines():
        call, _, mode = line.partition(" | ")
        state = "" if mode == "plain" else f", {mode}"
        plans = "\n".join(map(repr, plans_of(call, mode)))
        print(f"`{call}`{state}:\n\n```text\n{plans}\n```\n")


if __name__ == "__main__":
    main()

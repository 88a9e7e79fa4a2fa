"""Installs the wheels into an environment of each Python that is here, and tries them.

    python tools/try_pythons.py            # every Python of VERSIONS on this machine
    python tools/try_pythons.py 3.12       # one

Others' packages come from the index that pip is configured with.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
PROGRAM = """
import sys, dovetail
x = dovetail.ones(3, requires_grad=True)
(x.sin() * x).sum().backward()
assert x.grad is not None
model = dovetail.nn.Sequential(dovetail.nn.Linear(2, 3), dovetail.nn.ReLU())
optimizer = dovetail.optim.Adam(model.parameters())
model(dovetail.ones(1, 2)).sum().backward()
optimizer.step()
print(sys.version.split()[0], "dovetail", dovetail.__version__)
"""


def interpreter(version: str) -> str | None:
    """Return a Python of a version: on the path, or beside others that pyenv has."""
    found = shutil.which(f"python{version}")
    places = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(places[-1]) if places else found


def main() -> None:
    """Try each, and end with status 1 if one fails."""
    with tempfile.TemporaryDirectory() as folder:
        dist = Path(folder) / "dist"
        subprocess.run([sys.executable, ROOT / "tools" / "dist.py", dist], check=True)
        for version in sys.argv[1:] or VERSIONS:
            python = interpreter(version)
            if python is None:
                print(f"{version}: not installed here")
                continue
            place = Path(folder) / version
            subprocess.run([python, "-m", "venv", place], check=True)
            own = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
            quiet = ["--quiet", "--disable-pip-version-check"]
            pip = [own, "-m", "pip", "install", *quiet, "--find-links", dist, "dovetail-testing"]
            subprocess.run(pip, check=True)
            subprocess.run([own, "-W", "error", "-c", PROGRAM], check=True, cwd=folder)
            words = ["conformance", "--backend", "cpu", "--only", "aten::[am]*m", "--markdown"]
            subprocess.run([own, "-m", "dovetail", *words], check=True, cwd=folder)


if __name__ == "__main__":
    main()

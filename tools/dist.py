"""Builds wheels and source distributions of every distribution into one folder.

    python tools/dist.py [FOLDER] [--requirements]

``pip install --find-links dist dovetail`` installs from the folder, ``dist`` by default, and gets
third-party packages from an index. With ``--requirements`` the folder has their wheels too, and
``--no-index`` works.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def distributions() -> list[Path]:
    """Return the folders of all distributions, the lowest layers first."""
    plugins = sorted(path.parent for path in (ROOT / "plugins").glob("*/pyproject.toml"))
    return [ROOT / "kernel", ROOT / "dispatcher", *plugins, ROOT]


def build(target: Path) -> None:
    """Build a wheel and a source distribution of each."""
    target.mkdir(parents=True, exist_ok=True)
    for old in [*target.glob("dovetail*.whl"), *target.glob("dovetail*.tar.gz")]:
        old.unlink()
    words = [sys.executable, "-m", "hatchling", "build", "-d", str(target.resolve())]
    running = [
        (folder, subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True))
        for folder in distributions()
    ]  # fmt: skip
    for folder, process in running:
        output, _ = process.communicate()
        if process.returncode != 0:
            sys.exit(f"{folder} does not build:\n{output}")


def requirements() -> list[str]:
    """Return what others' packages the distributions need, without what extras bring."""
    found: list[str] = []
    for folder in distributions():
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        found += [each for each in project["dependencies"] if not each.startswith("dovetail")]
    return sorted(set(found))


def main() -> None:
    """Build, and say how to install."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist")
    parser.add_argument("--requirements", action="store_true", help="third-party wheels as well")
    options = parser.parse_args()
    build(options.folder)
    if options.requirements:
        words = ["-m", "pip", "download", "--quiet", "--only-binary=:all:", "-d"]
        subprocess.run([sys.executable, *words, str(options.folder), *requirements()], check=True)
    no_index = "--no-index " if options.requirements else ""
    print(f"pip install {no_index}--find-links {options.folder} dovetail")


if __name__ == "__main__":
    main()

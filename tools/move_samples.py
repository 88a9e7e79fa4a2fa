"""Moves samples and checks of operators into dovetail-testing: ``python tools/move_samples.py``.

Run in the root of a clean checkout. Modules are moved by ``git mv``; their names follow in sources
and texts. A checkout that has been moved is left as it is, so work that began before can be
replayed: check it out, and run this.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

SAMPLES: Final = Path("plugins/aten/src/dovetail_aten/declarations")
CHECKS: Final = Path("src/dovetail/testing")
TARGET: Final = Path("plugins/testing/src/dovetail_testing")
FAMILIES: Final = {
    "borders": "padding",
    "nn": "softmax",
    "pieces": "split_and_scatter",
    "sampling": "interpolation",
    "stacks": "stack_and_tile",
}
"""New names of folders with samples: those of the families that the operators are declared in."""

CHECK_MODULES: Final = (
    "catalogue",
    "forward_checks",
    "gradient_checks",
    "samples",
    "variant_checks",
    "vmap_checks",
)
"""Modules of `dovetail.testing` that move to `dovetail_testing.checks`."""

_SKIPPED: Final = ("saved_files/", "tools/family_map.py", "tools/move_", "CHANGELOG.md")
_TEXTS: Final = (".py", ".md", ".toml", ".txt", "Makefile")


def main() -> int:
    """Move what has not been moved; return the exit status."""
    if TARGET.exists():
        print("The samples have been moved.")
        return 0
    for old in sorted(SAMPLES.rglob("*.py")):
        _git_mv(old, _new_place(old.relative_to(SAMPLES)))
    for name in CHECK_MODULES:
        _git_mv(CHECKS / f"{name}.py", TARGET / "checks" / f"{name}.py")
    for path in _tracked():
        text = path.read_text(encoding="utf-8")
        if (changed := _rewritten(path, text)) != text:
            path.write_text(changed, encoding="utf-8")
    subprocess.run(["git", "add", "-A"], check=True)
    return 0


def _new_place(inner: Path) -> Path:
    if inner == Path("samples.py"):
        return TARGET / "families/makers.py"
    folder, *rest = inner.parts
    return TARGET.joinpath("families", FAMILIES.get(folder, folder), *rest)


def _rewritten(path: Path, text: str) -> str:
    if path.is_relative_to(TARGET / "families"):
        text = text.replace("from ..samples import", "from ..makers import")
        for old, new in FAMILIES.items():
            text = re.sub(rf"^(from \.\.){old}\.", rf"\1{new}.", text, flags=re.MULTILINE)
            if old != "nn":  # divided by hand
                text = text.replace(f'family="{old}"', f'family="{new}"')
            if path.parent.name == "families":
                text = text.replace(f'"{old}",', f'"{new}",')
    elif path.is_relative_to(TARGET / "checks"):
        text = re.sub(r"from \.closeness\b", "from dovetail.testing", text)
        return re.sub(r"from \.comparison\b", "from dovetail.testing.comparison", text)
    text = re.sub(
        rf"\bdovetail\.testing\.({'|'.join(CHECK_MODULES)})\b",
        r"dovetail_testing.checks.\1",
        text,
    )
    text = text.replace(
        "from dovetail.testing import samples\n", "from dovetail_testing.checks import samples\n"
    )
    text = text.replace("dovetail_aten.declarations", "dovetail_testing.families")
    return re.sub(
        r"`declarations/(<family>|FAMILY|pointwise)/samples\.py`",
        r"`plugins/testing/src/dovetail_testing/families/\1/samples.py`",
        text,
    )


def _git_mv(old: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "mv", str(old), str(new)], check=True)


def _tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True)
    return [
        Path(line)
        for line in listed.stdout.splitlines()
        if line.endswith(_TEXTS) and not any(part in line for part in _SKIPPED)
    ]


if __name__ == "__main__":
    sys.exit(main())

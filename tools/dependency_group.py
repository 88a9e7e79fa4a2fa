"""Print the requirements of a group in [dependency-groups] of the root pyproject.toml, for pips
without ``--group``.
"""

import sys
import tomllib
from pathlib import Path


def requirements(groups: dict[str, list[str | dict[str, str]]], name: str) -> list[str]:
    """Return the requirements of the group `name`, those of included groups first come, first
    served.

    Raises
    ------
    KeyError
        If there is no such group.
    """
    found: list[str] = []
    for entry in groups[name]:
        found += [entry] if isinstance(entry, str) else requirements(groups, entry["include-group"])
    return found


if __name__ == "__main__":
    pyproject = Path(__file__).resolve().parent.parent / "pyproject.toml"
    groups = tomllib.loads(pyproject.read_text(encoding="utf-8"))["dependency-groups"]
    for name in sys.argv[1:]:
        print(*requirements(groups, name), sep="\n")

"""``python -m dovetail_aten.codegen``: writes the generated modules, or says which are stale."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from .errors import DeclarationError, DerivativeError, Location
from .generate import Library, stale_files, write_files

_ATEN = Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 1 if declarations are wrong or, with ``--check``, files are stale."""
    options = _parser().parse_args(arguments)
    try:
        only = _operators(options.ops)
        library = _library(options.folder.resolve())
        if options.check:
            stale = stale_files(library, only=only)
            for path in stale:
                print(f"stale: {path}: run 'python -m dovetail_aten.codegen'", file=sys.stderr)
            return 1 if stale else 0
        for path in write_files(library, only=only):
            print(f"wrote {path}")
    except (DeclarationError, DerivativeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dovetail_aten.codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 and name the stale files")
    parser.add_argument("--ops", type=Path, metavar="list.yaml", help="generate only the operators listed in this file")
    parser.add_argument(
        "--folder", type=Path, default=_ATEN, help="package folder of the library; default: the base library"
    )
    return parser


def _operators(path: Path | None) -> list[str] | None:
    if path is None:
        return None
    names = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(names, list) or not all([isinstance(name, str) for name in names]):
        raise DeclarationError(Location(path.name, 1), "not a list of operator names.", "Write '- add.Tensor' lines.")
    return [name.removeprefix("aten::") for name in names]


def _library(folder: Path) -> Library:
    formula_functions = folder / "formula_functions.py"
    composites = folder / "composites"
    return Library(
        package=folder.name,
        folder=folder,
        formula_functions=formula_functions if formula_functions.exists() else None,
        composites=composites if composites.is_dir() else None,
        tensor_methods=folder == _ATEN,
    )


if __name__ == "__main__":
    sys.exit(main())

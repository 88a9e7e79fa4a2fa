"""``python -m dovetail_aten.codegen``: writes the generated modules, or says which are stale."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import DeclarationError, DerivativeError
from .explanation import explanation
from .generate import read_build, stale_files, write_files
from .library import Library
from .selection import read_selection

_ATEN = Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 1 if declarations are wrong or, with ``--check``,
    files are stale.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.ops is None and (options.explain or not options.autograd):
        parser.error("--explain and --no-autograd go with --ops.")
    try:
        selection = None
        if options.ops is not None:
            selection = read_selection(options.ops, autograd=options.autograd)
        library = Library.of_folder(options.folder)
        if options.explain:
            print("\n".join(explanation(read_build(library, selection))))
            return 0
        if options.check:
            stale = stale_files(library, selection=selection)
            for path in stale:
                print(f"stale: {path}: run 'python -m dovetail_aten.codegen'", file=sys.stderr)
            return 1 if stale else 0
        written = write_files(library, selection=selection, only_docstrings=options.docstrings)
        for path in written:
            print(f"{'wrote' if path.exists() else 'removed'} {path}")
    except (DeclarationError, DerivativeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dovetail_aten.codegen", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 and name the stale files"
    )
    parser.add_argument(
        "--docstrings",
        action="store_true",
        help="write the docstrings alone, which a wheel is built with and version control ignores",
    )
    parser.add_argument(
        "--ops",
        type=Path,
        metavar="list.yaml",
        help="generate only the operators listed in this file, and what they need",
    )
    parser.add_argument(
        "--no-autograd",
        dest="autograd",
        action="store_false",
        help="with --ops: generate no derivatives",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="with --ops: write nothing; print what each entry of the list drags in",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=_ATEN,
        help="package folder of the library; default: the base library",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

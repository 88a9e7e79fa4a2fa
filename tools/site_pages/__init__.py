"""Writes the parts of the site that are made from the code: drawings, data, tables, reference.

``python tools/site_pages`` writes the drawings and numbers that the READMEs show; `docs/conf.py`
writes all.
"""

from __future__ import annotations

from pathlib import Path

from .api_reference import write_reference
from .benchmark_plots import write_benchmarks
from .copied_pages import copy_pages
from .counts import write_counts
from .dispatch_examples import write_dispatch_examples
from .drawings import write_drawings
from .name_tables import write_names

__all__ = ["write_all"]

ROOT = Path(__file__).resolve().parents[2]


def write_all(docs: Path) -> None:
    """Write everything into `docs`: drawings into `drawings`, the rest into `_made`."""
    made = docs / "_made"
    made.mkdir(exist_ok=True)
    write_drawings(docs / "drawings")
    write_dispatch_examples(made / "static")
    write_names(made / "names_here.md")
    write_reference(made / "api")
    write_benchmarks(ROOT / "benchmarks" / "results", made)
    write_counts(ROOT)
    copy_pages(ROOT, made)

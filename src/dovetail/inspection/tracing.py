"""``dovetail.tracing``: every operator call of a block of code, with the kernels it ran, as a
tree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.tree import Tree

from dovetail_dispatcher import Observer, Span, Trace

from .._files import write_text
from .runs.recording import HashObserver


class tracing(Trace):
    """Context manager that records every operator call of this thread and task, and which kernels
    it ran.

    Parameters
    ----------
    observer
        Looks at the values of every span. Default: nothing does.
    hashes
        Whether the trace notes a fingerprint of every tensor: a hash, and a few sums that show how
        far two tensors are apart. ``dovetail compare`` needs them in saved traces. Default: False.

    Raises
    ------
    TypeError
        If both are given.

    It sees all that goes through the dispatcher: calls inside composite operators, views and
    in-place writes, custom operators, and in backward the nodes of the graph with the calls of
    their formulas.

    Examples
    --------
    ::

        with dovetail.tracing() as t:
            loss = model(x).sum()
            loss.backward()
        t.print()
        t.launches  # on a CUDA device: the kernels
        t.calls("aten::mm")[0].decision.chain
        t.export_chrome_trace("step.json")

    Notes
    -----
    While a trace is on, backward runs the bodies of formulas that are written with operators, never
    the faster ones over arrays, and new routes are composed at the first call of each kind. The
    time of a span leaves out what the trace itself costs, composing included; compare times with
    each other rather than with an untraced run. On a device that works by itself, such as CUDA, it
    is the time of the launch.
    """

    def __init__(self, observer: Observer | None = None, *, hashes: bool = False) -> None:
        if hashes and observer is not None:
            raise TypeError("tracing(): pass an observer or hashes=True, not both.")
        self._hashes = HashObserver() if hashes else None
        super().__init__(observer if self._hashes is None else self._hashes)

    def as_dict(self) -> dict[str, Any]:
        """Return the whole trace as plain dicts, lists and strings; with fingerprints, if it has
        hashes.
        """
        data = super().as_dict()
        if self._hashes is not None:
            pending = list(zip(self.spans, data["spans"], strict=True))
            while pending:
                span, entry = pending.pop()
                entry["fingerprints"] = self._hashes.fingerprints[span]
                pending += zip(span.children, entry["children"], strict=True)
        return data

    def print(self, *, keys: bool = False) -> None:
        """Print the tree in colours, if the terminal has them.

        Parameters
        ----------
        keys
            With the keys of each argument, and what the state adds and takes. Default: False.
        """
        from rich.console import Console

        console = Console(highlight=False)
        console.print(self.as_tree(keys=keys))

    def as_tree(self, *, keys: bool = False) -> Tree:
        """Return a tree for `rich`.

        Parameters
        ----------
        keys
            As for `print`.
        """
        from rich.tree import Tree

        top = Tree(self.headline(), guide_style="dim")
        pending: list[tuple[Span, Tree]] = [(span, top) for span in reversed(self.spans)]
        while pending:
            span, parent = pending.pop()
            branch = parent.add(_label(span, keys=keys))
            pending += [(child, branch) for child in reversed(span.children)]
        return top

    def __rich__(self) -> Tree:
        return self.as_tree()

    def export_json(self, path: str | Path) -> None:
        """Write the whole trace to a file: per call its arguments' keys, masks, kernels, times and
        what it called.

        Parameters
        ----------
        path
            The file, which is replaced when the trace is complete.
        """
        write_text(path, self.as_json())

    def export_chrome_trace(self, path: str | Path) -> None:
        """Write a file for chrome://tracing, Perfetto or speedscope.

        Parameters
        ----------
        path
            The file, which is replaced when the trace is complete.
        """
        import json

        write_text(path, json.dumps(self.as_chrome_trace()))


def _label(span: Span, *, keys: bool) -> Any:
    from rich.text import Text

    label = Text(
        span.headline(), style="bold red" if span.error else "bold" if span.kind == "node" else ""
    )
    label.append(f"  {span.duration()}", style="cyan")
    for line in span.details(keys=keys):
        label.append(f"\n{line}", style="dim")
    return label

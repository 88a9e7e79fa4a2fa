"""Runs trials of wrong indices in children: one that dies is named, and run again alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Report", "hunt"]

MEMORY = 4 << 30
"""Bytes of addresses of a child: what asks for more is refused by the system at once."""
PATIENCE = 6
"""Seconds of a trial."""


class Hang(BaseException):
    """A trial that takes too long."""


@dataclass
class Report:
    """What a hunt found.

    Attributes
    ----------
    counts
        Number of trials by what they came to: a value, the type of an error, a death.
    finds
        Seed and text of each trial with something wrong.
    """

    counts: Counter[str] = field(default_factory=Counter)
    finds: list[tuple[int, str]] = field(default_factory=list)

    def __str__(self) -> str:
        return "; ".join([f"{kind} {count}" for kind, count in self.counts.most_common()])


def hunt(seeds: range, each: int = 200) -> Report:
    """Run the trials of some seeds in children of `each` trials."""
    report = Report()
    rest = list(seeds)
    while rest:
        answers = list(_child(rest[:each]))
        for seed, answer in answers:
            _note(report, seed, answer)
        rest = rest[len(answers) :]
    return report


def _note(report: Report, seed: int, answer: dict[str, Any]) -> None:
    if "died" in answer:
        alone = dict(_child([seed])).get(seed, {}) if not answer.get("alone") else answer
        kind = "dies alone too" if "died" in alone else "dies after others only"
        report.counts["death"] += 1
        report.finds.append((seed, f"{answer['died']}, {kind}: {answer['text']}"))
        return
    report.counts[answer["error"].partition(":")[0] or "value"] += 1
    for wrong in answer["wrong"]:
        report.finds.append((seed, f"{wrong}: {answer['text']} => {answer['error']}"))


def _child(seeds: list[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield what trials came to, until the child has run all or died."""
    support = Path(__file__).parent
    text, count = "", 0
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", "import index_children; index_children.main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(support), *sys.path])},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(seeds))
        process.stdin.close()
        for line in process.stdout:
            answer = json.loads(line)
            if "begins" in answer:
                text = answer["begins"]
                continue
            yield seeds[count], answer
            count += 1
        code = process.wait()
    if count < len(seeds):
        died = f"signal {-code}" if code < 0 else f"exit {code}"
        yield seeds[count], {"died": died, "text": text, "alone": len(seeds) == 1}


def main() -> None:
    """Run the trials whose seeds standard input names, and print what they came to."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _stop)
    import index_trials

    index_trials.subjects()
    for seed in json.loads(sys.stdin.read()):
        texts = [f"seed {seed}"]

        def announce(text: str, texts: list[str] = texts) -> None:
            texts.append(text)
            print(json.dumps({"begins": text}), flush=True)

        signal.alarm(PATIENCE)
        try:
            outcome = index_trials.run(seed, announce)
        except Hang:
            outcome = index_trials.Outcome(texts[-1], "Hang", ["takes too long"])
        signal.alarm(0)
        print(json.dumps(vars(outcome)), flush=True)


def _stop(_number: int, _frame: object) -> None:
    raise Hang


if __name__ == "__main__":
    begin, count, each = map(int, sys.argv[1:4])
    total = Report()
    for start in range(begin, begin + count, each):
        found = hunt(range(start, min(start + each, begin + count)), each)
        total.counts += found.counts
        print(f"to {start + each}: {total}", *found.finds, sep="\n", flush=True)

"""What routes do is pinned: the text of each is equal to that in `routes`, or shorter, and makes no
call more.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from golden_routes import FOLDER, Texts, parsed, pinned_routes, present_routes, problems, written
from route_calls import families
from route_texts import RouteText

pytestmark = pytest.mark.cpu_only(reason="the routes of cpu kernels are pinned")

TEXT = RouteText(
    "def f(x, other):\n    y = kernel(x.array, other)\n    if y is not None:\n        y = "
    "lift(y)\n    return y",
    {"kernel": "<add>", "lift": "<asarray>"},
)


@pytest.fixture(scope="module")
def present() -> dict[str, Texts]:
    return present_routes()


@pytest.mark.parametrize("family", families())
def test_no_route_does_more_than_is_pinned(family: str, present: dict[str, Texts]) -> None:
    found = problems(pinned_routes(family), present[family])
    assert not found, "\n".join(found)


def test_every_file_belongs_to_a_family() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*")) == families()


def test_a_call_more_is_reported_with_the_difference() -> None:
    longer = replace(TEXT, source=TEXT.source.replace("    return y", "    check(y)\n    return y"))
    found = "\n".join(problems({"f(x)": TEXT}, {"f(x)": longer}))
    assert "calls: 2 → 3" in found
    assert "\n+    check(y)\n" in found
    assert "golden_routes.py --write" in found


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("kernel(x.array, other)", "kernel(x.array, other.array)", "attributes: 1 → 2"),
        ("    return y", "    z = y\n    return z", "statements: 4 → 5"),
        ("x.array", "x.cast().array", "calls: 2 → 3"),
    ],
)
def test_every_count_may_not_grow(old: str, new: str, reason: str) -> None:
    assert reason in "\n".join(
        problems({"f": TEXT}, {"f": replace(TEXT, source=TEXT.source.replace(old, new))})
    )


def test_a_constant_of_another_value_is_reported() -> None:
    before, after = (
        {"f": RouteText("def f(x):\n    x._signature = S", {"S": bits})}
        for bits in ("GRAD", "NORMAL")
    )
    assert "the constant S is NORMAL, was GRAD" in "\n".join(problems(before, after))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("y", "result"),
        ("other", "number"),
        ("lift", "as_array"),
        ("        y = lift(y)", "        pass"),
        ("def f", "def g"),
    ],
)
def test_other_names_and_shorter_texts_pass(old: str, new: str) -> None:
    bound = {name.replace(old, new): value for name, value in TEXT.bound.items()}
    assert not problems({"f": TEXT}, {"f": RouteText(TEXT.source.replace(old, new), bound)})


def test_routes_that_are_gone_or_new_are_reported() -> None:
    found = "\n".join(problems({"f": TEXT}, {"g": TEXT}))
    assert "f: the call has no such route any more" in found
    assert "g: the route is not pinned yet" in found


def test_texts_are_read_back_as_they_were_written() -> None:
    texts = {"f": TEXT, "g": replace(TEXT, bound={"S": "float32|GRAD"}), "h": TEXT}
    assert parsed(written(texts)) == texts


def test_counts_in_a_file_cannot_be_edited_apart_from_the_text() -> None:
    with pytest.raises(ValueError, match="calls 7"):
        parsed(written({"f": TEXT}).replace("calls 2", "calls 7"))

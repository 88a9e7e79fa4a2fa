"""The kinds of steps are a closed list with typed fields, written down in one page."""

from __future__ import annotations

from step_kinds import PAGE, kinds, page

from dovetail_dispatcher.calls.plan import Expression, Step


def test_the_page_lists_every_kind_with_its_fields() -> None:
    assert PAGE.read_text("utf-8") == page(), "python tests/support/step_kinds.py --write"


def test_every_kind_prints_itself_and_says_what_it_is() -> None:
    for step in kinds(Step):
        assert step.print is not Step.print, step  # type: ignore[attr-defined]
        assert step.__doc__, step
    for expression in kinds(Expression):
        assert expression.text is not Expression.text, expression  # type: ignore[attr-defined]
        assert expression.__doc__, expression

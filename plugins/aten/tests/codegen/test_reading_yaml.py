"""What can't be a declaration file is refused with its line, whatever YAML or Python would make of
it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail_aten.codegen import DeclarationError, read_native_functions

START = b"- func: f(Tensor self) -> Tensor\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (b"  dispatch: {CPU: a, CPU: b}\n", 2, "key 'CPU' appears twice in one mapping"),
        (b"  tags: [{a: [{b: 1, b: 2}]}]\n", 2, "key 'b' appears twice in one mapping"),
        (b"  tags: \xff\n", 2, "can't be in YAML"),
        (b"  tags: \x07\n", 2, "can't be in YAML"),
        (b"\n  tags: [2001-99-99]\n", 3, "month must be in 1..12"),
        (b"  2001-99-99: core\n", 2, "month must be in 1..12"),
        (b"  tags: [!!int 'z']\n", 2, "invalid literal for int"),
        (b"  tags: [!!bool 'z']\n", 2, "'z'"),
        (b"  tags: [!!int '']\n", 2, "does not fit its tag"),
        (b"  !!float : core\n", 2, "does not fit its tag"),
        (b"  tags: [!!timestamp x]\n", 2, "does not fit its tag"),
        (b"  tags: [!!float '1e']\n", 2, "does not fit its tag"),
        (b"  tags: [" + b"9" * 5000 + b"]\n", 2, "Exceeds the limit"),
        (b"  tags: " + b"[" * 3000 + b"\n", 1, "nested too deeply"),
        (b"  tags: [&a [*a]]\n", 2, "unconstructable recursive node"),
        (b"  tags: [!!python/object:os.system x]\n", 2, "could not determine a constructor"),
    ],
    ids=range(16),
)
def test_a_file_that_is_no_yaml_is_refused_with_its_line(
    tmp_path: Path, text: bytes, line: int, words: str
) -> None:
    path = tmp_path / "native_functions.yaml"
    path.write_bytes(START + text)
    with pytest.raises(DeclarationError) as caught:
        read_native_functions(path)
    assert str(caught.value).startswith(f"native_functions.yaml:{line}: ")
    assert words in str(caught.value)

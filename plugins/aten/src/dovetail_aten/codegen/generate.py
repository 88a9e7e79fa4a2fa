"""Declarations in, texts of the generated modules out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from .derivative_records import Derivative
from .derivatives import read_derivatives
from .entries import FAMILIES
from .errors import DeclarationError, Location
from .native_functions import NativeFunction, read_native_functions
from .policies import missing_policy
from .source_functions import composite_functions, helper_functions, public_functions
from .writers.derivatives import Modules, write_derivatives
from .writers.functions import write_functions
from .writers.policies import write_policies
from .writers.python_modules import write_python_modules
from .writers.registrations import write_registrations
from .writers.stubs import write_function_stubs, write_method_stubs
from .writers.tensor_methods import write_tensor_methods
from .writers.text import HEADER

NATIVE_FUNCTIONS = "native_functions.yaml"
DERIVATIVES = "derivatives.yaml"
"""Files of a library, or of each of its families."""

BASE = "dovetail_aten"
"""The base library, whose operators every formula may call."""


@dataclass(frozen=True)
class Library:
    """An operator library: its declarations, and the names of its generated modules.

    Attributes
    ----------
    package
        Import name of the library, ``dovetail_aten``.
    folder
        Folder of that package, with ``native_functions.yaml`` and, if anything is differentiable,
        ``derivatives.yaml``; or with a folder ``declarations``, which has them by family.
    derivative_helpers
        Module file, or package folder, with the helper functions of formulas; None if there are
        none.
    composites
        Package folder with the composite kernels; None if there are none.
    tensor_methods
        Whether to write the class of tensor methods.
    """

    package: str
    folder: Path
    derivative_helpers: Path | None = None
    composites: Path | None = None
    tensor_methods: bool = False

    @classmethod
    def of_folder(cls, folder: Path) -> Library:
        """Return the library whose package is `folder`, with what is found there.

        Raises
        ------
        DeclarationError
            If there are no declarations, or both in one file and by family.
        """
        folder = folder.resolve()
        _declarations(folder)
        places = [folder / "derivative_helpers.py", folder / "derivative_helpers"]
        composites = folder / "composites"
        return cls(
            package=folder.name,
            folder=folder,
            derivative_helpers=next((place for place in places if place.exists()), None),
            composites=composites if composites.is_dir() else None,
            tensor_methods=folder.name == BASE,
        )

    @property
    def declarations(self) -> tuple[Path, ...]:
        """The folders with declarations: that of the package, or one per family."""
        return _declarations(self.folder)

    @property
    def has_rules(self) -> bool:
        """Whether there are folders with the rules that declarations name or imply."""
        return (self.folder / "meta").is_dir() and (self.folder / "batching").is_dir()

    @property
    def output(self) -> Path:
        """Folder of the generated modules."""
        return self.folder / "_generated"


def _declarations(folder: Path) -> tuple[Path, ...]:
    whole = folder / NATIVE_FUNCTIONS
    families = sorted([path.parent for path in (folder / FAMILIES).glob(f"*/{NATIVE_FUNCTIONS}")])
    if whole.exists() and families:
        raise DeclarationError(
            Location(str(whole), 1),
            f"{FAMILIES}/{families[0].name} declares operators too.",
            "Move its entries to the families.",
        )
    if not whole.exists() and not families:
        raise DeclarationError(
            Location(str(whole), 1),
            f"there is no such file, nor {FAMILIES}/<family>/{NATIVE_FUNCTIONS}.",
            "Give the folder of a package that has it.",
        )
    return tuple(families) or (folder,)


def operators_listed(path: Path) -> list[str]:
    """Return the names in a YAML list of operators, without the namespace of the base library.

    Raises
    ------
    DeclarationError
        If it is no list of names.
    """
    names = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(names, list) or not all([isinstance(name, str) for name in names]):
        raise DeclarationError(
            Location(path.name, 1), "not a list of operator names.", "Write '- add.Tensor' lines."
        )
    return [name.removeprefix("aten::") for name in names]


def generate(library: Library, *, only: Iterable[str] | None = None) -> dict[str, str]:
    """Return the generated files of `library`, text by name.

    Parameters
    ----------
    library
        The declarations.
    only
        Names of the operators to generate; default: all.

    Raises
    ------
    DeclarationError, DerivativeError
        With the line and the remedy.
    """
    functions = read_native_functions(
        [folder / NATIVE_FUNCTIONS for folder in library.declarations], only=only
    )
    _check_policies(library, functions)
    derivatives = _derivatives(library, functions, partial=only is not None)
    generated = f"{library.package}._generated"
    files = {
        "__init__.py": '"""Generated by `python -m dovetail_aten.codegen` '
        'from the declarations; do not edit."""\n',
        "registrations.py": write_registrations(functions, _composite_modules(library, functions)),
        **write_derivatives(
            derivatives,
            Modules(
                functions=f"{generated}.functions",
                helpers=helper_functions(library.derivative_helpers, library.package)[0],
                base=None if library.package == BASE else f"{BASE}._generated.functions",
            ),
        ),
        **write_functions(functions),
        **write_function_stubs(functions),
        **write_python_modules(functions),
    }
    if library.has_rules:
        files["policies.py"] = write_policies(
            functions,
            _rule_modules(library, functions, "meta"),
            _rule_modules(library, functions, "batching"),
        )
    if library.tensor_methods:
        files["tensor_methods.py"] = write_tensor_methods(
            functions, functions_module=f"{generated}.functions"
        )
        files["tensor_methods.pyi"] = write_method_stubs(functions)
    return files


def stale_files(library: Library, *, only: Iterable[str] | None = None) -> list[Path]:
    """Return the generated files that differ from what the declarations say, or should not be
    there.
    """
    files = generate(library, only=only)
    stale = [
        library.output / name
        for name, text in files.items()
        if _read(library.output / name) != text
    ]
    return sorted([*stale, *_surplus(library, files)])


def write_files(library: Library, *, only: Iterable[str] | None = None) -> list[Path]:
    """Write the generated files, remove those that are not generated any more; return what
    changed.
    """
    files = generate(library, only=only)
    changed = []
    for name, text in files.items():
        path = library.output / name
        if _read(path) != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    for path in _surplus(library, files):
        if path.read_text(encoding="utf-8").startswith(HEADER):
            path.unlink()
            changed.append(path)
    return changed


def _surplus(library: Library, files: Iterable[str]) -> list[Path]:
    """Return the modules in the generated package that are not among `files`."""
    wanted = {library.output / name for name in files}
    return [
        path
        for path in library.output.rglob("*.py*")
        if path.is_file() and path not in wanted and path.suffix in (".py", ".pyi")
    ]


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _derivatives(
    library: Library, functions: Sequence[NativeFunction], *, partial: bool
) -> list[Derivative]:
    paths = [path for folder in library.declarations if (path := folder / DERIVATIVES).exists()]
    if not paths:
        return []
    helpers, tensors_only = helper_functions(library.derivative_helpers, library.package)
    return read_derivatives(
        paths,
        functions,
        helpers=helpers,
        tensors_only=tensors_only,
        operators=() if library.package == BASE else _base_operators(),
        partial=partial,
    )


def _base_operators() -> set[str]:
    from dovetail_aten._generated.registrations import OPERATORS

    return {row[0].partition("::")[2].partition("(")[0].partition(".")[0] for row in OPERATORS}


def _composite_modules(library: Library, functions: Sequence[NativeFunction]) -> dict[str, str]:
    """Return the module of every composite function that the declarations name."""
    found = composite_functions(library.composites, library.package)
    for function in functions:
        if (
            function.composite is not None
            and function.composite[1] not in found
            and function.schema_kind != "out"
        ):
            raise DeclarationError(
                function.where,
                f"composite function '{function.composite[1]}' of {function.name} is not defined.",
                f"Define it in {library.composites or 'a folder of composites'}.",
            )
    return found


def _rule_modules(
    library: Library, functions: Sequence[NativeFunction], kind: Literal["meta", "batching"]
) -> dict[str, str]:
    """Return the module of every function that gives shapes, or batches.

    Raises
    ------
    DeclarationError
        If an entry names, or its shape implies, one that is not defined.
    """
    folder = library.folder / kind
    found = public_functions(folder, library.package)
    for function in functions:
        name: str = getattr(function.policies, kind)
        if name and name not in found:
            raise DeclarationError(
                function.where,
                f"{kind} function '{name}' of {function.name} is not defined.",
                f"Define it in {folder}, or name another.",
            )
    return found


def _check_policies(library: Library, functions: Sequence[NativeFunction]) -> None:
    """Check that every operator has what its library derives from declarations.

    Raises
    ------
    DeclarationError
        For an operator without a shape, or one with rules in a library that has none.
    """
    for function in functions:
        policies = function.policies
        if library.has_rules:
            composite = (
                function.composite is not None
                and function.composite[0] != "Undefined"
                and not policies.shape
            )
            missing = None if composite else missing_policy(policies)
            if missing is not None:
                problem, remedy = missing
                raise DeclarationError(function.where, f"{function.name} {problem}.", remedy)
        elif policies.autocast or policies.function or policies.own_batching:
            raise DeclarationError(
                function.where,
                f"{function.name} names rules, for which {library.package} has no folders 'meta' "
                "and 'batching'.",
                "Register them: register_fake, register_vmap, register_autocast.",
            )

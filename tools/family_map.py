"""Where the modules of the base library's operators go: old places and new ones, for
`move_families`.
"""

# ruff: noqa: E501 - texts of files as they stand

from __future__ import annotations

from typing import Final

KERNELS: Final = {
    "activations": "choosing gated_units hard_activations rectifiers sigmoids",
    "attention": "attention",
    "convolution": "convolution convolution_geometry patch_geometry patches shuffle_geometry "
    "shuffles",
    "creation": "complex_parts creation ranges",
    "ctc": "ctc",
    "fft": "fft",
    "indexing": "indexing indexing_along",
    "interpolation": "grid_sampling resampling_taps upsampling",
    "linalg": "factor_checks factorizations linear_systems matrices matrix_checks spectra",
    "losses": "likelihood losses",
    "matmul": "matmul",
    "normalization": "channel_normalization normalization normalized_input",
    "padding": "borders",
    "pointwise": "arithmetic choices comparison number_parts pointwise",
    "pooling": "average_pooling fractional_pooling max_pooling maxima pooled_places "
    "pooling_geometry runs",
    "random": "distributions drawing gamma_numbers random",
    "recurrent": "recurrent_cells recurrent_sequences",
    "reductions": "norms ordering reductions running_extrema scans",
    "scattering": "indexed_writes scatter_reductions",
    "searching": "distinct searching triangles",
    "shapes": "shapes",
    "softmax": "softmax",
    "special": "polynomials special",
    "split_and_scatter": "windows",
    "statistics": "histograms selection",
    "views": "memory_views reinterpretation views",
}
"""Modules of `array_kernels` by family: ``kernels.py`` of one, a folder ``kernels`` of several.
What several families use goes to `kernel_support`.
"""

SHAPES: Final = {
    "activations": "activations",
    "attention": "attention",
    "convolution": "convolution",
    "creation": "creation",
    "ctc": "ctc",
    "distances": "distances",
    "fft": "fft",
    "interpolation": "sampling",
    "linalg": "linear_algebra",
    "matmul": "matmul",
    "normalization": "normalization",
    "pointwise": "pointwise",
    "pooling": "pooling",
    "random": "random",
    "recurrent": "recurrent",
    "scattering": "scattering",
    "searching": "searching",
    "statistics": "statistics",
    "split_and_scatter": "windows",
    "views": "views",
}
"""Modules of `meta` by family. Those that several import stay where they are."""

BATCHING: Final = {
    "activations": "activations",
    "attention": "attention",
    "convolution": "convolution",
    "ctc": "ctc",
    "distances": "distances",
    "fft": "fft",
    "interpolation": "sampling",
    "linalg": "linear_algebra",
    "matmul": "matmul",
    "normalization": "normalization",
    "pooling": "images",
    "recurrent": "recurrent",
    "scattering": "scattering",
    "searching": "searching",
    "shapes": "joining",
    "split_and_scatter": "windows",
}
"""Modules of `batching` by family."""

COMPOSITES: Final = {
    "activations": "activations",
    "attention": "attention",
    "convolution": "convolution",
    "creation": "creation",
    "ctc": "ctc",
    "distances": "distances",
    "dropouts": "dropouts",
    "embeddings": "embeddings",
    "fft": "fft stft windows",
    "interpolation": "grid_sampling sampling",
    "linalg": "factorizations linear_systems matrix_norms matrix_products spectra vectors",
    "losses": "losses",
    "margin_losses": "margin_losses",
    "matmul": "einsum matmul",
    "normalization": "normalization",
    "padding": "borders",
    "pointwise": "aliases pointwise",
    "pooling": "pooling",
    "recurrent": "packed_sequences recurrent recurrent_cells recurrent_steps",
    "reductions": "reductions",
    "scattering": "scattering",
    "searching": "searching",
    "shapes": "joining",
    "special": "special",
    "split_and_scatter": "pieces",
    "stack_and_tile": "stacks",
    "statistics": "differences statistics",
    "views": "inplace_views memory views",
}
"""Modules of `composites` by family."""

FORMULAS: Final = {
    "activations": "activations",
    "attention": "attention",
    "convolution": "convolution",
    "creation": "complex_parts",
    "distances": "distances",
    "fft": "fft",
    "indexing": "indexing",
    "interpolation": "grid_sampling",
    "linalg": "factor_solutions factorizations linear_systems spectra",
    "losses": "losses",
    "margin_losses": "margin_losses",
    "matmul": "matmul",
    "normalization": "normalization",
    "pointwise": "pointwise",
    "pooling": "pooling",
    "recurrent": "recurrent",
    "scattering": "scattering",
    "special": "special",
    "split_and_scatter": "pieces",
    "statistics": "statistics",
    "views": "views",
}
"""Modules of `derivative_helpers` by family."""

ROOMS: Final = {
    "array_kernels": ("kernels", KERNELS),
    "meta": ("shapes", SHAPES),
    "batching": ("batching", BATCHING),
    "composites": ("composites", COMPOSITES),
    "derivative_helpers": ("formulas", FORMULAS),
}
"""Rooms, the module or folder that a family has of each, and the modules."""

SHARED: Final = {
    "array_kernels.indexing": {"array_kernels.index_errors": "no_place"},
    "array_kernels.losses": {"array_kernels.loss_reductions": "NONE MEAN SUM"},
    "array_kernels.matmul": {"array_kernels.product_checks": "check_expandable"},
    "array_kernels.norms": {"array_kernels.norm_checks": "SMALL check_renorm check_wider"},
    "composites.joining": {"composites.padded": "pad"},
    "composites.losses": {"composites.reduced_losses": "reduce"},
    "composites.views": {"composites.reshaping": "can_view reshape"},
    "meta.views": {"meta.view_shapes": "as_strided diagonal select slice_along"},
}
"""Functions of families that others import, and the modules of the rooms below that get them."""

SPLIT: Final = {
    "meta.nn": {
        "families.activations.shapes": "prelu_backward",
        "families.losses.shapes": "nll_loss_forward nll_loss_backward mse_loss "
        "binary_cross_entropy mse_loss_backward",
        "families.normalization.shapes": "native_layer_norm native_layer_norm_backward",
        "families.softmax.shapes": "softmax softmax_backward",
    },
    "batching.nn": {
        "families.losses.batching": "mse_loss pointwise_loss mse_loss_backward "
        "nll_loss_forward nll_loss_backward",
        "families.normalization.batching": "native_layer_norm native_layer_norm_backward",
        "families.softmax.batching": "softmax_backward",
    },
    "composites.nn": {
        "families.activations.composites": "log_sigmoid prelu",
        "families.embeddings.composites": "embedding",
        "families.matmul.composites.bilinear": "bilinear",
        "families.normalization.composites": "layer_norm",
        "families.softmax.composites": "softmax log_softmax",
        "families.views.composites.views": "select_backward slice_backward diagonal_backward",
    },
}
"""Modules that are divided, and the functions that go to each new place, with what they use of
their module.
"""

DECLARATIONS: Final = {
    "activations": "activations",
    "attention": "attention",
    "borders": "padding",
    "convolution": "convolution",
    "creation": "creation",
    "ctc": "ctc",
    "distances": "distances",
    "dropouts": "dropouts",
    "embeddings": "embeddings",
    "fft": "fft",
    "indexing": "indexing",
    "linalg": "linalg",
    "losses": "losses",
    "margin_losses": "margin_losses",
    "matmul": "matmul",
    "nn": "activations",
    "normalization": "normalization",
    "pieces": "split_and_scatter",
    "pointwise": "pointwise",
    "pooling": "pooling",
    "random": "random",
    "recurrent": "recurrent",
    "reductions": "reductions",
    "sampling": "interpolation",
    "scattering": "scattering",
    "searching": "searching",
    "shapes": "shapes",
    "special": "special",
    "stacks": "stack_and_tile",
    "statistics": "statistics",
    "views": "views",
}
"""Families of declarations, and where their operators go but for those in `OPERATORS`."""

OPERATORS: Final = {
    "_safe_softmax": "softmax",
    "softmax": "softmax",
    "_softmax": "softmax",
    "_softmax_backward_data": "softmax",
    "log_softmax": "softmax",
    "_log_softmax": "softmax",
    "_log_softmax_backward_data": "softmax",
    "bilinear": "matmul",
    "embedding": "embeddings",
    "embedding_dense_backward": "embeddings",
    "layer_norm": "normalization",
    "native_layer_norm": "normalization",
    "native_layer_norm_backward": "normalization",
}
"""Operators of `nn` and `activations` that go to another family, by name without overload."""

RENAMED: Final[dict[str, str]] = {}
"""Modules that move besides those of the rooms above."""

TITLES: Final = {
    ("array_kernels.index_errors", ""): "Errors of indices out of bounds.",
    ("array_kernels.loss_reductions", ""): "Reductions of losses by their numbers.",
    ("array_kernels.product_checks", ""): "Checks of what is added to products of matrices.",
    ("array_kernels.norm_checks", ""): "Checks of norms, and the least norm that divides.",
    ("composites.padded", ""): "Padding of every mode, of operators for each.",
    ("composites.reduced_losses", ""): "Losses of elements, reduced.",
    ("meta.view_shapes", ""): "Shapes of parts of arrays that share their memory.",
    ("composites.reshaping", ""): "Tensors in another shape: views where the strides allow.",
    ("families.softmax.shapes", ""): "Shapes of softmax.",
    ("families.softmax.batching", ""): "Batching rules of softmax.",
    ("families.softmax.composites", ""): "Softmax with a dtype, of the kernels without.",
    ("families.losses.shapes", ""): "Shapes of losses.",
    ("families.losses.batching", ""): "Batching rules of losses.",
    ("families.matmul.composites.bilinear", ""): "Bilinear forms, of products of matrices.",
    ("softmax", "native_functions.yaml"): "# Softmax. The notation is explained in ../README.md.",
    ("softmax", "derivatives.yaml"): "# Softmax: derivatives. The notation is explained in "
    "../README.md.",
    ("softmax", "docs.yaml"): "# What the functions of this family say of themselves. The format "
    "is explained in ../README.md.",
    ("activations", "native_functions.yaml"): "# Activations. The notation is explained in "
    "../README.md.",
}
"""First lines of files that are new."""

KEPT_TEXTS: Final = ("CHANGELOG.md",)
"""Files that say what was."""

_NOTATION: Final = "plugins/aten/src/dovetail_aten/declarations/README.md"
_MOVED_NOTATION: Final = "plugins/aten/src/dovetail_aten/families/README.md"

EDITS: Final[dict[str, list[tuple[str, str]]]] = {
    "docs/architecture.md": [
        (
            "`declarations` (YAML and samples, by family) < `codegen`, `array_kernels` <",
            "`codegen`, `kernel_support` <",
        ),
        (
            "`composites`, `derivative_helpers`, `batching` |",
            "`composites`, `derivative_helpers`, `batching` (what several families use) < `families` "
            "(all of an operator in one folder; its kernels stand on `kernel_support` alone); "
            "`declarations` (samples) |",
        ),
        (
            "`plugins/aten/src/dovetail_aten/declarations/<family>/`: `native_functions.yaml`, "
            "`derivatives.yaml` and `samples.py`;",
            "`plugins/aten/src/dovetail_aten/families/<family>/`: `native_functions.yaml`, "
            "`derivatives.yaml`, `docs.yaml`, and the code: `kernels`, `shapes.py` (the meta device), "
            "`batching.py`, `composites`, `formulas.py`;",
        ),
        (f"(../{_NOTATION})", f"(../{_MOVED_NOTATION})"),
        (
            "`array_kernels/` has a class per family",
            "`families/<family>/kernels` has classes",
        ),
        (
            "its `OpInfo` in `samples.py`, all in `declarations/pointwise/` |",
            "both in `families/pointwise/`, its `OpInfo` in `declarations/pointwise/samples.py` |",
        ),
        ("a method of the family in `array_kernels/` |", "a method in the family's `kernels` |"),
        (
            "entry, a function in `composites/`, `OpInfo`",
            "entry, a function in the family's `composites`, `OpInfo`",
        ),
        (
            "with its function in `meta/`, a batching rule in `batching/`, `OpInfo` |",
            "with its function in `shapes.py`, a rule in `batching.py`, all in the family's folder, `OpInfo` |",
        ),
        ("\nin `derivative_helpers/`. A `result:`", "\nin the family's `formulas.py`. A `result:`"),
        (
            "its helper kernels in `array_kernels/`.",
            "its helper kernels in the family's `kernels`.",
        ),
    ],
    "CONTRIBUTING.md": [
        (
            "its entry, its formula and its `OpInfo` in "
            "`plugins/aten/src/dovetail_aten/declarations/<family>/`",
            "its entry, its formula and its kernel or composite in "
            "`plugins/aten/src/dovetail_aten/families/<family>/`",
        ),
        (
            f"]({_NOTATION})), a kernel in `array_kernels/` or a function in `composites/`;",
            f"]({_MOVED_NOTATION})), its `OpInfo` in `declarations/<family>/samples.py`;",
        ),
        (
            "what it calls is in `derivative_helpers/` |",
            "what it calls is in `formulas.py` there |",
        ),
    ],
    "plugins/aten/README.md": [
        ("`declarations/` declares the\noperators", "`families/` declares the\noperators"),
    ],
    _MOVED_NOTATION: [
        ("or such a `declarations/` folder.", "or such a `families/` folder."),
        ("a function of `batching/`, where", "a function of `batching.py`, where"),
        (
            "(a function of `meta/`), the batching rule (of `batching/`)",
            "(a function of `shapes.py`, or of `meta/` where families share it), the batching rule (of `batching.py`, or of `batching/`)",
        ),
        ("names the function in `meta/` where", "names the function in `shapes.py` where"),
        (
            "what `f` in `meta/` gives | `f` in `batching/` |",
            "what `f` in `shapes.py` gives | `f` in `batching.py` |",
        ),
        (
            "`declarations/samples.py` has",
            "They lie in `../declarations/<family>/`; `../declarations/samples.py` has",
        ),
    ],
    "plugins/aten/src/dovetail_aten/backend/registration.py": [
        (
            '``{"reductions.Scans": "package.module.FastScans"}``. Each is imported when one of its kernels is\n        first used.',
            '``{"reductions.Scans": "package.module.FastScans"}``. Each is imported when one of its\n        kernels is first used.',
        ),
    ],
    "tests/architecture/test_source_style.py": [
        (
            'folder = ROOT / "plugins" / "aten" / "src" / "dovetail_aten" / "array_kernels"',
            'folder = ROOT / "plugins" / "aten" / "src" / "dovetail_aten"',
        ),
        (
            'for file in sorted(folder.glob("*.py"))',
            'for pattern in ("kernel_support/*.py", "families/*/kernels.py", "families/*/kernels/*.py")\n'
            "        for file in sorted(folder.glob(pattern))",
        ),
    ],
    "plugins/aten/src/dovetail_aten/backend/__init__.py": [
        ("May import `array_kernels`.", "May import `kernel_support`."),
    ],
    "plugins/aten/src/dovetail_aten/kernel_support/__init__.py": [
        (
            '''"""Array kernels of the base library, written once against an array namespace; every backend
registers them for itself.

They are methods of one class for each family, which holds the namespace: see `Family`. They never''',
            '''"""What the array kernels of the families stand on, and their tables. Array kernels are written
once against an array namespace; every backend registers them for itself.

They are methods of classes that hold the namespace: see `Family`. They never''',
        ),
    ],
    "plugins/aten/src/dovetail_aten/composites/__init__.py": [
        (
            "by themselves.\n",
            "by themselves. Those of one family lie in its folder; here is what several call.\n",
        ),
    ],
    "plugins/aten/src/dovetail_aten/meta/__init__.py": [
        (
            "of its results.\n",
            "of its results. Rules of one family lie in its folder; here are those that several share.\n",
        ),
    ],
    "plugins/aten/src/dovetail_aten/batching/__init__.py": [
        (
            "the first `vmap`.\n",
            "the first `vmap`. Rules of one family lie in its folder; here are those that several share.\n",
        ),
    ],
    "plugins/aten/src/dovetail_aten/derivative_helpers/__init__.py": [
        (
            "Generated code imports each from its module.\n",
            "Generated code imports each from its module.\nThose of one family lie in its folder.\n",
        ),
    ],
    "plugins/aten/tests/array_kernels/test_families.py": [
        (
            'for path in Path(array_kernels.__file__).parent.glob("*.py"):\n',
            "package = Path(array_kernels.__file__).parents[1]\n"
            '    paths = [*package.glob("kernel_support/*.py"), *package.glob("families/*/kernels.py")]\n'
            '    for path in [*paths, *package.glob("families/*/kernels/*.py")]:\n',
        ),
    ],
    "tests/packaging/test_packaging.py": [
        ('package.glob("*/declarations/*/*.yaml")', 'package.glob("*/families/*/*.yaml")'),
    ],
    "plugins/aten/tests/array_kernels/test_namespaces.py": [
        ('.joinpath("declarations")', '.joinpath("families")'),
    ],
    "plugins/aten/src/dovetail_aten/codegen/entries.py": [
        ('FAMILIES = ("declarations",)', 'FAMILIES = ("families", "declarations")'),
        (
            'each in a folder of its own."""',
            'each in a folder of its own.\nThe second is the name of earlier versions.\n"""',
        ),
    ],
    "plugins/aten/src/dovetail_aten/codegen/kernel_sources.py": [
        ('_FOLDER: Final = "array_kernels"', '_FOLDER: Final = "families"'),
    ],
    "plugins/aten/src/dovetail_aten/kernel_support/families.py": [
        (
            "_ROOT: Final = __package__",
            "_ROOT: Final = f\"{__package__.partition('.')[0]}.families\"",
        ),
    ],
    "pyproject.toml": [
        (
            '    "batching | composites | derivative_helpers",\n',
            '    "families",\n    "batching | composites | derivative_helpers",\n',
        ),
        (
            '    "dovetail_aten.tensor.* -> dovetail_aten.tensor.tensor_class",\n',
            '    "dovetail_aten.tensor.* -> dovetail_aten.tensor.tensor_class",\n'
            '    "dovetail_aten._generated.derivatives.* -> dovetail_aten.families.**",\n',
        ),
        (
            '"array_kernels | codegen"',
            '"kernel_support | codegen"',
        ),
        (
            '[[tool.importlinter.contracts]]\nname = "The rooms of the overlay"',
            """[[tool.importlinter.contracts]]
name = "No family imports another one"
type = "independence"
modules = ["dovetail_aten.families.*"]

[[tool.importlinter.contracts]]
name = "Kernels stand on what supports kernels"
type = "forbidden"
source_modules = ["dovetail_aten.families.*.kernels"]
forbidden_modules = [
    "dovetail_aten.backend", "dovetail_aten.batching", "dovetail_aten.calling",
    "dovetail_aten.composites", "dovetail_aten.derivative_helpers", "dovetail_aten.meta",
    "dovetail_aten.tensor",
]

[[tool.importlinter.contracts]]
name = "Shapes stand on kernels and the meta device"
type = "forbidden"
source_modules = ["dovetail_aten.families.*.shapes"]
forbidden_modules = [
    "dovetail_aten.batching", "dovetail_aten.calling", "dovetail_aten.composites",
    "dovetail_aten.derivative_helpers", "dovetail_aten.tensor",
]

[[tool.importlinter.contracts]]
name = "The rooms of the overlay\"""",
        ),
    ],
    "plugins/aten/src/dovetail_aten/library.py": [
        (
            "{__file__.removesuffix('library.py')}declarations",
            "{__file__.removesuffix('library.py')}families",
        ),
    ],
}
"""Texts in files, where they lie after the move, and what replaces them."""

"""Derives the polynomials of the kernels and writes ``kernels/polynomials.h``.

    python tools/derive_coefficients.py --write     # needs mpmath
    python tools/derive_coefficients.py             # fails if the header is not what it would write

Each polynomial minimizes the weighted squares of its errors at Chebyshev points of its interval, in
100 digits, which comes within a factor of two of the smallest greatest error.
Coefficients are rounded to the precision of the kernel one after the other, lowest power first, and
the others are fitted anew, so that a rounding error is made up for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import mpmath
import numpy as np
from mpmath import mp, mpf

mp.dps = 100

HEADER: Final = Path(__file__).resolve().parents[1] / "kernels" / "polynomials.h"
Function = Callable[[Any], Any]
_POINTS: Final = 201


@dataclass(frozen=True)
class Fit:
    """A polynomial to derive.

    Attributes
    ----------
    name
        Of the C function.
    target, weight
        The polynomial approximates `target`; its error times `weight` is made small.
    interval
        Where.
    degree
        Highest power.
    precision
        ``float`` or ``double``.
    says
        Comment of the header.
    """

    name: str
    target: Function
    weight: Function
    interval: tuple[Any, Any]
    degree: int
    precision: str
    says: str


def _nodes(low: Any, high: Any, count: int) -> list[Any]:
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle - half * mpmath.cos(mp.pi * k / (count - 1)) for k in range(count)]


def _fitted(fit: Fit, fixed: Sequence[Any], grid: Sequence[Any]) -> list[Any]:
    """Return the coefficients of the powers from ``len(fixed)`` on, by weighted least squares."""
    first = len(fixed)
    rows, right = [], []
    for x in grid:
        weight = fit.weight(x)
        rows.append([weight * x**power for power in range(first, fit.degree + 1)])
        right.append(weight * (fit.target(x) - mpmath.polyval(fixed[::-1] or [0], x)))
    matrix = mpmath.matrix(rows)
    turned = matrix.T
    return list(mpmath.lu_solve(turned * matrix, turned * mpmath.matrix(right)))


def _rounded(value: Any, precision: str) -> Any:
    if precision == "float":
        return mpf(float(np.float32(mpmath.nstr(value, 30))))
    return mpf(float(value))


def derive(fit: Fit) -> tuple[list[Any], Any]:
    """Return the rounded coefficients of a polynomial, and its greatest weighted error."""
    grid = _nodes(*map(mpf, fit.interval), _POINTS)
    fixed: list[Any] = []
    while len(fixed) <= fit.degree:
        fixed.append(_rounded(_fitted(fit, fixed, grid)[0], fit.precision))
    errors = [(mpmath.polyval(fixed[::-1], x) - fit.target(x)) * fit.weight(x) for x in grid]
    return fixed, max(map(abs, errors))


# -- the functions -------------------------------------------------------------------------------

_HALF_LN2 = mpmath.log(2) / 2 * mpf("1.0001")  # the remainder may lie a rounding beyond


def _exp_rest(r: Any) -> Any:
    """(exp(r) - 1 - r) / r**2, by its series near 0."""
    if abs(r) < mpf("1e-8"):
        return mpf(1) / 2 + r / 6 + r * r / 24
    return (mpmath.expm1(r) - r) / (r * r)


def _exp_fit(name: str, degree: int, precision: str) -> Fit:
    return Fit(
        name,
        _exp_rest,
        lambda r: r * r / mpmath.exp(r),
        (-_HALF_LN2, _HALF_LN2),
        degree,
        precision,
        "(exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2",
    )


def _log1p_rest(z: Any) -> Any:
    """(log(1 + z) - z + z**2 / 2) / z**3, by its series near 0."""
    if abs(z) < mpf("1e-8"):
        return mpf(1) / 3 - z / 4 + z * z / 5
    return (mpmath.log1p(z) - z + z * z / 2) / z**3


def _erf_rest(s: Any) -> Any:
    """erf(x) / x - 1 for s = x**2, by its series near 0."""
    if s < mpf("1e-16"):
        return 2 / mpmath.sqrt(mp.pi) * (1 - s / 3) - 1
    x = mpmath.sqrt(s)
    return mpmath.erf(x) / x - 1


ERFC_CENTER: Final = mpf("0.578125")
"""The middle of the interval of 1 / (1 + z / 2)."""


def _erfc_ratio(v: Any) -> Any:
    """erfc(z) exp(z**2) / u for u = 1 / (1 + z / 2), where v is u less the center."""
    u = v + ERFC_CENTER
    z = 2 * (1 / u - 1)
    return mpmath.erfc(z) * mpmath.exp(z * z) / u


def _log1p_fit(name: str, degree: int, precision: str) -> Fit:
    return Fit(
        name,
        _log1p_rest,
        lambda z: z * z,
        (mpmath.sqrt(mpf("0.5")) - 1 - mpf("1e-6"), mpmath.sqrt(2) - 1 + mpf("1e-6")),
        degree,
        precision,
        "(log(1 + z) - z + z^2 / 2) / z^3 for 1 + z from sqrt(1/2) to sqrt(2)",
    )


def _erf_fit(name: str, degree: int, precision: str) -> Fit:
    return Fit(
        name,
        _erf_rest,
        lambda s: mpf(1),
        (mpf(0), mpf("0.9216")),
        degree,
        precision,
        "erf(x) / x - 1 of x^2 for |x| <= 0.96",
    )


def _erfc_fit(name: str, degree: int, precision: str, least: Any, greatest: str) -> Fit:
    return Fit(
        name,
        _erfc_ratio,
        lambda v: 1 / _erfc_ratio(v),
        (least - ERFC_CENTER, 1 - ERFC_CENTER),
        degree,
        precision,
        f"erfc(z) exp(z^2) / u of u - 0.578125 for u = 1 / (1 + z / 2), 0 <= z <= {greatest}",
    )


def _sine_rest(s: Any) -> Any:
    """(sin(r) - r) / r**3 for s = r**2, by its series near 0."""
    if s < mpf("1e-16"):
        return mpf(-1) / 6 + s / 120
    r = mpmath.sqrt(s)
    return (mpmath.sin(r) - r) / r**3


def _inverse_of_erf(w: Any) -> Any:
    """erfinv(x) / x for w = -log(1 - x**2)."""
    if w < mpf("1e-30"):
        return mpmath.sqrt(mp.pi) / 2
    x = mpmath.sqrt(-mpmath.expm1(-w))
    return mpmath.erfinv(x) / x


def _stirling_rest(s: Any) -> Any:
    """z (log(gamma(z)) - (z - 1/2) log(z) + z - log(2 pi) / 2) for s = 1 / z**2."""
    z = 1 / mpmath.sqrt(max(s, mpf("1e-12")))
    return z * (mpmath.loggamma(z) - (z - 0.5) * mpmath.log(z) + z - mpmath.log(2 * mp.pi) / 2)


_HALF_TURN: Final = mp.pi / 2 * mpf("1.0001")
_OTHER_FITS: Final = (
    Fit(
        "sine_polynomial_f32",
        _sine_rest,
        lambda s: s,
        (mpf(0), _HALF_TURN**2),
        4,
        "float",
        "(sin(r) - r) / r^3 of r^2 for |r| <= pi / 2",
    ),
    Fit(
        "sine_polynomial_f64",
        _sine_rest,
        lambda s: s,
        (mpf(0), _HALF_TURN**2),
        8,
        "double",
        "(sin(r) - r) / r^3 of r^2 for |r| <= pi / 2",
    ),
    Fit(
        "erfinv_near_polynomial_f32",
        lambda v: _inverse_of_erf(v + mpf("2.5")),
        lambda v: 1 / _inverse_of_erf(v + mpf("2.5")),
        (mpf("-2.5"), mpf("2.5")),
        9,
        "float",
        "erfinv(x) / x of w - 2.5 for w = -log(1 - x^2) <= 5",
    ),
    Fit(
        "erfinv_far_polynomial_f32",
        lambda v: _inverse_of_erf((v + 4) ** 2),
        lambda v: 1 / _inverse_of_erf((v + 4) ** 2),
        (mpf("-1.77"), mpf("0.1")),
        9,
        "float",
        "erfinv(x) / x of sqrt(w) - 4 for w from 5 to 16.7",
    ),
    Fit(
        "stirling_polynomial_f64",
        _stirling_rest,
        lambda s: mpf(1),
        (mpf(0), mpf("0.0157")),
        6,
        "double",
        "z (log(gamma(z)) - (z - 1/2) log(z) + z - log(2 pi) / 2) of 1 / z^2 for z >= 8",
    ),
)


def _parts(number: Any, bits: int, count: int) -> list[Any]:
    """Return numbers in double precision whose sum is `number`, all but the last of few bits."""
    parts = []
    for _ in range(count - 1):
        scale = mpf(2) ** (bits - mpmath.ceil(mpmath.log(abs(number), 2)))
        parts.append(mpmath.nint(number * scale) / scale)
        number -= parts[-1]
    return [*parts, _rounded(number, "double")]


FITS: Final = (
    _exp_fit("exp_polynomial_f32", 4, "float"),
    _exp_fit("exp_polynomial_f64", 10, "double"),
    _log1p_fit("log1p_polynomial_f32", 8, "float"),
    _log1p_fit("log1p_polynomial_f64", 20, "double"),
    _erf_fit("erf_polynomial_f32", 6, "float"),
    _erf_fit("erf_polynomial_f64", 13, "double"),
    _erfc_fit("erfc_polynomial_f32", 10, "float", mpf("0.15"), "11.3"),
    _erfc_fit("erfc_polynomial_f64", 24, "double", mpf("0.0675"), "27.6"),
    *_OTHER_FITS,
)


def header() -> str:
    """Return the text of the header."""
    lines = [
        "/* Written by tools/derive_coefficients.py: do not edit. `error` is that of the exact",
        " * polynomial with these coefficients. */",
        "#ifndef DOVETAIL_POLYNOMIALS_H",
        "#define DOVETAIL_POLYNOMIALS_H",
        "",
        '#include "instruction_set.h"',
        "",
        "/* ln(2) in two parts: multiples of the first by a whole number below 2^11 are exact. */",
    ]
    for name, suffix, bits in (("F32", "f", 13), ("F64", "", 41)):
        high = mpmath.floor(mpmath.log(2) * 2**bits) / mpf(2) ** bits
        low = _rounded(mpmath.log(2) - high, "float" if suffix else "double")
        lines.append(f"#define LN2_HIGH_{name} {_hexadecimal(high, suffix)}")
        lines.append(f"#define LN2_LOW_{name} {_hexadecimal(low, suffix)}")
    lines.append(
        "/* pi / 2 in parts: multiples by a number below 2^20 are exact, but for the last. */"
    )
    for at, part in enumerate(_parts(mp.pi / 2, 33, 4)):
        lines.append(f"#define QUARTER_TURN_{at} {_hexadecimal(part, '')}")
    lines.append("")
    for fit in FITS:
        found, error = derive(fit)
        suffix = "f" if fit.precision == "float" else ""
        first, *others = [_hexadecimal(each, suffix) for each in reversed(found)]
        fma = "FMA_f32" if suffix else "FMA_f64"
        lines.append(f"/* {fit.says}; error {mpmath.nstr(error, 2)} */")
        lines.append(f"INLINE {fit.precision}")
        lines.append(f"{fit.name}({fit.precision} x)")
        lines += ["{", f"    {fit.precision} p = {first};"]
        lines += [f"    p = {fma}(p, x, {each});" for each in others]
        lines += ["    return p;", "}", ""]
    return "\n".join([*lines, "#endif", ""])


def _hexadecimal(number: Any, suffix: str) -> str:
    mantissa, exponent = float(number).hex().split("p")
    return f"{mantissa.rstrip('0')}p{exponent}{suffix}"


def main() -> int:
    """Write or compare the header."""
    text = header()
    if "--write" in sys.argv[1:]:
        HEADER.write_text(text)
        return 0
    if HEADER.read_text() != text:
        print(f"{HEADER.name} is not what is derived. Run with --write, and look at the change.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

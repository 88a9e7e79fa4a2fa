"""Calls of the kernels of special functions."""

from __future__ import annotations

from .operands import X, Y, same

_POLYNOMIALS = [
    *(f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he"),
    *("laguerre_polynomial_l", "legendre_polynomial_p"),
]

CALLS = {
    **same("lgamma digamma erfinv i0 sinc logit special_erfcx special_ndtri special_log_ndtr", X),
    **same("special_entr special_i0e special_i1 special_i1e special_airy_ai", X),
    **same("special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1", X),
    **same("special_modified_bessel_i0 special_modified_bessel_i1", X),
    **same("special_modified_bessel_k0 special_modified_bessel_k1", X),
    **same("special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1", X),
    **same("special_spherical_bessel_j0", X),
    **same("igamma igammac special_zeta special_xlog1py logit_backward", X, Y),
    **same("special_zeta.other_scalar special_xlog1py.other_scalar mvlgamma", X, 2),
    **same("special_zeta.self_scalar special_xlog1py.self_scalar polygamma", 2, X),
    **{f"special_{name}": (X, Y) for name in _POLYNOMIALS},
    **{f"special_{name}.x_scalar": (2.0, X) for name in _POLYNOMIALS},
    **{f"special_{name}.n_scalar": (X, 2) for name in _POLYNOMIALS},
}

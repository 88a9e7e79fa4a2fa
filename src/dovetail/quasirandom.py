"""Sobol' sequences, as ``torch.quasirandom``: points that fill the unit cube more evenly than
random ones. SciPy generates them; scrambling uses PyTorch's random numbers.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dovetail_aten import Generator, Tensor, arange, from_numpy, randint
from dovetail_kernel import dtype as DType
from dovetail_kernel import get_default_dtype, int64

__all__ = ["SobolEngine"]


class SobolEngine:
    """A Sobol' sequence, always on the cpu. Equal seeds give PyTorch's points.

    Parameters
    ----------
    dimension
        Dimension of the points, 1 to 21201.
    scramble
        Scramble and shift the points randomly, so that each is uniformly distributed. Default:
        False.
    seed
        Seed of the scrambling. Default: the default generator draws it.

    Raises
    ------
    ValueError
        For any other dimension.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.dimension = dimension
        self.scramble = scramble
        self.seed = seed
        self.num_generated = 0
        self._points = _plain_points(dimension, self.MAXBIT)
        self._columns: list[Tensor] = []
        self._shift: Any = 0
        if scramble:
            self._scramble()

    def _scramble(self) -> None:
        """Draw the shift, and for each dimension a matrix that bits are multiplied by: lower
        triangular, with ones on its diagonal; the highest bit comes first.
        """
        bits = self.MAXBIT
        generator = None if self.seed is None else Generator("cpu").manual_seed(self.seed)
        draw: Any = partial(randint, device="cpu")
        values: Any = 2 ** arange(bits, device="cpu")
        shift: Any = draw(2, (self.dimension, bits), generator=generator)
        self._shift = (shift * values).sum(1)
        matrices: Any = draw(2, (self.dimension, bits, bits), generator=generator).tril(-1)
        columns = (matrices * values.flip(0)[:, None]).sum(1) + values.flip(0)
        self._columns = [columns[:, bits - 1 - bit] for bit in range(bits)]

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """Return the next `n` points.

        Parameters
        ----------
        n
            Number of points.
        out
            Tensor for the result, which is resized.
        dtype
            Floating-point dtype. Default: the default dtype.

        Returns
        -------
        Tensor
            Of shape ``(n, dimension)``, in [0, 1).

        Raises
        ------
        RuntimeError
            If `n` is negative.
        NotImplementedError
            If `dtype` is not floating.
        """
        dtype = get_default_dtype() if dtype is None else dtype
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}")
        if not dtype.is_floating_point:
            raise NotImplementedError(f"points of a Sobol' sequence are floating, not {dtype}")
        start, plain = self.num_generated, self._points
        if start == 0 and n > 1:  # SciPy warns where the first draw is no power of 2
            drawn = plain.random(1)
            rest = plain.random(n - 1)
            points: Any = from_numpy(drawn).new_empty((n, self.dimension))
            points[:1], points[1:] = from_numpy(drawn), from_numpy(rest)
        else:
            none: Any = arange(0.0, device="cpu")
            points = from_numpy(plain.random(n)) if n else none.reshape(0, self.dimension)
        self.num_generated += n
        if self.scramble:
            points = self._mixed((points * 2.0**self.MAXBIT).to(int64)) * 2.0**-self.MAXBIT
        points = points.to(dtype)
        return points if out is None else out.resize_(points.shape).copy_(points)

    def _mixed(self, points: Any) -> Any:
        mixed: Any = self._shift.expand(points.shape).clone()
        for bit, column in enumerate(self._columns):
            mixed ^= (points >> bit & 1) * column
        return mixed.double()

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """Return the next ``2**m`` points, as `draw` does.

        Raises
        ------
        ValueError
            If the total number of points is not a power of 2, for which the sequence is balanced.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Restart with the same scrambling; return the engine."""
        self._points.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip `n` points; return the engine."""
        self._points.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        items = [f"dimension={self.dimension}"]
        items += ["scramble=True"] if self.scramble else []
        items += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join(items)})"


def _plain_points(dimension: int, bits: int) -> Any:
    # It takes long to import.
    from scipy.stats.qmc import Sobol  # type: ignore[import-untyped, unused-ignore]

    return Sobol(dimension, scramble=False, bits=bits)

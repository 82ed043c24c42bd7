"""Kernel values of few dense rows by numpy, since the loops of `tiles` take seconds to compile before their first use.

Values are float64 and computed in the steps of `tiles`, so that the bounds of `rounding` hold for them.
"""

from __future__ import annotations

import numpy as np

from svmkit.kernels.forms import Argument, Form, Scalars, UnknownForm

ROWS = 1024  # most rows of an engine that does so: all of its values take 10 ms
ENTRIES = 1 << 20  # most numbers in these rows
PRODUCTS = 1 << 23  # most multiplications of a call, half a millisecond; compiled loops are faster beyond
WEIGHTS = 64  # most vectors of weights that are multiplied by any number of rows, as long as their ENTRIES are few
CHUNK = 12_000  # values of a pass, within 100 kB: larger arrays come from the system, page by page, and miss the cache
EXP = 64  # multiplications that take as long as the rest of a value


def values(rows: np.ndarray, sq_rows: np.ndarray, Z: np.ndarray, sq_z: np.ndarray, form: Form, scalars: Scalars):
    """Return k(rows[a], Z[b]) at [b, a], shape (q, n), for a kernel of x.z or of |x - z|^2.

    Parameters
    ----------
    rows, Z : ndarray of float64, shapes (n, d) and (q, d), the vectors less the engine's origin
    sq_rows, sq_z : ndarray of float64, shapes (n,) and (q,), their |x|^2
    form, scalars : Form, Scalars, those of the kernel
    """
    with np.errstate(all="ignore"):  # as the compiled loops do: whoever uses the values looks at them
        is_square = form.argument is Argument.SQUARE
        dots = (-2.0 * Z if is_square else Z) @ rows.T  # twice a number is exact
        if is_square:
            dots += sq_z[:, None] + sq_rows
            np.maximum(dots, 0.0, out=dots)
        elif form.argument is not Argument.DOT:
            raise UnknownForm(form.argument)
        return form.apply(dots, scalars)

"""An engine of another kind than svmkit's own: plain NumPy in float64, for every kernel with a form."""

import numpy as np
import scipy.sparse as sp

from svmkit.kernels.engines import ALL, Engine
from svmkit.kernels.forms import Argument, difference_error
from svmkit.kernels.rounding import largest_value, value_error

WIDTH = 1000  # rows of X whose differences are held at a time


class NumpyEngine(Engine):
    """Kernel values by plain NumPy in float64: dot products, or distances from differences."""

    name = "numpy"
    calls = 0  # of `block`, so that a test sees who computes

    def __init__(self, kernel, X, extent=None):
        super().__init__(kernel, X, extent)
        self._dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        self._reach = max(float(np.square(self._dense).sum(axis=1).max(initial=0.0)), extent.reach if extent else 0.0)

    @property
    def error(self):
        if self.kernel.form.is_radial:
            return difference_error(self.kernel.scalars, self.X.shape[1])
        return value_error(self.kernel, self.X.shape[1], self._reach)

    @property
    def largest(self):
        return largest_value(self.kernel, self.X.shape[1], self._reach)

    def _values(self, Z, sel):
        X = self._dense[sel] if sel.size else self._dense
        Z = np.asarray(Z.toarray() if sp.issparse(Z) else Z, dtype=np.float64)
        form = self.kernel.form
        if form.argument is Argument.DOT:
            argument = Z @ X.T
        else:
            distance = {Argument.SQUARE: np.square, Argument.L1: np.abs}[form.argument]
            argument = np.empty((len(Z), len(X)))
            for lo in range(0, len(X), WIDTH):
                argument[:, lo : lo + WIDTH] = distance(Z[:, None] - X[lo : lo + WIDTH]).sum(axis=2)
        return form.apply(argument, self.kernel.scalars)

    def block(self, Z, out, sel=ALL, rough=False):
        type(self).calls += 1
        out[:] = self._values(Z, sel)
        return out

    def product(self, Z, coef, sel=ALL, dtype=np.float64):
        out = np.zeros((sel.size or self.n, coef.shape[1]))
        for lo in range(0, Z.shape[0], self.panel):
            out += self._values(Z[lo : lo + self.panel], sel).T @ coef[lo : lo + self.panel]
        return out

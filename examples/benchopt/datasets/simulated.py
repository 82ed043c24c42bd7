"""Two clouds that overlap."""

import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Rows of two normal distributions."""

    name = "simulated"
    parameters = {"n_samples, n_features": [(200, 5), (2000, 20)]}  # noqa: RUF012  as benchopt has it

    def get_data(self):
        """Return the rows, and labels -1 and 1."""
        rng = np.random.default_rng(0)
        y = np.where(np.arange(self.n_samples) % 2, 1, -1)
        return {"X": rng.normal(size=(self.n_samples, self.n_features)) + 0.4 * y[:, None], "y": y}

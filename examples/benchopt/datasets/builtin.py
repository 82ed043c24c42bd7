"""Sets that come with scikit-learn, scaled."""

import numpy as np
from benchopt import BaseDataset
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler


class Dataset(BaseDataset):
    """Breast cancer, or the digits, even against odd ones."""

    name = "builtin"
    parameters = {"which": ["breast_cancer", "digits"]}  # noqa: RUF012  as benchopt has it

    def get_data(self):
        """Return the rows, and labels -1 and 1."""
        load = {"breast_cancer": load_breast_cancer, "digits": load_digits}[self.which]
        X, y = load(return_X_y=True)
        return {"X": StandardScaler().fit_transform(X), "y": np.where(y % 2, 1, -1)}

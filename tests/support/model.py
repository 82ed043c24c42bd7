"""What the tests of SVMModel share: trained models and the data for them."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise
from support.problems import blobs

from svmkit.kernels.functions import RBF
from svmkit.training.train import fit


def trained(X, y, kernel=None, **options):
    return fit(X, y, kernel=kernel or RBF(0.5), **options).model


def binary(names=(-1, 1)):
    X, y = blobs(80, 3)
    return X, np.where(y > 0, names[1], names[0])


def colours():
    """90 samples of three classes, the same bit for bit on every machine: files of earlier versions belong to them."""
    rng = np.random.default_rng(14)
    codes = np.arange(90) % 3
    X = (rng.integers(-8, 9, (90, 3)) + 8 * np.eye(3)[codes]) / 8.0
    return X, np.array(["blue", "green", "red"])[codes]


IRIS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
KERNEL_MATRIX = pairwise.rbf_kernel(IRIS[0], gamma=0.5)

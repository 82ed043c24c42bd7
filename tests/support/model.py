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


IRIS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
KERNEL_MATRIX = pairwise.rbf_kernel(IRIS[0], gamma=0.5)

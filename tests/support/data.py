"""What the tests of the data sets share: packing, a dense view, a refusal, a small table."""

import bz2
import gzip
import lzma

import numpy as np
from support.refusals import refused

from svmkit.data import load

PACK = {"": lambda b: b, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


def not_loaded(match, *args, **kwargs) -> str:
    """The message with which `load` refuses."""
    return str(refused(match, load, *args, **kwargs))


TRAIN = "n,colour,y\n1,red,a\n2,blue,b\n3,green,a\n4,red,b\n"

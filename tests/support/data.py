"""What the tests of the data sets share: packing, a dense view, a refusal, a small table."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from svmkit.data import load
from svmkit.errors import InputError

PACK = {"": lambda b: b, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


def refused(match, *args, **kwargs):
    with pytest.raises(InputError, match=match) as caught:
        load(*args, **kwargs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


TRAIN = "n,colour,y\n1,red,a\n2,blue,b\n3,green,a\n4,red,b\n"

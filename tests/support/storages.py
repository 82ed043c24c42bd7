"""The same data in other storages."""

import numpy as np
import scipy.sparse as sp


def frozen(X):
    """A copy, dense in the same order or CSR, that may only be read."""
    X = X.copy() if sp.issparse(X) else X.copy(order="K")
    for part in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        part.flags.writeable = False
    return X


def int64(X):
    """As CSR with indices of 64 bits."""
    S = sp.csr_array(X)
    return sp.csr_array((S.data, S.indices.astype(np.int64), S.indptr.astype(np.int64)), shape=S.shape)

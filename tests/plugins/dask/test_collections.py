"""Parts of Dask arrays and dataframes, however they are chunked."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.refusals import refused

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
import pandas as pd  # noqa: E402
from svmkit_dask.parts.collections import from_collections  # noqa: E402
from svmkit_dask.parts.facts import Summary, facts_of  # noqa: E402
from svmkit_dask.parts.sources import ChunkPart  # noqa: E402

N = 103
A = np.random.default_rng(0).normal(size=(N, 4))
B = np.random.default_rng(1).integers(0, 3, N)
W = np.random.default_rng(2).random(N)
FRAME = pd.DataFrame(A, columns=list("abcd")).assign(y=B, w=W)


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def computed(delayed):
    return [source.load(None, 0) for source in dask.compute(*delayed)]


def array(chunks, of=A):
    return da.from_array(of, chunks=chunks)


def frame(n, columns=None):
    found = dd.from_pandas(FRAME, npartitions=n)
    return found if columns is None else found[columns]


X5 = list("abcd")
CASES = {
    "odd chunks of rows and columns": lambda: (array(((1, 50, 52), (3, 1))), array(17, B), array(103, W)),
    "one chunk": lambda: (array((N, 4)), array(N, B), None),
    "y in memory": lambda: (array((10, 4)), B, W.tolist()),
    "y a column": lambda: (array((10, 2)), array((30, 1), B[:, None]), None),
    "columns by name": lambda: (frame(5), "y", "w"),
    "frames cut differently": lambda: (frame(5, X5), frame(3, "y"), frame(2, "w")),
    "unknown lengths": lambda: (frame(5, X5).to_dask_array(), frame(5, "y"), frame(5, "w").to_dask_array()),
    "unknown lengths cut differently": lambda: (frame(5, X5).to_dask_array(), frame(3, "y"), array(20, W)),
    "a frame and arrays": lambda: (frame(4, X5), array(9, B), W),
    "categories": lambda: (frame(4, X5), frame(4, "y").astype("category"), None),
    "text": lambda: (frame(4, X5), frame(4, "y").astype(str), None),
    "holes of pandas": lambda: (frame(4, X5).astype("Float64"), frame(4, "y").astype("Int64"), None),
}


@pytest.mark.parametrize("case", CASES)
def test_chunks_that_belong_together_are_parts(case):
    X, y, w = CASES[case]()
    parts = computed(from_collections(X, y, w))
    np.testing.assert_array_equal(np.vstack([part.X for part in parts]), A)
    found = np.concatenate([part.answers for part in parts])
    np.testing.assert_array_equal(found.astype(int), B)
    assert all((part.weights is None) == (w is None) for part in parts)
    if w is not None:
        np.testing.assert_array_equal(np.concatenate([part.weights for part in parts]), W)
    together = Summary([facts_of(part, str(i)) for i, part in enumerate(parts)])
    np.testing.assert_array_equal(together.classes.astype(int), [0, 1, 2])


def test_sparse_and_float32_chunks_stay_what_they_are():
    sparse = array((40, 4)).map_blocks(lambda block: sp.csr_array(block), dtype=float)
    parts = computed(from_collections(sparse, array(40, B)))
    assert all(part.is_sparse and part.X.indices.dtype == np.int32 for part in parts)
    np.testing.assert_array_equal(np.vstack([part.X.toarray() for part in parts]), A)
    narrow = computed(from_collections(array((40, 4), A.astype(np.float32)), array(40, B)))
    assert {part.dtype for part in narrow} == {np.dtype(np.float32)}


def test_an_empty_partition_is_a_part_without_rows():
    X = dd.from_pandas(FRAME.assign(i=range(N)), npartitions=4)
    parts = computed(from_collections(X[X.i < 60][[*X5, "y"]], "y"))
    together = Summary([facts_of(part, f"part {i}") for i, part in enumerate(parts)])
    assert together.n_rows == 60 and len(together.filled) < 4 and together.notes


def test_what_does_not_fit_is_refused_before_anything_is_computed():
    refused("X is ndarray: pass a dask array", from_collections, A, B)
    refused("X has 103 rows, but y has 102", from_collections, array((10, 4)), array(10, B[1:]))
    refused("X has 1 dimensions", from_collections, array(10, B), array(10, B))
    refused(r"y='z': X has no such column", from_collections, frame(3), "z")
    refused("only a dask dataframe has columns", from_collections, array((10, 4)), "y")
    texts = dd.from_pandas(FRAME.assign(colour="red"), npartitions=2)
    refused("column 'colour' holds no numbers: encode", from_collections, texts, "y")


def test_a_chunk_that_does_not_fit_is_named():
    unknown = frame(3, X5).to_dask_array()
    X, y = unknown[unknown[:, 0] > 0], frame(3, "y")
    first, *_ = dask.compute(*from_collections(X, y))
    refused("part 1 of 3: X has .* rows, but y has .*: give both the same chunks", first.load, None, 0)
    refused("part 2: y contains NaN", ChunkPart("part 2", A[:2], np.array(["a", None], dtype=object)).load, None, 0)
    refused("part 3: X has dtype <U1", ChunkPart("part 3", np.array([["a"]]), np.array([1])).load, None, 0)

from .dataset import Dataset
from .formats.wide import sparse_rows
from .loading import load
from .parts.gather import gather, gather_blocks
from .parts.storage import Gathered, Storage
from .places.fetching import fetch
from .places.sources import Entry, available, cache_dir
from .prepare.encoding import Encoding
from .prepare.features import as_features, require_finite
from .prepare.imputing import Imputing
from .prepare.labels import encode_labels
from .prepare.preprocessing import Preprocessing
from .prepare.ranks import Ranks, encode_groups, encode_ranks, make_ranks
from .prepare.reading import Reading
from .prepare.scaling import Scaling

__all__ = [
    "Dataset",
    "Encoding",
    "Entry",
    "Gathered",
    "Imputing",
    "Preprocessing",
    "Ranks",
    "Reading",
    "Scaling",
    "Storage",
    "as_features",
    "available",
    "cache_dir",
    "encode_groups",
    "encode_labels",
    "encode_ranks",
    "fetch",
    "gather",
    "gather_blocks",
    "load",
    "make_ranks",
    "require_finite",
    "sparse_rows",
]

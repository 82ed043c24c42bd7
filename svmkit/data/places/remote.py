"""The data sets that `svmkit datasets fetch` downloads: their URLs, sizes and the SHA-256 of their contents.

The checksum is that of the contents, not of the downloaded file, so that it does not depend on the compression of a
site or a mirror. A set is exactly what its site serves, byte for byte: the lines of a9a end in a blank, svmguide1 has
CRLF and no newline at its end.
"""

from __future__ import annotations

from dataclasses import dataclass

from svmkit.data.formats.files import split_endings

SITES = {
    "binary": "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary",
    "multiclass": "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass",
    "kddcup99": "http://kdd.ics.uci.edu/databases/kddcup99",
}


@dataclass(frozen=True)
class Remote:
    """A data set of a site: the key of `SITES`, the name of its file there, size and SHA-256 of its contents."""

    folder: str
    file: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """Name of the set and of its file in the cache."""
        return split_endings(self.file)[0]


# Folder, file, bytes and SHA-256 of the contents, computed from copies. Projects that fetched them publish the same
# sums for a9a, a9a.t, w8a and kddcup99; that of ijcnn1 is theirs: our copy has it once its labels 1.0 are written 1.
_TABLE = """
binary     a1a                         114817 f1c78a18359203f0b942499c803007acf9f926c878251063e2975163bbbd60f4
binary     a1a.t                      2215056 821e0d861d3abb27d250b897daf66078a018621a43e3a1fe2c1fc47cdbcfc8a2
binary     a9a                        2329875 f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906
binary     a9a.t                      1164628 1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9
binary     w1a                         170263 0ae2b1c40f6a99061d1c6f4a1f3b50eea58a2f3b8bf851a337c25c2a65a49d32
binary     w1a.t                      3307975 c5e489a499286d69c8c2035cb04bc48e2ea1f73e56153c72cc50b29732a9316a
binary     w7a                        1729215 bd02f445a1a2f4aaefd27d7dcc31f1f6a8521f904157f2ee7c96d1294cd26e36
binary     w7a.t                      1749023 a52edcfe9871e3b0db5d864959bf32230491ddfeca3334cfec93c1d932ea32b9
binary     w8a                        3478238 6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2
binary     ijcnn1.bz2                 7744897 16506cad788cf7c9607454150ed1994788204bac2ff4c9cb3b320036b6950d3f
binary     ijcnn1.t.bz2              14213968 e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8
binary     svmguide1                   195869 672e1a467b3f59589a6f1f3d43f93940d88589675ededb52090140fc1dc83971
binary     svmguide1.t                 249612 f9c2fd4c725172aeb4476fc1e2327d537f7fbc2f53f49dfd073f80efbe1ba8f7
multiclass usps.bz2                  14063928 83b3e2490d0da05237ce1f63477763c3ae116bff90700822d6ed810791432fa9
multiclass usps.t.bz2                 3867335 a92340313639767be7580f70aa1d68f16ae41342f290e8ef501183225fb00a28
multiclass pendigits                   589457 6e8a2f318a24d97d26a9c381642621dc955fed73ec44c4d417bd7afbb47ed67c
multiclass pendigits.t                 274929 5ddb2f034e1c5ca8a47b8a7e78510f8a9d68015cf40a5031534c693fba9773d3
multiclass letter.scale               2615396 f013ad9d4c703bb7c075dff68c56f9790f6755a822dae54bd720a4eea27a9061
multiclass letter.scale.t              872223 17b9ab4ced41dba5e171a125c008e5ff51787d6e2d6ea50397c4ae01955c1179
multiclass mnist.bz2                 69430283 c42b75fcb54dda11d97af9bd6e3950b41c93b4f44eeb9608aa115f79a5979e88
multiclass mnist.t.bz2               11671108 31ffc3cfb1824d0994d57172bb8ca68882e578859e1ee1bd9fc1f2f15bfd06a2
kddcup99   kddcup.data_10_percent.gz 74889749 f8c8267ebcd9c0ed1fd7d6277fe5bfff8732e9b7db8e61b873542b2a534b6f9a
"""

REMOTE: dict[str, Remote] = {
    remote.name: remote
    for folder, file, size, sha256 in map(str.split, _TABLE.strip().splitlines())
    for remote in [Remote(folder, file, int(size), sha256)]
}

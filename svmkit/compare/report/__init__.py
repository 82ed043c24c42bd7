"""The report of a comparison: tests over the sets, static pictures, and one self-contained HTML page.

`html.write` makes the page, `pictures.draw` the PNG files, `stats.over_sets` the tests of significance.
It may import what `svmkit.compare` may, and from that room only `results`, `spec` and `store`.
"""

"""`svmkit tune`: the candidates, the search, and its report."""

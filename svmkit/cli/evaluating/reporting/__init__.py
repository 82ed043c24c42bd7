"""`svmkit report`: facts about a model on some rows, computed once, as a page in HTML, a model card and JSON."""

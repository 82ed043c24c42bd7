"""`svmkit train`: its options, the jobs (rows, a stream, a cluster), and what is logged and printed at the end."""

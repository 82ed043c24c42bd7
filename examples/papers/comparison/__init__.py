"""What a paper printed beside what svmkit.compare runs: specs, results, tables, figures."""

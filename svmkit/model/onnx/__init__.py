"""Models as ONNX graphs: the graph builder, decisions, probabilities, and the file."""

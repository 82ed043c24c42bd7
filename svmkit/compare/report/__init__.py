"""What a comparison says: tests over the sets, static pictures, one self-contained HTML page."""

"""Models as source code, C99 or JavaScript: the text, and a bound on its rounding errors."""

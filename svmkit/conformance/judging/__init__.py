"""The judge of a run's claims: kernel values, P and D in long double, from independent definitions."""

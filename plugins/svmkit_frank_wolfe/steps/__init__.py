"""Steps: vertices from the oracle or an arriving sample, one step at a time or slices of compiled ones."""

"""Steps: vertices that the oracle or an arriving sample offers, one step at a time or slices of compiled ones."""

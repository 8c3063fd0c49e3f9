"""How a run grows: what joins it, what is left out, what other runs have already."""

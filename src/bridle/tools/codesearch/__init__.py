"""Find code by what it is about: words of identifiers, ranked, with the symbols they stand in."""

"""The traces and probe banks that the package carries; data only."""

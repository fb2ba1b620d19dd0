"""Cache policies: one file for each provider's rules or placement of marks; private modules hold the engines."""

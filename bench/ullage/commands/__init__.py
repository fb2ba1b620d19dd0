"""One module a command; see ``ullage.cli``."""

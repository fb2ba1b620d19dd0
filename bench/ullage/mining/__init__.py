"""Mining: facts with known answers, found in a recording by rules alone. ``ullage.probes`` is the door."""

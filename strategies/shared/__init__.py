"""What several systems need: tool pairs, pins, trim points, stubs, summary requests, estimators."""

"""Ullage: a benchmark and evaluation harness for context-compaction strategies of LLM agents."""

__version__ = "0.1.0"

"""Judging of stored runs: which runs count in a cell, which are solved, and their numbers."""

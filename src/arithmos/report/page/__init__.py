"""The HTML report, and text pages on single specs and runs."""

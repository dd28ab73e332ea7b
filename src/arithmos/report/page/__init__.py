"""The HTML report, and pages of text on single specs and runs."""

"""Tables for the terminal, Markdown, LaTeX and HTML."""

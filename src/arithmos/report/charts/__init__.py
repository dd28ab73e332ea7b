"""Altair charts: one definition for the interactive page and for SVG, PNG and PDF."""

from ..._extras import needs

with needs("report"):
    import altair  # noqa: F401

"""Altair charts: one definition for the interactive page and for SVG, PNG and PDF."""

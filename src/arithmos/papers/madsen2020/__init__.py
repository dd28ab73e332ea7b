"""Madsen & Johansen, "Neural Arithmetic Units", ICLR 2020."""

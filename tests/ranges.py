"""Where published networks start."""

NAC_RANGES = {
    (4, 2): 5.42551,
    (2, 1): 9.47141,
    (3, 1): 9.47141,
    (4, 1): 9.47141,
    (100, 2): 0.50391,
    (5, 1): 5.42551,
    (6, 1): 4.02409,
    (8, 1): 2.82344,
    (10, 1): 2.26047,
    (10, 2): 2.07425,
    (25, 2): 1.09883,
    (50, 2): 0.73328,
    (200, 2): 0.35131,
    (300, 2): 0.28550,
}
"""The parameters of a NAC start uniform within ± this, by its inputs and outputs."""

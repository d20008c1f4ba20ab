-- the mean of these transactions when the slowest twentieth takes no longer than the others: see statistics/tails.py
arrayAvg(quantilesTDigestMerge(
    0.025, 0.075, 0.125, 0.175, 0.225, 0.275, 0.325, 0.375, 0.425, 0.475, 0.525, 0.575, 0.625, 0.675, 0.725, 0.775, 0.825, 0.875,
    0.925, 0.95
)(percentiles_ns))

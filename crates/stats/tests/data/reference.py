"""Writes reference.csv: what SciPy and NumPy say, for the tests to compare with.

Run once with SciPy 1.17 and NumPy 2: `python3 reference.py > reference.csv`. One line a case: function, sample a, sample b (numbers
separated by spaces), parameter, and the expected numbers.
"""
import numpy as np
from scipy import stats

rng = np.random.default_rng(2009)
groups = {
    "even": np.round(np.exp(rng.normal(0, 0.3, 10)), 4),
    "odd": np.round(np.exp(rng.normal(0.2, 0.5, 15)), 4),
    "skewed": np.round(1 + rng.exponential(0.2, 24), 4),
    "late": np.round(np.append(rng.normal(2, 0.02, 11), 3.5), 4),
    "five": np.array([1.93, 1.90, 1.97, 1.92, 1.95]),
    "ties": np.array([1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 5.0]),
}


def row(function, a, b, parameter, *expected):
    text = lambda xs: " ".join(repr(float(x)) for x in xs)
    print(",".join([function, text(a), text(b), str(parameter), text(expected)]))


print("function,a,b,parameter,expected")
for a in groups.values():
    row("median", a, [], "", np.median(a))
    for q in (0.0, 0.05, 0.25, 0.5, 0.9, 0.99, 1.0):
        row("quantile", a, [], q, np.quantile(a, q))
    row("modified_z_scores", a, [], "", *(0.6745 * (a - np.median(a)) / np.median(np.abs(a - np.median(a)))))
    for level in (0.9, 0.95):
        for name, statistic in (("bca_mean", np.mean), ("bca_median", np.median)):
            if name == "bca_median" and level == 0.95:
                continue  # exact below; here an end can fall on the edge of a step, where resampling is a coin toss
            got = stats.bootstrap((a,), statistic, confidence_level=level, n_resamples=200_000, method="BCa",
                                  rng=np.random.default_rng(1)).confidence_interval
            row(name, a, [], level, got.low, got.high)

# The interval of the median by interpolated order statistics (Hettmansperger & Sheather 1986), with SciPy's binomial.
for a in groups.values():
    n, x = len(a), np.sort(a)
    for level in (0.8, 0.9, 0.95):
        # d: the end is the d-th smallest and the d-th largest sample.
        depths = [d for d in range(1, (n + 1) // 2 + 1) if stats.binom.cdf(d - 1, n, 0.5) <= (1 - level) / 2]
        if not depths:
            row("median_interval", a, [], level, np.median(a), x[0], x[-1], 1 - 2 * stats.binom.cdf(0, n, 0.5))
            continue
        d = depths[-1]
        outer, inner = (1 - 2 * stats.binom.cdf(d - 1, n, 0.5), 1 - 2 * stats.binom.cdf(d, n, 0.5))
        part = (outer - level) / (outer - inner)
        weight = (n - d) * part / (d + (n - 2 * d) * part)
        row("median_interval", a, [], level, np.median(a), (1 - weight) * x[d - 1] + weight * x[d],
            (1 - weight) * x[n - d] + weight * x[n - d - 1], level)

pairs = [("even", "five"), ("five", "ties"), ("ties", "even"), ("even", "late"), ("odd", "skewed")]


def difference(x, y, axis=-1):
    return np.abs(np.mean(x, axis=axis) - np.mean(y, axis=axis))


for first, second in pairs:
    a, b = groups[first], groups[second]
    ratio = stats.bootstrap((a, b), lambda x, y, axis=-1: np.log(np.median(x, axis=axis)) - np.log(np.median(y, axis=axis)),
                            n_resamples=200_000, method="BCa", rng=np.random.default_rng(1)).confidence_interval
    if "ties" not in (first, second):  # with ties an end can fall on the edge of a step, where resampling is a coin toss
        row("median_ratio", a, b, 0.95, np.median(a) / np.median(b), np.exp(ratio.low), np.exp(ratio.high))
    if len(a) + len(b) <= 20:
        mean = stats.permutation_test((a, b), difference, alternative="greater",
                                      n_resamples=np.inf, vectorized=True)
        row("permutation_mean", a, b, "", mean.pvalue)
        pooled = stats.rankdata(np.concatenate([a, b]))
        rank = stats.permutation_test((pooled[:len(a)], pooled[len(a):]),
                                      difference, alternative="greater",
                                      n_resamples=np.inf, vectorized=True)
        row("permutation_rank", a, b, "", rank.pvalue)
        if len(set(pooled)) == len(pooled):
            row("permutation_rank", a, b, "", stats.mannwhitneyu(a, b, method="exact").pvalue)
    else:
        row("permutation_drawn", a, b, "", stats.mannwhitneyu(a, b, method="exact").pvalue)

for p in ([0.01, 0.04, 0.03, 0.005], [0.2, 0.001, 0.5, 0.012, 0.012, 0.9], [0.6, 0.7]):
    # Step-down by its definition: the adjusted value of hypothesis i is the largest (m - rank) * p over all not above it.
    m = len(p)
    adjusted = [min(1, max((m - sorted(p).index(q)) * q for q in p if q <= x)) for x in p]
    row("holm", p, [], "", *adjusted)

# Autocorrelation by NumPy's correlate; the effective size of an autoregression is only estimated, so it is in coverage tests.
for name in ("odd", "skewed", "late"):
    a = groups[name] - groups[name].mean()
    for lag in (1, 2, 5):
        row("autocorrelation", groups[name], [], lag, np.correlate(a, a, "full")[len(a) - 1 + lag] / (a * a).sum())

for successes, n in ((0, 10), (3, 10), (10, 200), (199, 200), (200, 200)):
    for level in (0.9, 0.95):
        got = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
        row("proportion", [successes, n], [], level, successes / n, got.low, got.high)

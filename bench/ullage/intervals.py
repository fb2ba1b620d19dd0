"""Uncertainty with the trace as the unit: t intervals, cluster bootstrap, sign flips, Holm, detectable effects, ranks.

Probes of one trace share a session and are not independent, and neither are traces that tell one story with other names. So
every function here takes one value a cluster: a trace, or a group of traces.
Pure; the bootstrap is seeded. Formulas are those of Miller 2024 (clustered errors) and the standard texts named below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import product
from statistics import fmean, stdev
from typing import Any, Literal, TypeVar

from msgspec import Struct

LEVEL = 0.95
POWER = 0.80
DRAWS = 10_000
"""Bootstrap draws: the Monte Carlo error of a 2.5 % limit is then below 0.2 points of probability."""
SEED = 20_240_501
"""Seed of the bootstrap; fixed so that equal inputs give equal bytes."""
PLANNED_DISCORDANCE, PLANNED_CORRELATION = 0.20, 0.05
"""What the planned effect assumes: one paired answer in five differs, and those of a trace correlate by .05."""
SIGN_FLIP_BELOW = 15
"""Traces below which p comes from all sign flips of the trace differences: the t distribution needs more than that."""

Method = Literal["t", "bootstrap"]
_T = TypeVar("_T")


class Interval(Struct, frozen=True, kw_only=True):
    """A two-sided interval at ``level`` over ``clusters`` independent traces or groups of traces, and how it was made."""

    low: float
    high: float
    level: float = LEVEL
    method: Method = "t"
    clusters: int = 0

    @property
    def pair(self) -> tuple[float, float]:
        """The two limits."""
        return self.low, self.high


def t_cdf(value: float, freedom: float) -> float:
    """Probability that Student's t with ``freedom`` degrees of freedom is at most ``value``."""
    if value == 0:
        return 0.5
    tail = 0.5 * _beta_share(freedom / (freedom + value * value), freedom / 2, 0.5)
    return 1 - tail if value > 0 else tail


@cache
def t_quantile(probability: float, freedom: float) -> float:
    """The value that Student's t stays below with this probability (strictly between 0 and 1)."""
    if not 0 < probability < 1 or freedom <= 0:
        raise ValueError(f"found probability {probability} and {freedom} degrees of freedom; expected (0, 1) and above 0")
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < probability:
        low, high = high, high * 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (middle, high) if t_cdf(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def clustered(pairs: Iterable[tuple[str, _T]]) -> list[list[_T]]:
    """Values by cluster, clusters in the order in which they come: what one cluster holds is not independent."""
    groups: dict[str, list[_T]] = {}
    for cluster, value in pairs:
        groups.setdefault(cluster, []).append(value)
    return list(groups.values())


def cluster_means(pairs: Iterable[tuple[str, float]]) -> list[float]:
    """One mean a cluster: what an interval may take as independent observations."""
    return [fmean(group) for group in clustered(pairs)]


def t_interval(values: Sequence[float], level: float = LEVEL) -> Interval | None:
    """Two-sided t interval of the mean of one value a cluster; none with fewer than two."""
    if len(values) < 2:
        return None
    reach = t_quantile((1 + level) / 2, len(values) - 1) * standard_error(values)
    mean = fmean(values)
    return Interval(low=mean - reach, high=mean + reach, level=level, clusters=len(values))


def standard_error(values: Sequence[float]) -> float:
    """Standard error of the mean of at least two values."""
    return stdev(values) / math.sqrt(len(values))


def p_value(differences: Sequence[float]) -> float | None:
    """Two-sided p of the trace differences against a mean of zero: sign flips for few traces, else t."""
    if len(differences) < 2:
        return None
    if not any(differences):
        return 1.0
    if len(differences) < SIGN_FLIP_BELOW:
        return sign_flip(differences)
    error = standard_error(differences)
    if error == 0:
        return 0.5 ** (len(differences) - 1)
    return 2 * t_cdf(-abs(fmean(differences)) / error, len(differences) - 1)


def sign_flip(differences: Sequence[float]) -> float:
    """Share of all sign assignments whose absolute sum is at least the observed one (exact, 2**J of them)."""
    nonzero = [value for value in differences if value]
    if not nonzero:
        return 1.0
    first, *others = nonzero  # flipping all signs changes nothing, so the first keeps its own
    observed = abs(sum(nonzero)) * (1 - 1e-12)
    flips = product((1, -1), repeat=len(others))
    hits = sum(abs(first + sum(s * v for s, v in zip(signs, others, strict=True))) >= observed for signs in flips)
    return float(hits) / 2.0 ** len(others)


def bootstrap(
    columns: Sequence[Sequence[float]],
    statistic: Callable[..., Any],
    *,
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Interval | None:
    """Percentile interval of a statistic of trace means, whole traces drawn with replacement.

    ``columns`` hold one value a trace each, all of one length; ``statistic`` takes their resampled means as arrays of
    length ``draws``. Draws in which it is not finite (a zero denominator) are left out; none with fewer than two traces.
    """
    import numpy as np  # noqa: PLC0415 - 0.1 s that `--help` need not pay

    traces = len(columns[0])
    if traces < 2:
        return None
    picks = np.random.default_rng(seed).integers(0, traces, size=(draws, traces))
    means = [np.asarray(column, dtype=float)[picks].mean(axis=1) for column in columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(statistic(*means), dtype=float)
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(low=float(low), high=float(high), level=level, method="bootstrap", clusters=traces)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's step-down adjusted p values, in the order given (Holm 1979)."""
    adjusted, highest, count = [1.0] * len(p_values), 0.0, len(p_values)
    for rank, index in enumerate(sorted(range(count), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (count - rank) * p_values[index]))
        adjusted[index] = highest
    return tuple(adjusted)


def detectable(error: float, traces: int, *, level: float = LEVEL, power: float = POWER) -> float:
    """Smallest true effect that a one-sided test sees with this power, from a standard error over ``traces``."""
    return (t_quantile(level, traces - 1) + t_quantile(power, traces - 1)) * error


def detectable_planned(traces: int, probes: float, *, discordance: float, correlation: float) -> float | None:
    """The same before any result: ``probes`` a trace, share of discordant pairs, their correlation within a trace.

    (t + t) √(d (1 + (m − 1) ρ) / (J m)); none with fewer than two traces or no probe.
    """
    if traces < 2 or probes <= 0:
        return None
    error = math.sqrt(discordance * (1 + (probes - 1) * correlation) / (traces * probes))
    return detectable(error, traces)


def planned_effect(groups: int, probes: int) -> float | None:
    """The planned effect of a paired comparison over so many independent groups of traces with so many probes in all."""
    if not groups:
        return None
    return detectable_planned(groups, probes / groups, discordance=PLANNED_DISCORDANCE, correlation=PLANNED_CORRELATION)


def correlation_within(groups: Sequence[Sequence[float]]) -> float | None:
    """Intra-trace correlation by one-way analysis of variance (Donner 1986), clipped to [0, 1]; none when undefined."""
    sizes = [len(group) for group in groups if group]
    total, count = sum(sizes), len(sizes)
    if count < 2 or total <= count:
        return None
    means = [fmean(group) for group in groups if group]
    grand = sum(size * mean for size, mean in zip(sizes, means, strict=True)) / total
    between = sum(size * (mean - grand) ** 2 for size, mean in zip(sizes, means, strict=True)) / (count - 1)
    within = sum((value - fmean(group)) ** 2 for group in groups if group for value in group) / (total - count)
    typical = (total - sum(size * size for size in sizes) / total) / (count - 1)
    spread = between + (typical - 1) * within
    return None if spread == 0 else min(1.0, max(0.0, (between - within) / spread))


def rank_intervals(
    scores: Sequence[Sequence[float]], *, level: float = LEVEL, draws: int = DRAWS, seed: int = SEED
) -> tuple[tuple[int, int], ...] | None:
    """Lowest and highest rank of each row of ``scores`` (one value a trace, more is better) over resampled traces.

    Rank 1 is best, equal means share the better rank; none with fewer than two traces.
    """
    import numpy as np  # noqa: PLC0415 - 0.1 s that `--help` need not pay

    table = np.asarray(scores, dtype=float)
    if table.ndim != 2 or table.shape[1] < 2:
        return None
    picks = np.random.default_rng(seed).integers(0, table.shape[1], size=(draws, table.shape[1]))
    means = np.stack([row[picks].mean(axis=1).round(12) for row in table])
    ranks = np.stack([(means > own).sum(axis=0) + 1 for own in means])
    limits = np.quantile(ranks, [(1 - level) / 2, (1 + level) / 2], axis=1, method="nearest").astype(int)
    return tuple((int(low), int(high)) for low, high in limits.T)


def none_seen_bound(observations: int) -> float | None:
    """Upper 95 % bound of a rate of which none was seen: 3/n, at most 1 (rule of three)."""
    return min(1.0, 3 / observations) if observations > 0 else None


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function (Numerical Recipes 6.4, symmetric form)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(x, a, b) / a
    return 1 - front * _beta_fraction(1 - x, b, a) / b


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Its continued fraction by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, 400):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away(1 + term * d, tiny)
            c = _away(1 + term / c, tiny)
            value *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return value


def _away(value: float, tiny: float) -> float:
    """Keep a divisor away from zero."""
    return tiny if abs(value) < tiny else value

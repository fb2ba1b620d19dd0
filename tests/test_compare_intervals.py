"""Intervals, p values and detectable effects against published tables, and their laws."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.intervals import (
    bootstrap,
    correlation_within,
    detectable_planned,
    holm,
    none_seen_bound,
    p_value,
    rank_intervals,
    sign_flip,
    t_cdf,
    t_interval,
    t_quantile,
)

T_TABLE = [
    # probability, degrees of freedom, value: the usual printed table of Student's t
    (0.975, 1, 12.706),
    (0.975, 2, 4.303),
    (0.975, 4, 2.776),
    (0.95, 4, 2.132),
    (0.95, 29, 1.699),
    (0.80, 29, 0.854),
    (0.995, 10, 3.169),
    (0.999, 3, 10.215),
    (0.90, 60, 1.296),
    (0.975, 120, 1.980),
    (0.975, 1_000_000, 1.960),
]

MDE_TABLE = {
    # traces: correlation .02, .05, .10, each with 10, 20, 40 probes a trace; discordance .20, percentage points
    10: (13.2, 10.1, 8.1, 14.6, 12.0, 10.4, 16.7, 14.6, 13.4),
    20: (8.9, 6.8, 5.5, 9.9, 8.1, 7.0, 11.3, 9.9, 9.1),
    30: (7.2, 5.5, 4.4, 7.9, 6.5, 5.7, 9.1, 7.9, 7.3),
    50: (5.5, 4.2, 3.4, 6.1, 5.0, 4.3, 7.0, 6.1, 5.6),
    100: (3.8, 2.9, 2.4, 4.3, 3.5, 3.0, 4.9, 4.3, 3.9),
}

numbers = st.floats(-100, 100, allow_nan=False).map(lambda x: round(x, 3))


@pytest.mark.parametrize(("probability", "freedom", "value"), T_TABLE)
def test_t_quantiles_are_those_of_the_printed_table(probability: float, freedom: int, value: float) -> None:
    """T quantiles are those of the printed table."""
    assert t_quantile(probability, freedom) == pytest.approx(value, abs=6e-4)


@given(st.floats(0.001, 0.999), st.integers(1, 300))
def test_the_quantile_inverts_the_distribution(probability: float, freedom: int) -> None:
    """The quantile inverts the distribution."""
    assert t_cdf(t_quantile(probability, freedom), freedom) == pytest.approx(probability, abs=1e-9)


def test_a_t_interval_by_hand() -> None:
    """Values 1 to 5: mean 3, standard error sqrt(0.5), t(.975, 4) = 2.776."""
    found = t_interval([1, 2, 3, 4, 5])
    assert found is not None
    assert found.pair == pytest.approx((3 - 2.77645 * math.sqrt(0.5), 3 + 2.77645 * math.sqrt(0.5)), abs=1e-4)
    assert found.clusters == 5


def test_one_trace_has_no_interval_and_no_p() -> None:
    """One trace has no interval and no p."""
    assert t_interval([0.4]) is None
    assert p_value([0.4]) is None
    assert bootstrap([[0.4]], lambda mean: mean) is None


@given(st.lists(numbers, min_size=2, max_size=40), numbers)
def test_shifting_the_values_shifts_the_interval(values: list[float], shift: float) -> None:
    """Shifting the values shifts the interval."""
    first, second = t_interval(values), t_interval([value + shift for value in values])
    assert first is not None
    assert second is not None
    assert second.pair == pytest.approx((first.low + shift, first.high + shift), abs=1e-6)


def test_the_t_interval_covers_at_its_level() -> None:
    """Over 1,000 samples of 8 traces the 95 % interval holds the truth in 93 to 97 %."""
    rng = random.Random(3)
    covered = 0
    for _ in range(1000):
        found = t_interval([rng.gauss(0.1, 0.3) for _ in range(8)])
        assert found is not None
        covered += found.low <= 0.1 <= found.high
    assert 930 <= covered <= 970


@pytest.mark.parametrize("traces", MDE_TABLE)
def test_planned_effects_are_those_of_the_methodology(traces: int) -> None:
    """Planned effects are those of the methodology."""
    found = [
        round(100 * (detectable_planned(traces, probes, discordance=0.2, correlation=rho) or 0), 1)
        for rho in (0.02, 0.05, 0.1)
        for probes in (10, 20, 40)
    ]
    assert tuple(found) == MDE_TABLE[traces]


def test_no_effect_can_be_planned_for_one_trace_or_no_probe() -> None:
    """No effect can be planned for one trace or no probe."""
    assert detectable_planned(1, 20, discordance=0.2, correlation=0.05) is None
    assert detectable_planned(5, 0, discordance=0.2, correlation=0.05) is None


def test_sign_flips_count_all_assignments() -> None:
    """Four equal differences: only all-plus and all-minus reach their sum, 2 of 16."""
    assert sign_flip([0.1, 0.1, 0.1, 0.1]) == pytest.approx(2 / 16)
    assert sign_flip([3, 1, 1]) == pytest.approx(2 / 8)
    assert sign_flip([1, -1]) == 1.0


@given(st.lists(numbers, min_size=2, max_size=9))
def test_p_ignores_the_sign_of_all_differences(differences: list[float]) -> None:
    """P ignores the sign of all differences."""
    assert p_value(differences) == pytest.approx(p_value([-value for value in differences]))


def test_equal_arms_have_p_one() -> None:
    """Equal arms have p one."""
    assert p_value([0.0] * 30) == 1.0
    assert p_value([0.0] * 3) == 1.0


def test_p_of_many_traces_is_that_of_the_t_test() -> None:
    """Twenty differences with mean 1 and standard error 0.5: t = 2 with 19 degrees of freedom, p = .060."""
    values = [1 + 0.5 * math.sqrt(19) * sign for sign in (1, -1) for _ in range(10)]
    assert p_value(values) == pytest.approx(0.06, abs=1e-3)


def test_holm_steps_down() -> None:
    """Holm steps down."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert holm([0.5, 0.9]) == pytest.approx((1.0, 1.0))
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_and_keeps_their_order(values: list[float]) -> None:
    """Holm never lowers a p and keeps their order."""
    adjusted = holm(values)
    assert all(a >= p for a, p in zip(adjusted, values, strict=True))
    pairs = sorted(zip(values, adjusted, strict=True))
    assert [a for _, a in pairs] == sorted(a for _, a in pairs)


def test_the_bootstrap_is_seeded_and_near_the_t_interval() -> None:
    """The bootstrap is seeded and near the t interval."""
    rng = random.Random(1)
    values = [rng.gauss(0, 1) for _ in range(60)]
    first, second = bootstrap([values], lambda mean: mean), bootstrap([values], lambda mean: mean)
    exact = t_interval(values)
    assert first == second
    assert first is not None
    assert exact is not None
    assert first.pair == pytest.approx(exact.pair, abs=0.05)


def test_draws_without_a_ratio_are_left_out() -> None:
    """With a denominator of 0 or 1 a trace, draws of zeros only have no ratio; the rest do."""
    found = bootstrap([[0.0, 1.0], [0.0, 1.0]], lambda top, bottom: top / bottom, draws=500)
    assert found is not None
    assert found.pair == (1.0, 1.0)
    assert bootstrap([[1.0, 1.0], [0.0, 0.0]], lambda top, bottom: top / bottom, draws=50) is None


def test_correlation_within_traces_goes_from_none_to_all() -> None:
    """Correlation within traces goes from none to all."""
    assert correlation_within([[1, 1, 1], [0, 0, 0], [1, 1, 1]]) == pytest.approx(1.0)
    assert correlation_within([[1, 0, 1, 0], [0, 1, 0, 1]]) == 0.0
    assert correlation_within([[1, 0]]) is None
    assert correlation_within([[1, 1], [1, 1]]) is None


def test_ranks_of_clearly_ordered_strategies_are_points_and_ties_share() -> None:
    """Ranks of clearly ordered strategies are points and ties share."""
    found = rank_intervals([[0.9, 0.8, 0.85], [0.1, 0.2, 0.15], [0.1, 0.2, 0.15]])
    assert found == ((1, 1), (2, 2), (2, 2))
    assert rank_intervals([[0.9], [0.1]]) is None


def test_nothing_seen_in_sixty_bounds_the_rate_at_five_percent() -> None:
    """Nothing seen in sixty bounds the rate at five percent."""
    assert none_seen_bound(60) == 0.05
    assert none_seen_bound(2) == 1.0
    assert none_seen_bound(0) is None

"""Many systems, seeds and sizes of test sets, against laws that other packages compute and against counting by hand."""

from itertools import combinations, product

import numpy as np
import pytest

from spoofspan.uncertainty.jackknife import Term, satterthwaite
from spoofspan.uncertainty.max_t import adjusted_p_values, draw_ratios, holm
from spoofspan.uncertainty.ranks import ranks
from spoofspan.uncertainty.sample_size import detectable_difference, levels_needed, power_with
from spoofspan.uncertainty.variance_components import Design, variance_components

stats = pytest.importorskip("scipy.stats")


def all_pairs(count):
    return list(combinations(range(count), 2))


# ---------------------------------------------------------------- many comparisons


@pytest.mark.parametrize("count", [3, 5])
def test_the_largest_of_all_differences_follows_the_studentized_range(count):
    """With equal variances and many degrees of freedom, max-T over all pairs is Tukey's test."""
    pairs = all_pairs(count)
    first = 0.004
    found = adjusted_p_values([first] + [0.6] * (len(pairs) - 1), pairs, np.eye(count), np.inf)
    expected = stats.studentized_range.sf(stats.norm.isf(first / 2) * 2**0.5, count, np.inf)
    assert found[0] == pytest.approx(expected, rel=0.1)
    assert found[0] < first * len(pairs)


def test_comparisons_with_one_system_follow_dunnetts_law():
    covariance = np.diag([1.0, 1.0, 1.0, 1.0])
    first = 0.01
    found = adjusted_p_values([first, 0.5, 0.6], [(0, 1), (0, 2), (0, 3)], covariance, np.inf)
    # the three share half of their variance: P(max |Z| >= z), integrated over what they share
    z, shared = stats.norm.isf(first / 2), np.linspace(-8, 8, 4001)
    inside = stats.norm.cdf((z - shared * 0.5**0.5) / 0.5**0.5) - stats.norm.cdf((-z - shared * 0.5**0.5) / 0.5**0.5)
    expected = 1 - np.trapezoid(inside**3 * stats.norm.pdf(shared), shared)
    assert found[0] == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("degrees", [2, 5, 40])
def test_each_ratio_follows_students_law(degrees):
    covariance = np.array([[1.0, 0.5, 0.2], [0.5, 2.0, 0.1], [0.2, 0.1, 1.0]])
    drawn = draw_ratios(np.random.default_rng(0), 40_000, np.array(all_pairs(3)), covariance, degrees)
    for column, share in product(range(3), (0.5, 0.1, 0.02)):
        found = np.mean(drawn[:, column] >= stats.t.isf(share / 2, degrees))
        assert found == pytest.approx(share, abs=5 * (share / 40_000) ** 0.5)


def test_adjusted_p_values_lie_between_p_and_holms():
    rng = np.random.default_rng(1)
    for degrees in (3.5, 30, np.inf):
        factor = rng.normal(size=(6, 6))
        p = rng.uniform(size=15) ** 3
        found = adjusted_p_values(p, all_pairs(6), factor @ factor.T, degrees)
        assert (np.array(found) >= p).all()
        assert (np.array(found) <= np.array(holm(p)) + 1e-15).all()
        assert np.argsort(p).tolist() == np.lexsort((p, found)).tolist()  # the order stays


def test_a_p_that_is_small_enough_for_any_number_of_pairs_stays_so():
    found = adjusted_p_values([1e-9] + [0.3] * 104, all_pairs(15), np.eye(15), 50)
    assert found[0] == pytest.approx(105e-9)


def test_systems_that_are_the_same_say_nothing_of_others():
    twice = np.ones((3, 3))
    twice[2] = twice[:, 2] = (0, 0, 1)
    found = adjusted_p_values([1.0, 0.01, 0.01], all_pairs(3), twice, np.inf)
    assert found == pytest.approx([1.0, 0.01, 0.01], rel=0.15)  # two names of one difference


def test_one_comparison_is_not_adjusted():
    assert adjusted_p_values([0.03], [(0, 1)], np.eye(2), 10) == [0.03]


# ---------------------------------------------------------------- ranks


def brute_ranks(values, verdicts):
    """All orders of systems that contradict no verdict, and the places each system has in them."""
    from itertools import permutations

    names = list(values)
    places = {name: set() for name in names}
    for order in permutations(names):
        if all(order.index(better) < order.index(worse) for better, worse in verdicts):
            for place, name in enumerate(order, 1):
                places[name].add(place)
    return places


@pytest.mark.parametrize("seed", range(6))
def test_ranks_are_the_places_in_orders_that_contradict_no_verdict(seed):
    rng = np.random.default_rng(seed)
    values = {name: float(value) for name, value in zip("ABCDE", rng.normal(size=5), strict=True)}
    ordered = sorted(values, key=values.get)
    # differences of more than a step are verdicts, as of equal standard errors: then verdicts are transitive
    verdicts = [(a, b) for a, b in combinations(ordered, 2) if values[b] - values[a] > 0.7]
    expected = brute_ranks(values, verdicts)
    for one in ranks(values, verdicts, "lower"):
        assert (one.low, one.high) == (min(expected[one.system]), max(expected[one.system]))
    mirrored = ranks({name: -value for name, value in values.items()}, verdicts, "higher")
    assert [(one.system, one.low, one.high) for one in mirrored] == [
        (one.system, one.low, one.high) for one in ranks(values, verdicts, "lower")
    ]


@pytest.mark.parametrize("seed", range(12))
def test_systems_share_a_letter_if_and_only_if_they_cannot_be_told_apart(seed):
    rng = np.random.default_rng(seed)
    names = "ABCDEFG"
    values = dict(zip(names, np.sort(rng.normal(size=7)).tolist(), strict=True))
    verdicts = [pair for pair in combinations(names, 2) if rng.random() < 0.5]  # also such as are not transitive
    found = {one.system: set(one.groups) for one in ranks(values, verdicts, "lower")}
    for pair in combinations(names, 2):
        assert bool(found[pair[0]] & found[pair[1]]) == (pair not in verdicts)
    letters = set().union(*found.values())
    assert letters == set("abcdefghijklmnopqrstuvwxyz"[: len(letters)])
    for one, other in product(letters, repeat=2):  # no letter says what another one says already
        holders = [{name for name in names if letter in found[name]} for letter in (one, other)]
        assert one == other or not holders[0] <= holders[1]


def test_equal_values_share_a_place():
    assert [one.place for one in ranks({"A": 0.2, "B": 0.1, "C": 0.2}, [], "lower")] == [1, 2, 2]


# ---------------------------------------------------------------- seeds


def test_variance_components_are_those_of_an_analysis_of_variance():
    """Values of seeds on clusters: the mean squares of a two-way layout give the same components."""
    rng = np.random.default_rng(2)
    seeds, clusters = 4, 30
    table = rng.normal(size=(seeds, clusters)) + rng.normal(size=clusters) + 0.5 * rng.normal(size=(seeds, 1))
    found = variance_components(table.mean(axis=1), np.cov(table) / clusters, clusters - 1)
    whole = table.mean()
    by_seed, by_cluster = table.mean(axis=1) - whole, table.mean(axis=0) - whole
    rest = table - whole - by_seed[:, None] - by_cluster
    ms_seed = clusters * (by_seed**2).sum() / (seeds - 1)
    ms_cluster = seeds * (by_cluster**2).sum() / (clusters - 1)
    ms_rest = (rest**2).sum() / ((seeds - 1) * (clusters - 1))
    assert found.interaction == pytest.approx(ms_rest / clusters)
    assert found.test_set == pytest.approx((ms_cluster - ms_rest) / seeds / clusters)
    assert found.seed == pytest.approx((ms_seed - ms_rest) / clusters)
    total = (ms_cluster + ms_seed - ms_rest) / seeds / clusters
    assert found.total == pytest.approx(total)
    terms = zip((ms_cluster, ms_seed, ms_rest), (clusters - 1, seeds - 1, (seeds - 1) * (clusters - 1)), strict=True)
    spread = sum((mean_square / seeds / clusters) ** 2 / degrees for mean_square, degrees in terms)
    assert found.degrees == pytest.approx(total**2 / spread)


def test_seeds_that_differ_by_noise_only_count_it_once():
    covariance = np.full((3, 3), 1e-4) + np.eye(3) * 2e-4
    found = variance_components(np.array([0.05, 0.051, 0.052]), covariance, 99)
    assert found.seed == 0
    assert found.total == found.fixed == pytest.approx(1e-4 + 2e-4 / 3)
    assert found.degrees == pytest.approx(99)
    assert found.notes == ("the seed component came out below zero and is taken as 0",)


def test_welchs_degrees_of_freedom():
    """Two samples: Satterthwaite's formula is Welch's."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=9), 3 * rng.normal(size=14)
    found = satterthwaite([Term(a.var(ddof=1) / 9, 8), Term(b.var(ddof=1) / 14, 13)])
    test = stats.ttest_ind(a, b, equal_var=False)
    assert found.degrees == pytest.approx(test.df)
    assert (a.mean() - b.mean()) / found.variance**0.5 == pytest.approx(test.statistic)


# ---------------------------------------------------------------- sizes of test sets


@pytest.mark.parametrize("samples", [1, 2])
@pytest.mark.parametrize("clusters", [3, 5, 30, 3000])
def test_power_is_that_of_the_noncentral_t(clusters, samples):
    degrees = samples * (clusters - 1)
    for level, distance in product((0.05, 0.01), (0.0, 0.5, 2.0, 4.0)):
        critical = stats.t.isf(level / 2, degrees)
        expected = stats.nct.sf(critical, degrees, distance) + stats.nct.cdf(-critical, degrees, distance)
        found = power_with(distance, 1.0, degrees, level)
        assert found == pytest.approx(expected, abs=3e-4)


ONE_CLUSTER = Design({"cluster": 1}, {("cluster",): 1.0})


def test_the_fewest_clusters_are_enough_and_one_less_is_not():
    for difference, samples in product((0.2, 1.0, 3.0), (1, 2)):
        found = levels_needed(ONE_CLUSTER, ("cluster",), difference, 0.8, 0.05, samples)

        def power_of(apart, clusters, samples=samples):
            return power_with(apart, clusters**-0.5, samples * (clusters - 1), 0.05)

        assert power_of(difference, found) >= 0.8
        assert power_of(difference, found - 1) < 0.8
        again = detectable_difference(found**-0.5, samples * (found - 1), 0.8, 0.05)
        assert power_of(again, found) == pytest.approx(0.8, abs=1e-4)
        assert again <= difference * (1 + 1e-5)


def test_many_clusters_follow_the_formula_of_textbooks():
    z = stats.norm.isf(0.025) + stats.norm.isf(0.2)
    assert levels_needed(ONE_CLUSTER, ("cluster",), 0.01, 0.8, 0.05, 1) == pytest.approx((z / 0.01) ** 2, rel=1e-4)

"""scikit-learn's own checks, for every method."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from likewise.clustering import LPNMF, METHODS, SKMS

CHEAPER = {"cosc": {"n_starts": 0}, "lpnmf": {"max_iter": 20}}  # the checks fit each method some dozens of times


def not_meant_for(estimator: Any) -> dict[str, str]:
    if isinstance(estimator, SKMS):
        reason = "it finds the number of clusters itself, and may find more than were asked for"
    elif isinstance(estimator, LPNMF):
        reason = "the items of this check have values below 0"
    else:
        return {}
    return {"check_clustering": reason}


@parametrize_with_checks(
    [method(**CHEAPER.get(name, {})) for name, method in METHODS.items()], expected_failed_checks=not_meant_for
)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)

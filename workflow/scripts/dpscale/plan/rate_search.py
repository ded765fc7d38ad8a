"""A search among shares of a rate that grows while the best one lies at its end."""

from collections.abc import Mapping


def best(scores: Mapping[float, float]) -> float:
    """Return the share of the highest score; the smallest of equals.

    scores: by share; minus infinity for one that cannot be chosen. Raises ValueError for none.
    """
    return max(sorted(scores), key=lambda share: scores[share])


def beyond(scores: Mapping[float, float]) -> float | None:
    """Return the share to try next, None where the best one lies inside.

    It lies beyond the end at which the best one is, by the ratio of the two shares there; where
    none can be chosen, below the smallest. None also where fewer than two were tried.
    """
    shares = sorted(scores)
    if len(shares) < 2:
        return None
    if best(scores) == shares[0]:
        return shares[0] ** 2 / shares[1]
    if best(scores) == shares[-1]:
        return shares[-1] ** 2 / shares[-2]
    return None

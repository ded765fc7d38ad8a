"""Published results of S4, as printed: nothing here was measured by this project.

Lin, Stich, Patel and Jaggi, Don't Use Large Mini-Batches, Use Local SGD (ICLR 2020,
arXiv:1808.07217): ResNet-20, K = 16 workers of b = 128, post-local SGD from the first fall of the
rate on; mean test accuracy over seeds, as a fraction.
"""

SOURCE = "Lin et al. (2020)"
LOCAL_STEPS = 16  # of post-local SGD where its H is not what is compared
POST_LOCAL, MORE_STEPS = f"post-local H={LOCAL_STEPS}", "post-local H=32"
# dataset: {what was trained: accuracy}
ACCURACIES = {
    "CIFAR-10": {"small": 0.9263, "large": 0.9248, POST_LOCAL: 0.9280, MORE_STEPS: 0.9302},
    "CIFAR-100": {"small": 0.6884, "large": 0.6817, POST_LOCAL: 0.6924, MORE_STEPS: 0.6938},
}
NO_NOISE = "published without wrong labels"  # why other regimes are not judged
# claim: the first of two is more accurate than the second
CLAIMS = {
    "post_local_against_large": (POST_LOCAL, "large"),
    "post_local_against_small": (POST_LOCAL, "small"),
    "small_against_large": ("small", "large"),
    "more_local_steps": (MORE_STEPS, POST_LOCAL),
}


def published_ends(claim: str) -> tuple[float, float]:
    """Return the smallest and the largest published difference of a claim over the data sets."""
    one, other = CLAIMS[claim]
    found = [accuracies[one] - accuracies[other] for accuracies in ACCURACIES.values()]
    return min(found), max(found)

"""Wrong labels, so that a network that learns its training set by heart pays for it."""

import torch

from dpscale.train.data import Split


def with_wrong_labels(split: Split, frac: float, classes: int, *, seed: int) -> Split:
    """The split with exactly a share `frac` of its labels (rounded) replaced by another class.

    Samples and classes are drawn uniformly; the choice depends on `seed` alone. Zhang et al.,
    Understanding Deep Learning Requires Rethinking Generalization (ICLR 2017), section 2.1, draw
    from all classes; here the right one is left out, so that the share is exact.
    """
    wrong = round(frac * len(split))
    if wrong == 0:
        return split
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(len(split), generator=generator)[:wrong]
    shift = torch.randint(1, classes, (wrong,), generator=generator)
    labels = split.labels.clone()
    labels[chosen] = (labels[chosen] + shift) % classes
    return Split(split.images, labels)

"""The remedies for a large batch: what each does, where it comes from, and how they compare."""

from dataclasses import dataclass

from dpscale.reporting.answers import arms, prose
from dpscale.reporting.answers.arms import Arm
from dpscale.reporting.answers.inputs import Inputs
from dpscale.reporting.answers.references import GOYAL, HOFFER


@dataclass(frozen=True)
class Remedy:
    """A remedy in words: its name, what it does, and the works it comes from."""

    title: str
    what: str
    source: str
    references: tuple[str, ...]
    on_top_of: str | None = None


REMEDIES = {
    "linear_scaling": Remedy(
        "linear scaling",
        "multiplies the learning rate by the growth of the batch, since k small "
        "steps along similar gradients come close to one k times as long",
        "Goyal et al., 2017, section 2.1",
        (GOYAL,),
    ),
    "warmup": Remedy(
        "gradual warm-up",
        "raises the rate to the scaled one step by step over the first epochs, "
        "in which the weights change fast and the argument for scaling does not hold",
        "Goyal et al., 2017, section 2.2",
        (GOYAL,),
        "linear_scaling",
    ),
    "zero_gamma": Remedy(
        "zero gamma",
        "adds to rate and warm-up a gain of zero in the last batch normalisation of "
        "each residual block, so that every block starts as the identity",
        "Goyal et al., 2017, section 5.1",
        (GOYAL,),
        "warmup",
    ),
    "more_epochs": Remedy(
        "longer training",
        "gives the large batch more epochs and with them more updates",
        "Hoffer et al., 2017",
        (HOFFER,),
    ),
}


def each(names: list[str]) -> str:
    """Return what each of the named remedies does, and its source."""
    parts = [
        f"{prose.capitalised(REMEDIES[name].title)} {REMEDIES[name].what} "
        f"({REMEDIES[name].source})."
        for name in names
    ]
    return " ".join(parts)


def protocol(global_batch: int, epoch: int, tried: dict[str, Arm]) -> str:
    """Return how the remedies were run and compared."""
    longer = [
        f"{REMEDIES[name].title}, with {arm.row['epoch']}"
        for name, arm in tried.items()
        if arm.row["epoch"] > epoch
    ]
    extra = (
        f"; the exception is {prose.join(longer)}, which therefore costs more computation"
        if longer
        else ""
    )
    return (
        f"All remedies use the large batch (B = {global_batch}), the same data "
        f"and the same seeds, and are compared after {prose.digits(epoch, 'epoch')}{extra}. A "
        "number is the median over the seeds, with its 95% bootstrap interval; a remedy is "
        "said to help only where its interval and that of the large batch do not meet."
    )


def stacked(tried: dict[str, Arm]) -> str:
    """Return what each remedy adds to the one it builds on; empty where none does."""
    words = {
        "higher": "raises the test accuracy further",
        "lower": "lowers the test accuracy",
        "indistinct": "makes no difference that shows above the seeds",
        "unknown": "is not decided by so few seeds",
    }
    parts = [
        f"{remedy.title} added to {REMEDIES[base].title} "
        f"{words[arms.versus(tried[name], tried[base], 'test_accuracy_frac')]}"
        for name, remedy in REMEDIES.items()
        if (base := remedy.on_top_of) and name in tried and base in tried
    ]
    return f"The remedies build on each other: {prose.join(parts)}." if parts else ""


def breakdown(inputs: Inputs, tried: dict[str, Arm], large: Arm) -> str:
    """Return why what makes it worse can do so: the scaled rate, or the gains of zero."""
    worse = [
        name
        for name in ("linear_scaling", "warmup", "zero_gamma")
        if name in tried and arms.versus(tried[name], large, "test_accuracy_frac") == "lower"
    ]
    if not worse:
        return ""
    arm = tried[worse[0]]
    count = arms.updates(inputs, arm)
    if worse == ["zero_gamma"]:
        during = f"in {count} updates" if count else "in few updates"
        return (
            "With zero gamma each residual block starts as the identity, and its layers train "
            f"only once the gain has left zero; {during} that is a late start. Goyal et al. "
            "(2017) used it in trainings of 90 epochs on ImageNet."
        )
    few = f", and all {count} updates of these runs are early" if count else ""
    return (
        f"The scaled rate, {arm.row['lr']:g} instead of {large.row['lr']:g}, makes it worse "
        "here. Linear scaling presumes that the gradient changes little over the small steps "
        "that it merges, and Goyal et al. (2017, section 2.2) say that this fails while the "
        f"network changes fast, early in training{few}. That does not refute it for long "
        "trainings."
    )


def fit_without_accuracy(inputs: Inputs, tried: dict[str, Arm], large: Arm) -> str:
    """Return which remedies fit the training data better without testing better; empty for none."""
    parts = [
        f"{REMEDIES[name].title} with a training loss of {prose.quantity(arm.value('train_loss'))}"
        for name, arm in tried.items()
        if arms.versus(arm, large, "train_loss") == "lower"
        and arms.versus(arm, large, "test_accuracy_frac") != "higher"
    ]
    if not parts:
        return ""
    count = arms.updates(inputs, large)
    after = f" {count} updates" if count else " few updates"
    return (
        f"In training the picture differs: {prose.join(parts)} "
        f"{prose.verb(len(parts), 'is', 'are')} below the large batch alone with "
        f"{prose.quantity(large.value('train_loss'))}. The training loss uses the statistics of "
        "each batch, the test accuracy the running statistics of batch normalisation, which after"
        f"{after} lag behind a network that a higher rate moves fast."
    )


def gap(tried: dict[str, Arm], small: Arm | None) -> str:
    """Return how the remedies compare with the small batch's test accuracy."""
    if small is None or not small.whole:
        return ""
    accuracy = prose.quantity(small.value("test_accuracy_frac"))
    groups: dict[str, list[str]] = {}
    for name, arm in tried.items():
        groups.setdefault(arms.versus(arm, small, "test_accuracy_frac"), []).append(
            REMEDIES[name].title
        )
    words = {
        "lower": "stay below it",
        "indistinct": "cannot be told apart from it",
        "higher": "exceed it",
        "unknown": "are undecided",
    }
    singular = {
        "lower": "stays below it",
        "indistinct": "cannot be told apart from it",
        "higher": "exceeds it",
        "unknown": "is undecided",
    }
    parts = [
        f"{prose.join(groups[kind])} {prose.verb(len(groups[kind]), singular[kind], text)}"
        for kind, text in words.items()
        if kind in groups
    ]
    return (
        (
            f"The small batch, the mark to reach, has a test accuracy of {accuracy}: "
            f"{'; '.join(parts)}."
        )
        if parts
        else ""
    )

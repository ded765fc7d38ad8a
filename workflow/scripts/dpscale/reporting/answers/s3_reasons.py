"""S3's paragraphs: the protocol, the times, why rates matter, and α."""

from itertools import pairwise

from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.q4_reasons import spread_of_seeds
from dpscale.reporting.answers.s3_arms import (
    LARGE,
    SMALL,
    STUDY,
    Arms,
    alphas,
    compared,
    how_many,
    need,
    order,
    value,
)
from dpscale.units import format_value

CLOSE_FRAC = 0.1  # two effective rates that differ by less are called nearly the same


def protocol(inputs: Inputs, found: Arms) -> str:
    """Return how the arms were trained, timed and judged."""
    if not found.averaged:
        return ""
    row = found.averaged[0]
    runs = [run for run in inputs.tidy_rows("runs", study=STUDY) if run["kind"] == "averaging"]
    workers = max(run["workers"] for run in runs)
    where = "one process" if workers == 1 else f"{prose.number_word(workers)} processes"
    target = format_value(row["target_accuracy_frac"], "fraction")
    return (
        f"Every arm saw the same samples, {row['epochs']:g} epochs of them, with "
        f"{prose.counted(row['seeds'], 'seed')}; a number is the median over the seeds with its "
        f"95% bootstrap interval, and arms are compared seed by seed."
        f"{spread_of_seeds(row['seeds'])} The target, a test accuracy of {target}, was stated "
        f"before the run and is reached when the median of the last {row['median_of']} "
        "evaluations reaches it; a time to it is given only where every seed did. Learners take "
        f"plain gradient steps and are averaged {_every(row['tau'])}; the momentum "
        f"μ = {row['momentum']:g} is that of the central model z, or of SGD. z is what is "
        "evaluated, with running statistics of batch norm averaged over the learners, each of "
        "which keeps its own. All arms of a seed take turns from one evaluation to the next in "
        f"{where}, so that what disturbs one disturbs all; seconds are of training alone."
    )


def _every(tau: int) -> str:
    return "after every step" if tau == 1 else f"every {tau} steps"


def times(inputs: Inputs, found: Arms) -> str:
    """Return the time that each arm of model averaging takes, and how it stands against SGD."""
    if not found.comparable:
        return ""
    said = []
    for row in found.averaged:
        where = f"at γ = {row['lr']:g} with α = {row['alpha']:g}"
        if row["status"] != "complete":
            said.append(f"{where} with {how_many(row)}")
            continue
        epochs, seconds = (
            prose.quantity(value(inputs, row, f"{of}_to_target")) for of in ("epochs", "seconds")
        )
        said.append(f"{where} after {epochs} epochs and {seconds}, {compared(found, row)}")
    first = (found.own_rate or found.same_rate)[0]
    orders = [found.order(first["arm"], SMALL, of) for of in ("epochs", "seconds")]
    return (
        f"The averaged learners reach the target {'; '.join(said)}. Compared with SGD of the small "
        f"batch by itself (B = {found.rows[SMALL]['global_batch']}) they need "
        f"{need(orders[0], orders[1])}{_with(first)}. Where a seed does not reach the target, the "
        "time to it lies beyond the whole training: that bounds the comparison, and decides it "
        "where the bounds alone do."
    )


def _with(row: Row) -> str:
    return f", with γ = {row['lr']:g} and α = {row['alpha']:g}"


def drift(found: Arms) -> str:
    """Return how far each rate carries a model, and what of the comparison this explains."""
    if not found.averaged or LARGE not in found.rows:
        return ""
    large, averaged = found.rows[LARGE], found.averaged
    text = (
        "A rate does not mean the same to both. Along a gradient $g$ that stays the same, z ends "
        "up moving by $\\gamma g / (1 + (1 - \\mu)/k)$ a step whatever α is: its momentum only "
        "makes up for what the corrections hold back. SGD with momentum moves by "
        f"$\\gamma g / (1 - \\mu)$. At γ = {large['lr']:g} SGD so goes as far as plain SGD at the "
        f"rate {large['effective_lr']:.3g}, and averaged learners "
        f"{_effective_rates(averaged)}."
    )
    return " ".join([text, *_explained(found, large)])


def _effective_rates(rows: list[Row]) -> str:
    rates = {row["lr"]: row["effective_lr"] for row in rows}
    return prose.join([f"at γ = {lr:g} as at {far:.3g}" for lr, far in rates.items()])


def _explained(found: Arms, large: Row) -> list[str]:
    """What the orders of the arms make of it."""
    said = []
    same = [found.order(row["arm"], LARGE, "epochs") for row in found.same_rate]
    if same and set(same) == {"later"}:
        said.append(
            "That at the same rate they come later in epochs than SGD with the large batch is "
            "what this predicts."
        )
    elif "sooner" in same:
        said.append(
            "Yet at the same rate they come sooner in epochs than SGD with the large batch, so "
            "the length of the steps is not what decides here."
        )
    for row in found.own_rate:
        ratio = row["effective_lr"] / large["effective_lr"]
        if abs(ratio - 1) > CLOSE_FRAC:
            continue
        epochs = found.order(row["arm"], LARGE, "epochs")
        words = {
            "sooner": "they need fewer epochs: a gain of averaging that longer steps do not "
            "explain",
            "later": "they need more epochs: averaging gains nothing beyond its longer steps",
        }.get(epochs, "their epochs cannot be told apart")
        said.append(
            f"With γ = {row['lr']:g} and α = {row['alpha']:g} the effective rates of both are "
            f"nearly the same, and {words}."
        )
    return said


def weights(found: Arms) -> str:
    """Return how the settings of α compare, at each rate."""
    parts = []
    for rows in (found.same_rate, found.own_rate):
        for first, second in pairwise(rows):
            pair = found.pair(second["arm"], first["arm"])
            if pair is None:
                continue
            orders = order(pair, "epochs_difference"), order(pair, "seconds_difference")
            if "unknown" in orders:
                times = "the target tells nothing of them, since not every seed reached it"
            else:
                times = f"the second needs {need(*orders)} compared with the first"
            parts.append(
                f"at γ = {first['lr']:g}, with {alphas([first, second])}, {times}, and the final "
                f"accuracy {_accuracy(pair)}"
            )
    if not parts:
        return ""
    return (
        "α is 1/k in the paper and 0.1 in the authors' scripts. "
        f"{prose.capitalised('; '.join(parts))}."
    )


def _accuracy(pair: Row) -> str:
    low, high = (pair.get(f"accuracy_difference_frac_{end}") for end in ("low", "high"))
    if low is None or high is None:
        return "cannot be compared"
    difference = prose.points(pair["accuracy_difference_frac"])
    if low > 0:
        return f"of the second is higher by {difference}"
    return f"of the second is lower by {difference}" if high < 0 else "cannot be told apart"

"""S2's paragraphs on the runs: how they were made, what was expected, what went wrong, times."""

from dpscale.reporting.answers import prose, s2_arms
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.reporting.answers.q4_reasons import spread_of_seeds
from dpscale.units import format_value


def protocol(inputs: Inputs, reference: Row) -> str:
    """Return how the runs were made."""
    n, k0, epochs = (reference[key] for key in ("group_batch", "reference_groups", "epochs"))
    seeds = reference["seeds"]
    workers = max(row["workers"] or 1 for row in s2_arms.rows(inputs))
    where = (
        "in one process, whose loss averages over the groups"
        if workers == 1
        else f"spread over up to {prose.counted(workers, 'worker')} with averaged gradients"
    )
    return (
        f"A global batch is k groups of n = {n} samples, {where}; batch norm normalises each "
        f"group by itself, so that n, and with it the loss that is minimised, stays while k grows "
        f"(Goyal et al., 2017, section 2.3). Running statistics are those of the first group, as "
        f"DistributedDataParallel keeps rank 0's. The reference is k = {k0}, "
        f"kn = {reference['global_batch']}, with the rate {reference['lr']:g}; a warm-up starts "
        f"at that rate. All trainings have {prose.counted(epochs, 'epoch')}, so a larger batch "
        f"makes fewer updates. Weights decay, gains and shifts of batch norm do not. torch's SGD "
        f"keeps the rate out of its velocity, so that no momentum correction is needed when the "
        f"rate changes. Errors are of test images, looked at once after the last epoch; rates "
        f"are compared on validation images. Numbers are medians over "
        f"{prose.counted(seeds, 'seed')} with 95% bootstrap intervals, differences paired by "
        f"seed.{spread_of_seeds(seeds)} An error is kept where the interval of its difference "
        f"to the reference's ends at or below {prose.points(reference['margin_frac'])}, lost "
        f"where it begins above."
    )


def expectation(reference: Row) -> str:
    """Return what the configuration expected before the run; empty where it says nothing."""
    expected = (reference.get("expected") or "").strip()
    return f"Expected before the run: {expected}" if expected else ""


def base_rate(inputs: Inputs, reference: Row) -> str:
    """Return how the reference's rate stands among those tried on validation data."""
    batch = reference["global_batch"]
    tried = s2_arms.rows(inputs, global_batch=batch, role="search", optimizer="sgd")
    if not tried:
        return ""
    own = s2_arms.error(inputs, reference, "validation_error_frac")
    others = [
        f"{prose.bare(s2_arms.error(inputs, row, 'validation_error_frac'))} with {row['lr']:g}"
        for row in tried
    ]
    better = [
        f"{row['lr']:g}"
        for row in tried
        if prose.compare(s2_arms.error(inputs, row, "validation_error_frac"), own) == "below"
    ]
    verdict = (
        f"a better one was {prose.join(better)}"
        if better
        else "no rate tried can be told to be better"
    )
    return (
        f"The rate of the reference batch, {reference['lr']:g}, gives a validation error of "
        f"{prose.bare(own)}; {prose.join(others)}, over "
        f"{prose.counted(min(row['seeds'] for row in tried), 'seed')} each: {verdict}."
    )


def diverged(rows: list[Row]) -> str:
    """Return which arms had seeds whose loss was not finite; says so where none had."""
    found = [row for row in rows if row.get("diverged_seeds")]
    if not found:
        return "No loss became infinite or undefined in any seed: what failed ends at a high error."
    names = [
        f"{row['arm']} at kn = {row['global_batch']} "
        f"({row['diverged_seeds']} of {prose.counted(row['seeds'], 'seed')})"
        for row in found
    ]
    return (
        f"The loss was not finite in {prose.join(names)}. Such an arm has no error, and nothing "
        "is claimed from its other seeds."
    )


def iteration_times(inputs: Inputs) -> str:
    """Return seconds an iteration and the efficiency beside the published one; empty if unknown."""
    found = inputs.rows("published_lr_scaling", kind="efficiency")
    row = found[0] if found else None
    if row is None or row.get("measured_frac") is None:
        return ""
    cell = inputs.rows("iteration_times", runs=row["runs"])[0]
    base = inputs.rows("iteration_times", runs=row["base_runs"])[0]
    iteration, single = (
        prose.quantity(measured(one, "iteration_s", "s", inputs.runs_of(one)))
        for one in (cell, base)
    )
    share = prose.quantity(measured(row, "measured_frac", "fraction", inputs.runs_of(row)))
    return (
        f"In the timed runs of Q2, an iteration of {prose.counted(cell['workers'], 'worker')} "
        f"with b = {cell['per_worker_batch']} takes {iteration}, that of one {single}: an "
        f"efficiency of {share}, everything included. Published: about "
        f"{format_value(row['published_frac'], 'fraction')} at 352 GPUs against eight, where an "
        "iteration took 12% longer (section 5.5). Verdict on keeping such a share: "
        f"{row['verdict']}."
    )

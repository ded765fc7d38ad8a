"""S2's paragraphs: how the runs were made, and what warm-up, gain, rule and LARS did."""

from dpscale.reporting.answers import prose, s2_arms, s2_verdicts
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.reporting.answers.q4_reasons import spread_of_seeds
from dpscale.units import format_value

SIDES = {
    "lower": "a lower test error than",
    "higher": "a higher test error than",
    "indistinct": "a test error that cannot be told apart from that of",
    "unknown": "no error to compare with that of",
}


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


def warmups(inputs: Inputs) -> str:
    """Return how the warm-ups compare at the large batch."""
    parts = []
    for words, first in (
        ("gradual warm-up against none", "gradual warm-up has"),
        ("constant warm-up against none", "a constant warm-up has"),
    ):
        row = s2_verdicts.claim(inputs, words)
        if row is None or not row.get("runs"):
            continue
        side = s2_verdicts.direction(row)
        parts.append(f"{first} {SIDES[side]} no warm-up{_by(row)}")
    if not parts:
        return ""
    odd = [
        f"{name}{_by(row)}"
        for name in ("gradual", "constant")
        if (row := s2_verdicts.claim(
            inputs, f"{name} warm-up against none, gains of one here"))
        and s2_verdicts.direction(row) != "unknown"
    ]  # fmt: skip
    rest = f" With gains of one, against no warm-up: {prose.join(odd)}." if odd else ""
    return (
        f"At kn = {s2_arms.large_batch(inputs)} with zero gamma, {prose.join(parts)}.{rest} "
        "A constant warm-up makes the rate jump where it ends, and the loss with it; a gradual "
        "one gives the weights time to grow with the rate (Goyal et al., 2017, section 2.2)."
    )


def _by(row: Row) -> str:
    """The difference in percentage points, with its interval."""
    found = s2_verdicts.difference(row)
    if found.value is None:
        return ""
    low, high = (None if end is None else 100 * end for end in (found.low, found.high))
    text = format_value(100 * found.value, "number", low=low, high=high)
    return f" (by {text} points)"


def gammas(inputs: Inputs) -> str:
    """Return whether starting the last gain of each block at zero helped."""
    parts = []
    for place, words in (("the reference batch", "reference batch"), ("kn = {}", "large batch")):
        row = s2_verdicts.claim(inputs, f"zero gamma against unit gamma, {words}")
        if row is None or not row.get("runs"):
            continue
        side = SIDES[s2_verdicts.direction(row)]
        where = place.format(s2_arms.large_batch(inputs))
        parts.append(f"at {where} {side} a gain of one{_by(row)}")
    if not parts:
        return ""
    unit = s2_arms.at_large(inputs, zero_gamma=False)
    standing = [
        f"{state} with {prose.join([s2_arms.name(row) for row in rows])}"
        for state in ("kept", "lost")
        if (rows := s2_arms.of_standing(unit, state))
    ]
    rest = (
        f" With gains of one the reference's error is {prose.join(standing)} at "
        f"kn = {s2_arms.large_batch(inputs)}."
        if standing
        else ""
    )
    return (
        "Zero gamma, which starts every residual block as its shortcut, gives, with the warm-up "
        f"that Goyal et al. use, {prose.join(parts)}.{rest}"
    )


def rules(inputs: Inputs, reference: Row) -> str:
    """Return how the rules compare, and how many updates the largest batch leaves."""
    largest = s2_arms.gradual(inputs, "linear")
    if not largest:
        return ""
    batch = largest[-1]["global_batch"]
    errors = [
        f"{prose.bare(s2_arms.error(inputs, row))} with {s2_arms.RULES[rule]}"
        for rule in s2_arms.RULES
        for row in s2_arms.gradual(inputs, rule, batch)
        if s2_arms.error(inputs, row).value is not None
    ]
    updates = (largest[-1].get("train_samples") or 0) // batch
    made = f" An epoch has {prose.counted(updates, 'update')} there." if updates else ""
    times = format_value(batch / reference["global_batch"], "ratio")
    found = f" the test error is {prose.join(errors)}." if errors else " no rule has an error."
    return (
        f"At the largest batch, kn = {batch}, {times} the reference,{found}{made} The linear rule holds while the gradient changes little "
        "over the steps that one larger step replaces; it fails where it would have to replace "
        "most of the training (Goyal et al., 2017, section 2.1). The root of k would keep the "
        f"variance of a step (Krizhevsky, 2014).{_fixed(inputs)}"
    )


def _fixed(inputs: Inputs) -> str:
    """What the fixed rate does at the large batch; empty where it was not run or is undecided."""
    large = s2_arms.large_batch(inputs)
    found = s2_arms.gradual(inputs, "fixed", large)
    standing = found[0].get("kept") if found else None
    if standing == "kept":
        return (
            f" At kn = {large} the fixed rate keeps the error too: the reference's rate is high "
            "enough for these updates, so that this size does not show the need of scaling there."
        )
    if standing == "lost":
        return f" At kn = {large} the fixed rate loses the error: the rate has to grow with k."
    return ""


def layerwise(inputs: Inputs) -> str:
    """Return what LARS gives beside the linear rule at its batch; empty where it was not run."""
    row = s2_arms.lars(inputs)
    if row is None:
        return ""
    own = s2_arms.error(inputs, row)
    batch = row["global_batch"]
    linear = s2_arms.gradual(inputs, "linear", batch)
    other = s2_arms.error(inputs, linear[0]) if linear else None
    verdict = prose.compare(own, other) if other else "unknown"
    words = {
        "below": "lower than", "above": "higher than", "indistinct": "not to be told apart from",
    }.get(verdict)  # fmt: skip
    beside = f", {words} the {prose.quantity(other)} of the linear rule" if words and other else ""
    kept = {"kept": "keeps", "lost": "does not keep"}.get(str(row.get("kept")))
    closing = f" It {kept} the error of the reference batch." if kept else ""
    return (
        f"LARS (You et al., 2017) at kn = {batch}, with the rate {row['lr']:g} chosen on "
        f"validation data, ends at a test error of {prose.quantity(own)}{beside}.{closing} Its "
        "rate was searched there and that of the linear rule was not, as the rule has it."
    )


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
        f"{prose.bare(own)}; {prose.join(others)}: {verdict}."
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
        f"iteration took 12% longer (section 5.5). That this share is reached: {row['verdict']}."
    )

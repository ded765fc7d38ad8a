"""S2's paragraphs on what was compared: what warm-up, gain, rule and LARS did."""

from dpscale.reporting.answers import prose, s2_arms, s2_verdicts
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.units import format_value

SIDES = {
    "lower": "a lower test error than",
    "higher": "a higher test error than",
    "indistinct": "a test error that cannot be told apart from that of",
    "unknown": "no error to compare with that of",
}


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
        f"At the largest batch, kn = {batch}, {times} the reference,{found}{made} The linear rule "
        "holds while the gradient changes little over the steps that one larger step replaces; it "
        "fails where it would have to replace "
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

"""S1's findings: regimes, momentum, networks, the noise scale and equal budgets, each in words."""

from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.s1_words import (
    fits,
    grouped,
    optimizer,
    ratio_kind,
    search,
    shown,
    verdicts,
)

SMALL, LARGE = "perfect scaling at small batches", "maximal data parallelism at large batches"
ENDS = {"small": "smallest", "large": "largest"}


def regimes(inputs: Inputs) -> str:
    """Return where the regimes lie, and whether the steps at both ends bear them out."""
    text = (
        "The fit divides the batch sizes into three regimes by its slope "
        "$d \\log S / d \\log B = -B_{\\text{crit}}/(B + B_{\\text{crit}})$: perfect scaling up to "
        "a slope of −0.8 ($B = B_{\\text{crit}}/4$), maximal data parallelism from −0.2 "
        "($B = 4 B_{\\text{crit}}$), and "
        "diminishing returns between. Both ends of every training stand in the table of the fits."
        if fits(inputs)
        else "No fit shows a bend, so no regime can be given."
    )
    return f"{text} {_slopes(inputs)}".strip()


def _slopes(inputs: Inputs) -> str:
    """What the slopes measured without a fit say of both ends."""
    words = {
        SMALL: ("the four smallest batch sizes", "−1 within 0.2", "perfect scaling"),
        LARGE: ("the four largest", "0 within 0.2", "hardly a gain from a larger batch"),
    }
    parts = []
    for claim, (where, near, means) in words.items():
        for kind, rows in grouped(verdicts(inputs, claim), lambda row: row["verdict"]).items():
            said = {
                "agrees": f"is {near}, {means},",
                "disagrees": f"is not {near}",
                "not decidable": f"is not decided to be {near} or not",
            }[kind]
            parts.append(f"over {where} the slope {said} for {prose.join(list(map(search, rows)))}")
    return (
        "Measured without the fit, on the medians alone: "
        f"{'. '.join([parts[0], *map(prose.capitalised, parts[1:])])}."
        if parts
        else ""
    )


def contrast(inputs: Inputs, kind: str) -> str:
    """Return how critical batch sizes compare; kind: `optimizer` or `model`."""
    rows = inputs.rows("scaling_contrasts", contrast=kind)
    words = {
        "above": "a larger critical batch size than",
        "below": "a smaller critical batch size than",
        "indistinct": "a critical batch size that cannot be told apart from that of",
        "unknown": "no critical batch size to compare with",
    }
    parts = [
        f"{search(row)} has {words[ratio_kind(row)]} {_base(row, kind)}{_factor(inputs, row)}"
        for row in rows
    ]
    if not parts:
        return ""
    if kind == "model":
        return f"Between networks: {'; '.join(parts)}. Networks also have goals of their own."
    return f"Momentum: {'; '.join(parts)}. {_small(inputs, rows)}"


def _base(row: Row, kind: str) -> str:
    return optimizer(row, "other_optimizer") if kind == "optimizer" else row["other_model"]


def _factor(inputs: Inputs, row: Row) -> str:
    if row.get("b_crit_ratio") is None:
        return ""
    return f", {shown(inputs, row, 'b_crit_ratio', 'ratio')} as large"


def _small(inputs: Inputs, rows: list[Row]) -> str:
    known = [row for row in rows if row.get("small_steps_ratio") is not None]
    if not known:
        return ""
    words = {"above": "more", "below": "fewer", "indistinct": "as many", "unknown": "as many"}
    kinds = grouped(known, lambda row: words[ratio_kind(row, "small_steps_ratio")])
    parts = [
        f"{kind} steps {'as' if kind == 'as many' else 'than'} plain SGD for "
        f"{prose.join(list(map(search, rows)))}"
        for kind, rows in kinds.items()
    ]
    return f"At the smallest batch it needs, as far as the intervals tell, {'; '.join(parts)}."


def noise(inputs: Inputs) -> str:
    """Return the gradient noise scale beside the fitted B_crit."""
    rows = [row for row in fits(inputs) if row.get("noise_scale") is not None]
    if not rows:
        return ""
    claim = "the noise scale predicts the order of magnitude"
    decided = {(row["model"], row["optimizer"]): row["verdict"] for row in verdicts(inputs, claim)}
    words = {
        "agrees": "within a factor of ten",
        "disagrees": "more than a factor of ten off",
        "not decidable": "not decided to be within a factor of ten or not",
    }
    kinds = grouped(rows, lambda row: words[decided[row["model"], row["optimizer"]]])
    parts = [f"{kind} for {prose.join(list(map(search, own)))}" for kind, own in kinds.items()]
    return (
        "The gradient noise scale was measured along the repeats of one winner, at "
        f"B = {int(rows[0]['noise_batch'])}, from the squared norms of gradients at two batch "
        "sizes; it needs a single training, and no search. Its geometric mean over a training, "
        "median over the seeds, beside $B_{\\text{crit}}$ in the table of the fits, is "
        f"{'; '.join(parts)}."
    )


def budgets(inputs: Inputs) -> str:
    """Return which end of the batch sizes is better at equal epochs and at equal steps."""
    parts, better = [], []
    for kind in ("epochs", "steps"):
        rows = [row for row in inputs.rows("budget", kind=kind) if row.get("budget")]
        ends = {"small": 0, "large": 0}
        for own in grouped(
            rows, lambda row: f"{row['model']} {row['optimizer']} {row['budget']}"
        ).values():
            own = sorted(own, key=lambda row: row["global_batch"])
            first, last = (row["validation_error_frac"] for row in (own[0], own[-1]))
            if len(own) > 1 and not (own[0]["reached"] and own[-1]["reached"]):
                ends["small" if first < last else "large"] += first != last
        total = sum(ends.values())
        if total:
            most = max(ends, key=lambda end: ends[end])
            better.append(most)
            parts.append(
                f"at equal {kind} the {ENDS[most]} batch has the lower error in {ends[most]} of "
                f"{total} comparisons"
            )
    depends = (
        "So whether large batches look good or bad depends on the budget that is held equal. "
        if len(set(better)) == 2
        else ""
    )
    return (
        f"The same searches read at equal budgets: {prose.join(parts)}, of the smallest with the "
        f"largest batch that makes a step, budget by budget. {depends}Each error is of the best "
        "trial at that budget, with one seed, and has no interval."
        if parts
        else ""
    )

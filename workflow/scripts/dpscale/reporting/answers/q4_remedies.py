"""Q4.2: what each remedy for the large batch gives when it is run."""

from dpscale.reporting.answer import Answer, Column, Table, Value
from dpscale.reporting.answers import arms, prose
from dpscale.reporting.answers.arms import Arm
from dpscale.reporting.answers.inputs import Inputs
from dpscale.reporting.answers.q4_large_batch import STUDY, TITLES, compared_epoch
from dpscale.reporting.answers.references import YOU
from dpscale.reporting.answers.remedies import (
    REMEDIES,
    breakdown,
    each,
    fit_without_accuracy,
    gap,
    protocol,
    stacked,
)

QUESTION = (
    "Which remedies does the literature give for the loss of accuracy with a large batch, "
    "and what does each of them give when measured?"
)
FORMULA = [
    r"\eta_{\text{large}} = \eta_{\text{small}} \cdot "
    r"\frac{B_{\text{large}}}{B_{\text{small}}}"
]


def _last(inputs: Inputs, name: str) -> Arm | None:
    """The remedy after its last epoch: the one compared, or a later one if it trains longer."""
    history = arms.history(inputs, STUDY, name)
    if not history or arms.outcome(inputs, STUDY, name) != "complete":
        return None
    return history[-1]


def answer(inputs: Inputs) -> Answer:
    """Return the answer to Q4.2."""
    names = [name for name in arms.names(inputs, STUDY) if name in REMEDIES]
    missing = arms.missing(inputs, STUDY, ["small", "large", *names])
    missing += [] if names else [f"{STUDY}: no remedy has a run"]
    epoch = compared_epoch(inputs)
    small, large = (arms.after(inputs, STUDY, name, epoch) for name in ("small", "large"))
    tried = {name: arm for name in names if (arm := _last(inputs, name))}
    failed = {name: arms.outcome(inputs, STUDY, name) for name in names if name not in tried}
    values = _values(tried, failed, large)
    tables = [_table(inputs, [arm for arm in (small, large, *tried.values()) if arm], large)]
    if missing:
        return prose.withheld(
            id="Q4.2",
            question=QUESTION,
            missing=missing,
            values=values,
            tables=tables,
            figures=["accuracy"],
            formula=FORMULA,
        )
    whole = large if large and large.whole else None
    sources = [source for name in names for source in REMEDIES[name].references]
    return Answer(
        id="Q4.2",
        question=QUESTION,
        sentence=_sentence(tried, failed, whole)
        if whole
        else _without_base(inputs, tried, failed, epoch),
        paragraphs=_paragraphs(inputs, tried, small, whole),
        formula=FORMULA,
        values=values,
        tables=tables,
        figures=["accuracy"],
        references=list(dict.fromkeys([*sources, YOU])),
    )


def _paragraphs(
    inputs: Inputs, tried: dict[str, Arm], small: Arm | None, whole: Arm | None
) -> list[str]:
    """What each remedy does and gives; `whole` is the large batch where no seed diverged."""
    names = [name for name in arms.names(inputs, STUDY) if name in REMEDIES]
    epoch = compared_epoch(inputs)
    titles = TITLES | {name: REMEDIES[name].title for name in names}
    paragraphs = [
        each(names),
        protocol(_base(inputs), epoch, tried),
        arms.survivors(inputs, STUDY, epoch, titles),
        stacked(tried),
        breakdown(inputs, tried, whole) if whole else "",
        fit_without_accuracy(inputs, tried, whole) if whole else "",
        gap(tried, small),
        "Layer-wise rates (You et al., 2017) and local SGD are further remedies; they "
        "were not run here, so nothing is claimed for them.",
    ]
    return [text for text in paragraphs if text]


def _base(inputs: Inputs) -> int:
    """The global batch of the large batch, known from its plan even where it diverged."""
    return int(inputs.rows("accuracy", study=STUDY, arm="large")[0]["global_batch"])


def _lost(failed: dict[str, str]) -> list[str]:
    return [
        f"{REMEDIES[name].title} gives no result ({status.replace('_', ' ')})"
        for name, status in failed.items()
    ]


def _without_base(inputs: Inputs, tried: dict[str, Arm], failed: dict[str, str], epoch: int) -> str:
    """The sentence where the large batch alone has no number: what the remedies reach."""
    status = arms.outcome(inputs, STUDY, "large").replace("_", " ")
    which = "some seeds" if arms.left(inputs, STUDY, "large", epoch) else "every seed"
    how = f"diverged for {which}" if status == "diverged" else f"has no number ({status})"
    reached = [
        f"{REMEDIES[name].title} {prose.quantity(arm.value('test_accuracy_frac'))} after "
        f"{prose.counted(arm.row['epoch'], 'epoch')}"
        for name, arm in tried.items()
    ]
    clauses = [f"test accuracy with a remedy: {prose.join(reached)}"] if reached else []
    rest = "; ".join([*clauses, *_lost(failed)])
    return f"The large batch alone {how}, so no remedy is compared with it; {rest}."


def _sentence(tried: dict[str, Arm], failed: dict[str, str], large: Arm) -> str:
    groups: dict[str, list[str]] = {}
    for name, arm in tried.items():
        result = f"{REMEDIES[name].title} with {prose.quantity(arm.value('test_accuracy_frac'))}"
        groups.setdefault(arms.versus(arm, large, "test_accuracy_frac"), []).append(result)
    base = (
        f"the large batch alone, which has a test accuracy of "
        f"{prose.quantity(large.value('test_accuracy_frac'))} after "
        f"{prose.counted(large.row['epoch'], 'epoch')}"
    )
    phrases = {
        "higher": lambda items, n: f"{items} {prose.verb(n, 'helps', 'help')}",
        "lower": lambda items, n: f"{items} {prose.verb(n, 'makes', 'make')} it worse",
        "indistinct": lambda items, n: f"{items} cannot be told apart from it",
        "unknown": lambda items, n: (
            f"{items} {prose.verb(n, 'stays', 'stay')} undecided for want of seeds"
        ),
    }
    clauses = [
        phrases[kind](prose.join(groups[kind]), len(groups[kind]))
        for kind in phrases
        if kind in groups
    ]
    clauses += _lost(failed)
    return f"Against {base}, {'; '.join(clauses)}."


def _values(tried: dict[str, Arm], failed: dict[str, str], large: Arm | None) -> dict[str, Value]:
    found = {**({"large": large} if large else {}), **tried}
    values = {
        f"{name}_{column}": arm.value(column)
        for name, arm in found.items()
        for column in arms.UNITS
    }
    values |= {
        f"{name}_test_accuracy_frac": Value(value=None, unit="fraction", status=status)
        for name, status in failed.items()
    }
    return values or {"large_test_accuracy_frac": prose.nothing("fraction")}


def _left_over(arm: Arm) -> str:
    return "" if arm.whole else " (seeds that did not diverge)"


def _table(inputs: Inputs, found: list[Arm], large: Arm | None) -> Table:
    words = {
        "higher": "helps",
        "lower": "makes it worse",
        "indistinct": "not distinguishable",
        "unknown": "undecided",
    }
    columns = [
        Column(key="arm", title="Training"),
        Column(key="global_batch", title="Global batch B", unit="setting"),
        Column(key="lr", title="Learning rate", unit="setting"),
        Column(key="epoch", title="Epochs", unit="setting"),
        Column(key="updates", title="Updates", unit="count"),
        *(
            Column(key=key, title=prose.capitalised(text), unit=arms.UNITS[key])
            for key, text in arms.WORDS.items()
        ),
        Column(key="verdict", title="Against the large batch"),
    ]
    rows = []
    for arm in found:
        verdict = {"large": "the base", "small": "the mark to reach"}.get(arm.name) or (
            words[arms.versus(arm, large, "test_accuracy_frac")] if large else "undecided"
        )
        remedy = REMEDIES.get(arm.name)
        rows.append(
            {
                "arm": remedy.title if remedy else f"{arm.name} batch{_left_over(arm)}",
                **{key: arm.row[key] for key in ("global_batch", "lr", "epoch")},
                "updates": arms.updates(inputs, arm),
                **{key: arm.value(key) for key in arms.WORDS},
                "verdict": verdict,
            }
        )
    return Table(
        caption="The remedies at the large batch, each after its last epoch.",
        columns=columns,
        rows=rows,
        runs=[arm.runs for arm in found],
    )

"""S1: no made-up fit, ratio, repeat or budget makes it say what the tables do not."""

import math
import re
from functools import cache
from typing import Any

import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from builders import Tables
from cases import plain, text_of
from dpscale.derive.tables import Derived
from dpscale.reporting.answer import Answer
from dpscale.reporting.inputs import Inputs
from dpscale.studies import answer_one, derived_of
from dpscale.studies.steps_to_goal.derive.fit import sides
from dpscale.studies.steps_to_goal.derive.searches import budget_ends, trial_outcomes
from dpscale.studies.steps_to_goal.published import published_steps_to_goal
from test_s1 import EVERY, searched

# Without shrinking, which takes minutes here.
QUICK = settings(max_examples=20, phases=[Phase.generate])
NAMES = {"sgd": "plain SGD", "momentum": "momentum", "nesterov": "Nesterov momentum"}
STATUSES = ("out_of_memory", "diverged", "exceeds_dataset", "unavailable", "failed", "not run yet")
TABLES = ("steps_to_goal", "goal_fit", "goal_contrasts", "published_steps_to_goal",
          "budget_ends", "trial_outcomes")  # fmt: skip


@cache
def lab(searches: int) -> Tables:
    """So many of the searches of two networks with three optimisers, at three batch sizes."""
    tidy = searched(every=dict(list(EVERY.items())[:searches]))()
    trials = tidy["trials"][tidy["trials"]["global_batch"].isin([2, 32, 1024])]
    curves = tidy["curves"].merge(trials[["run", "trial"]], on=["run", "trial"])
    return tidy | {"trials": trials, "curves": curves}


@cache
def derived() -> Derived:
    """The derived tables of six searches."""
    return derived_of(lab(6))


def answer(**edits: pd.DataFrame) -> Answer:
    """The answer to tables of the lab, some of which are others."""
    return answer_one("S1", Inputs({name: derived()[name] for name in TABLES} | edits, lab(6)))


def estimates(least: float, most: float) -> st.SearchStrategy[tuple[float | None, ...]]:
    """Values with an interval around them, of which an end or all may be null."""
    values = st.lists(st.floats(least, most), min_size=3, max_size=3).map(sorted)
    known = values.map(lambda ends: (ends[1], ends[0], ends[2]))
    return st.one_of(
        known, known, known,
        known.map(lambda one: (one[0], one[1], None)),
        known.map(lambda one: (one[0], None, None)), st.just((None, None, None)),
    )  # fmt: skip


def columns(name: str, found: tuple[float | None, ...]) -> dict[str, float | None]:
    return {name: found[0], f"{name}_low": found[1], f"{name}_high": found[2]}


def logs(least: float, most: float) -> st.SearchStrategy[tuple[float | None, ...]]:
    ends = estimates(math.log(least), math.log(most))
    return ends.map(lambda found: tuple(None if one is None else math.exp(one) for one in found))


@st.composite
def fits(draw: Any) -> dict[str, pd.DataFrame]:
    """Fits and contrasts as they may come out, with the verdicts that follow."""
    rows = derived()["goal_fit"].to_dict("records")
    for row in rows:
        found = draw(logs(2.01, 1023))
        row |= columns("b_crit", found) | columns("noise_scale", draw(logs(0.1, 1e4)))
        row["status"] = "complete" if found[0] else draw(st.sampled_from(["no bend", "diverged"]))
        for end, factor in (("perfect_end", 0.25), ("maximal_start", 4.0)):
            inside = [one and (one * factor if 2 <= one * factor <= 1024 else None)
                      for one in found]  # fmt: skip
            row |= columns(end, tuple(inside) if inside[0] else (None,) * 3)
        row |= columns("small_slope", draw(estimates(-1.5, 0.1)))
        row |= columns("large_slope", draw(estimates(-1.0, 0.5)))
        ratio = [None if None in (one, other) or not other else one / other
                 for one, other in zip((row["noise_scale"], row["noise_scale_low"],
                                        row["noise_scale_high"]),
                                       (found[0], found[2], found[1]), strict=True)]  # fmt: skip
        row |= columns("noise_over_b_crit", tuple(ratio))
    by_search = {(row["model"], row["optimizer"]): row for row in rows}
    contrasts = derived()["goal_contrasts"].to_dict("records")
    for row in contrasts:
        both = [by_search[row["model"], row["optimizer"]],
                by_search[row["other_model"], row["other_optimizer"]]]  # fmt: skip
        row["status"] = next((one["status"] for one in both if one["status"] != "complete"),
                             "complete")  # fmt: skip
        ratio = draw(logs(0.2, 5)) if row["status"] == "complete" else (None,) * 3
        row |= (
            columns("b_crit_ratio", ratio if ratio[0] else (1.0, None, None))
            if row["status"] == "complete"
            else columns("b_crit_ratio", (None,) * 3)
        )
        row |= columns("small_steps_ratio", draw(logs(0.2, 5)))
        row |= sides(row)
    tables = {name: pd.DataFrame(own).astype(derived()[name].dtypes)
              for name, own in (("goal_fit", rows), ("goal_contrasts", contrasts))}  # fmt: skip
    return tables | {"published_steps_to_goal": published_steps_to_goal(**tables)}


def side(low: Any, high: Any) -> str:
    """Where an interval lies of 1."""
    if pd.isna(low) or pd.isna(high):
        return "open"
    return "above" if low > 1 else "below" if high < 1 else "indistinct"


def within(low: Any, high: Any, least: float, most: float) -> bool:
    return bool(low >= least and high <= most)  # false for nulls


def well_formed(found: Answer) -> str:
    """The text of an answer, none of whose sentences is empty."""
    for one in (found.sentence, *found.paragraphs, *found.method):
        text = plain(one).rstrip()
        assert text.endswith((".", ":", "?"))
        assert not re.search(r"\(\)|  |, ,|\.\.|: \.|None|nan|_of_|[a-z] ;", text), text
    return text_of(found)


@QUICK
@given(fits())
def test_what_is_said_of_fits_and_ratios_is_what_their_intervals_say(tables):
    found = answer(**tables)
    text, sentence = well_formed(found), plain(found.sentence)
    fit = tables["goal_fit"]
    bent = fit[fit.b_crit.notna()]
    if bent.empty:
        assert sentence.startswith("No end of perfect scaling can be given")
        return
    of_sgd = bent[bent.optimizer == "sgd"]
    first = (bent if of_sgd.empty else of_sgd).iloc[0]
    assert sentence.startswith(f"For {first.model} with {NAMES[first.optimizer]} ")
    proportional = within(first.small_slope_low, first.small_slope_high, -1.2, -0.8)
    outside = first.small_slope_low > -0.8 or first.small_slope_high < -1.2
    outside &= pd.notna(first.small_slope_low) and pd.notna(first.small_slope_high)
    said = ("steps do not fall" if outside else "twice the batch takes about half the steps"
            if proportional else "it is not decided whether")  # fmt: skip
    assert f"{NAMES[first.optimizer]} {said}" in sentence
    assert ("up to about B = " in sentence) == (proportional and first.b_crit / 4 >= 2)
    momentum = tables["goal_contrasts"].query("contrast == 'optimizer'")
    words = {"above": "makes? it larger", "below": "makes? it smaller",
             "indistinct": "(?:is|are) not told to change it",
             "open": "(?:is|are) not comparable"}  # fmt: skip
    for row in momentum[momentum.model == first.model].itertuples():
        if pd.notna(row.b_crit_ratio):
            verb = words[side(row.b_crit_ratio_low, row.b_crit_ratio_high)]
            name = NAMES[row.optimizer]
            assert re.search(rf"; (?:\w+ and )?{name}(?: and [\w ]+?)? {verb} \(", sentence), (
                sentence
            )
    for row in tables["goal_contrasts"].itertuples():
        check_contrast(row, text)
    check_slopes(fit, text)


def check_contrast(row: Any, text: str) -> None:
    """A pair's critical batch sizes and steps are told apart as their intervals are."""
    who = f"{row.model} with {NAMES[row.optimizer]}"
    place = side(row.b_crit_ratio_low, row.b_crit_ratio_high)
    start = {"optimizer": "Beside plain SGD, ", "model": "Between networks, "}[row.contrast]
    if pd.notna(row.b_crit_ratio):
        same = row.contrast == "model" and within(
            row.b_crit_ratio_low, row.b_crit_ratio_high, 1 / 1.25, 1.25
        )
        words = {"above": "is larger", "below": "is smaller", "indistinct": "is not told apart",
                 "open": "is not told apart, for want of an interval,"}  # fmt: skip
        said = "is the same, within a factor of 1.25," if same else words[place]
        check_named(text.partition(start)[2].partition(". ")[0], said, who)
    if row.contrast == "optimizer" and pd.notna(row.small_steps_ratio):
        low, high = row.small_steps_ratio_low, row.small_steps_ratio_high
        words = {"above": "more steps", "below": "fewer steps",
                 "indistinct": "steps not told apart",
                 "open": "steps not told apart, for want of an interval,"}  # fmt: skip
        said = (
            "as many steps, within a factor of 1.5,"
            if within(low, high, 1 / 1.5, 1.5)
            else words[side(low, high)]
        )
        steps = text.partition("At the smallest batch momentum needs ")[2].partition(". ")[0]
        check_named(steps, said, who)


def check_named(sentence: str, said: str, who: str) -> None:
    """A search is among those of a clause, by name or in their number."""
    found = [
        one for one in sentence.split("; ") if re.search(rf"(^|[ ,]){re.escape(said)} \(", one)
    ]
    assert len(found) == 1, (said, sentence)
    assert who in found[0] or re.search(r"(all|three|four)( of| searches|$)", found[0]), found


def check_slopes(fit: pd.DataFrame, text: str) -> None:
    """As many slopes at the largest batches are 0, are not or are open as their intervals are."""
    words = {"gain": "is 0 within 0.2 in ", "not": "is not 0 within 0.2 in ",
             "short": "may be at batches larger than were measured, in ",
             "open": "is not decided to be so in "}  # fmt: skip
    kinds = dict.fromkeys(words, 0)
    for row in fit.itertuples():
        low, high = row.large_slope_low, row.large_slope_high
        if pd.isna(low) or pd.isna(high):
            kind = "open"
        elif within(low, high, -0.2, 0.2):
            kind = "gain"
        elif low > 0.2:
            kind = "not"
        else:
            kind = "short" if high < -0.2 else "open"
        kinds[kind] += 1
    said = text.partition("ver the four largest batch sizes the slope ")[2].partition(". ")[0]
    numbers = {"all": len(fit), "three": 3, "four": 4, "five": 5}
    for kind, start in words.items():
        assert (start in said) == bool(kinds[kind]), said
        if kinds[kind]:
            names = said.partition(start)[2]
            names = re.split(r" (?:and|,) is |, is ", names)[0]
            number = numbers.get(names.split()[0], len(re.findall("(?:mlp|softmax) with", names)))
            assert number == kinds[kind], said


@QUICK
@given(st.data())
def test_what_is_said_of_repeats_and_winners_is_what_the_rows_say(data):
    rows = derived()["steps_to_goal"].copy()
    size = len(rows)
    rows["repeats_reached"] = data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    lost = rows.repeats_reached < 3
    rows[["steps_to_goal", "steps_to_goal_low", "steps_to_goal_high"]] = rows[
        ["steps_to_goal", "steps_to_goal_low", "steps_to_goal_high"]
    ].mask(lost)
    rows["at_border"] = pd.array(
        data.draw(st.lists(st.sampled_from([True, False, False, None]),
                           min_size=size, max_size=size)), dtype="boolean")  # fmt: skip
    rows = rows[data.draw(st.lists(st.booleans(), min_size=size, max_size=size))]
    text = well_formed(answer(steps_to_goal=rows, trial_outcomes=trial_outcomes(rows)))
    near = int(rows.at_border.fillna(False).sum())
    assert ("No winner lies" in text) == (near == 0 and not rows.empty)
    short = rows[rows.repeats_reached < 5]
    assert ("do not reach" in text or "did not reach" in text) == (not short.empty)
    for row in short.itertuples():
        place = f"for {row.model} with {NAMES[row.optimizer]} at B = {row.global_batch}"
        assert f"{5 - row.repeats_reached} of 5 {place}" in text
    assert ("left out of the fit" in text) == bool(rows.steps_to_goal.isna().any())


@QUICK
@given(st.data())
def test_an_end_of_the_batches_is_called_better_for_no_more_than_chance_gives(data):
    rows = derived()["budget"]
    size = len(rows)
    errors = data.draw(st.lists(st.sampled_from([0.04, 0.1, 0.2]), min_size=size, max_size=size))
    tilt = data.draw(st.sampled_from([0.0, 0.3, -0.3])) * (rows.global_batch > 32)
    rows = rows.assign(validation_error_frac=errors + tilt)
    rows = rows[data.draw(st.lists(st.sampled_from([True, True, True, False]),
                                   min_size=size, max_size=size))]  # fmt: skip
    text = well_formed(answer(budget_ends=budget_ends(rows)))
    decided = set()
    for kind in ("epochs", "steps"):
        votes = []
        for _, own in rows[rows.kind == kind].groupby(["model", "optimizer"]):
            told = 0
            for _, at in own.groupby("budget"):
                at = at.sort_values("global_batch")
                low, high = at.iloc[0], at.iloc[-1]
                if not (low.reached and high.reached):
                    gain = float(high.validation_error_frac - low.validation_error_frac)
                    told += (gain > 0) - (gain < 0)
            votes += [told > 0] if told else []
        if not votes:
            assert not re.search(rf"at equal {kind} the \w+ batch (has|in)", text, re.IGNORECASE)
            continue
        wins, end = max((sum(votes), "smallest"), (len(votes) - sum(votes), "largest"))
        if 2 * wins == len(votes):
            end = "smallest"
        # of six searches all six must agree: 2/64 is the first below 5 in 100
        chance = not (len(votes) == 6 and wins == 6)
        said = rf"equal {kind} the {end} batch (has the lower error )?in {wins} of {len(votes)}"
        by_chance = "which chance could give too"
        assert re.search(rf"{said}( searches)?{', ' + by_chance if chance else '[;.]'}", text)
        decided |= set() if chance else {end}
    assert ("So whether large batches look good or bad" in text) == (len(decided) == 2)


@pytest.mark.parametrize("status", STATUSES)
def test_no_failure_of_a_search_is_an_error(status):
    tidy = lab(2)
    runs = list(tidy["runs"]["run"])
    for failed in [*([one] for one in runs), runs]:
        kept = {name: own[~own["run"].isin(failed)] if "run" in own else own
                for name, own in tidy.items()}  # fmt: skip
        gone = tidy["runs"]["run"].isin(failed)
        kept["runs"] = tidy["runs"].assign(status=tidy["runs"]["status"].mask(gone, status))
        text = well_formed(answer_one("S1", Inputs(derived_of(kept), kept)))
        assert ("withheld" in text) == (status in ("failed", "not run yet"))

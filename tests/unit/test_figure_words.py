"""What a figure says to who cannot see it."""

import pandas as pd

from dpscale.figures.words import MOST_ROWS, described

NO_BREAK = "\N{NO-BREAK SPACE}"


def said(drawn: pd.DataFrame) -> str:
    return described(drawn).replace(NO_BREAK, " ")


def test_each_row_says_its_names_settings_and_values_with_unit_and_interval() -> None:
    drawn = pd.DataFrame(
        {
            "arm": ["small batch", "large batch"],
            "workers": [1, 4],
            "recommended": [True, False],
            "epoch_s": [0.5, None],
            "epoch_s_low": [0.4, None],
            "epoch_s_high": [0.6, None],
            "test_accuracy_frac": [0.975, 0.869],
        }
    )
    assert said(drawn) == (
        "small batch, recommended, workers 1, epoch 500 ms (400 to 600), "
        "test accuracy 97.5%; large batch, workers 4, test accuracy 86.9%."
    )


def test_of_many_rows_each_curve_says_its_ends() -> None:
    epochs = list(range(1, MOST_ROWS + 1))
    curve = pd.DataFrame({"epoch": epochs, "test_accuracy_frac": [0.5] * 11 + [0.75]})
    drawn = pd.concat([curve.assign(arm="local"), curve.assign(arm="global")], ignore_index=True)
    assert said(drawn) == (
        "local, epoch 1 to 12, test accuracy 50.0% to 75.0%; "
        "global, epoch 1 to 12, test accuracy 50.0% to 75.0%."
    )


def test_rows_without_a_value_are_not_told_and_none_says_so() -> None:
    drawn = pd.DataFrame(
        {
            "workers": [1, 2, 4],
            "epoch_s": [None, 0.5, 0.7],
            "status": ["complete", "complete", "not run yet"],
        }
    )
    assert said(drawn) == "complete, workers 2, epoch 500 ms."
    assert said(drawn.iloc[:1]) == "Nothing measured yet."
    assert said(drawn.iloc[:0]) == "Nothing measured yet."


def test_of_many_rows_without_a_name_the_ends_are_told_and_runs_are_not() -> None:
    rows = range(1, MOST_ROWS + 2)
    drawn = pd.DataFrame(
        {
            "workers": rows,
            "samples_per_s": [10.0 * row for row in rows],
            "runs": [f"run{row}" for row in rows],
        }
    )
    assert said(drawn) == "workers 1 to 13, samples per s 10.0 samples/s to 130 samples/s."


def test_ends_of_an_interval_are_no_settings() -> None:
    drawn = pd.DataFrame({"low": [0.1], "value": [0.2], "high": [0.3]}, dtype=object)
    assert "low" not in said(drawn)

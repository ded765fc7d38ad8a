"""Q3.2: what is said of compression and what-ifs follows the tables, and turns round with them."""

from answer_checks import answers, edited, edited_where, lab, table_of, text_of
from builders import full_lab
from dpscale.derive.tables import Derived

NOTHING = dict.fromkeys(
    ("step_s", "exposed_step_s", "speedup_ratio", "efficiency_frac"), float("nan")
)


def test_each_hook_is_faster_slower_or_indistinct_by_its_interval():
    text = text_of(answers(*lab())["Q3.2"])
    assert "bf16 halves the bytes of the gradients as counted, and its step is faster here" in text
    assert "fp16 halves the bytes of the gradients as counted, and its step is slower here" in text
    assert "PowerSGD sends 10.0% of the gradients' bytes as counted, and its step is not" in text


def test_bytes_that_are_not_half_are_not_called_half():
    text = text_of(edited("compression", bytes_ratio=0.6)["Q3.2"])
    assert "halves" not in text
    assert "fp16 sends 60.0% of the gradients' bytes" in text


def test_without_hooks_nothing_is_said_of_compression():
    derived, tidy = lab()
    answer = answers(derived | {"compression": derived["compression"].iloc[:0]}, tidy)["Q3.2"]
    assert "Compressed gradients" not in text_of(answer)
    assert "compression" not in answer.figures


def test_what_ifs_are_marked_as_predicted_in_caption_and_text():
    answer = answers(*lab())["Q3.2"]
    assert "predicted, not measured" in text_of(answer)
    captions = [table.caption for table in answer.tables[-3:]]
    assert all(caption.startswith("Predicted, not measured") for caption in captions)
    assert "what_if" in answer.figures


def test_the_outlook_follows_the_predicted_efficiency():
    worst = edited("what_if", efficiency_frac=0.3)["Q3.2"]
    assert "less than 50% of the ideal speed-up is predicted on this link (30.0% at" in (
        text_of(worst)
    )
    fine = edited("what_if", efficiency_frac=0.9)["Q3.2"]
    assert "at least 50% of the ideal speed-up is predicted on this link up to N = " in (
        text_of(fine)
    )


def test_a_cell_that_is_refused_shows_no_number_and_its_reason():
    answer = answers(*lab())["Q3.2"]
    row = table_of(answer, "speed-up over one worker").rows[0]
    assert row["link"] == "this link"
    assert (row["1024"].value, row["1024"].status) == (None, "refused")
    assert "No prediction is made on this link from N = 16 on at b = 32 (pieces of" in (
        text_of(answer)
    )


def test_a_batch_that_every_link_refuses_has_its_reason_and_no_row():
    large = lab()[0]["what_if"]["per_worker_batch"] == 512
    refused = {"status": "refused", "note": "the model missed a measured number of workers by 28%"}
    answer = edited_where("what_if", large, **refused, **NOTHING)["Q3.2"]
    table = table_of(answer, "speed-up over one worker")
    assert {row["per_worker_batch"] for row in table.rows} == {32}
    assert "on this link, fast and slow from N = 2 on at b = 512 (the model missed" in (
        text_of(answer)
    )


def test_what_ifs_that_are_all_refused_leave_the_reason_alone():
    refused = {"status": "refused", "note": "the link has no fit at N = 2"}
    answer = edited("what_if", **refused, **NOTHING)["Q3.2"]
    assert "would give is not predicted: the link has no fit at N = 2." in text_of(answer)
    assert "what_if" not in answer.figures
    assert not [table for table in answer.tables if "Predicted" in table.caption]


def test_a_global_batch_beyond_the_training_set_is_named():
    assert "larger than the training set" in text_of(answers(*lab())["Q3.2"])
    within = edited("what_if", exceeds_dataset=False)["Q3.2"]
    assert "larger than the training set" not in text_of(within)


def test_variants_raise_lower_or_leave_the_efficiency():
    what_if = lab()[0]["what_if"]
    slower = edited_where("what_if", what_if["variant"] == "powersgd", efficiency_frac=0.0001)
    text = text_of(slower["Q3.2"])
    assert "PowerSGD (0.0100%) lowers it" in text
    assert "averaging every 16 steps" in text
    level = edited("what_if", efficiency_frac=0.5)["Q3.2"]
    assert "Fewer bytes matter most" not in text_of(level)


def test_a_lab_without_link_runs_has_no_prediction_and_says_so():
    tidy = full_lab()
    gone = tidy["runs"].loc[tidy["runs"]["study"] == "link", "run"]
    tidy = {
        name: frame[~frame["run"].isin(gone)] if "run" in frame else frame
        for name, frame in tidy.items()
    }
    found = answers(Derived(tidy), tidy)
    assert found["Q3.2"].missing == []
    assert "is not predicted: the link has no fit at N = 2" in text_of(found["Q3.2"])

# A result is whole: `all` asks for every file that is made of the runs, so that a deleted one is made
# again; what is damaged, and runs that are gone since they were gathered, are made again by force. And what is
# refused before anything is measured.

import shutil
from contextlib import suppress
from functools import cache

from dpscale.records.damage import damaged, note_made
from dpscale.records.facts import DatasetFacts
from dpscale.records.storage import DamagedError, read_model

# Without dataset.json and check.json: no table is made of them, and runs would be stale for new ones.
MADE = [
    *AUDITS,
    *rules.gather.output,
    *rules.derive.output,
    *rules.draw.output,
    *rules.answer.output,
    f"{RESULTS}/report.html",
    f"{RESULTS}/report.pdf",
]
SHOWN = 5


@cache
def check_words():
    """The process that looks for words that an answer may need at the end, and that are not there.

    None where the answers are newer than templates and modules: then they were there.
    """
    answers = Path(RESULTS, "answers.json")
    made = answers.stat().st_mtime if answers.exists() else 0
    read = [*QUESTIONS, *modules("check_words")(None)]
    if all(os.path.getmtime(path) <= made for path in read):
        return None
    script = [sys.executable, SCRIPTS / "check_words.py"]
    return subprocess.Popen(script, stderr=subprocess.PIPE, text=True)


def refuse_missing_words():
    """Before anything is measured."""
    if process := check_words():
        _, missing = process.communicate()
        if process.returncode:
            raise WorkflowError(missing)


def keep_dataset():
    """Make dataset.json anew where it is damaged or gone and runs were measured with it.

    The rule would make it newer than they are, and Snakemake would measure all of them again.
    """
    path = Path(RESULTS, "dataset.json")
    with suppress(OSError, DamagedError):
        read_model(path, DatasetFacts)
        return
    runs = [
        file.stat().st_mtime for file in Path(RESULTS, "runs").glob("*/record.json")
    ]
    if workflow.dryrun:
        if runs:
            print(
                f"dpscale: {path} is damaged or gone; a call makes it again first, and keeps the runs",
                file=sys.stderr,
            )
        return
    if path.is_dir():
        shutil.rmtree(path)
    script = [sys.executable, SCRIPTS / "prepare_dataset.py", DATA, *OF_OWN]
    if runs and subprocess.run([*script, "--output", path]).returncode == 0:
        os.utime(path, (min(runs) - 1,) * 2)
        print(f"dpscale: {path} is made again", file=sys.stderr)


def gathered(part):
    """The records of a part of the runs. Snakemake asks while it plans jobs that need the tables."""
    if IS_MAIN:
        if not workflow.dryrun:
            check_words()  # while the rest is planned
        mark_damaged()
    return expand(f"{RUN}/record.json", run=PARTS[part])


@cache
def mark_damaged():
    """Have what is damaged of the result made again."""
    keep_dataset()
    broken = damaged(Path(RESULTS), PLAN, studies.schemas(), MADE)
    workflow.dag.forcefiles.update(broken)
    for path in filter(os.path.isdir, () if workflow.dryrun else broken):
        shutil.rmtree(path)
    for path, reason in list(broken.items())[:SHOWN]:
        said = reason if reason.startswith(RESULTS) else f"{path}: {reason}"
        print(f"dpscale: {said}; it is made again", file=sys.stderr)
    if len(broken) > SHOWN:
        print(f"dpscale: and {len(broken) - SHOWN} more are", file=sys.stderr)


onsuccess:
    if IS_MAIN:
        note_made(Path(RESULTS), MADE)

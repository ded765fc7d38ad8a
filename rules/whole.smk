# A result is whole: `all` asks for every file that is made of the runs, so that a deleted one is made
# again; what is damaged, and runs that are gone since they were gathered, are made again by force.

import shutil
from functools import cache

from dpscale.records.damage import damaged, note_made

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
def gathered():
    """The records that are gathered; what is damaged of the result is marked to be made again.

    Called while Snakemake plans its jobs, where any of them needs the tables.
    """
    if IS_MAIN:
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
    return expand(f"{RUN}/record.json", run=PLAN)


onsuccess:
    if IS_MAIN:
        note_made(Path(RESULTS), MADE)

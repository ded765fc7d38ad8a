"""The guard that keeps measurements of different machines apart."""

import pandas as pd

# Where memory ends depends on the machine as much as a time does.
MEASURED = ("complete", "diverged", "out_of_memory")


class MixedMachinesError(ValueError):
    """Measured runs of different machines were about to be combined."""


def require_same_machine(runs: pd.DataFrame) -> None:
    """Raise MixedMachinesError when measured runs carry different fingerprints.

    The message names two fingerprints and one run of each, or a run whose workers had devices of
    different models: the slowest paces the others. Takes `run`, `status`, `device`, `mixed_devices`
    and `fingerprint`; a run whose fingerprint is null says nothing.
    """
    known = runs["status"].isin(MEASURED) & runs["fingerprint"].notna()
    for _, run in runs[known & runs["mixed_devices"].fillna(False)].iterrows():
        raise MixedMachinesError(
            f"the workers of run {run['run']} had different devices, {run['device']}: run it again "
            "on devices of one model"
        )
    first_of_each = runs.loc[known, ["run", "fingerprint"]].drop_duplicates("fingerprint")
    if len(first_of_each) < 2:
        return
    one, other = first_of_each.iloc[0], first_of_each.iloc[1]
    raise MixedMachinesError(
        "results of different machines are not combined: "
        f"run {one['run']} was measured on {one['fingerprint']}, "
        f"run {other['run']} on {other['fingerprint']}; give each machine its own name: in the "
        "config, or run again what was measured on the other machine"
    )

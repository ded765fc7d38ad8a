"""How far a run has come: what its first worker tells while it works."""

from pydantic import BaseModel, ConfigDict


class Progress(BaseModel):
    """progress.json. Times in seconds, rates per second; null where unknown."""

    model_config = ConfigDict(frozen=True)

    part: str = ""  # of several like ones: seed 1
    unit: str  # what is counted: epoch, repeat, phase
    number: int  # the unit at work, or the last one when it is done, from 1
    units: int  # planned in a part
    step: int | None = None  # of the epoch at work; where single steps are not told, of all units
    steps: int | None = None  # of the same; estimated where it is of all units
    done_frac: float  # of the whole run
    loss: float | None = None
    samples_per_s: float | None = None  # of all workers
    note: str = ""
    elapsed_s: float
    left_s: float | None = None
    at: str

    def place(self) -> str:
        """Return which unit of which part this is: `seed 1, epoch 3 of 15`."""
        beyond = self.number > self.units  # repeats go on until they tell enough
        of = f", {self.units} were planned" if beyond else f" of {self.units}"
        unit = f"{self.unit} {self.number}{of}"
        return f"{self.part}, {unit}" if self.part else unit

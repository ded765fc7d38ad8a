"""A table as text: its header, its cells, and what else the file says."""

from collections.abc import Iterator
from dataclasses import dataclass, field

MOST_ROWS = 2_000
NEEDED = ("workers", "per_worker_batch")


@dataclass(frozen=True)
class Grid:
    """Cells as they stand in the file; `lines` are their lines there, counted from 1."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    comments: list[str]
    semicolons: bool = False
    remarks: list[str] = field(default_factory=list)

    def whole(self) -> "Grid":
        """Return the grid without empty rows, once every row has a cell a column.

        Raises ValueError that names the row which has not, and for a grid without rows.
        """
        width = len(self.header)
        kept = list(self._rows(width))
        if not kept:
            raise ValueError("the table has a header and no rows")
        if len(kept) > MOST_ROWS:
            raise ValueError(f"the table has more than {MOST_ROWS:,} rows; split it")
        return Grid(
            self.header,
            [row for row, _ in kept],
            [line for _, line in kept],
            self.comments,
            self.semicolons,
            self.remarks,
        )

    def _rows(self, width: int) -> Iterator[tuple[list[str], int]]:
        for index, (row, line) in enumerate(zip(self.rows, self.lines, strict=True), start=1):
            if not any(cell.strip() for cell in row):
                continue
            if any(cell.strip() for cell in row[width:]) or len(row) < width:
                raise ValueError(
                    f"row {index} (line {line}) has {len(row)} cells where the header has {width}"
                )
            yield row[:width], line

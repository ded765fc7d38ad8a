"""Draw the report's figures from the derived tables: an SVG each, and a CSV of what it shows."""

import argparse
from pathlib import Path

import pandas as pd

from dpscale.figures import FIGURES, draw_figure


def draw(*, derived: Path, output: Path, names: list[str]) -> None:
    """Write `<name>.svg` and `<name>.csv` into `output` for each named figure."""
    output.mkdir(parents=True, exist_ok=True)
    for name in names:
        tables = {source: pd.read_csv(derived / f"{source}.csv") for source in FIGURES[name].inputs}
        svg, drawn = draw_figure(name, tables)
        (output / f"{name}.svg").write_text(svg, encoding="utf-8")
        drawn.to_csv(output / f"{name}.csv", index=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--derived", type=Path, required=True, help="folder of derived CSV files")
    parser.add_argument("--output", type=Path, required=True, help="folder for SVG and CSV files")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"figures to draw, all by default: {', '.join(FIGURES)}",
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(FIGURES):
        parser.error(f"no figure is named {', '.join(sorted(unknown))}")
    draw(derived=arguments.derived, output=arguments.output, names=arguments.names or list(FIGURES))

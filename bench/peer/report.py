"""Tables of rows for people."""


def table(rows: list[dict], columns: list[str]) -> str:
    """Columns aligned, numbers to the right; missing values are empty."""
    cells = [[_cell(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in [columns, *cells]) for i in range(len(columns))]
    numeric = [all(isinstance(row.get(c, 0), int | float) for row in rows) for c in columns]
    lines = []
    for line in [columns, *cells]:
        parts = [c.rjust(w) if right else c.ljust(w) for c, w, right in zip(line, widths, numeric, strict=True)]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
    return str(value)

"""Small tables of texts, for the terminal and for notebooks."""

from __future__ import annotations

from collections.abc import Sequence

Block = tuple[Sequence[str], Sequence[Sequence[str]]]  # column titles and rows
PRINTED_LINES = 60  # rows of a block that are printed


def text_table(blocks: Sequence[Block]) -> str:
    """Blocks below each other with common column widths; first column to the left, the others to the right."""
    cut = [(titles, _cut(rows)) for titles, rows in blocks]
    widths: list[int] = []
    for titles, rows in cut:
        for row in (titles, *rows):
            widths += [0] * (len(row) - len(widths))
            widths = [max(w, len(row[k]) if k < len(row) else 0) for k, w in enumerate(widths)]
    lines = [
        "  " + "  ".join(f"{cell:>{widths[k]}}" if k else f"{cell:<{widths[0]}}" for k, cell in enumerate(row))
        for titles, rows in cut
        for row in (titles, *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def html_table(title: str, blocks: Sequence[Block]) -> str:
    """The same as HTML tables under a title."""
    from html import escape

    parts = [f"<p><b>{escape(title)}</b></p>"]
    for titles, rows in blocks:
        head = "".join(f"<th>{escape(cell)}</th>" for cell in titles)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in _cut(rows))
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    return "\n".join(parts)


def names_in_line(names: Sequence[str]) -> str:
    """Names after each other, the first `PRINTED_LINES` of them."""
    more = f" and {len(names) - PRINTED_LINES:,} more" if len(names) > PRINTED_LINES else ""
    return ", ".join(names[:PRINTED_LINES]) + more


def _cut(rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    return [*rows[:PRINTED_LINES], (f"... {len(rows) - PRINTED_LINES} more",)] if len(rows) > PRINTED_LINES else rows

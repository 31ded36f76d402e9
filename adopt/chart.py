#!/usr/bin/env python3
"""chart.py PAGE: draws the chart of the README, an SVG, from the tables of docs/ADOPTED.md."""
import re
import sys
from html import escape
from pathlib import Path

# A row of a table, and what the chart calls it.
ROWS = [
    ("move one of 10000 timers, ns", "libwebsockets, a sorted list: move one of 10,000 timers"),
    ("10 million timers, processor time, s", "libuv, a heap: start and fire ten million timers (its own benchmark)"),
    ("move one of 200,000 timers, ns", "libevent, a heap: move one of 200,000 timers"),
    ("its benchmark: schedule a million timers, s", "FRR, a heap: schedule a million timers (its own benchmark)"),
    ("a turn with 10000 time events, ns", "Redis, an unsorted list: a turn of its event loop with 10,000 time events"),
    ("create two, delete one, fire one, with 1, ns",
     "Redis: create two time events, delete one, fire one, with one in the loop"),
    ('"expired" late, median, ms',
     "Redis, sampled keys: announce that one of a million has expired (with a new sweep)"),
]
PATIENCE = "180000 (180000-180000)"  # for keys of Redis whose expiry does not come; see expiry.py
WIDTH, LEFT, BAR, GAP, TOP = 720, 16, 14, 62, 82
LONGEST = WIDTH - 2 * LEFT - 110  # leaves room for the figure behind the bar

STYLE = """
text { font: 14px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 16px }
.before { fill: #b6bdc6 } .after { fill: #1f7a4d }
.figure { font-variant-numeric: tabular-nums; font-size: 13px }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .before { fill: #57606a } .after { fill: #3fb67f } }
"""


def with_unit(value, unit):
    """A figure of three digits, in the unit that suits it."""
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
    seconds = value * scale[unit]
    for name in ("s", "ms", "us", "ns"):
        if seconds >= scale[name] or name == "ns":
            figure = seconds / scale[name]
            return f"{figure:.0f} {name}" if figure >= 100 else f"{figure:.3g} {name}"


def bars(y, name, unit, cells):
    """The lines of a row at y; the cells are the figures before and after, as the page has them."""
    before, after = (float(cell.split()[0]) for cell in cells)
    text = [f'<text x="{LEFT}" y="{y}">{escape(name)}</text>']
    at_least = "more than " if cells[0] == PATIENCE else ""
    for value, kind, top, prefix in ((before, "before", y + 8, at_least), (after, "after", y + 10 + BAR, "")):
        width = max(LONGEST * value / max(before, after), 2)
        text.append(f'<rect class="{kind}" x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2"/>')
        text.append(f'<text class="figure" x="{LEFT + width + 6:.1f}" y="{top + BAR - 2.5}">'
                    f'{prefix}{with_unit(value, unit)}</text>')
    return text


def main():
    page = Path(sys.argv[1]).read_text(encoding="utf-8")
    tables = {row: cells for row, *cells in re.findall(r"^\| (.+?) +\| +(\d.*?) +\| +(\d.*?) +\|.*\|$", page, re.M)}
    lines = []
    for number, (row, name) in enumerate(ROWS):
        lines += bars(TOP + number * GAP, name, row.rpartition(", ")[2], tables[row])
    title = "Other people's programs: less is better"
    legend = (f'<rect class="before" x="{LEFT}" y="38" width="{BAR}" height="{BAR}" rx="2"/>'
              f'<text class="figure" x="{LEFT + 20}" y="49.5">with their own timers</text>'
              f'<rect class="after" x="{LEFT + 180}" y="38" width="{BAR}" height="{BAR}" rx="2"/>'
              f'<text class="figure" x="{LEFT + 200}" y="49.5">with Tickwheel in their place</text>')
    height = TOP + len(ROWS) * GAP - 6
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" '
          f'aria-label="{escape(title)}">\n<style>{STYLE}</style>\n<text class="title" x="{LEFT}" y="24">'
          f'{escape(title)}</text>\n{legend}\n' + "\n".join(lines) + "\n</svg>")


main()

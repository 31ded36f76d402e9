#!/usr/bin/env python3
"""chart.py DIRECTORY OUT.svg: draws the chart of the README from the results that ./dev adopt left in DIRECTORY."""
import json
import statistics
import sys
from html import escape

# Program, workload, and what the chart calls it.
ROWS = [
    ("libwebsockets", "move one of 10000 timers", "libwebsockets, a sorted list: move one of 10,000 timers"),
    ("libuv", "10 million timers, processor time", "libuv, a heap: start and fire ten million timers (its own benchmark)"),
    ("libevent", "move one of 200,000 timers", "libevent, a heap: move one of 200,000 timers"),
    ("frr", "its benchmark: schedule a million timers", "FRR, a heap: schedule a million timers (its own benchmark)"),
    ("redis", "a turn with 10000 time events", "Redis, an unsorted list: a turn of its event loop with 10,000 time events"),
    ("redis", "create two, delete one, fire one, with 1", "Redis: create two time events, delete one, fire one, with one in the loop"),
    ("redis", "\"expired\" late, median", "Redis, sampled keys: announce that one of a million has expired (with a new sweep)"),
]
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


def row(y, name, before, after, unit, at_least):
    worst = max(before, after)
    text = [f'<text x="{LEFT}" y="{y}">{escape(name)}</text>']
    bars = (before, "before", y + 8, "more than " if at_least else ""), (after, "after", y + 10 + BAR, "")
    for value, kind, top, prefix in bars:
        width = max(LONGEST * value / worst, 2)
        text.append(f'<rect class="{kind}" x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2"/>')
        text.append(f'<text class="figure" x="{LEFT + width + 6:.1f}" y="{top + BAR - 2.5}">'
                    f'{prefix}{with_unit(value, unit)}</text>')
    return text


def main():
    directory, out = sys.argv[1:]
    lines, y = [], TOP
    for program, workload, name in ROWS:
        with open(f"{directory}/{program}/result.json", encoding="utf-8") as file:
            measured = json.load(file)["bench"][workload]
        before, after = statistics.median(measured["before"]), statistics.median(measured["after"])
        # A key whose notification does not come in time counts as if it came at the end.
        lines += row(y, name, before, after, measured["unit"], "late" in workload and before >= 180000)
        y += GAP
    title = "Other people's programs: less is better"
    legend = (f'<rect class="before" x="{LEFT}" y="38" width="{BAR}" height="{BAR}" rx="2"/>'
              f'<text class="figure" x="{LEFT + 20}" y="49.5">with their own timers</text>'
              f'<rect class="after" x="{LEFT + 180}" y="38" width="{BAR}" height="{BAR}" rx="2"/>'
              f'<text class="figure" x="{LEFT + 200}" y="49.5">with Tickwheel in their place</text>')
    with open(out, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y - 6}" width="{WIDTH}" role="img" '
                   f'aria-label="{escape(title)}">\n<style>{STYLE}</style>\n<text class="title" x="{LEFT}" y="24">'
                   f'{escape(title)}</text>\n{legend}\n' + "\n".join(lines) + "\n</svg>\n")


main()

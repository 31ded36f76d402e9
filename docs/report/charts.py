"""The charts of the page, as HTML that is complete without a script: bars of the bench, histograms of lateness."""
import math
from html import escape

# What the page shows at once, by workload and unit; the rest is folded. Each with the largest n that a peer ran with.
# The quick bench of ./dev report has these workloads alone.
FIRST = [("rearm-cold", "ns/op"), ("expire", "ns/timer"), ("worst-tick", "us"), ("lateness", "us, p99"),
         ("contend", "ns/arming"), ("life", "ns/timer"), ("serve", "ns/packet"), ("keyed", "ns/call"),
         ("memory", "bytes/timer")]
LIBRARIES = ("libev", "libuv", "libevent", "asio", "glib")  # peers that are libraries, not structures of the bench's own

TITLES = {
    "rearm-hot": "Arm and cancel", "rearm-cold": "Move one of many", "postpone": "Postpone", "serve": "Idle timeouts",
    "expire": "Arm, wait, fire", "worst-tick": "The longest tick", "sparse": "Few, far apart", "periodic": "Periodic timers",
    "memory": "Memory", "lateness": "Lateness", "fire-cpu": "Processor time of a fire", "idle": "Wake-ups when idle",
    "contend": "Arming from two threads", "foreign": "Arming from another thread", "handle": "Timers by handle",
    "life": "A timer's whole life", "block": "A crowd coming due", "memory-handle": "Memory of handles",
    "keyed": "Timers by key", "spawn": "Lambdas, spawned", "ttl": "A cache that expires",
}


def grouped(n):
    return f"{n:,}"


def figure_of(value):
    """Three digits, without an exponent."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def span_of(ns):
    """A time span in a unit that suits it."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size:
            return f"{figure_of(round(ns / size, 2))} {unit}"
    return f"{ns:.0f} ns"


def is_own(impl):
    return impl == "tickwheel" or impl.startswith("tickwheel-")


# --- the bench -----------------------------------------------------------------------------


def groups_of(results):
    """{(workload, unit, n): its rows}, in the order of the bench."""
    groups = {}
    for row in results:
        groups.setdefault((row["workload"], row["unit"], row["n"]), []).append(row)
    return groups


def headline_keys(groups):
    """Of each workload and unit of FIRST the largest n that a peer ran with, if any did."""
    keys = []
    for workload, unit in FIRST:
        with_peers = [key for key, rows in groups.items()
                      if key[:2] == (workload, unit) and any(not is_own(row["impl"]) for row in rows)]
        keys += [max(with_peers, key=lambda key: key[2])] if with_peers else []
    return keys


def bar_row(row, full, is_baseline):
    kind = "own" if row["impl"] == "tickwheel" else "kin" if is_own(row["impl"]) else "peer"
    share, low, high = (min(100 * max(row[part], 0) / full, 100) for part in ("value", "min", "max"))
    runs = f'{figure_of(row["min"])} to {figure_of(row["max"])}' if row["runs"] > 1 else "one run"
    line = f'<u style="left:{low:.2f}%;width:{high - low:.2f}%"></u>' if row["runs"] > 1 else ""
    note = " <small>baseline</small>" if is_baseline else ""
    return (f'<tr class="{kind}" data-value="{row["value"]}"><th scope="row">{escape(row["impl"])}{note}</th>'
            f'<td class="value"><b>{figure_of(row["value"])}</b> <small>{runs}</small></td>'
            f'<td class="bar" aria-hidden="true"><i style="width:{share:.2f}%"></i>{line}</td></tr>')


def left_out_text(left_out):
    """Who did not run, by the reason."""
    reasons = {}
    for each in left_out:
        reasons.setdefault(each["why"], []).append(each["impl"])
    told = "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items())
    return f" Not run: {escape(told)}." if told else ""


def chart(key, rows, baselines, meaning, left_out):
    """The greatest median fills three quarters of the width or more; a line that is longer ends at the edge."""
    workload, unit, n = key
    greatest = max(row["value"] for row in rows)
    full = min(max(greatest, *(row["max"] for row in rows)), greatest / .75) or 1
    body = "".join(bar_row(row, full, row["impl"] in baselines) for row in sorted(rows, key=lambda row: row["value"]))
    title = f"{TITLES.get(workload, workload)} <span>{escape(workload)}, n = {grouped(n)}</span>"
    return (f'<figure class="chart" data-workload="{escape(workload)}" data-n="{n}"><figcaption><h3>{title}</h3>'
            f'{escape(unit)}: {escape(meaning)}.{left_out_text(left_out)}</figcaption>'
            f'<table class="bars"><caption class="unseen">{escape(workload)} in {escape(unit)}: median, least and greatest '
            f'run</caption><tbody>{body}</tbody></table></figure>')


def bench_section(bench):
    groups = groups_of(bench["results"])
    meanings = {(each["workload"], each["unit"]): each["meaning"] for each in bench.get("workloads", [])}
    not_run = bench.get("not_run", [])
    baselines = {name for name, version in bench["machine"]["versions"].items() if version == "own baseline"}

    def charts(keys):
        parts = []
        for key in keys:
            left_out = [each for each in not_run if (each["workload"], each["unit"], each["n"]) == key]
            meaning = meanings.get(key[:2], "")
            if meaning == "the same":  # as the first of its workload
                meaning = next(text for (workload, _), text in meanings.items() if workload == key[0])
            parts.append(chart(key, groups[key], baselines, meaning, left_out))
        return '<div class="charts">' + "\n".join(parts) + "</div>"

    first = headline_keys(groups)
    rest = [key for key in groups if key not in first]
    folded = f"<details><summary>{len(rest)} further charts</summary>{charts(rest)}</details>" if rest else ""
    return charts(first) + folded


# --- how late ------------------------------------------------------------------------------

CAUSES = [("waking", "the system woke the thread late"), ("callbacks", "callbacks before it took their time"),
          ("budget", "the budget of a turn was used up")]


def added(histograms):
    return {"counts": [sum(counts) for counts in zip(*(each["counts"] for each in histograms))],
            "max_ns": max(each["max_ns"] for each in histograms)}


def share_of(histogram, limits, share):
    """The duration that this share does not exceed, as tw_histogram_quantile has it."""
    wanted, seen = math.ceil(share * sum(histogram["counts"])), 0
    for count, limit in zip(histogram["counts"], limits):
        seen += count
        if seen >= wanted and seen > 0:
            return min(limit or histogram["max_ns"], histogram["max_ns"])
    return 0


class Axis:
    """Durations on a logarithmic scale, in per cent of the width."""

    def __init__(self, limits, drivers):
        used = [i for driver in drivers for name in ("run", "waking", "callbacks", "budget")
                for i, count in enumerate(driver[name]["counts"]) if count]
        self.limits = limits
        self.last = min(max(used, default=0) + 1, len(limits) - 2)
        self.low, self.high = math.log(limits[0] / 1.4), math.log(limits[self.last] * 1.4)

    def at(self, ns):
        return 100 * (math.log(ns) - self.low) / (self.high - self.low)

    def bucket(self, i):
        """Left edge and width."""
        left = self.at(self.limits[i - 1]) if i else 0
        right = self.at(self.limits[i]) if i <= self.last else 100
        return left, right - left

    def labels(self):
        decades = [10 ** power for power in range(3, 12) if 4 < self.at(10 ** power) < 96]
        return "".join(f'<span style="left:{self.at(ns):.1f}%">{span_of(ns)}</span>' for ns in decades)


def histogram(layers, limits, axis, title, is_low):
    """`layers`: (name, histogram), stacked from the bottom."""
    tallest = max(sum(column) for column in zip(*(each["counts"] for _, each in layers))) or 1
    bars = []
    for i in range(len(limits)):
        top = 100.0
        left, width = axis.bucket(min(i, axis.last + 1)) if any(each["counts"][i] for _, each in layers) else (0, 0)
        for name, each in layers:
            if each["counts"][i] == 0:
                continue
            height = max(100 * each["counts"][i] / tallest, 3 if is_low else 1.5)
            top -= height
            under = span_of(limits[i]) if limits[i] else "longer"
            bars.append(f'<rect class="{name}" data-count="{each["counts"][i]}" x="{left:.2f}" y="{top:.2f}" '
                        f'width="{max(width - .3, .2):.2f}" height="{height:.2f}">'
                        f'<title>under {under}: {each["counts"][i]}</title></rect>')
    return (f'<svg class="histogram{" low" if is_low else ""}" viewBox="0 0 100 100" preserveAspectRatio="none" '
            f'role="img" aria-label="{escape(title)}">{"".join(bars)}</svg><div class="axis" aria-hidden="true">{axis.labels()}</div>')


def shares_row(name, each, limits, css=""):
    total = sum(each["counts"])
    cells = [grouped(total)] + [span_of(share_of(each, limits, share)) if total else "–" for share in (.5, .9, .99)]
    cells.append(span_of(each["max_ns"]) if total else "–")
    return f'<tr class="{css}"><th scope="row">{name}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def driver_article(driver, limits, axis):
    name = escape(driver["driver"])
    if "not_run" in driver:
        return f"<article><h3>{name}</h3><p>Not run here: {escape(driver['not_run'])}.</p></article>"
    layers = [(cause, driver[cause]) for cause, _ in CAUSES]
    late = added([each for _, each in layers])
    rows = [shares_row("late", late, limits, "all")]
    rows += [shares_row(cause, each, limits) for cause, each in layers]
    rows += [shares_row("callbacks ran", driver["run"], limits, "all")]
    fires = sum(late["counts"])
    said = (f'{grouped(fires)} fires: {driver["early"] or "none"} early, {driver["lost"] or "none"} lost, '
            f'drift {driver["drift_ns"]} ns after {driver["periods"]} periods; {grouped(driver["wakeups"])} wake-ups.')
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("", "fires", "p50", "p90", "p99", "max"))
    return (f'<article data-driver="{name}"><h3>{name}</h3><p>{said}</p>'
            f'<figure data-what="late"><figcaption>How late fires began, by cause</figcaption>'
            f'{histogram(layers, limits, axis, f"Histogram of lateness with {name}; its percentiles are in the table below", False)}</figure>'
            f'<figure data-what="run"><figcaption>How long callbacks ran</figcaption>'
            f'{histogram([("run", driver["run"])], limits, axis, f"Histogram of callback time with {name}; its percentiles are in the table below", True)}</figure>'
            f'<table class="shares"><caption class="unseen">Percentiles with {name}</caption>'
            f'<thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></article>')


def drivers_section(measured):
    limits, ran = measured["limits_ns"], [each for each in measured["drivers"] if "not_run" not in each]
    axis = Axis(limits, ran)
    return "\n".join(driver_article(each, limits, axis) for each in measured["drivers"])


def legend():
    items = "".join(f'<li><svg viewBox="0 0 1 1" aria-hidden="true"><rect class="{cause}" width="1" height="1"/></svg>'
                    f"<b>{cause}</b>: {text}</li>" for cause, text in CAUSES)
    return f'<ul class="key">{items}</ul>'

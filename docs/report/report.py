"""Writes the page of ./dev report, one file that asks for nothing else.

    report.py --bench FILE --drivers FILE --wheel FILE --out FILE [--sample]
    report.py --workloads

The inputs are JSON: of ./dev bench --json, tickwheel_measure and tickwheel_wheel_record. --sample says on the page
that its figures are no measurements. --workloads prints those of the bench that the page shows at once.
"""
import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from html import escape
from pathlib import Path
from string import Template

from charts import FIRST, LIBRARIES, bench_section, drivers_section, grouped, figure_of, headline_keys, groups_of, legend

HERE = Path(__file__).resolve().parent


def edition(machine):
    """The version that the bench measured, and the commit if this is a clone."""
    commit = subprocess.run(["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return f"{machine['versions'].get('tickwheel', '')} {commit.stdout.strip()}".strip()


def cpu_here():
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def names_of(items):
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def promise_in_figures(drivers):
    """What the live run says of the promises, as it is."""
    ran = [each for each in drivers if "not_run" not in each]
    fires, early, lost = (sum(each[part] for each in ran) for part in ("fires", "early", "lost"))
    drift = max((each["drift_ns"] for each in ran), default=0)
    words = [f"{early or 'none'} early", f"{lost or 'none'} lost", "no drift" if drift == 0 else f"a drift of {drift} ns"]
    return f"{grouped(fires)} fires on {len(ran)} drivers: {names_of(words)}."


def speed_in_figures(results):
    """The figures of the first workload that libraries ran, of all those in its chart; whoever wins."""
    groups = groups_of(results)
    for key in headline_keys(groups):
        own = [row for row in groups[key] if row["impl"] == "tickwheel"]
        peers = sorted((row for row in groups[key] if row["impl"] in LIBRARIES), key=lambda row: row["value"])
        if key[0] == "rearm-cold" and own and peers:
            others = names_of([f'{row["impl"]} {figure_of(row["value"])}' for row in peers])
            return f' Moving one of {grouped(key[2])} timers takes {figure_of(own[0]["value"])} ns; {others}.'
    return ""


def facts(bench, date):
    machine, ran = bench["machine"], {row["impl"] for row in bench["results"]}
    peers = [f"{name} {machine['versions'][name]}" for name in LIBRARIES if name in ran]
    memory = f"{round(machine['memory_mb'] / 1024)} GB"
    parts = [machine["cpu"], f"{machine['cores']} cores, {memory}", machine["system"], f"compiler {machine['compiler']}"]
    return escape(" · ".join(parts)) + (f"<br>Compared with {escape(', '.join(peers))}" if peers else "") + f" · {date}"


def bench_note(bench):
    missing = bench.get("not_built", [])
    return f"Left out, as their libraries are not installed here: {escape(', '.join(missing))}." if missing else ""


def late_note(machine):
    here = f"{cpu_here()}, {platform.system()} {platform.release()}"
    return "" if here == f"{machine['cpu']}, {machine['system']}" else escape(f"(This part was measured on {here}.)")


def page(bench, measured, recording, is_sample):
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    ran = [each["ran_ns"] for each in measured["drivers"] if "not_run" not in each]
    verdict = promise_in_figures(measured["drivers"]) + speed_in_figures(bench["results"])
    if is_sample:
        verdict = "A sample: these figures are made up. " + verdict
    return Template((HERE / "page.html").read_text()).substitute(
        style=(HERE / "page.css").read_text(), script=(HERE / "wheel.js").read_text(),
        recording=json.dumps(recording, separators=(",", ":")).replace("</", "<\\/"),
        version=escape(edition(bench["machine"])), verdict=escape(verdict), date=date,
        facts=facts(bench, date), bench_note=bench_note(bench), late_note=late_note(bench["machine"]),
        timers=measured["timers"], seconds=f"{round(max(ran, default=0) / 1e9)} seconds",
        bench=bench_section(bench), drivers=drivers_section(measured), legend=legend())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("bench", "drivers", "wheel", "out"):
        parser.add_argument(f"--{name}", required="--workloads" not in sys.argv, type=Path)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--workloads", action="store_true")
    options = parser.parse_args()
    if options.workloads:
        print(",".join(dict.fromkeys(workload for workload, _ in FIRST)))
        return
    inputs = [json.loads(path.read_text()) for path in (options.bench, options.drivers, options.wheel)]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(page(*inputs, options.sample))


main()

"""metrics.py PROGRAM: has a real parser read the metrics that metrics_program prints, and compares every number
with what the program knows."""
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict

try:
    from prometheus_client.parser import text_string_to_metric_families
except ImportError:
    print("left out: Debian's python3-prometheus-client is not installed")
    sys.exit(77)


def with_commas(folder):
    """A locale that writes 0,5, made from the system's sources if it has any."""
    made = shutil.which("localedef") and subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(folder, "de_DE.UTF-8")], capture_output=True
    ).returncode == 0
    print("numbers are printed under", "a German locale" if made else "the locale C: no sources for others here")
    return {**os.environ, "LOCPATH": folder} if made else dict(os.environ)


with tempfile.TemporaryDirectory() as folder:
    run = subprocess.run([sys.argv[1]], capture_output=True, check=True, timeout=100, env=with_commas(folder))
text, known_text = run.stdout.split(b"----\n")
text = text.decode("utf-8")  # fails if the text is not UTF-8
families = {family.name: family for family in text_string_to_metric_families(text)}
samples = {}
for family in families.values():
    assert family.documentation and family.type in ("counter", "gauge", "histogram"), family
    for sample in family.samples:
        assert sample.labels["runtime"] == 'a "name" \\ \n \\xff', sample.labels
        labels = {key: value for key, value in sample.labels.items() if key != "runtime"}
        place = (sample.name, tuple(sorted(labels.items())))
        assert place not in samples, f"twice: {place}"
        samples[place] = sample.value


def as_read(label):
    return "".join(
        char if ord(char) not in range(0xDC80, 0xDD00) else "\\x%02x" % (ord(char) - 0xDC00)
        for char in label.decode("utf-8", "surrogateescape"))


known = defaultdict(float)
for line in known_text.decode().splitlines():
    name, label, value = line.split("\t")
    known[name, as_read(bytes.fromhex(label))] += float(value)

compared = 0
for (name, label), value in known.items():
    if not name.startswith("tickwheel_"):
        continue
    plain = (name, ())
    place = plain if plain in samples else (name, (("label", label),))
    assert math.isclose(samples[place], value, abs_tol=1e-12), (place, samples[place], value)
    compared += 1
labels_seen = {dict(labels)["label"] for name, labels in samples if name == "tickwheel_fires_total"}
for label in ('quo"te', "back\\name", "new\nline", "\u00e9t\u00e9 \u20ac", "broken \\xff\\xc3", "", "{}=,\t# \x01"):
    assert label in labels_seen, label

for metric, cause in (("tickwheel_callback_seconds", "callback"), ("tickwheel_late_seconds", "waking"),
                      ("tickwheel_late_seconds", "callbacks"), ("tickwheel_late_seconds", "budget")):
    extra = () if cause == "callback" else (("cause", cause),)
    rows = sorted((float(dict(labels)["le"]), value) for (name, labels), value in samples.items()
                  if name == metric + "_bucket" and tuple(item for item in labels if item[0] != "le") == extra)
    assert len(rows) == 56 and rows[-1][0] == math.inf
    sum_so_far = 0
    for bucket, (limit, value) in enumerate(rows):
        sum_so_far += known[f"bucket {bucket}", cause]
        assert value == sum_so_far, (metric, cause, limit, value, sum_so_far)
        assert bucket == 55 or round(limit * 1e9) == known[f"limit {bucket}", ""]
        compared += 1
    assert samples[metric + "_count", extra] == rows[-1][1]
    assert math.isclose(samples[metric + "_sum", extra], known["sum", cause] * 1e-9, abs_tol=1e-12)
all_fires = sum(value for (name, _), value in samples.items() if name == "tickwheel_fires_total")
all_late = sum(value for (name, _), value in samples.items() if name == "tickwheel_late_seconds_count")
assert all_fires == all_late and all_fires > 0

promtool = shutil.which("promtool")
if promtool:
    subprocess.run([promtool, "check", "metrics"], input=text.encode(), check=True)
print(f"{len(samples)} samples read, {compared} compared;", "and promtool agrees" if promtool else "no promtool here")

"""check_page.py PAGE BENCH DRIVERS WHEEL: opens the page in Chromium, and compares it with the three inputs
that it was made from.

Then it breaks copies of the page, each in one way, and must detect each.
"""
import json
import math
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent / "docs/report"))

from charts import CAUSES, LIBRARIES, figure_of  # noqa: E402: the path above
from check_inputs import Broken, expect, states_of  # noqa: E402
from chromium import Chromium, ScriptError  # noqa: E402

NARROW, WIDE = 360, 1200

# Texts with too little contrast to their background.
FAINT = """(() => {
  const context = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const light = colour => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    const [x, y, z] = [r, g, b].map(c => (c /= 255) <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
    return a === 0 ? null : .2126 * x + .7152 * y + .0722 * z;
  };
  const behind = element => {
    for (; element; element = element.parentElement) {
      const found = light(getComputedStyle(element).backgroundColor);
      if (found !== null) return found;
    }
  };
  return [...document.querySelectorAll("body *:not(script):not(svg *)")].filter(element => {
    if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) return false;
    const one = light(getComputedStyle(element).color), other = behind(element);
    return (Math.max(one, other) + .05) / (Math.min(one, other) + .05) < 4.5;
  }).map(element => element.className + " " + element.textContent.slice(0, 40)).slice(0, 5);
})()"""

UNNAMED = """[...document.querySelectorAll("svg:not([aria-hidden]), button, select, input, table, section, figure")]
  .filter(element => !(element.getAttribute("aria-label") || element.getAttribute("aria-labelledby") ||
    element.labels?.length || element.textContent.trim() && element.matches("button, figure") ||
    element.querySelector("caption")))
  .map(element => element.outerHTML.slice(0, 80))"""

# How much the layout shifts while the page loads and the wheel turns; shifts that the reader causes do not
# count.
SHIFTS = """new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => list.getEntries().forEach(each => sum += each.value))
    .observe({type: "layout-shift", buffered: true});
  setTimeout(() => done(sum), 300);
})"""

# Where the controls are, from the top of the page, as the captions change.
CONTROLS = """(() => {
  const seek = document.getElementById("seek"), places = new Set();
  for (let frame = 0; frame <= Number(seek.max); ++frame) {
    seek.value = frame;
    seek.oninput();
    places.add(document.getElementById("play").getBoundingClientRect().top + scrollY);
  }
  return [...places];
})()"""

DOTS = """[...document.querySelectorAll(".timer")].map(dot => {
  if (dot.classList.contains("idle")) return null;
  const box = dot.getBoundingClientRect(), all = document.getElementById("rings").getBoundingClientRect();
  return [(box.x + box.width / 2 - all.x) / all.width - .5, (box.y + box.height / 2 - all.y) / all.height - .5];
})"""


def check_bench(browser, bench):
    """Every row has its bar, with its value as text, and the bars of a chart are in proportion to their
    values."""
    charts = browser.value("""[...document.querySelectorAll(".chart")].map(chart => ({
      workload: chart.dataset.workload, n: Number(chart.dataset.n), rows: [...chart.querySelectorAll("tbody tr")].map(row => ({
        impl: row.querySelector("th").firstChild.data.trim(), value: Number(row.dataset.value),
        text: row.querySelector(".value b").textContent, percent: parseFloat(row.querySelector(".bar i").style.width)}))}))""")
    drawn = sorted((chart["workload"], chart["n"], row["impl"], row["value"]) for chart in charts for row in chart["rows"])
    given = sorted((row["workload"], row["n"], row["impl"], row["value"]) for row in bench["results"])
    expect(drawn == given, f"{len(given)} rows of the bench, {len(drawn)} bars that belong to them")
    for chart in charts:
        longest = max(chart["rows"], key=lambda row: row["value"])
        for row in chart["rows"]:
            expect(row["text"] == figure_of(row["value"]), f"{chart['workload']}: the text of {row['impl']}")
            wanted = longest["percent"] * row["value"] / (longest["value"] or 1)
            expect(abs(row["percent"] - wanted) < .1, f"{chart['workload']}: the bar of {row['impl']} has the wrong length")

def check_headline(browser, bench):
    """The headline has each library that the chart of its figure has, whichever wins; the line below it names the
    libraries that ran."""
    rows = [row for row in bench["results"] if row["workload"] == "rearm-cold"]
    most = max(row["n"] for row in rows if row["impl"] in LIBRARIES)
    headline = browser.value("document.querySelector('h1').textContent")
    for row in rows:
        if row["n"] == most and row["impl"] in LIBRARIES:
            expect(f'{row["impl"]} {figure_of(row["value"])}' in headline, f"the headline lacks {row['impl']}")
    facts = browser.value("document.querySelector('.facts').textContent")
    for name in LIBRARIES:
        ran = any(row["impl"] == name for row in bench["results"])
        expect((f"{name} " in facts) == ran, f"{name} stands below the headline, or does not, unlike in the charts")


def check_drivers(browser, measured):
    """The bars of each histogram add up to its number of fires, by cause."""
    for driver in measured["drivers"]:
        if "not_run" in driver:
            expect(driver["not_run"] in browser.value("document.getElementById('late').textContent"), "why a driver did not run")
            continue
        for what, name in [("late", cause) for cause, _ in CAUSES] + [("run", "run")]:
            drawn = browser.value(f"""[...document.querySelectorAll('[data-driver={driver["driver"]}] [data-what={what}] rect.{name}')]
                .reduce((sum, bar) => sum + (bar.getBoundingClientRect().height > 1 ? Number(bar.dataset.count) : 0), 0)""")
            expect(drawn == sum(driver[name]["counts"]), f"{driver['driver']}: the histogram of {name}")


def slot_at(recording, x, y):
    """The slot in which a point of the picture lies, from its centre."""
    radius, width = math.hypot(x, y) * 680, 2 << recording["bits"]
    level = 0 if radius > 229 else 1 if radius > 143 else 2
    slots = width if level < recording["levels"] - 1 else width // 2
    return level * width + math.floor((math.atan2(y, x) / (2 * math.pi) + .25) % 1 * slots)


def check_wheel(browser, recording, every):
    """At each frame, the dots stand where the recording places the timers."""
    for frame, slot_of in enumerate(states_of(recording)):
        if frame % every and frame + 1 != len(recording["frames"]):
            continue
        browser.value(f"(e => {{ e.value = {frame}; e.oninput(); }})(document.getElementById('seek'))")
        seen = {who: slot_at(recording, *at) for who, at in enumerate(browser.value(DOTS)) if at}
        expect(seen == slot_of, f"frame {frame}: {len(set(seen.items()) ^ set(slot_of.items()))} dots are not where their timers were")
        expect(browser.value("document.getElementById('pending').textContent") == str(len(slot_of)), f"frame {frame}: the count")
        expect(browser.value("document.getElementById('caption').textContent.length") > 10, f"frame {frame}: the caption")
    fired = sum(kind == 3 for frame in recording["frames"] for kind, *_ in frame)
    expect(browser.value("document.getElementById('on-tick').textContent") == str(fired), "the fires on their tick")


def press(browser, key, code):
    text = {"text": key} if len(key) == 1 else {}
    for what in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=what, key=key, windowsVirtualKeyCode=code, **text)


def check_playing(browser):
    """The player starts by itself, frame by frame, once the reader sees it; keys pause and step it."""
    visited = browser.value("""new Promise((done, fail) => {
      const player = document.getElementById("player"), visited = [];
      new MutationObserver(() => visited.push(Number(player.dataset.frame)) === 5 && done(visited))
        .observe(player, {attributes: true, attributeFilter: ["data-frame"]});
      setTimeout(() => fail(new Error("it does not turn: " + visited)), 15000);
      document.getElementById("rings").scrollIntoView();
    })""")
    expect(visited == list(range(visited[0], visited[0] + 5)), f"it plays the frames {visited}")
    state = "[document.getElementById('play').textContent, Number(document.getElementById('player').dataset.frame)]"
    browser.value("document.getElementById('player').focus({preventScroll: true})")
    press(browser, " ", 32)
    word, frame = browser.value(state)
    expect(word == "Play", "the space bar does not pause it")
    press(browser, "ArrowRight", 39)
    press(browser, "ArrowRight", 39)
    press(browser, "ArrowLeft", 37)
    expect(browser.value(state) == ["Play", frame + 1], "the arrow keys do not step it")


def check_still(browser):
    """The player stays still for a reader who wants no motion, even when it scrolls into view."""
    word = browser.value("""new Promise(done => {
      document.getElementById("rings").scrollIntoView();
      setTimeout(() => done(document.getElementById("play").textContent), 400);
    })""")
    expect(word == "Play", "it moves although the reader wants it not to")


def check_looks(browser, width, scheme):
    at = f"{width} px, {scheme}"
    wide = browser.value("document.documentElement.scrollWidth")
    expect(wide <= width, f"{at}: it is {wide} px wide")
    faint = browser.value(FAINT)
    expect(not faint, f"{at}: too faint to read: {faint}")
    controls = browser.value(CONTROLS) if scheme == "light" else [0]
    expect(len(controls) == 1, f"{at}: the controls jump: {controls}")


def open_page(browser, page, width, scheme, motion="reduce"):
    browser.complaints.clear()
    browser.media(scheme, motion)
    browser.size(width)
    browser.open(page)


def check(browser, page, bench, measured, recording, every):
    for width in (NARROW, WIDE):
        for scheme in ("light", "dark"):
            open_page(browser, page, width, scheme)
            browser.value("document.querySelectorAll('details').forEach(each => each.open = true)")
            expect(not browser.complaints, f"the browser complains: {browser.complaints}")
            check_looks(browser, width, scheme)
    expect(not browser.value(UNNAMED), f"without a name: {browser.value(UNNAMED)}")
    expect(browser.value("['header', 'nav', 'main', 'footer', 'h1'].every(each => document.querySelectorAll(each).length === 1)"),
           "a landmark is missing")
    check_bench(browser, bench)
    check_headline(browser, bench)
    check_drivers(browser, measured)
    open_page(browser, page, WIDE, "light")
    check_still(browser)
    check_wheel(browser, recording, every)
    open_page(browser, page, WIDE, "light", motion="no-preference")
    check_playing(browser)
    shifts = browser.value(SHIFTS)
    expect(shifts < .01, f"the layout shifts by {shifts}")
    expect(not browser.complaints, f"the browser complains: {browser.complaints}")


# (the fault, a text of the page, its replacement)
BREAKS = [
    ("a bar is missing", '<i style="width:', '<em style="width:'),
    ("a value is wrong", '<td class="value"><b>', '<td class="value"><b>1'),
    ("a bar has the wrong length", '<i style="width:', '<i style="width:1'),
    ("a bar of a histogram is missing", '<rect class="waking" data-count', '<g'),
    ("a script throws", "function show() {", "function show() { null.x;"),
    ("a script complains", "function show() {", "function show() { console.error('no');"),
    ("it asks for something else", "</body>", '<img src="https://example.invalid/x.png" alt="x"></body>'),
    ("something is too wide", "<main>", '<main><p style="width:400px">wide</p>'),
    ("a text is too faint", "--quiet: #5c6168", "--quiet: #c5c6c8"),
    ("a dot is in a wrong place", "slot % width + 0.5) + aside", "slot % width + 1.5) + aside"),
    ("it stands still", "setInterval(step", "setInterval(show"),
    ("a frame is left out", "    next_frame(spark);", "    next_frame(spark); next_frame();"),
    ("a key does nothing", "ArrowLeft: backward", "ArrowUp: backward"),
    ("it moves all the same", "if (!is_still)", "if (true)"),
    ("the controls jump", ".caption { min-height: 7.6em", ".caption { min-height: 6em"),
    ("the layout shifts", "    tell(begin + frame);", "    tell(begin + frame); at('bench').style.marginTop = frame % 2 * 99 + 'px';"),
]


def check_breaks(browser, page, *inputs):
    text = page.read_text()
    with tempfile.TemporaryDirectory() as folder:
        broken_page = Path(folder) / "broken.html"
        for what, old, new in BREAKS:
            expect(old in text, f"there is nothing to break where {what}")
            broken_page.write_text(text.replace(old, new, 1))
            try:
                check(browser, broken_page, *inputs, every=96)
            except (Broken, ScriptError) as found:
                print(f"found out: {what}: {str(found).splitlines()[0][:150]}")
            else:
                raise Broken(f"a page where {what} passes")


def main():
    page, *inputs = map(Path, sys.argv[1:])
    inputs = [json.loads(path.read_text()) for path in inputs]
    with Chromium() as browser:
        try:
            check(browser, page, *inputs, every=8)
            check_breaks(browser, page, *inputs)
        except Broken as broken:
            sys.exit(f"{page}: {broken}")
    print(f"{page}: as it should be")


main()

"""report.py TOOL HANDLER: the page of tickwheel-jobs report: its texts are escaped, whatever the names are. In headless
Chromium, where that is installed, nothing in the page is executed, and it is not wider than a phone."""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tool import HOSTILE, Handler, is_safe, run

program, handler = sys.argv[1:]
chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# Each would change the title, or hide the page, if it were executed.
ATTACKS = ("<script>document.title='pwned'</script>", "'\"><img src=x onerror=\"document.title='pwned'\">",
           "</td></table></style><style>*{display:none}", "&lt;b&gt;&#60;", "<svg onload=document.title='pwned'>", HOSTILE)


def measured(page, width, mode):
    """The title of the page in a window of this width, and how wide its content is. The page allows no scripts, so a second
    page holds it in a frame, and reads it from outside. Chromium's window is never narrower than 500 pixels; the frame is."""
    outer = page + ".outer.html"
    with open(outer, "w", encoding="utf-8") as file:
        file.write(f"""<!doctype html><body><iframe id=f width={width} height=800 src="file://{page}"></iframe><script>
            f.onload = () => {{ const d = f.contentDocument;
                document.title = JSON.stringify([d.title, d.documentElement.scrollWidth,
                    getComputedStyle(d.body).backgroundColor, d.querySelectorAll('script, img').length,
                    d.querySelectorAll('td').length]) }}</script>""")
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
                               f"--user-data-dir={profile}", f"--blink-settings=preferredColorScheme={mode}",
                               "--virtual-time-budget=5000", "--dump-dom", f"file://{outer}"], capture_output=True, timeout=120)
    found = re.search(r"<title>(\[.*?\])</title>", done.stdout.decode())
    assert found, done
    return json.loads(html.unescape(found[1]))


def looks_right(page):
    colours = set()
    for width, mode in ((390, 0), (1280, 1)):
        title, wide, colour, scripts, cells = measured(page, width, mode)
        assert title.startswith("Jobs, 20") and scripts == 0 and cells > 20, (title, scripts, cells)
        assert wide <= width, f"the page is {wide} pixels wide in a window of {width}"
        colours.add(colour)
    assert len(colours) == 2, colours  # light and dark


def writes_a_page(tool):
    for i, attack in enumerate(ATTACKS):
        tool("put", attack, attack, *([] if i % 2 else ["--in", "2h"]))
    tool("put", "k" * 512, "世" * 170)
    tool("put", "sweep", "carts", "--every", "1h")
    tool("put", "each", "minute", "--cron", "* * * * *")
    with Handler(handler, tool, ("bad", "slow"), "<i>A</i>"):
        tool("put", "bad", "x")
        tool("put", "slow", "<b>y</b>")
        tool.wait_for(1, "bad", "--state", "failed")
        tool.wait_for(1, "slow", "--state", "started")
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "jobs.html")
            assert tool("report", page) == "" and os.listdir(folder) == ["jobs.html"]
            with open(page, encoding="utf-8") as file:
                text = file.read()
            assert is_safe(text) and "<script" not in text and "src=" not in text.replace("src=x onerror", "")
            for attack in ATTACKS[:5]:
                assert attack not in text and html.escape(attack).replace("&#x27;", "&#39;")[:60] in text, attack
            # The page shows the present hour and the next 23.
            minutes = re.search(r"<i class=c\d></i>each <b>(\d+)</b>", text)
            assert 1380 <= int(minutes[1]) <= 1440, "a minute is not counted at each due time"
            assert re.search(r"<i class=c\d></i>sweep <b>2[34]</b>", text), "an hour is not counted at each due time"
            if chromium:
                looks_right(page)
            else:
                print("there is no Chromium: the page is not looked at")
            said = tool.fails(1, "No such file", "report", os.path.join(folder, "none", "jobs.html"))
            assert "--help" not in said


def shares_the_rows_among_kinds(tool):
    """A kind with more late jobs than the page has rows, and one whose only late job is the last."""
    for i in range(60):
        tool("put", "many", f"m{i}", "--at", f"2020-01-01T00:00:{i:02}Z")
    tool("put", "few", "f")
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "jobs.html")
        tool("report", page)
        with open(page, encoding="utf-8") as file:
            late = re.search(r"<h2>Late <small>61</small></h2>(.*?)</section>", file.read(), re.S)[1]
    keys = re.findall(r'<td data-head="Key">(\w+)</td>', late)
    assert keys == [f"m{i}" for i in range(49)] + ["f"], keys
    assert late.count("It has been due for") == 2 and "the first ones of each kind" in late, late
    tool("remove", "many", "--yes")
    tool("remove", "few", "--yes")


run(program, (shares_the_rows_among_kinds, writes_a_page))

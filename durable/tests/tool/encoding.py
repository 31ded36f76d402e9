"""encoding.py TOOL ADDRESS: if only the database refuses a text, the tool reports an error of the database, not of the
command line. Here the text has a character that the encoding of a PostgreSQL database lacks."""
import glob
import shutil
import subprocess
import sys

from tool import Tool

program, address = sys.argv[1:]
psql = shutil.which("psql") or glob.glob("/usr/lib/postgresql/*/bin/psql")[0]
subprocess.run([psql, "-X", "-q", address, "-c", "create database latin encoding 'LATIN1' locale 'C' template template0"],
               check=True)
tool = Tool(program, address.replace("/postgres?", "/latin?"))
assert "/latin" in tool.address, tool.address
assert tool("put", "mail", "\u00e9") == "put\n"
for words in (("put", "\u6f22", "x"), ("get", "\u6f22", "x"), ("put", "mail", "x", "--payload", "\u6f22", "--zone", "\u6f22",
                                                              "--cron", "* * * * *")):
    code = 2 if "--cron" in words else 1  # with --cron the library itself refuses the zone
    said = tool.fails(code, "", *words)
    assert ("--help" in said) == (code == 2), (words, said)
tool.fails(2, "empty", "put", "", "x")

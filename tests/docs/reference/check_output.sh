#!/bin/sh
# check_output.sh FOLDER: checks the reference in FOLDER. Run it by ./dev reference.
set -u
here=$(dirname "$0")
output=$1
failed=0

# mandoc prints its complaints, and fails if one is a warning or worse.
(cd "$output/man" && mandoc -T lint -W warning man3/*.3) || failed=1
for section in NAME SYNOPSIS DESCRIPTION "RETURN VALUE" ERRORS "SEE ALSO"; do
    grep -qxE "\.SH \"?$section\"?" "$output/man/man3/tw_runtime_start.3" || {
        echo "tw_runtime_start.3 has no section $section"
        failed=1
    }
done
python3 "$here/check_page.py" "$output/html/index.html" || failed=1
if command -v chromium >/dev/null; then
    python3 -B "$here/check_phone.py" "$output/html/index.html" || failed=1
else
    echo "LEFT OUT: chromium is not installed, and the page is not looked at on a phone"
fi
node "$here/check_search.js" "$output/html/index.html" || failed=1
exit $failed

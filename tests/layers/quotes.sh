#!/bin/sh
# quotes.sh ROOT: succeeds if each line that a protocol quotes is still in the file it names.
set -u
root=$1
status=0
for model in "$root"/tests/*/*.pml; do
    quotes=$(sed -nE 's#.*/\* ([a-z_/]+\.(cpp|hpp|h)): "(.*)".*#\1 \3#p' "$model")
    [ -n "$quotes" ] || { echo "$model quotes nothing"; status=1; }
    while read -r file quote; do
        grep -qF -- "$quote" "$root/$file" && continue
        echo "$(basename "$model"): not in $file any more: $quote"
        status=1
    done <<END
$quotes
END
done
exit $status

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every test that docs/abi.md names is one that ctest knows, and each of its
# rows names at least one. A name that ends with * stands for all that begin so.
#
# Usage: abi_doc.sh CTEST BUILD_FOLDER
# Names hold *, which is not for the shell.
set -euf -o pipefail

ctest=${1:?} build=${2:?} doc=docs/abi.md
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
"$ctest" --test-dir "$build" -N | sed -nE 's/^ *Test +#[0-9]+: ([^ ]+).*/\1/p' >"$work/tests"
(($(wc -l <"$work/tests") > 50))
# The last column of each numbered row.
sed -nE 's/^\| ([0-9]+) \|.*\|([^|]*)\|$/\1 \2/p' "$doc" >"$work/rows"
bad=0 row=0
while read -r number names; do
  row=$((row + 1))
  if ((number != row)) || [[ "$names" != *\`* ]]; then
    echo "$doc: row $number is out of order or names no test" >&2
    bad=1
  fi
  # shellcheck disable=SC2016
  for name in $(grep -oE '`[^`]+`' <<<"$names" | tr -d '`'); do
    if [[ "$name" == *\* ]]; then
      awk -v begin="${name%\*}" 'index($0, begin) == 1 { found = 1 } END { exit !found }' \
        "$work/tests" && continue
    else
      grep -qxF -- "$name" "$work/tests" && continue
    fi
    echo "$doc: row $number names the test $name, which does not exist" >&2
    bad=1
  done
done <"$work/rows"
((row == 27 && bad == 0))

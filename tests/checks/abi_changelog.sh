#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# docs/abi-changelog.md lists every member of the C headers, at its offset, and
# nothing else; its newest heading is the headers' version.
set -euo pipefail

changelog=docs/abi-changelog.md include=core/include
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# - `ferry_host`: `size` 0, `minor` 4
# shellcheck disable=SC2016
sed -nE 's/^- `(ferry_\w+)`: (.*)$/\1 \2/p' "$changelog" | tr -d '`,' |
  awk '{ for (i = 2; i < NF; i += 2) print $1, $i, $(i + 1) }' | sort >"$work/listed"
# The offsets of layout.inc are compared with the headers by the compiler.
sed -nE 's/^LAYOUT_MEMBER\((\w+), (\w+), ([0-9]+), .*/\1 \2 \3/p' tests/abi/layout.inc |
  sort >"$work/frozen"
bash tests/abi/members.sh "$include" | sed -n 's/^member //p' | sort >"$work/headers"

bad=0
complain() {
  [[ -z "$2" ]] && return
  printf '%s:\n%s\n' "$1" "$2" >&2
  bad=1
}
cut -d' ' -f1,2 "$work/listed" | sort >"$work/names"
complain "in the headers, not in $changelog" "$(comm -23 "$work/headers" "$work/names")"
complain "in $changelog, not in the headers" "$(comm -13 "$work/headers" "$work/names")"
complain "in $changelog with another offset than in tests/abi/layout.inc" \
  "$(comm -23 "$work/listed" "$work/frozen")"
complain "listed twice in $changelog" "$(uniq -d "$work/names")"

version() { sed -nE "s/^#define FERRY_ABI_$1 ([0-9]+)u$/\1/p" "$include/ferry/abi/types.h"; }
newest=$(sed -nE 's/^## ([0-9]+\.[0-9]+).*/\1/p' "$changelog" | head -n 1)
[[ "$newest" == "$(version MAJOR).$(version MINOR)" ]] ||
  complain "the newest version in $changelog is not the headers'" "$newest"
(($(wc -l <"$work/listed") > 100 && bad == 0))

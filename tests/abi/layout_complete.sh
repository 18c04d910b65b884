#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every type, member and enumerator of the C headers has its line in layout.inc,
# and every line has its like in the headers. Codes of scalar ops are frozen by
# scalar_ops.def itself; a new one needs no line.
#
# Usage: layout_complete.sh INCLUDE_FOLDER     with $CC or cc
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
bash "$here/members.sh" "$1" | sort >"$work/headers"
sed -nE -e 's/^LAYOUT_TYPE\((\w+), .*/struct \1/p' \
  -e 's/^LAYOUT_MEMBER\((\w+), (\w+), .*/member \1 \2/p' \
  -e 's/^LAYOUT_VALUE\((\w+), .*/value \1/p' "$here/layout.inc" | sort >"$work/frozen"
(($(wc -l <"$work/headers") > 200))
added=$(comm -23 "$work/headers" "$work/frozen" | grep -v '^value FERRY_OP_' || true)
gone=$(comm -13 "$work/headers" "$work/frozen")
[[ -z "$added" ]] || echo "in the headers, without a line in tests/abi/layout.inc:
$added" >&2
[[ -z "$gone" ]] || echo "in tests/abi/layout.inc, and no longer in the headers:
$gone" >&2
[[ -z "$added$gone" ]]

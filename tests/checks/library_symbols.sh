#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# libferry exports its own names only: a symbol of a library inside it could
# take the place of the program's.
#
# Usage: library_symbols.sh LIBRARY
set -euo pipefail
library=${1:?a shared library}

symbols=$(nm -D --defined-only -- "$library" | awk '{print $NF}')
[[ -n "$symbols" ]] || { echo "$library exports nothing" >&2; exit 1; }
if strangers=$(grep -v ferry <<<"$symbols"); then
  echo "$library exports names that are not Ferry's:" >&2
  c++filt <<<"$strangers" >&2
  exit 1
fi

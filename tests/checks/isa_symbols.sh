#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Objects that are compiled for one instruction set define nothing that the
# linker merges with another object's: the copy it keeps could hold
# instructions that the processor lacks.
#
# Usage: isa_symbols.sh OBJECT...
set -euo pipefail
(($# > 0)) || { echo "no objects given" >&2; exit 1; }

bad=0
for object in "$@"; do
  if merged=$(nm -C --defined-only -- "$object" | grep -E ' [WVu] '); then
    echo "$object has symbols that the linker may merge:" >&2
    head -n 20 <<<"$merged" >&2
    bad=1
  fi
done
exit "$bad"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A source of more than 800 lines is split, a public header of more than 300.
set -euo pipefail

bad=0 seen=0
while IFS= read -r -d '' file; do
  seen=$((seen + 1))
  most=800
  if [[ "$file" == ./core/include/* ]]; then most=300; fi
  lines=$(wc -l <"$file")
  if ((lines > most)); then
    echo "$file: $lines lines, at most $most" >&2
    bad=1
  fi
done < <(find . \( -path ./build -o -path ./.git \) -prune -o -type f \
  \( -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cl' \
  -o -name '*.py' -o -name '*.sh' \) -print0)
((bad == 0 && seen > 30))

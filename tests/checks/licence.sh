#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every source says its licence within its first three lines.
set -euo pipefail

bad=0 seen=0
while IFS= read -r -d '' file; do
  seen=$((seen + 1))
  if ! head -n 3 -- "$file" | grep -qF 'SPDX-License-Identifier: Apache-2.0'; then
    echo "$file: no SPDX-License-Identifier line" >&2
    bad=1
  fi
done < <(find . \( -path ./build -o -path ./.git \) -prune -o -type f \
  \( -name '*.h' -o -name '*.hpp' -o -name '*.def' -o -name '*.c' -o -name '*.cpp' -o -name '*.cu' \
  -o -name '*.cl' -o -name '*.cmake' -o -name CMakeLists.txt -o -name '*.sh' -o -name '*.py' \) -print0)
# Fewer would mean that the search is broken.
((bad == 0 && seen > 30))

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The library never prints and never ends the process: that is for the program
# that embeds it. Comments are not looked at. One file may write to stderr: the
# log, where FERRY_LOG asks for it.
set -euo pipefail

readonly LOG=core/src/runtime/log.cpp
readonly NAME='(^|[^[:alnum:]_.>:])'
readonly OUTPUT="std::(cout|cerr|clog)\\b|\\b(stdout|stderr)\\b|fmt::print|${NAME}(std::)?(printf|puts|putchar|perror)[[:space:]]*\\("
readonly ENDING="${NAME}(std::|::)?(abort|exit|_exit|_Exit|quick_exit|terminate|raise|assert)[[:space:]]*\\("

found=0 seen=0
while IFS= read -r -d '' file; do
  seen=$((seen + 1))
  pattern="$OUTPUT|$ENDING"
  if [[ "$file" == "$LOG" ]]; then pattern=$ENDING; fi
  # Comments become empty and lines stay, so that the numbers are right.
  if sed -E 's://.*$::; s:/\*[^*]*\*+/::g' "$file" | grep -nE "$pattern" | sed "s|^|$file:|"; then
    found=1
  fi
done < <(find core/src core/include data -type f \( -name '*.h' -o -name '*.cpp' \) -print0)
((seen > 0))

if ((found)); then
  echo "the library prints or ends the process above; throw or use the log callback" >&2
  exit 1
fi

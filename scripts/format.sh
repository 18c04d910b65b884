#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Formats every C and C++ source with clang-format 14; with --check it only
# says which ones are not formatted, and fails.
set -euo pipefail
unset CDPATH
root=$(cd -P -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
cd -- "$root"

formatter=$(command -v clang-format-14 || true)
if [[ -z "$formatter" ]]; then
  echo "format: clang-format-14 is not installed: apt-get install clang-format-14" >&2
  exit 3
fi

# The op list and the ABI's tables are laid out by hand: their columns are read
# as such. So is anything between "clang-format off" and "on".
mapfile -d '' -t sources < <(
  find core data backends plugins reference tools tests examples bench -type f \
    \( -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cpp' -o -name '*.cu' \) \
    -not -path '*/include/ferry/abi/*' -print0 2>/dev/null | sort -z)

if [[ "${1:-}" != --check ]]; then
  printf '%s\0' "${sources[@]}" | xargs -0 "$formatter" -i
  exit
fi
bad=0
for source in "${sources[@]}"; do
  if ! "$formatter" --dry-run --Werror "$source" 2>/dev/null; then
    echo "not formatted: $source"
    bad=$((bad + 1))
  fi
done
if ((bad > 0)); then
  echo "format: $bad of ${#sources[@]} files; scripts/format.sh mends them"
  exit 1
fi
echo "format: ${#sources[@]} files, all formatted"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs shellcheck over every shell script of the tree.
set -euo pipefail
unset CDPATH
root=$(cd -P -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
cd -- "$root"

if ! command -v shellcheck >/dev/null; then
  echo "shellcheck is not installed: apt-get install shellcheck" >&2
  exit 3
fi
mapfile -d '' -t scripts < <(find . -path ./build -prune -o -name '*.sh' -print0 | sort -z)
shellcheck .ci/run "${scripts[@]}"
echo "shellcheck: $((${#scripts[@]} + 1)) scripts, no findings"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Configures and builds one preset quietly under build/, with what it needs
# installed first; a failure shows the end of the log.
#
# Usage: scripts/build.sh PRESET [TARGET...]    all targets when none is named
set -euo pipefail
unset CDPATH
root=$(cd -P -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
preset=${1:?a preset of CMakePresets.json}
shift
build="$root/build/$preset"

say() { printf '%s\n' "$*" >&2; }

# Runs a command into log $1; when it fails, shows the end of it. On a terminal
# ninja's "[done/all]" moves along in place.
logged() {
  local log=$1 status=0
  shift
  if [[ -t 2 ]]; then
    "$@" 2>&1 | tee "$log" | while IFS= read -r line; do
      if [[ "$line" =~ ^\[[0-9]+/[0-9]+\] ]]; then printf '\r%s\033[K' "${BASH_REMATCH[0]}" >&2; fi
    done || status=$?
    printf '\r\033[K' >&2
  else
    "$@" >"$log" 2>&1 || status=$?
  fi
  if ((status != 0)); then
    say "failed: $*"
    say "the last lines of $log:"
    tail -n 40 -- "$log" >&2
    exit "$status"
  fi
}

"$root/scripts/setup.sh"
mkdir -p -- "$build"
# Two runs at once would disturb each other's build folder.
exec 9>"$build/.lock"
flock 9

configure=(cmake --preset "$preset")
if command -v ccache >/dev/null; then
  configure+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
# A tree that was moved or copied cannot use its old cache.
if [[ -f "$build/CMakeCache.txt" ]] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
  configure+=(--fresh)
fi
cd -- "$root"
say "Configuring build/$preset"
logged "$build/configure.log" "${configure[@]}"
say "Building ${*:-everything} (log: build/$preset/build.log)"
logged "$build/build.log" cmake --build "$build" \
  --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" ${1:+--target "$@"}

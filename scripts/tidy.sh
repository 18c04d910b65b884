#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs clang-tidy 14 with the rules of .clang-tidy over the library, its
# backends and the command, in parallel.
#
# Usage: scripts/tidy.sh [--changed [BASE]] [PRESET]
#   --changed   only sources that differ from BASE (origin's main, else HEAD~1)
#   PRESET      whose compile database is used: ci by default; build it first
set -euo pipefail
unset CDPATH
root=$(cd -P -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
cd -- "$root"

changed=0 base=
if [[ "${1:-}" == --changed ]]; then
  changed=1
  shift
  if (($# > 0)) && git rev-parse --quiet --verify "$1^{commit}" >/dev/null; then
    base=$1
    shift
  fi
fi
build="build/${1:-ci}"

tidy=$(command -v clang-tidy-14 || true)
if [[ -z "$tidy" ]]; then
  echo "tidy: clang-tidy-14 is not installed: apt-get install clang-tidy-14" >&2
  exit 3
fi
if [[ ! -f "$build/compile_commands.json" ]]; then
  echo "tidy: $build/compile_commands.json is missing: cmake --preset ${build#build/}" >&2
  exit 3
fi

# Sources of the tree that the compile database knows; others, such as a
# backend whose toolkit is absent, cannot be parsed.
mapfile -t sources < <(
  sed -n 's/^ *"file": "\(.*\)".*/\1/p' "$build/compile_commands.json" | sort -u |
    grep -F -- "$root/" | sed "s|^$root/||" | grep -E '^(core/src|data|backends|plugins|tools)/')
if ((changed)); then
  if [[ -z "$base" ]]; then
    base=$(git merge-base HEAD origin/main 2>/dev/null || true)
    [[ -n "$base" && "$base" != "$(git rev-parse HEAD)" ]] || base=HEAD~1
  fi
  mapfile -t sources < <(
    comm -12 <(printf '%s\n' "${sources[@]}" | sort) \
             <({ git diff --name-only "$base"; git ls-files --others --exclude-standard; } | sort -u))
fi
if ((${#sources[@]} == 0)); then
  echo "tidy: no sources to look at"
  exit 0
fi
echo "tidy: ${#sources[@]} sources"
printf '%s\0' "${sources[@]}" |
  xargs -0 -n 1 -P "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" "$tidy" --quiet -p "$build" 2>/dev/null

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds Ferry and runs its tests; the exit status is that of ctest.
set -euo pipefail
unset CDPATH
root=$(cd -P -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
preset=${FERRY_PRESET:-release}

if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then
  cat <<'TEXT'
Usage: ./test.sh [CTEST OPTIONS]

Installs what is missing (Debian 12+, Ubuntu 24.04+), builds Ferry under
build/PRESET and runs its tests. The preset is FERRY_PRESET, or release; those
of CMakePresets.json: release, dev, ci, asan, tsan.

  ./test.sh -R demo                  tests whose name matches
  ./test.sh -L tools                 tests of one label
  FERRY_PRESET=asan ./test.sh        under the address sanitizer
TEXT
  exit 0
fi

# All targets, or those in FERRY_TARGETS.
# shellcheck disable=SC2086
"$root/scripts/build.sh" "$preset" ${FERRY_TARGETS:-}

# The tests choose devices themselves; a setting of the caller's shell must not.
for variable in "${!FERRY_@}"; do unset "$variable"; done
# What a sanitizer finds ends a program with a status of its own, which no test
# takes for an expected failure. The quotes are for folders with spaces.
leaks="exitcode=99:print_suppressions=0:suppressions='$root/tests/checks/lsan.supp'"
races="exitcode=99:second_deadlock_stack=1:suppressions='$root/tests/checks/tsan.supp'"
# Following thread-local memory of other libraries crashes GCC 12's leak checker
# where threads of oneTBB end beside it.
export ASAN_OPTIONS="${ASAN_OPTIONS:-exitcode=99:detect_stack_use_after_return=1:allocator_may_return_null=1:intercept_tls_get_addr=0}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-exitcode=99:print_stacktrace=1}"
export LSAN_OPTIONS="${LSAN_OPTIONS:-$leaks}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-$races}"
# Thread sanitizers before GCC 14 cannot map their memory under Ubuntu 24.04's
# address randomisation, so it is turned off where that is allowed.
still=()
if [[ "$preset" == tsan ]] && setarch -R true 2>/dev/null; then still=(setarch -R); fi
exec "${still[@]}" ctest --test-dir "$root/build/$preset" --output-on-failure --no-tests=error \
  --no-label-summary --parallel "${CTEST_PARALLEL_LEVEL:-$(nproc)}" "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs all of `ferry verify` on one plugin and compares what fails with what
# must, to the name.
#
# Usage: case.sh FERRY PLUGIN [CHECK [ALSO...]]
#   CHECK fails; of ALSO each may; no other does. Without CHECK none fails.
set -euo pipefail
ferry=$1 plugin=$2 check=${3-} also=" ${*:4} "

for variable in "${!FERRY_@}"; do unset "$variable"; done

status=0
json=$("$ferry" verify --json --timeout "${VERIFY_TIMEOUT:-60}" "$plugin") || status=$?
# The outcomes, one a line: "memory.leak fail".
outcomes=$(tr '\n' ' ' <<<"$json" |
  grep -oE '"check": *"[^"]+", *"outcome": *"[^"]+"' |
  sed -E 's/"check": *"([^"]+)", *"outcome": *"([^"]+)"/\1 \2/') || true
failed=$(awk '$2 == "fail" {print $1}' <<<"$outcomes")

complain() {
  printf '%s\nfailed, of %s checks:\n%s\n-- report\n%s\n' "$1" "$(grep -c . <<<"$outcomes")" \
    "$failed" "$json" >&2
  exit 1
}
(($(grep -c . <<<"$outcomes") >= 40)) || complain "too few checks ran"
for name in $failed; do
  [[ "$name" == "$check" || "$also" == *" $name "* ]] || complain "$name fails, and must not"
done
if [[ -z "$check" ]]; then
  ((status == 0)) || complain "the exit status is $status, not 0"
else
  grep -qx -- "$check" <<<"$failed" || complain "$check does not fail"
  ((status == 1)) || complain "the exit status is $status, not 1"
fi

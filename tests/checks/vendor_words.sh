#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The core serves every vendor alike, so it names none.
set -euo pipefail
[[ -d core/src ]]

if grep -rnIiwE 'cuda|hip|rocm|opencl|tbb|nvidia' core; then
  echo "vendor words stand in core/; what they are for belongs into a plugin" >&2
  exit 1
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the headers of another minor version from today's, so that plugins can
# be built against the past and the future:
#   older   tables end before members that today are optional
#   newer   ABI 1.7: every table that may grow has grown by `later`
#
# Usage: make_headers.sh older|newer INCLUDE_FOLDER OUT_FOLDER
set -euo pipefail

kind=${1:?} from=${2:?}/ferry/abi to=${3:?}/ferry/abi
mkdir -p -- "$to"
cp -- "$from"/* "$to"/

fail() {
  echo "make_headers: $*" >&2
  exit 1
}

# cut FILE TYPE MEMBER: the struct TYPE ends before MEMBER.
cut_at() {
  awk -v begin="^typedef struct $2 \\\\{" -v end="^\\\\} $2;" -v member="[* ]\\\\(?\\\\*?$3[);,\\\\[]" '
    $0 ~ begin { inside = 1 }
    $0 ~ end { if (!cutting) exit 1; found = 1; inside = cutting = 0 }
    inside && !cutting && $0 ~ member { cutting = 1; match($0, member); kept = substr($0, 1, RSTART - 1)
      # Other members on the same line stay.
      if (sub(/,[^,]*$/, ";", kept)) print kept }
    !cutting { print }
    END { if (!found) exit 1 }' "$to/$1" >"$to/$1.cut" || fail "$1: no $3 in $2"
  mv -- "$to/$1.cut" "$to/$1"
}

# grow FILE TYPE: TYPE has one more member.
grow() {
  awk -v begin="^(typedef )?struct $2 \\\\{" '
    $0 ~ begin { inside = 1 }
    inside && /^\}/ { print "  uint64_t later[3];"; inside = 0; found = 1 }
    { print }
    END { if (!found) exit 1 }' "$to/$1" >"$to/$1.grown" || fail "$1: no $2"
  mv -- "$to/$1.grown" "$to/$1"
}

case "$kind" in
  older)
    cut_at device.h ferry_device_info driver
    cut_at device.h ferry_core_api fill
    cut_at device.h ferry_stream_api event_elapsed
    cut_at kernel.h ferry_call scratch
    cut_at plugin.h ferry_host option
    cut_at plugin.h ferry_plugin_api extensions
    sed -i 's/^#define FERRY_ABI_MINOR .*/&\n#define TEST_OLDER_HEADERS/' "$to/types.h"
    ;;
  newer)
    for type in ferry_device_info ferry_core_api ferry_stream_api ferry_peer_api; do
      grow device.h "$type"
    done
    grow program.h ferry_program
    grow kernel.h ferry_call
    grow kernel.h ferry_kernel
    mapfile -t types < <(sed -nE 's/^typedef struct (ferry_\w+_attr) .*/\1/p' "$to/kernel.h")
    for type in "${types[@]}"; do
      grow kernel.h "$type"
    done
    grow plugin.h ferry_host
    grow plugin.h ferry_plugin_api
    sed -i 's/^#define FERRY_ABI_MINOR .*/#define FERRY_ABI_MINOR 7u\n#define TEST_NEWER_HEADERS/' \
      "$to/types.h"
    ;;
  *) fail "'$kind' is neither older nor newer" ;;
esac
grep -q "TEST_${kind^^}_HEADERS" "$to/types.h" || fail "types.h has no FERRY_ABI_MINOR"

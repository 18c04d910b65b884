#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints the lines of layout.inc for the headers as they are now, for whoever
# appends a member: only what is new is to be copied. A line that differs from
# its old self is an ABI break, except for the size of a type that grew.
#
# Usage: print_layout.sh INCLUDE_FOLDER     with $CC or cc
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
include=${1:?usage: print_layout.sh INCLUDE_FOLDER}
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
{
  cat <<'TEXT'
#include <stdio.h>
#include "ferry/abi/plugin.h"
#define TYPE(t) printf("\nLAYOUT_TYPE(" #t ", %zu, %zu)\n", sizeof(t), _Alignof(t));
#define MEMBER(t, m)                                                        \
  printf("LAYOUT_MEMBER(" #t ", " #m ", %zu, %zu)\n", offsetof(t, m), \
         sizeof(((t*)0)->m));
#define VALUE(v) printf("LAYOUT_VALUE(%s, %lld)\n", #v, (long long)v);
int main(void) {
TEXT
  bash "$here/members.sh" "$include" |
    sed -E -e 's/^struct (.*)/TYPE(\1)/' -e 's/^member (.*) (.*)/MEMBER(\1, \2)/' \
      -e 's/^value (.*)/VALUE(\1)/'
  echo 'return 0; }'
} >"$work/print.c"
# CC may carry options, so it is split into words on purpose.
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -I "$include" "$work/print.c" -o "$work/print"
"$work/print"

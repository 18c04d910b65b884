#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the C tables in a folder of headers are made of, read from their text:
# one line for each struct, member and enumerator, in order.
#
#   struct ferry_host
#   member ferry_host fail
#   value FERRY_LOG_WARN
#
# Usage: members.sh INCLUDE_FOLDER     with $CC or cc
set -euo pipefail

include=${1:?usage: members.sh INCLUDE_FOLDER}
# Only the headers' own text: the system's headers are replaced by nothing.
empty=$(mktemp -d)
trap 'rm -rf -- "$empty"' EXIT
: >"$empty/stddef.h"
: >"$empty/stdint.h"
# CC may carry options, so it is split into words on purpose.
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -E -P -nostdinc -I "$empty" -I "$include" "$include/ferry/abi/plugin.h" |
  tr '\n' ' ' | sed 's/[;{}]/&\n/g' |
  awk '
    # One declaration, or the begin or end of a block, a line.
    { gsub(/^[ \t]+|[ \t]+$/, "") }
    /(struct|union) [a-z_]+ *\{$/ {
      match($0, /[a-z_]+ *\{$/)
      type = substr($0, RSTART, RLENGTH)
      sub(/ *\{$/, "", type)
      print "struct " type
      next
    }
    /enum( [a-z_]+)? *\{$/ { in_enum = 1; next }
    in_enum {
      sub(/\}$/, "")
      n = split($0, part, ",")
      for (i = 1; i <= n; ++i) {
        sub(/=.*/, "", part[i])
        gsub(/[ \t]/, "", part[i])
        if (part[i] != "") print "value " part[i]
      }
      in_enum = 0
      next
    }
    /\}$/ { type = ""; next }
    type != "" && /;$/ {
      sub(/;$/, "")
      if (match($0, /\(\*[a-z0-9_]+\)\(/)) {
        print "member " type " " substr($0, RSTART + 2, RLENGTH - 4)
        next
      }
      n = split($0, part, ",")
      for (i = 1; i <= n; ++i) {
        sub(/\[.*/, "", part[i])
        match(part[i], /[a-z0-9_]+ *$/)
        name = substr(part[i], RSTART, RLENGTH)
        gsub(/ /, "", name)
        print "member " type " " name
      }
    }'

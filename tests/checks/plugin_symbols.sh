#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A plugin exports exactly one symbol, and takes none from libferry.
#
# Usage: plugin_symbols.sh PLUGIN
set -euo pipefail
plugin=${1:?a plugin}

symbols=$(nm -D --defined-only -- "$plugin" | awk '{print $NF}')
if [[ "$symbols" != ferry_plugin_v1 ]]; then
  printf '%s exports, instead of ferry_plugin_v1 alone:\n%s\n' "$plugin" "$symbols" >&2
  exit 1
fi
if needed=$(readelf -d -- "$plugin" | grep -F NEEDED | grep -F libferry); then
  printf '%s must not need the host library:\n%s\n' "$plugin" "$needed" >&2
  exit 1
fi

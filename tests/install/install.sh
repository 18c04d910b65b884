#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the built tree, moves the prefix, builds plugins/template and the
# README's program against it, and runs both.
#
# Usage: install.sh BUILD SOURCE CMAKE COMPILER
set -euo pipefail
build=$1 source=$2 cmake=$3
export CXX=$4

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
for variable in "${!FERRY_@}"; do unset "$variable"; done

"$cmake" --install "$build" --prefix "$work/first" >"$work/log"
mkdir "$work/moved away"
mv "$work/first" "$work/moved away/ferry"
prefix="$work/moved away/ferry"

"$cmake" -S "$source/plugins/template" -B "$work/plugin" -DCMAKE_PREFIX_PATH="$prefix" >>"$work/log"
"$cmake" --build "$work/plugin" >>"$work/log"
symbols=$(nm -D --defined-only "$work/plugin/ferry_template.so")
[[ $(wc -l <<<"$symbols") == 1 && "$symbols" == *ferry_plugin_v1 ]] || {
  echo "the plugin exports: $symbols" >&2
  exit 1
}

# The program that README shows.
mkdir "$work/app"
awk '/^```cpp/ {on = 1; next} /^```/ {if (on) exit} on' "$source/README.md" >"$work/app/main.cpp"
cat >"$work/app/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES CXX)
find_package(ferry REQUIRED)
add_executable(app main.cpp)
target_link_libraries(app PRIVATE ferry::ferry)
TEXT
"$cmake" -S "$work/app" -B "$work/app/build" -DCMAKE_PREFIX_PATH="$prefix" >>"$work/log"
"$cmake" --build "$work/app/build" >>"$work/log"

export FERRY_PLUGIN_PATH="$work/plugin/ferry_template.so"
found=$("$prefix/bin/ferry" devices)
grep -q '^template:0' <<<"$found" || { echo "no template:0 in: $found" >&2; exit 1; }
shown=$("$work/app/build/app")
grep -q "device='template:0'" <<<"$shown" || { echo "the program shows: $shown" >&2; exit 1; }

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Cases that run the `ferry` command as its users do, each a function below.
#
# Usage: cases.sh CASE FERRY SIM_PLUGIN DIGITS_FOLDER CMAKE
set -euo pipefail
case=$1 ferry=$2 sim=$3 digits=$4 cmake=$5

for variable in "${!FERRY_@}"; do unset "$variable"; done
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

fail() {
  printf 'case %s: %s\n-- stdout\n%s\n-- stderr\n%s\n' "$case" "$1" \
    "$(cat -- "$work/out")" "$(cat -- "$work/err")" >&2
  exit 1
}

# run STATUS COMMAND...: the command must end with this status.
run() {
  local expected=$1 status=0
  shift
  "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
  ((status == expected)) || fail "exit status $status instead of $expected: $*"
}
out_has() { grep -qE -- "$1" "$work/out" || fail "stdout lacks: $1"; }
err_has() { grep -qE -- "$1" "$work/err" || fail "stderr lacks: $1"; }
fits_line() {
  local widest
  widest=$(LC_ALL=C.UTF-8 wc -L <"$work/out")
  ((widest <= 100)) || fail "a line is $widest characters wide"
}
# One line that begins with "ferry: ", and no trace of a crash.
one_error_line() {
  err_has '^ferry: '
  [[ $(grep -c . "$work/err") == 1 ]] || fail "the error is not one line"
}
# The rows of the demo's result table for the digits: "DEVICE CORRECT ...".
result_rows() { awk '$2 ~ /^[0-9]+\/[0-9]+$/ {print $1, $2}' "$work/out"; }

# json_get FIELD...: the value in the JSON on stdout.
json_get() {
  # shellcheck disable=SC2016
  printf 'file(READ "%s" text)\nstring(JSON value GET "${text}" %s)\nmessage("${value}")\n' \
    "$work/out" "$*" >"$work/get.cmake"
  "$cmake" -P "$work/get.cmake" 2>&1 || fail "no such JSON: $*"
}
correct_by_pytorch() {
  local correct
  correct=$(sed -nE 's/.*"correct": *([0-9]+).*/\1/p' "$digits/expected.json" | head -n 1)
  [[ -n "$correct" ]] || fail "expected.json has no number of correct digits"
  printf '%s' "$correct"
}

devices_table() {
  run 0 "$ferry" devices
  out_has '^Device +Name +Vendor +Memory +Free +Capability +Units +Plugin$'
  out_has '^cpu  .*[0-9] [GM]iB .*ferry_cpu'
  out_has '^sim:0  .*ferry_sim'
  out_has '^sim:1  .*ferry_sim'
  fits_line
}
devices_json() {
  run 0 "$ferry" devices --json
  [[ $(json_get default device) == cpu ]] || fail "the default is not cpu"
  [[ $(json_get devices 0 device) == cpu ]] || fail "the first device is not cpu"
  (($(json_get devices 0 memory_total) > 0)) || fail "cpu has no memory"
}
devices_default() {
  FERRY_DEVICE=absent,sim:1 run 0 "$ferry" devices
  out_has '^Default device: sim:1 \(FERRY_DEVICE=absent,sim:1\)$'
  run 0 "$ferry" devices
  out_has '^Default device: cpu \(FERRY_DEVICE is not set\)$'
}
devices_bad_default() {
  FERRY_DEVICE=absent:3 run 1 "$ferry" devices
  out_has '^sim:1 '
  err_has '^ferry: .*absent'
}

doctor_reports() {
  FERRY_DEVICE=sim:1 FERRY_SPELT_WRONG=7 run 0 "$ferry" doctor
  out_has '\[F000\] .*/ferry_cpu\.so$'
  out_has '\[F000\] .*/ferry_sim\.so$'
  out_has '^  cpu +[0-9.]+ ms +works$'
  out_has '^  sim:1 +[0-9.]+ ms +works$'
  out_has '^  FERRY_DEVICE +sim:1$'
  out_has '^  FERRY_PLUGIN_PATH +not set$'
  out_has '^  FERRY_SPELT_WRONG +7$'
  out_has '[0-9] of [0-9] devices work'
}
doctor_json() {
  run 0 "$ferry" doctor --json
  [[ $(json_get cpu_works) == ON ]] || fail "cpu_works is not true"
  [[ $(json_get plugins 0 code) == F* ]] || fail "the first plugin has no code"
}
# A library with no plugins beside it.
doctor_without_cpu() {
  mkdir -p "$work/alone/bin" "$work/alone/lib"
  cp -- "$ferry" "$work/alone/bin/ferry"
  cp -P -- "$(dirname -- "$ferry")"/../lib/libferry.so* "$work/alone/lib/"
  LD_LIBRARY_PATH="$work/alone/lib" run 1 "$work/alone/bin/ferry" doctor
  out_has 'the CPU does not work'
}

demo_every_device() {
  local correct
  correct=$(correct_by_pytorch)
  run 0 "$ferry" demo --repeat 1
  [[ $(result_rows) == "$(printf '%s\n' "cpu $correct/597" "sim:0 $correct/597" \
    "sim:1 $correct/597")" ]] || fail "not $correct of 597 on cpu, sim:0, sim:1 alone"
  fits_line
}
demo_one_by_variable() {
  FERRY_DEVICE=sim:1 run 0 "$ferry" demo --repeat 1
  [[ $(result_rows) == "sim:1 $(correct_by_pytorch)/597" ]] || fail "not on sim:1 alone"
  out_has 'As sim:1 reads them'
}
demo_one_by_option() {
  FERRY_DEVICE=sim:1 run 0 "$ferry" demo --repeat 1 --device sim:0 --device cpu --device sim:0
  [[ $(result_rows | cut -d ' ' -f 1 | paste -sd ' ') == "sim:0 cpu" ]] ||
    fail "not on sim:0 and cpu"
}
demo_pictures_ascii() {
  LC_ALL=C run 0 "$ferry" demo --repeat 1 --device cpu
  ! LC_ALL=C grep -q '[^ -~]' "$work/out" || fail "not ASCII alone"
  out_has '@@.*@@'
  out_has '^label [0-9] +label [0-9]'
  out_has 'read as [0-9], [0-9.]+%'
  LC_ALL=C.UTF-8 run 0 "$ferry" demo --repeat 1 --device cpu
  out_has '██'
}

demo_unknown_device() {
  local text
  for text in nosuch 'sim:' 'sim:-1' 'sim:01' 'SIM:0' '' ':'; do
    run 1 "$ferry" demo --device "$text"
    err_has '^ferry: \['
  done
}
demo_absent_device() {
  run 1 "$ferry" demo --device sim:99
  err_has '^ferry: .*sim:99'
}
demo_absent_by_variable() {
  FERRY_DEVICE=nosuch run 1 "$ferry" demo
  err_has '^ferry: .*nosuch'
}

demo_checkpoint_truncated() {
  local size part
  size=$(stat -c %s -- "$digits/digits.pt")
  for part in $((size / 2)) $((size - 1)) 100 0; do
    head -c "$part" -- "$digits/digits.pt" >"$work/cut.pt"
    run 1 "$ferry" demo --checkpoint "$work/cut.pt"
    one_error_line
    err_has 'cut\.pt'
  done
}
demo_checkpoint_html() {
  printf '<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n' >"$work/page.pt"
  run 1 "$ferry" demo --checkpoint "$work/page.pt"
  one_error_line
  err_has 'page\.pt'
}
demo_checkpoint_absent() {
  run 1 "$ferry" demo --checkpoint "$work/nothing.pt"
  one_error_line
  err_has 'nothing\.pt'
}
# A checkpoint of PyTorch's that holds something else than this network.
demo_checkpoint_other_network() {
  run 1 "$ferry" demo --checkpoint "$digits/expected.pt"
  err_has '^ferry: '
  err_has 'accuracy.*not a tensor'
}
demo_data_absent() {
  run 1 "$ferry" demo --data "$work/nowhere"
  one_error_line
  err_has 'nowhere'
}
demo_data_broken() {
  cp -- "$digits"/* "$work/"
  head -c 1000 -- "$digits/test-images.idx3-ubyte" >"$work/test-images.idx3-ubyte"
  run 1 "$ferry" demo --data "$work"
  one_error_line
  err_has 'test-images.* has 1000 bytes'
}

plugin_text_file() {
  mkdir "$work/plugins"
  echo "not a library" >"$work/plugins/ferry_x.so"
  FERRY_PLUGIN_PATH="$work/plugins" run 0 "$ferry" devices
  out_has '^sim:1 '
  out_has '^  \[F(100|202)\] .*/plugins/ferry_x\.so$'
  out_has 'found by: FERRY_PLUGIN_PATH'
}
plugin_other_machine() {
  mkdir "$work/plugins"
  cp -- "$sim" "$work/plugins/ferry_other.so"
  # e_machine of the ELF header: 183 is AArch64, 62 is x86-64.
  local machine='\xb7'
  if [[ $(uname -m) == aarch64 ]]; then machine='\x3e'; fi
  printf '%b\0' "$machine" |
    dd of="$work/plugins/ferry_other.so" bs=1 seek=18 conv=notrunc status=none
  FERRY_PLUGIN_PATH="$work/plugins" run 0 "$ferry" devices
  out_has '^sim:1 '
  out_has '^  \[F202\] .*/plugins/ferry_other\.so$'
}
plugin_path_absent() {
  FERRY_PLUGIN_PATH="$work/nowhere" run 0 "$ferry" devices
  out_has '^sim:1 '
  out_has '^  \[F200\] .*nowhere'
}

memory_demo() {
  run 0 "$ferry" memory --html "$work/page.html"
  out_has '^Memory of the digits demo on sim:0: [0-9]+ events'
  out_has '^sim:0 +[0-9.]+ [KM]iB'
  out_has '^sim:0 \(pinned\) '
  fits_line
  grep -q '^<!DOCTYPE html>' "$work/page.html" || fail "the page is none"
  grep -q '<path class="allocated"' "$work/page.html" || fail "the page has no curve"
  grep -q '<rect class="allocated"' "$work/page.html" || fail "the page has no map"
  if grep -qE 'https?://|<script' "$work/page.html"; then fail "the page needs more than itself"; fi
}
# What a program recorded that knows nothing of it.
memory_recorded() {
  FERRY_MEMORY_HISTORY="$work/history.json" FERRY_DEVICE=sim:1 run 0 "$ferry" demo --repeat 1
  run 0 "$ferry" memory "$work/history.json"
  out_has '^sim:1 .* 0$'
  run 1 "$ferry" memory "$work/history.json" --html "$work/absent/page.html"
  one_error_line
  FERRY_MEMORY_HISTORY="$work/absent/history.json" FERRY_LOG=error run 0 "$ferry" demo --repeat 1
  err_has "cannot write '.*/absent/history.json'"
}
memory_no_history() {
  run 1 "$ferry" memory "$work/absent.json"
  one_error_line
  run 1 "$ferry" memory "$digits/expected.json"
  err_has 'FERRY_MEMORY_HISTORY'
  one_error_line
  run 2 "$ferry" memory "$digits/expected.json" --device sim:0
}

wrong_usage() {
  run 2 "$ferry"
  err_has '^Usage: '
  run 2 "$ferry" nosuch
  run 2 "$ferry" devices --nosuch
  err_has '^Usage: ferry devices'
  run 2 "$ferry" demo --repeat 0
  run 2 "$ferry" demo --repeat many
  run 2 "$ferry" demo stray
  err_has '^Usage: ferry demo'
}
help() {
  run 0 "$ferry" --help
  out_has 'devices .*doctor|devices'
  run 0 "$ferry" demo --help
  out_has '--checkpoint FILE'
  run 0 "$ferry" --version
  out_has '^ferry [0-9]+\.[0-9]+\.[0-9]+$'
}
output_full() {
  local status=0
  "$ferry" devices >/dev/full 2>"$work/err" || status=$?
  : >"$work/out"
  ((status == 1)) || fail "exit status $status instead of 1"
  err_has '^ferry: '
}

"$case"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes sure that what Ferry is built with is installed: names what is missing
# and installs it with apt-get on Debian 12+ and Ubuntu 24.04+.
#
# Usage: scripts/setup.sh [PACKAGE...]    packages besides Ferry's own
set -euo pipefail

# The one list of what the build needs. "package:command" is also satisfied by
# that command on PATH, for those who have it from elsewhere.
readonly PACKAGES=(
  g++:c++ cmake:cmake ninja-build:ninja pkgconf:pkg-config
  libboost-dev libtbb-dev libdnnl-dev libminizip-dev zlib1g-dev libdeflate-dev
  nlohmann-json3-dev libfmt-dev libcli11-dev libgtest-dev
)
readonly NEEDED_CMAKE=3.25 NEEDED_GCC=12 NEEDED_CLANG=15

say() { printf 'setup: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

is_installed() {
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

# Prints the packages that are missing, one a line.
missing_packages() {
  local entry package
  for entry in "$@"; do
    package=${entry%%:*}
    is_installed "$package" && continue
    [[ "$entry" == *:* ]] && command -v "${entry#*:}" >/dev/null && continue
    printf '%s\n' "$package"
  done
}

install_packages() {
  local -a as_root=()
  local by_hand="apt-get install -y --no-install-recommends $*"
  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null ||
      die "these packages are missing and only root can install them: $*. As root, run: $by_hand"
    as_root=(sudo)
    say "installing with sudo"
  fi
  local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq
                -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0)
  local log
  log=$(mktemp)
  "${apt[@]}" update >"$log" 2>&1 ||
    say "apt-get update failed; trying with the package lists at hand"
  if ! "${apt[@]}" install -y --no-install-recommends "$@" >>"$log" 2>&1; then
    tail -n 30 -- "$log" >&2
    rm -f -- "$log"
    die "apt-get could not install: $*. Its message stands above; by hand, as root: $by_hand"
  fi
  rm -f -- "$log"
}

# Whether version $1 is at least $2.
at_least() { [[ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" == "$2" ]]; }

check_versions() {
  local advice="Debian 12, Ubuntu 24.04 and later have it"
  local cmake_version compiler=${CXX:-c++} macros version
  cmake_version=$(cmake --version | sed -n '1s/[^0-9]*//p')
  at_least "$cmake_version" "$NEEDED_CMAKE" ||
    die "CMake $NEEDED_CMAKE or later is needed, this is $cmake_version; $advice."
  # CXX may carry options, so it is split into words on purpose.
  # shellcheck disable=SC2086
  macros=$($compiler -dM -E -x c++ /dev/null) || die "the C++ compiler '$compiler' does not run."
  version=$(awk '$2 == "__clang_major__" {print $3}' <<<"$macros")
  if [[ -n "$version" ]]; then
    at_least "$version" "$NEEDED_CLANG" ||
      die "Clang $NEEDED_CLANG or later is needed, '$compiler' is Clang $version; $advice."
    return
  fi
  version=$(awk '$2 == "__GNUC__" {print $3}' <<<"$macros")
  at_least "${version:-0}" "$NEEDED_GCC" ||
    die "GCC $NEEDED_GCC or later is needed, '$compiler' is GCC ${version:-unknown}; $advice."
}

main() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is not Debian or Ubuntu, so nothing is installed for you. Needed: a C++20 compiler" \
        "(GCC $NEEDED_GCC or Clang $NEEDED_CLANG), CMake $NEEDED_CMAKE, Ninja, pkg-config and the" \
        "development files of Boost, oneTBB, oneDNN, minizip, zlib, nlohmann-json, fmt, CLI11 and" \
        "GoogleTest."
    local tool
    for tool in "${CXX:-c++}" cmake ninja pkg-config; do
      command -v "${tool%% *}" >/dev/null || die "'${tool%% *}' is not on PATH."
    done
  else
    local -a missing
    mapfile -t missing < <(missing_packages "${PACKAGES[@]}" "$@")
    if ((${#missing[@]} > 0)); then
      say "missing packages: ${missing[*]}"
      install_packages "${missing[@]}"
    fi
  fi
  check_versions
}

main "$@"

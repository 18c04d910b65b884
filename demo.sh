#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds Ferry and shows it at work: every device of this machine, and a
# network trained by PyTorch that reads handwritten digits on each of them.
set -euo pipefail
unset CDPATH
root=$(cd -P -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)

for argument in "$@"; do
  if [[ "$argument" == -h || "$argument" == --help ]]; then
    cat <<'TEXT'
Usage: ./demo.sh [OPTIONS]

Installs what is missing (Debian 12+, Ubuntu 24.04+), builds Ferry under
build/release and runs `build/release/bin/ferry demo OPTIONS`.

Options:
  --device DEVICE     only this device, such as cpu or sim:1; may be repeated
  --data DIR          folder with the digits
  --checkpoint FILE   the network's weights, as PyTorch saved them
  --repeat N          timed runs a device
  -h, --help          this text

FERRY_DEVICE=sim:1 ./demo.sh runs on that device alone.
TEXT
    exit 0
  fi
done

"$root/scripts/build.sh" release ferry-cli
exec "$root/build/release/bin/ferry" demo "$@"

#!/usr/bin/env bash
# Networks as PyTorch exports them, by fettle and by onnxruntime: exported_networks.sh [OPTIONS] [NAME…]
# Without names all of networks.txt; --help tells more. Builds nothing: ./dev build before. Takes PyPI's
# packages on first use (toolchains/exporters.sh); exit status 77 where they cannot be had.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
readonly here root
if ! python=$("$root/toolchains/exporters.sh"); then echo "skipped: no exporters here"; exit 77; fi
exec "$python" "$here/exported_networks.py" --fettle "$root/build/bin/fettle" "$@"

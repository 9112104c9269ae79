#!/usr/bin/env bash
# ONNX's larger test models: light_models.sh FETTLE_ONNX_LIGHT_MODELS [MODEL…]
#
# Exit status 77 where PyPI's package onnx cannot be had (toolchains/onnx_models.sh), 1 when a model
# is refused or does not agree with its stored output.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
readonly root program=$1
if ! folder=$("$root/toolchains/onnx_models.sh"); then echo "skipped: no models here"; exit 77; fi
"$program" "$folder" "${@:2}"

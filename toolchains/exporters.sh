#!/usr/bin/env bash
# Prints a Python that exports networks of PyTorch, torchvision, timm and transformers as ONNX and runs them by
# onnxruntime, for tests/bench/exported. Taken from PyPI into ${FETTLE_CACHE:-~/.cache/fettle}/exporters on first
# use, 5 GB. Exit status 3: it cannot be had here.
set -euo pipefail
# shellcheck source=toolchains/pypi.sh
source "$(dirname "${BASH_SOURCE[0]}")/pypi.sh"

packages=(torch==2.15.0 torchvision==0.29.2 timm==1.0.31 transformers==5.24.0 onnx==1.23.2 onnxscript==0.7.2
  onnxruntime==1.32.0)
versions=$(printf '%s\n' "${packages[@]}" | sha256sum | cut -c1-12)
printf '%s/bin/python\n' "$(pypi_environment exporters "$versions" "${packages[@]}")"

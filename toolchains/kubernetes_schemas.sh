#!/usr/bin/env bash
# Prints a Python environment with the schemas of Kubernetes' API, which judge the manifests of
# `fettle farm kubernetes`. Exit status 3: it cannot be had here.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/pypi.sh"

readonly version=1.37.0
pypi_environment kubernetes "$version" "kubernetes-validate==$version"

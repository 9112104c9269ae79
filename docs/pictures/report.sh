#!/usr/bin/env bash
# A database's report as a picture, by Chromium: report.sh DATABASE PICTURE.png
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
build/bin/fettle records plot --db "$1" -o "$folder/report.html"
chromium-headless-shell --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
  --hide-scrollbars --user-data-dir="$folder/profile" --window-size=900,540 \
  --virtual-time-budget=10000 --screenshot="$2" "file://$folder/report.html"

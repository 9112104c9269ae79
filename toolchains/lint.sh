#!/usr/bin/env bash
# Looks at the sources without running them: format, shell scripts, file length, layers,
# schema compatibility and, with --tidy, clang-tidy.   lint.sh [--fix] [--tidy]
# --fix rewrites the format and does nothing else. Exit status 1 on any finding.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fix=0 tidy=${FETTLE_TIDY:-0} failed=0
for argument in "$@"; do
  case $argument in
    --fix) fix=1 ;;
    --tidy) tidy=1 ;;
    *) echo "lint: unknown option '$argument' (--fix, --tidy)" >&2; exit 2 ;;
  esac
done

# Tracked and new files that exist, one a line.
sources() {
  git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
    if [[ -f $file ]]; then printf '%s\n' "$file"; fi
  done
}
fail() { echo "   $*" >&2; failed=1; }

# One version for all: clang-format's taste changes between releases.
format_tool=$(command -v clang-format-19 || true)
check_format() {
  if [[ -z $format_tool ]]; then
    echo "   skipped: no clang-format-19 here (./dev setup)"
  elif ((fix)); then
    sources '*.h' '*.cpp' | xargs -r "$format_tool" -i
  else
    sources '*.h' '*.cpp' | xargs -r "$format_tool" --dry-run -Werror ||
      fail "badly formatted: ./dev format mends it"
  fi
}

check_scripts() {
  if ! command -v shellcheck >/dev/null; then
    echo "   skipped: no shellcheck here (./dev setup)"
    return
  fi
  shellcheck -S warning dev .ci/run .ci/emulated_boards toolchains/*.sh board_images/*.sh board_images/*/*.sh \
    board_images/init board_images/package/p* fpga/*/*.sh || fail "shellcheck found the above"
}

# A file holds one concept; past 500 lines it rarely does. A warning, not a failure.
check_length() {
  local file lines
  for file in $(sources '*.h' '*.cpp' '*.sv' '*.cmake' '*.sh' '*.fbs'); do
    lines=$(wc -l <"$file")
    if ((lines > 500)); then echo "   warning: $file has $lines lines"; fi
  done
}

check_layers() { python3 toolchains/check_layers.py || fail "layers: the above (link it, or do not know it)"; }

# Old boards and old databases must stay readable: fields are only appended. The
# base is the last release kept in schemas/conform, else what this branch left from.
check_schemas() {
  local base=schemas/conform scratch='' commit file
  if [[ ! -d $base ]]; then
    if ! commit=$(git merge-base HEAD origin/main 2>/dev/null); then
      echo "   skipped: no schemas/conform and no origin/main to compare with"
      return
    fi
    scratch=$(mktemp -d)
    base=$scratch/schemas
    git archive "$commit" -- schemas | tar -x -C "$scratch" || true
  fi
  for file in schemas/*.fbs; do
    if [[ -f $base/${file##*/} ]]; then
      flatc --conform "$base/${file##*/}" --conform-includes "$base" -I schemas "$file" ||
        fail "$file does not conform to $base/${file##*/}: append fields, never change or remove"
    fi
  done
  if [[ -n $scratch ]]; then rm -rf "$scratch"; fi
}

check_tidy() {
  local tool
  tool=$(command -v clang-tidy-19 || command -v clang-tidy || true)
  if [[ -z $tool ]]; then fail "no clang-tidy here: ./dev setup tidy"; return; fi
  # Of each file alone, as the build does not compile them; generated headers are all it needs made.
  if ! { cmake --preset dev -B build/tidy -DFETTLE_UNITY=OFF && cmake --build build/tidy --target fettle_schemas; } >/dev/null; then
    fail "clang-tidy needs a tree that can be built: ./dev build"
    return
  fi
  sources 'host/*.cpp' 'agent/*.cpp' 'runtime/*.cpp' 'schemas/*.cpp' |
    xargs -r -n 1 -P "$(nproc)" "$tool" -p build/tidy --quiet --extra-arg=-Wno-unknown-warning-option --warnings-as-errors='*' 2>/dev/null ||
    fail "clang-tidy found the above"
}

step() { # step NAME COMMAND: says what is looked at and how long it took
  local start=$SECONDS
  echo "== $1"
  "$2"
  if ((SECONDS - start > 2)); then echo "   $((SECONDS - start)) s"; fi
}

step "Format" check_format
if ((fix)); then exit; fi
step "Shell scripts" check_scripts
step "File length" check_length
step "Who includes whom" check_layers
step "Schema compatibility" check_schemas
if ((tidy)); then step "clang-tidy" check_tidy; fi
exit "$failed"

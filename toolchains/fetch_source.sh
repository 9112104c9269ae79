#!/usr/bin/env bash
# Downloads and unpacks one Debian source package without touching the system's
# apt configuration:  fetch_source.sh NAME VERSION FOLDER  →  FOLDER/tree
#
# Machines usually name binary packages only. The entries they have, in both of
# apt's forms, are copied with `deb` turned into `deb-src` and used for this one
# download, with lists and caches of their own.
set -euo pipefail

readonly name=$1 version=$2 folder=$3
readonly etc=$folder/etc
mkdir -p "$etc/parts" "$folder/lists/partial" "$folder/cache/archives/partial"
: >"$etc/none"

index=0
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
  [[ -f $list ]] || continue
  sed -nE 's/^[[:space:]]*deb(-src)?[[:space:]]/deb-src /p' "$list" | sort -u >"$etc/parts/$index.list"
  index=$((index + 1))
done
for list in /etc/apt/sources.list.d/*.sources; do
  [[ -f $list ]] || continue
  sed -E 's/^[Tt]ypes:.*/Types: deb-src/' "$list" >"$etc/parts/$index.sources"
  index=$((index + 1))
done

apt=(apt-get -q
  -o "Dir::Etc::sourcelist=$etc/none" -o "Dir::Etc::sourceparts=$etc/parts"
  -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder/cache"
  -o Acquire::Retries=3)

cd "$folder"
fetch() {
  # A repository without sources makes `update` complain; what counts is `source`.
  "${apt[@]}" update || true
  # A mirror out of step may hold another revision than the installed one.
  "${apt[@]}" source "$name=$version" || "${apt[@]}" source "$name"
}
if ! fetch; then
  echo "second try in 10 s"
  sleep 10
  fetch
fi
for tree in "$name"-*/; do mv "$tree" tree; break; done
[[ -d tree ]]
# Another of Debian's revisions is taken, for its caller to tell of; another program or another
# upstream version is not what was asked for. The first line is "NAME (VERSION) …".
upstream() { local revised=${1#*:}; printf '%s' "${revised%-*}"; }
read -r found_name found_version _ <tree/debian/changelog
found_version=${found_version//[()]/}
if [[ $found_name != "$name" || $(upstream "$found_version") != "$(upstream "$version")" ]]; then
  echo "E: asked for $name $version, got $found_name $found_version" >&2
  exit 1
fi

# Packages of another architecture, from this system's own mirrors and checked by
# apt, without touching its configuration. To be sourced.
#   foreign_apt_open ARCH FOLDER     lists and downloads go below FOLDER
#   foreign_dependency NAME PREFIX   the first dependency of NAME that begins so
#   foreign_unpack NAME INTO         downloads the newest version and unpacks it
#   foreign_errors                   what apt said, where it failed
# Each returns non-zero when the mirrors do not have it.
# shellcheck shell=bash

foreign_apt_open() {
  foreign_folder=$2
  mkdir -p "$foreign_folder"/{lists/partial,cache/archives/partial,debs}
  : >"$foreign_folder/status"
  foreign_options=(-q -o "APT::Architecture=$1" -o "APT::Architectures=$1"
    -o "Dir::State::lists=$foreign_folder/lists" -o "Dir::Cache=$foreign_folder/cache"
    -o "Dir::State::status=$foreign_folder/status" -o APT::Sandbox::User=root
    -o Acquire::Retries=3 -o Acquire::Languages=none)
  # A repository without this architecture makes `update` complain; what counts is
  # whether packages are found.
  apt-get "${foreign_options[@]}" update >"$foreign_folder/update.log" 2>&1 || true
}

foreign_errors() { grep -E '^(E|Err|W)[: ]' "$foreign_folder/update.log" | sort -u | tail -n 3 >&2 || true; }

foreign_dependency() {
  apt-cache "${foreign_options[@]:1}" depends "$1" 2>/dev/null |
    sed -n "s/^ *Depends: \\($2.*\\)/\\1/p" | head -n 1 | grep .
}

foreign_unpack() {
  rm -rf "$foreign_folder/debs" && mkdir -p "$foreign_folder/debs" "$2"
  (cd "$foreign_folder/debs" && apt-get "${foreign_options[@]}" download "$1" >>"$foreign_folder/update.log" 2>&1) ||
    { foreign_errors; return 3; }
  dpkg-deb -x "$foreign_folder"/debs/*.deb "$2"
}

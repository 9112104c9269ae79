# add_agent.sh's ways into a folder that holds a root file system. To be sourced.
# shellcheck shell=bash disable=SC2154

open_target() {
  target=$(realpath "$target")
  [[ $target != / ]] || die "this is the running system: install the package"
  as_root=()
  if [[ ! -w $target/etc || ! -w $target/var/lib ]]; then
    as_root=(sudo)
    command -v sudo >/dev/null || die "$target is not yours to write into, and there is no sudo here"
  fi
}

# A link to an absolute path would lead out of the folder.
inside() {
  local real
  real=$(realpath -m "$target$1")
  [[ $real == "$target"/* ]]
}
exists() { inside "$1" && [[ -e $target$1 ]]; }
is_link() { [[ -L $target$1 ]]; }
owner_of() { stat -c '%u %g' "$target$1"; }
print_file() { if exists "$1"; then cat "$target$1"; fi; }

# Folders that are there keep their modes; /lib stays the link to /usr/lib that it is on
# newer systems.
write_tree() {
  local path
  while read -r path; do inside "/$path" || die "$target/$path leads out of the folder"; done < <(find "$files" -mindepth 1 -type d -printf '%P\n')
  tar -C "$files" --owner=root:0 --group=root:0 -cf - . |
    "${as_root[@]}" tar -C "$target" --no-overwrite-dir --keep-directory-symlink -xpf -
  if [[ -n $ids ]]; then "${as_root[@]}" chown "${ids/ /:}" "$target/$state/agent.key"; fi
}

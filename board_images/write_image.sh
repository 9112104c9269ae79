# add_agent.sh's ways into a disk image. To be sourced.
# shellcheck shell=bash disable=SC2154
# shellcheck source=board_images/linux_partition.sh
source "$here/linux_partition.sh"

open_target() {
  local tool offset
  [[ -f $target && -w $target ]] || die "$target is no image that can be written"
  export PATH=$PATH:/sbin:/usr/sbin
  for tool in debugfs e2fsck; do
    command -v "$tool" >/dev/null || die "no $tool here (package e2fsprogs)"
  done
  read -r _ offset _ < <(linux_partition "$target") ||
    die "$target has no Linux partition in a master boot record"
  part="$target?offset=$offset"
  check -p "before anything was changed"
  # A private key is about to lie in it.
  chmod go-rwx "$target" || die "$target is not yours"
}

check() { # -p|-n WHEN
  local status=0
  e2fsck -f "$1" "$part" >"$work/check" 2>&1 || status=$?
  # 1: mended, as after a hard power-off
  ((status <= 1)) || { tail -n 5 "$work/check" >&2; die "the root file system of $target is damaged ($2)"; }
}

exists() { debugfs -R "stat $1" "$part" 2>&1 | grep >/dev/null '^Inode:'; }
is_link() { debugfs -R "stat $1" "$part" 2>/dev/null | grep >/dev/null 'Type: symlink'; }
owner_of() { debugfs -R "stat $1" "$part" 2>/dev/null | sed -n 's/^User: *\([0-9]*\) *Group: *\([0-9]*\) .*/\1 \2/p'; }
print_file() { debugfs -R "cat $1" "$part" 2>/dev/null; }

# debugfs' commands for the tree, folders first. /lib is a link to /usr/lib on newer
# systems, and debugfs follows it; but not one that is the very folder of a file, which it
# would damage.
write_tree() {
  local path kind mode owner commands=$work/commands
  # debugfs takes a line as words: a name with a space in it, or a quote, would be others.
  if [[ -n $(find "$work" -path '*[[:space:]"]*' -print -quit) ]]; then
    die "a file to write, or the folder $work, has a space or a quote in its name"
  fi
  while read -r path; do
    if is_link "/$path"; then die "/$path is a link in $target: nothing was written"; fi
  done < <(find "$files" -mindepth 1 ! -type d -printf '%h\n' | sed "s#^$files/##" | sort -u)
  while read -r kind mode path; do
    case $kind in
      d)
        if exists "/$path"; then continue; fi
        printf 'mkdir /%s\nset_inode_field /%s mode 040%s\n' "$path" "$path" "$mode"
        ;;
      f)
        owner=(0 0)
        # shellcheck disable=SC2206  # two words
        if [[ $path == *.key && -n $ids ]]; then owner=($ids); fi
        if exists "/$path"; then printf 'rm /%s\n' "$path"; fi
        printf 'write %s /%s\nset_inode_field /%s mode 0100%s\n' "$files/$path" "$path" "$path" "$mode"
        printf 'set_inode_field /%s uid %s\nset_inode_field /%s gid %s\n' "$path" "${owner[0]}" "$path" "${owner[1]}"
        ;;
      l) exists "/$path" || printf 'symlink /%s %s\n' "$path" "$(readlink "$files/$path")" ;;
    esac
  done < <(find "$files" -mindepth 1 -printf '%y %m %P\n' | LC_ALL=C sort -k1,1 -k3) >"$commands"
  debugfs -w -f "$commands" "$part" >"$work/debugfs.log" 2>&1 ||
    { cat "$work/debugfs.log" >&2; die "cannot write into $target"; }
  # debugfs tells its failures in words only. A full file system is the likely one.
  if grep -vE '^debugfs|^Allocated inode|^$' "$work/debugfs.log" | grep -E '[Nn]o (space|free)|[Cc]ould not|[Ff]ail|not found|not a directory|No such|error' >&2; then
    die "the agent is not whole in $target: take a fresh copy of it"
  fi
  while read -r path; do
    debugfs -R "dump /$path $work/back" "$part" >/dev/null 2>&1
    cmp -s "$work/back" "$files/$path" || die "/$path is not whole in $target: take a fresh copy of it"
    rm -f "$work/back"
  done < <(find "$files" -type f -printf '%P\n')
  while read -r path; do
    is_link "/$path" || die "/$path is not whole in $target: take a fresh copy of it"
  done < <(find "$files" -type l -printf '%P\n')
  check -n "after the agent was put in"
}

# To be sourced. A root file system's files have many owners: making one takes root's rights,
# or those of a user namespace with the ids that /etc/subuid gives this account, or sudo
# where there is no such thing (no uidmap; AppArmor's restriction on Ubuntu 24.04).
# shellcheck shell=bash disable=SC2034

# Where chroot, mke2fs and the like are: not on every account's path.
export PATH=$PATH:/sbin:/usr/sbin

# The namespace's root must be let change roots, too: some give it no rights.
own_namespace() { unshare --map-auto --map-root-user chroot / true 2>/dev/null; }

# Sets as_owner, the words before a command that needs it; says so where that is sudo.
find_owner() {
  as_owner=()
  if [[ $(id -u) == 0 ]]; then return; fi
  if own_namespace; then as_owner=(unshare --map-auto --map-root-user); return; fi
  local why='this account gets no user ids of its own here (package uidmap, /etc/subuid, AppArmor)'
  command -v sudo >/dev/null || die "$why, and there is no sudo"
  printf '   %s: going on by sudo\n' "$why" >&2
  as_owner=(sudo -E)
}

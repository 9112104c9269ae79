# To be sourced. allow_board_key FOLDER NAME: the board's key pair, FOLDER/NAME.key, is made
# where it is not there yet, and let in by that account's broker.
# shellcheck shell=bash disable=SC2154

allow_board_key() {
  local file=$1/$2.key
  # A board gets both halves.
  case $2 in broker | client) die "'$2' is the name of this account's own key pair: give the board another --name" ;; esac
  [[ -f $file ]] || "$fettle" keys new "$2" >/dev/null 2>&1 || die "cannot make a key pair '$2'"
  "$fettle" keys allow "$2" "$(sed -n 's/^public //p' "$file")" --role agent
}

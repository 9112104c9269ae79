#!/usr/bin/env bash
# Tunes layers on an emulated board by counted instructions, and shows what can be shown
# that way. `./dev emulate BOARD --count` builds what it needs and calls it:
#
#   board_images/qemu/count.sh BOARD [--trials N] [--again N] [--out FOLDER]
#
#   --trials   candidates, over three layers of ResNet-18 (default 180)
#   --again    how many of them a second boot of the board measures again (default 30)
#   --out      where the databases stay (default out/count/BOARD)
#
# A guest nanosecond is one executed instruction (--icount). Prints, of each layer, the
# best program's count beside that of plain C through clang -O3 for the same core
# (plain_conv2d.c), run on the same emulated board; and how many configurations had
# medians equal to 0.1 % in both boots. Exit status 0 when all had.
# shellcheck source=board_images/qemu/session.sh
source "$(dirname "${BASH_SOURCE[0]}")/session.sh"
readonly layers=$here/qemu/three_layers.json

board=${1:?usage: count.sh BOARD [--trials N] [--again N] [--out FOLDER]}
shift
trials=180 again=30 out=$root/out/count/$board
while (($#)); do
  (($# > 1)) || die "$1 needs a value"
  case $1 in
    --trials) trials=$2 ;;
    --again) again=$2 ;;
    --out) out=$2 ;;
    *) die "unknown option '$1' (--trials, --again, --out)" ;;
  esac
  shift 2
done
key=$(board_value "$board" key)
open_session count
own_keys
start_broker 'tcp://127.0.0.1:*'
mkdir -p "$out"
rm -f "$out"/{first,second}.db*

# boot_and_tune DATABASE TRIALS: a fresh boot of the same board; its table on stdout
boot_and_tune() {
  local start=$SECONDS emulator status=0
  "$here/qemu/emulate.sh" "$board" --icount --broker "$broker" --broker-key "$broker_key" --name "$board" \
    >"$run/emulate.log" 2>&1 &
  emulator=$!
  pids+=("$emulator")
  until_true 150 grep -qs 'registered as' "$run/emulate.log" || { cat "$run/emulate.log" >&2; die "the $board did not register"; }
  "$fettle" tune "$layers" --device "$key" --broker "$broker" --broker-key "$broker_key" --trials "$2" \
    --scheduler round-robin --deterministic --seed 1 --quiet --timeout 60 --db "$out/$1.db" || status=$?
  kill "$emulator" 2>/dev/null || true
  wait "$emulator" || true
  printf '   %s boot: %d s\n' "$1" $((SECONDS - start))
  return "$status"
}
# "layer<TAB>configuration<TAB>instructions" of every correct record
counts_of() {
  "$fettle" records best --db "$out/$1.db" -k 1000000 --json |
    sed -n 's/.*"configuration":\(.*\),"device_key".*"instructions":\([0-9.e+]*\).*"title":"\([^"]*\)".*/\3\t\1\t\2/p' |
    LC_ALL=C sort
}

printf '== Tuning on the %s, in instructions\n' "$board"
boot_and_tune first "$trials"
printf '== The same seed on another boot\n'
boot_and_tune second "$again" >"$run/second" || { cat "$run/second" >&2; die "the second boot's session failed"; }
tail -n 1 "$run/second"
counts_of first >"$run/first.tsv"
counts_of second >"$run/second.tsv"

printf '== Plain C on the %s\n' "$board"
"$here/qemu/plain_conv2d.sh" "$board" >"$run/plain.tsv"

# Equal configurations in both, and how far their medians differ at most.
awk -F '\t' 'NR == FNR { count[$1 "\t" $2] = $3; next }
  ($1 "\t" $2) in count { a = count[$1 "\t" $2]; d = ($3 > a ? $3 - a : a - $3) / a; ++n
    if (d > 0.001) ++far; if (d > most) most = d }
  END { printf "%d configurations measured in both boots, %d of them equal to 0.1 %%, largest difference %.4f %%\n",
    n, n - far, 100 * most; exit n < 10 || far > 0 }' "$run/first.tsv" "$run/second.tsv" && same=0 || same=1
printf '%-42s %14s %14s %14s %7s %7s\n' layer 'best record' 'clang -O3' '-ffast-math' ratio ratio
awk -F '\t' 'NR == FNR { if (!($1 in best) || $3 < best[$1]) best[$1] = $3; next }
  { for (title in best) if (index(title, $1 " ") == 1)
      printf "%-42s %14d %14d %14d %7.2f %7.2f\n", title, best[title], $2, $3, $2 / best[title], $3 / best[title] }' \
  "$run/first.tsv" "$run/plain.tsv"
exit "$same"

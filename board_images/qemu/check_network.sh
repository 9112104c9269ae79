#!/usr/bin/env bash
# A network on an emulated board in the three ways that it may get there: by static fettle-run, in a
# plain C program that links what `fettle export` wrote, and through the agent. All three must answer
# with the same bits, as it is the same code, and what the network gives when it is built for this
# machine, within 1e-4 of its largest output. `./dev emulate BOARD --check-network` builds what it
# needs and calls
#
#   board_images/qemu/check_network.sh BOARD [--network NAME]
#
#   --network  of `fettle zoo` (default resnet-18), or an .onnx file; with one input and one output,
#              both float32. The machine has 512 MiB, in which its file lies twice
#
# Times are QEMU's, no board's. Exit status 0 when all came true.
# shellcheck source=board_images/qemu/session.sh
source "$(dirname "${BASH_SOURCE[0]}")/session.sh"

board=${1:?usage: check_network.sh BOARD [--network NAME]}
shift
network=resnet-18
while (($#)); do
  (($# > 1)) || die "$1 needs a value"
  case $1 in
    --network) network=$2 ;;
    *) die "unknown option '$1' (--network)" ;;
  esac
  shift 2
done
arch=$(board_value "$board" arch)
key=$(board_value "$board" key)
case $arch in
  aarch64) compiler=aarch64-linux-gnu-gcc ;;
  armv7) compiler=arm-linux-gnueabihf-gcc ;;
esac
need "$compiler"
readonly runner=${FETTLE_AGENT_FOLDER:-$root/build/agents}/$arch/fettle-run
[[ -x $runner ]] || die "no $runner: ./dev agents $arch"
profile=$(grep -l "^device_keys = .*\"$key\"" "$root"/toolchains/profiles/*.toml | head -n 1) ||
  die "no profile of '$key' in toolchains/profiles"
profile=$(basename "$profile" .toml)

open_session network
own_keys
quietly() { "$@" >"$run/said" 2>&1 || { cat "$run/said" >&2; die "failed: $*"; }; }

printf '== %s, built for %s and for this machine\n' "$network" "$profile"
model=$network
if [[ $network != *.onnx ]]; then
  model=$run/net.onnx
  quietly "$fettle" zoo "$network" -o "$model"
fi
quietly "$fettle" build "$model" --profile "$profile" -o "$run/net.fettle"
quietly "$fettle" build "$model" -o "$run/here.fettle"
quietly "$fettle" export "$run/net.fettle" --name net -o "$run/library"
tensors() { sed -n "s/^ \*   $1_[^:]*: float32, shape \[\(.*\)\], row-major: \([0-9]*\) elements.*/\2 \1/p" "$run/library/net.h"; }
[[ $(grep -c '^ \*   \(in\|out\)_' "$run/library/net.h") == 2 ]] || die "not one input and one output"
read -r inputs shape < <(tensors in) || die "its input is no float32"
read -r outputs _ < <(tensors out) || die "its output is no float32"

# Floats of both signs between 1/8 and 1/2.
LC_ALL=C awk -v n="$inputs" 'BEGIN { srand(1); for (i = 0; i < n; ++i)
  printf "%c%c%c%c", 1 + 255 * rand(), 1 + 255 * rand(), 1 + 255 * rand(), rand() < 0.5 ? 62 : 190 }' >"$run/input"
{
  printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($shape,), }"
  cat "$run/input"
} >"$run/input.npy"
answer_of() { tail -c "$((4 * outputs))" "$1"/*.npy; } # FOLDER: without the header
quietly "$fettle" run "$run/here.fettle" --input "$run/input.npy" --output "$run/here" --runs 1
answer_of "$run/here" >"$run/here.answer"

printf '== On the %s, before its agent\n' "$board"
readonly overlay=$run/overlay
mkdir -p "$overlay"/{etc/fettle,net}
quietly "$compiler" -std=c11 -O2 -Wall -Wextra -Werror -DINPUTS="$inputs" -DOUTPUTS="$outputs" -I "$run/library" \
  "$here/qemu/plain_network.c" "$run/library/libnet.a" -static -o "$overlay/net/plain_network"
cp "$runner" "$run/net.fettle" "$run"/input{,.npy} "$overlay/net/"
cat >"$overlay/etc/fettle/before-agent" <<'SH_THERE'
#!/bin/sh
cd /net
tell() { # WAY ANSWER: what it said, and its answer
  sed "s/^/said $1 /" said
  base64 "$2" | sed "s/^/answer $1 /"
}
./fettle-run net.fettle --input input.npy --output answers --runs 1 >said 2>&1 && tell fettle-run answers/*.npy
./plain_network input answer >said 2>&1 && tell library answer
cd / && rm -r /net
echo "that was all from inside"
SH_THERE
chmod -R go+rX "$overlay"
chmod 755 "$overlay/etc/fettle/before-agent"
start_broker 'tcp://127.0.0.1:*'
start=$SECONDS
FETTLE_EMULATE_LIMIT=900 "$here/qemu/emulate.sh" "$board" --overlay "$overlay" --broker "$broker" \
  --broker-key "$broker_key" --name "$board" --console "$run/console" >"$run/emulate.log" 2>&1 &
readonly emulator=$!
pids+=("$emulator")
settled() { grep -qs 'registered as' "$run/emulate.log" || ! kill -0 "$emulator" 2>/dev/null; }
until_true 920 settled || true
registered "$board" || { tail -n 20 "$run/emulate.log" "$run/console" >&2; die "the $board did not register"; }
sed 's/\r$//' "$run/console" >"$run/lines"
for way in fettle-run library; do
  sed -n "s/^answer $way //p" "$run/lines" | base64 -d >"$run/whole" || true
  tail -c "$((4 * outputs))" "$run/whole" >"$run/$way.answer"
done
printf '   booted and ran both in %d s of this machine; none of these times is a board'\''s:\n' $((SECONDS - start))
sed -n 's/^said \([^ ]*\) /   \1: /p' "$run/lines"

printf '== Through the agent\n'
start=$SECONDS
"$fettle" run "$run/net.fettle" --device "$key" --broker "$broker" --broker-key "$broker_key" --input "$run/input.npy" \
  --output "$run/agent" --runs 2 >"$run/report" 2>&1 || { cat "$run/report" >&2; die "fettle run --device $key failed"; }
answer_of "$run/agent" >"$run/agent.answer"
sed 's/^/   /' "$run/report"
printf '   (in %d s of this machine)\n' $((SECONDS - start))

printf '== The answers\n'
numbers() { od -An -v -tf4 -w4 "$1"; }
whole() { # WAY: as many finite numbers as the network gives, of many values
  (($(stat -c %s "$run/$1.answer") == 4 * outputs)) || { echo "not $outputs floats"; return 1; }
  ! numbers "$run/$1.answer" | grep -i -m 1 -e nan -e inf || return 1
  (($(numbers "$run/$1.answer" | sort -u | wc -l) * 2 > outputs))
}
close() { # WAY: to this machine's
  paste <(numbers "$run/here.answer") <(numbers "$run/$1.answer") | awk '
    { a = $1 < 0 ? -$1 : $1; d = $1 < $2 ? $2 - $1 : $1 - $2; if (a > most) most = a; if (d > far) far = d }
    END { printf "largest output %g, largest difference %.2g of it\n", most, most > 0 ? far / most : 1
      exit !(most > 0 && far <= 1e-4 * most) }' >"$run/close"
}
see "$network here: $outputs finite numbers" whole here
for way in fettle-run library agent; do
  see "$way: $outputs finite numbers" whole "$way"
  see "$way: within 1e-4 of the largest output of what this machine computes" close "$way"
  sed 's/^/        /' "$run/close"
done
see "the library's bits are fettle-run's" cmp "$run/fettle-run.answer" "$run/library.answer"
see "the agent's bits are fettle-run's" cmp "$run/fettle-run.answer" "$run/agent.answer"
((!failed)) || die "not everything came true on the $board"
printf '%s on the %s: three ways, one answer\n' "$network" "$board"

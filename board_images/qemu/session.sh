# One run's own broker on loopback, its keys, and what must end with the run. To be sourced
# with $fettle, the host program, set; `die` must be there.
#   open_session NAME          $run, a folder for the run's files that goes with it; what
#                              $pids names is ended when the script ends
#   own_keys                   $FETTLE_HOME is a folder of the run's own, with a client
#   start_broker URL [OPTIONS…]   listens there; sets $broker, its address, and $broker_key
#   registered NAME            true when that host name is among the broker's devices
#   until_true SECONDS COMMAND…   tries again until it is true, or the time has passed
# shellcheck shell=bash disable=SC2034,SC2154

open_session() {
  umask 077 # keys lie in here
  run=$(mktemp -d "${TMPDIR:-/tmp}/fettle-$1.XXXXXX")
  pids=()
  trap end_session EXIT
  trap 'exit 130' INT TERM
}

end_session() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$run"
}

own_keys() {
  export FETTLE_HOME=$run/home
  "$fettle" keys allow me "$("$fettle" keys new client 2>/dev/null)" --role client
}

start_broker() {
  local i
  : >"$run/broker"
  "$fettle" broker --json --listen "$@" >"$run/broker" 2>"$run/broker.log" &
  pids+=($!)
  for ((i = 0; i < 200; ++i)); do
    broker=$(sed -n 's/.*"endpoint":"\([^"]*\)".*/\1/p' "$run/broker")
    if [[ -n $broker ]]; then break; fi
    sleep 0.05
  done
  [[ -n $broker ]] || die "the broker did not start: $(cat "$run/broker.log")"
  broker_key=$(sed -n 's/^public //p' "$FETTLE_HOME/broker.key")
}

registered() { "$fettle" devices --broker "$broker" --json 2>/dev/null | grep -q "\"hostname\":\"$1\""; }

until_true() {
  local limit=$((SECONDS + $1))
  shift
  until "$@"; do
    if ((SECONDS > limit)); then return 1; fi
    sleep 0.3
  done
}

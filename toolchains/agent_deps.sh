#!/usr/bin/env bash
# Builds what the agents (libsodium, libzmq) and fettle-run (libjpeg-turbo) link statically
# for one architecture, from the distribution's own source packages, and prints the
# finished prefix.
#
#   toolchains/agent_deps.sh x86_64|aarch64|armv7 [--print]
#
# The distribution's libzmq.a pulls in pgm, norm and gssapi, hence a build of our
# own. A prefix is named by what went into it (versions, flags, compiler), lies
# outside the source tree, and is therefore built once per machine:
#   ${FETTLE_CACHE:-~/.cache/fettle}/deps/<arch>/<key>/{include,lib}
# with `current` beside it pointing at the newest. --print only names the prefix.
# Progress goes to stderr; stdout carries the prefix alone. Exit status 3: no mirror
# gave the sources, so that trying another architecture is no use.
set -euo pipefail

readonly arch=${1:?usage: agent_deps.sh x86_64|aarch64|armv7 [--print]}
readonly mode=${2:-build}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly cache=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}

say() { printf '   %s\n' "$*" >&2; }
die() { printf 'agent_deps: %s\n' "$*" >&2; exit 1; }

case $arch in
  x86_64) triple=x86_64-linux-gnu machine_flags='' ;;
  aarch64) triple=aarch64-linux-gnu machine_flags='' ;;
  armv7) triple=arm-linux-gnueabihf machine_flags='-march=armv7-a -mfpu=neon -mfloat-abi=hard' ;;
  *) die "unknown architecture '$arch' (x86_64, aarch64, armv7)" ;;
esac

# Both spellings exist: `aarch64-linux-gnu-g++` and, from g++-12-…, `…-g++-12`.
find_tool() {
  local suffix
  for suffix in '' -14 -13 -12; do
    if command -v "$triple-$1$suffix"; then return; fi
  done
  die "no $triple-$1 found: run ./dev setup (package g++-$triple)"
}
cc=$(find_tool gcc)
cxx=$(find_tool g++)

# The same versions as the development packages of the host, so that host and
# agent speak through the same code; asked of dpkg, hence without a network.
source_version() { # of the first that is installed
  local package
  for package in "$@"; do
    if dpkg-query -W -f '${source:Version}' "$package" 2>/dev/null; then return; fi
  done
  die "$1 is not installed: run ./dev setup"
}
sodium_version=$(source_version libsodium-dev)
zmq_version=$(source_version libzmq3-dev)
jpeg_version=$(source_version libjpeg62-turbo-dev libjpeg-turbo8-dev)

# Cryptography is what a Cortex-A9 spends its time on while weights are sent:
# libsodium is built for speed, the rest for size.
section_flags='-ffunction-sections -fdata-sections -fno-plt'
sodium_flags="-O2 $section_flags $machine_flags"
small_flags="-Os $section_flags $machine_flags"
zmq_options=(
  -DBUILD_SHARED=OFF -DBUILD_STATIC=ON -DWITH_LIBSODIUM=ON -DENABLE_CURVE=ON
  -DWITH_LIBBSD=OFF -DWITH_PERF_TOOL=OFF -DENABLE_DRAFTS=OFF
  -DWITH_DOCS=OFF -DWITH_OPENPGM=OFF -DWITH_NORM=OFF -DWITH_VMCI=OFF -DWITH_TLS=OFF
  -DENABLE_WS=OFF -DENABLE_CPACK=OFF -DBUILD_TESTS=OFF
)
# Facts of every Linux we run on that libzmq finds out by running programs, and so
# not at all when it is cross-compiled. Without CLOEXEC a worker inherits sockets.
for fact in EVENTFD_CLOEXEC SOCK_CLOEXEC O_CLOEXEC SO_BINDTODEVICE SO_KEEPALIVE SO_PRIORITY \
  TCP_KEEPCNT TCP_KEEPIDLE TCP_KEEPINTVL TCP_KEEPALIVE PTHREAD_SETNAME_2 PTHREAD_SET_AFFINITY; do
  zmq_options+=("-DZMQ_HAVE_$fact=1")
done
# Its vector code wants an assembler of its own on x86-64, and gives the same pixels.
jpeg_options=(-DENABLE_SHARED=0 -DWITH_SIMD=0 -DWITH_TURBOJPEG=0 -DWITH_ARITH_DEC=0 -DWITH_ARITH_ENC=0)

build_sodium() {
  cp -a "$cache/src/libsodium_$sodium_version" "$work/libsodium"
  cd "$work/libsodium"
  autoreconf --install --force
  ./configure --host="$triple" --prefix="$stage" --libdir="$stage/lib" \
    --disable-shared --enable-static --disable-dependency-tracking --disable-pie \
    CC="$cc" CFLAGS="$sodium_flags"
  make -j"$(nproc)" -C src/libsodium
  make -C src/libsodium install
  make install-pkgconfigDATA
}

build_zmq() {
  cmake -S "$cache/src/zeromq3_$zmq_version" -B "$work/libzmq" -G Ninja \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="${triple%%-*}" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_C_FLAGS="$small_flags" -DCMAKE_CXX_FLAGS="$small_flags" \
    -DCMAKE_BUILD_TYPE=MinSizeRel -DCMAKE_INSTALL_PREFIX="$stage" -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_PREFIX_PATH="$stage" -DCMAKE_FIND_ROOT_PATH="$stage" \
    -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
    -DSODIUM_INCLUDE_DIRS="$stage/include" -DSODIUM_LIBRARIES="$stage/lib/libsodium.a" \
    -DSODIUM_FOUND=TRUE -DCMAKE_POLICY_DEFAULT_CMP0077=NEW \
    "${zmq_options[@]}"
  cmake --build "$work/libzmq"
  cmake --install "$work/libzmq"
}

# From a copy: Debian's version, which names the source's folder, has a colon in it.
build_jpeg() {
  cp -a "$cache/src/libjpeg-turbo_$jpeg_version" "$work/libjpeg-turbo"
  cmake -S "$work/libjpeg-turbo" -B "$work/libjpeg" -G Ninja \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="${triple%%-*}" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$small_flags" -DCMAKE_BUILD_TYPE=MinSizeRel \
    "${jpeg_options[@]}"
  cmake --build "$work/libjpeg" --target jpeg-static
  cp "$work/libjpeg/libjpeg.a" "$stage/lib/"
  local headers=$work/libjpeg-turbo
  [[ -e $headers/jpeglib.h ]] || headers+=/src  # since 3.1
  cp "$headers"/{jpeglib,jmorecfg,jerror}.h "$work/libjpeg/jconfig.h" "$stage/include/"
}

# Header-only parts come from the host's packages: /usr/include itself must never
# be on a cross compiler's path.
copy_headers() {
  cp -aL /usr/include/flatbuffers "$stage/include/"
  cp -aL /usr/include/zmq.hpp /usr/include/zmq_addon.hpp "$stage/include/"
}

# The recipe itself is part of what went in; comments are not.
key=$(printf '%s\n' "$sodium_version" "$zmq_version" "$jpeg_version" "$("$cxx" -dumpfullversion)" \
  "$sodium_flags" "$small_flags" "${zmq_options[@]}" "${jpeg_options[@]}" \
  "$(dpkg-query -W -f '${Version} ' libflatbuffers-dev cppzmq-dev 2>/dev/null)" \
  "$(declare -f build_sodium build_zmq build_jpeg copy_headers)" | sha256sum | cut -c1-16)
readonly prefix=$cache/deps/$arch/$key

if [[ $mode == --print ]]; then
  printf '%s\n' "$prefix"
  exit
fi

mkdir -p "$cache/deps/$arch" "$cache/src"
# Two builds at once (a test run and a developer) would trip over each other.
exec 9>"$cache/deps/$arch/lock"
flock 9

finish() {
  ln -sfn "$key" "$cache/deps/$arch/current"
  printf '%s\n' "$prefix"
  exit
}
[[ -e $prefix/complete ]] && finish

work=$(mktemp -d "${TMPDIR:-/tmp}/fettle-deps.XXXXXX")
# On failure the log stays readable: its tail is printed before the folder goes.
clean_up() {
  local status=$?
  if ((status)) && [[ -s $work/log ]]; then tail -n 40 "$work/log" >&2; fi
  rm -rf "$work"
  exit "$status"
}
trap clean_up EXIT

# Fetches one source package, unpacked, into $cache/src/<name>_<version>.
fetch_source() {
  local name=$1 version=$2 into=$cache/src/$1_$2
  exec 8>"$cache/src/lock"
  flock 8
  if [[ ! -d $into ]]; then
    say "fetching the source package $name $version"
    rm -rf "$work/fetch" && mkdir -p "$work/fetch"
    if ! "$here/fetch_source.sh" "$name" "$version" "$work/fetch" >"$work/fetch.log" 2>&1; then
      grep -E '^(E|Err)[: ]' "$work/fetch.log" | sort -u | tail -n 5 >&2
      printf 'agent_deps: the mirrors did not give the source package %s %s\n' "$name" "$version" >&2
      exit 3
    fi
    rm -rf "$into.new" && mv "$work/fetch/tree" "$into.new" && mv "$into.new" "$into"
  fi
  exec 8>&-
}

step() { # step NAME COMMAND…: runs with its output in the log, says how long it took
  local name=$1 start=$SECONDS
  shift
  "$@" >>"$work/log" 2>&1
  say "$name: $((SECONDS - start)) s"
}

readonly stage=$work/stage
export PKG_CONFIG_LIBDIR=$stage/lib/pkgconfig
mkdir -p "$stage/include" "$stage/lib"
fetch_source libsodium "$sodium_version"
fetch_source zeromq3 "$zmq_version"
fetch_source libjpeg-turbo "$jpeg_version"
# A mirror out of step gives another revision.
taken() { sed -n '1s/.*(\(.*\)).*/\1/p' "$cache/src/$1_$2/debian/changelog"; }
sodium_taken=$(taken libsodium "$sodium_version") zmq_taken=$(taken zeromq3 "$zmq_version")
jpeg_taken=$(taken libjpeg-turbo "$jpeg_version")
readonly wanted="libsodium $sodium_version, zeromq3 $zmq_version and libjpeg-turbo $jpeg_version"
readonly had="libsodium $sodium_taken, zeromq3 $zmq_taken and libjpeg-turbo $jpeg_taken"
if [[ $had != "$wanted" ]]; then
  say "not the host's $wanted: the mirrors gave $had"
fi
(step "libsodium for $arch" build_sodium)
(step "libzmq for $arch" build_zmq)
(step "libjpeg-turbo for $arch" build_jpeg)
step "headers for $arch" copy_headers
# Package files that name the staging folder are of no use to anyone.
(cd "$stage" && rm -rf lib/pkgconfig lib/cmake lib/*.la bin share etc)
[[ -s $stage/lib/libzmq.a && -s $stage/lib/libsodium.a && -s $stage/lib/libjpeg.a ]] || die "the libraries for $arch are missing"

rm -rf "$prefix" && mv "$stage" "$prefix"
printf 'libsodium %s\nzeromq3 %s\nlibjpeg-turbo %s\n%s\n' "$sodium_taken" "$zmq_taken" "$jpeg_taken" "$("$cxx" --version | head -1)" >"$prefix/complete"
finish

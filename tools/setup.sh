# Sourced by quickstart.sh and test.sh: makes a bare Debian 12 able to build this project. Needs
# nothing but bash, apt and what Debian's base system has. Whatever goes wrong ends in one line.

# What the build itself needs.
readonly BUILD_PACKAGES=(cmake g++ libdeflate-dev libgflags-dev libssl-dev libxxhash-dev ninja-build
  pkg-config rapidjson-dev)

say() {
  printf '== %s\n' "$*"
}

fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

require_debian_12() {
  local id='' version='' name='an unknown system'
  if [ -r /etc/os-release ]; then
    id=$(. /etc/os-release && echo "${ID:-}")
    version=$(. /etc/os-release && echo "${VERSION_ID:-}")
    name=$(. /etc/os-release && echo "${PRETTY_NAME:-$name}")
  fi
  if [ "$id" != debian ] || [ "$version" != 12 ]; then
    fail "needs Debian 12 (bookworm), this is $name: try a container of debian:12"
  fi
}

is_installed() {
  [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

# The first complaint of apt, in one line.
complaint() {
  grep -m 1 -E '^(E|Err|W):?' "$1" || tail -n 1 "$1"
}

# install_packages cmake g++ ...: those that are missing; nothing if none is.
install_packages() {
  local missing=() package log
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} = 0 ]; then
    say "all ${#} packages are installed"
    return
  fi
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    fail "neither root nor sudo: ask an administrator for: apt-get install ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  log=$(mktemp)
  if ! as_root apt-get update -q -o APT::Update::Error-Mode=any -o Acquire::Retries=3 >"$log" 2>&1; then
    fail "cannot reach the Debian archive; is there a network? apt-get update says: $(complaint "$log")"
  fi
  if ! as_root apt-get install -q -y --no-install-recommends -o Acquire::Retries=3 \
    -o DPkg::Lock::Timeout=300 "${missing[@]}" >"$log" 2>&1; then
    fail "cannot install ${missing[*]}: $(complaint "$log"); all of apt-get's output is in $log"
  fi
  rm -f "$log"
}

# build_tree PRESET [CMAKE OPTION ...]: configures and builds it in build/PRESET.
build_tree() {
  local preset=$1 log=build/$1.log begin=$SECONDS quiet=--quiet
  shift
  [ -t 1 ] && quiet=
  mkdir -p build
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
  # -k 0: all errors at once. A terminal shows ninja's progress, a log file only what is wrong.
  cmake --build --preset "$preset" -- -k 0 ${quiet:+"$quiet"} || return 1
  say "built $preset in $((SECONDS - begin)) s"
}

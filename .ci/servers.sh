#!/bin/sh
# Servers for the tests that this Debian does not have, beside the system: nothing is installed. Prints the folder with
# their programs. sh .ci/servers.sh mysql-sid, or mariadb, memcached, redis, valkey, each of any suite of Debian.
# Kept in ~/.cache/walltime/servers for all clones; remove a folder there to get the version of today.
set -eu
name=$1
suite=${name#*-}
case $name in
mysql-*) packages="mysql-server-core mysql-client-core" programs="sbin/mysqld bin/mysql" ;;
mariadb-*)
    packages="mariadb-server-core mariadb-client-core"
    programs="sbin/mariadbd bin/mariadb-install-db bin/my_print_defaults bin/resolveip"
    ;;
memcached-*) packages="memcached" programs="bin/memcached" ;;
redis-*) packages="redis-server" programs="bin/redis-server" ;;
valkey-*) packages="valkey-server" programs="bin/valkey-server" ;;
*) echo "servers: no server is named $name" >&2 && exit 2 ;;
esac
cache=${XDG_CACHE_HOME:-$HOME/.cache}/walltime/servers
folder=$cache/$name
mkdir -p "$cache"
exec 9>"$folder.lock"
flock 9 # several clones, and several workers of pytest
[ ! -d "$folder/bin" ] || { echo "$folder/bin" && exit; }

sources=$(cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null || true)
base=$(echo "$sources" | sed -nE 's/^(URIs:|deb( \[[^]]*\])?) +(https?:[^ ]+).*/\3/p' | head -1)
if [ -z "$base" ] || ! command -v apt-get >/dev/null; then
    echo "servers: $name comes from Debian's registry, and this machine has no sources of it" >&2 && exit 1
fi
rm -rf "$folder"
mkdir -p "$folder/lists/partial" "$folder/archives/partial" "$folder/root"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keyring] $base $suite main" >"$folder/sources.list"
: >"$folder/status" # nothing is installed: all that a package depends on comes too, the C library as well
apt() {
    apt-get -qq -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State="$folder" -o Dir::State::status="$folder/status" -o Dir::Cache="$folder" \
        -o APT::Sandbox::User=root \
        -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@" >&2
}
echo "servers: fetching $name, once for this machine" >&2
apt update
# shellcheck disable=SC2086 # a list of package names
apt -d -y --no-install-recommends install $packages
for package in "$folder"/archives/*.deb; do dpkg -x "$package" "$folder/root"; done
rm -rf "$folder/lists" "$folder/archives" "$folder"/*cache.bin "$folder"/root/usr/share/doc

# Each program is a script that runs it with its own loader and libraries; Valkey has the name that it replaces.
usr=$folder/root/usr
loader=$(echo "$usr"/lib/*-linux-gnu*/ld-linux*)
mkdir "$folder/programs"
for program in $programs; do
    path=$usr/$program
    run="exec $loader --library-path ${loader%/*} $path.real \"\$@\""
    case $program in
    */mysqld) run="$run --basedir=$usr --lc-messages-dir=$usr/share/mysql --plugin-dir=$usr/lib/mysql/plugin" ;;
    */mariadbd) run="$run --basedir=$usr --lc-messages-dir=$usr/share/mysql" ;;
    */mariadb-install-db) run="exec $path.real \"\$@\" --basedir=$usr" ;;
    esac
    cp -L --remove-destination "$path" "$path.real"
    rm "$path"
    printf '#!/bin/sh\n%s\n' "$run" >"$path"
    chmod +x "$path"
    ln -s "$path" "$folder/programs/$(basename "$program" | sed s/valkey/redis/)"
done
if [ "$packages" != "${packages#mysql}" ]; then
    # initializing takes up to 30 s: each server of a test gets a copy
    "$folder/programs/mysqld" --no-defaults --initialize-insecure --datadir="$folder/data" --user="$(id -un)" \
        --innodb-redo-log-capacity=8M --skip-innodb-doublewrite --secure-file-priv=NULL \
        >"$folder/initialize.log" 2>&1 ||
        { tail -5 "$folder/initialize.log" >&2 && exit 1; }
    rm "$folder/data/auto.cnf" # its server_uuid: each copy is a server of its own
fi
mv "$folder/programs" "$folder/bin"
echo "$folder/bin"

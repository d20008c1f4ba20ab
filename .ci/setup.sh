#!/bin/sh
# Setup for development and the demo; the Makefile runs it, repeatedly.
# `integrations` adds Redis and every library that the SDK wraps, for the tests and the type checker; `docs` adds what
# the documentation needs, which `integrations` has too.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}

missing=""
command -v mariadbd >/dev/null 2>&1 || [ -x /usr/sbin/mariadbd ] || missing="$missing mariadb-server"
command -v memcached >/dev/null 2>&1 || missing="$missing memcached"
if [ "${1:-}" = integrations ]; then
    command -v redis-server >/dev/null 2>&1 || missing="$missing redis-server"
    # for tests/examples
    command -v curl >/dev/null 2>&1 || missing="$missing curl"
    # for nightly tests with a Debian of their own, which only root can run
    [ "$(id -u)" != 0 ] || command -v debootstrap >/dev/null 2>&1 || missing="$missing debootstrap"
    # for tests/browser
    command -v chromium >/dev/null 2>&1 || missing="$missing chromium fonts-dejavu-core"
    # mysqlclient is compiled here
    command -v mariadb_config >/dev/null 2>&1 || missing="$missing libmariadb-dev"
    command -v pkg-config >/dev/null 2>&1 || missing="$missing pkg-config"
    command -v gcc >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
    "$PYTHON" -c 'import os, sysconfig; assert os.path.exists(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
        missing="$missing python3-dev"
fi
command -v "$PYTHON" >/dev/null 2>&1 || missing="$missing python3"
"$PYTHON" -c 'import ensurepip' >/dev/null 2>&1 || missing="$missing python3-venv"
if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "setup: installing$missing (apt-get)"
        apt-get update -qq
        # shellcheck disable=SC2086 # a list of package names
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
    else
        echo "setup: missing:$missing. Install them with your package manager, for example:" >&2
        echo "    sudo apt-get install$missing" >&2
        echo "and run the same make command again." >&2
        exit 1
    fi
fi

[ -x .venv/bin/python ] || "$PYTHON" -m venv .venv
[ -x .venv/bin/uv ] || .venv/bin/python -m pip install --quiet --disable-pip-version-check "$(grep '^uv==' requirements/uv.txt)"
echo "setup: installing pinned packages into .venv"
.venv/bin/uv pip install --quiet --python .venv/bin/python -r requirements/dev.txt --no-deps -e sdk -e collector
touch .venv/ready
if [ "${1:-}" = integrations ]; then
    echo "setup: installing the libraries the SDK wraps"
    .venv/bin/uv pip install --quiet --python .venv/bin/python -r requirements/integrations.txt -r requirements/docs.txt
    sh .ci/servers.sh mysql-sid >/dev/null || echo "setup: without MySQL its tests are skipped" >&2
    touch .venv/integrations
elif [ "${1:-}" = docs ]; then
    .venv/bin/uv pip install --quiet --python .venv/bin/python -r requirements/docs.txt
fi

# make demo, make test, make lint, make bench: each does all the setup it needs.
.PHONY: help setup demo test test-nightly native test-native lint format bench bench-history bench-ingest bench-scale bench-dashboards bench-slowlog bench-mysql bench-why release dashboards dashboard-pictures docs descriptors pins clean
PYTHON ?= python3
BIN := .venv/bin
# Without compiled files every server and every test starts twice as slowly.
unexport PYTHONDONTWRITEBYTECODE

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## setup         virtual environment, pinned packages, MariaDB and memcached
setup: .venv/ready
.venv/ready: requirements/dev.txt sdk/pyproject.toml collector/pyproject.toml .ci/setup.sh
	@PYTHON=$(PYTHON) sh .ci/setup.sh

.venv/integrations: .venv/ready requirements/integrations.txt requirements/docs.txt .ci/servers.sh
	@PYTHON=$(PYTHON) sh .ci/setup.sh integrations

## demo          the shop, its servers, the collector and a load, until Ctrl-C (ONCE=1: ends by itself)
demo: setup
	@PYTHONPATH=examples $(BIN)/python -m shop.demo $(if $(ONCE),--once)

# Otherwise each of four workers would compile all modules: 10 s of CPU for each.
.venv/compiled: .venv/integrations
	@$(BIN)/pytest --collect-only -qq tests/collector tests/dashboards >/dev/null & \
	$(BIN)/pytest --collect-only -qq --ignore=tests/collector --ignore=tests/dashboards >/dev/null; wait
	@touch $@

## test          all tests except the nightly ones, against real servers, in about 9 minutes on 2 cores
test: .venv/compiled
	@$(BIN)/pytest -n $(or $(WORKERS),4) --dist loadfile --no-loadscope-reorder -m 'not nightly and not alone'
	@$(BIN)/pytest -m 'alone and not nightly' $$(grep -rl --include='test_*.py' 'mark\.alone' tests)

## test-nightly  the long tests: fault runs, other languages, the SDK with the core in C
test-nightly: .venv/integrations test-native
	@$(BIN)/pytest -m nightly

## native        the core in C, where make test-native and the tests of both forms find it: .venv/native
native: .venv/integrations
	@cd sdk/native && ../../$(BIN)/python setup.py -q build_ext --build-lib ../../.venv/native --build-temp ../../.venv/native/build

## test-native   the tests of the SDK and of its safety with the core in C
test-native: native
	@PYTHONPATH=.venv/native $(BIN)/pytest tests/sdk tests/safety

## lint          ruff, mypy --strict, spelling
lint: .venv/integrations
	@$(BIN)/codespell *.md docs dashboards examples sdk/src collector/src && $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

## format        let ruff correct what it can
format: setup
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

## bench         CPU of the SDK per call and per request, beside OpenTelemetry's (QUICK=1: in half the time)
bench: setup
	@$(BIN)/python -m tests.bench.overhead --history $(if $(QUICK),--quick)

## bench-history a page of all runs of make bench, which adds to tests/bench/history.jsonl: .bench/history.html
bench-history: setup
	@$(BIN)/python -m tests.bench.history

## bench-ingest  CPU of the collector per span, throughput, delay (QUICK=1: in half the time)
bench-ingest: setup
	@PYTHONPATH=examples $(BIN)/python -m tests.bench.ingest $(if $(QUICK),--quick) $(ARGS)

## bench-scale   disk, queries and pages over 10 million transactions and 100 million calls (ROWS=100000: faster)
bench-scale: setup
	@PYTHONPATH=examples $(BIN)/python -m tests.bench.scale $(if $(ROWS),--rows $(ROWS)) $(ARGS)

## bench-dashboards  every panel and board over 10 million transactions of a day, and ten viewers (ROWS=100000: faster)
bench-dashboards: setup
	@PYTHONPATH=examples $(BIN)/python -m tests.bench.boards $(if $(ROWS),--rows $(ROWS)) $(ARGS)

## bench-why     what why claims about thousands of simulated pairs of windows, in 90 minutes (QUICK=1: a tenth of them)
bench-why: setup
	@$(BIN)/python -m tests.bench.why_simulated $(if $(QUICK),--quick) $(ARGS)

## bench-slowlog CPU of 200 MiB of slow log and of long INSERTs until stored, beside pt-query-digest (ARGS='--mib 20')
bench-slowlog: setup
	@PYTHONPATH=examples $(BIN)/python -m tests.bench.slowlog $(ARGS)

## bench-mysql   CPU of a MySQL server for its instruments and for the collector's questions, in 15 minutes
bench-mysql: .venv/integrations
	@PYTHONPATH=examples $(BIN)/python -m tests.bench.mysql_cost $(ARGS)

## release       build and check both packages, show what would be uploaded (UPLOAD=1: upload it)
release: setup
	@$(BIN)/python .ci/release.py $(if $(UPLOAD),--upload)

## dashboards    write dashboards/generated/*.json, after a change of dashboards/ or its queries
dashboards: setup
	@$(BIN)/python -m dashboards.build

## dashboard-pictures  each board as Grafana's own code draws it, in .bench/pictures (ARGS='--board walltime-servers')
dashboard-pictures: .venv/integrations
	@PYTHONPATH=examples $(BIN)/python -m tests.dashboards.pictures $(ARGS)

## docs          the documentation as a site, in .site/html; a broken link or another warning is an error
docs: setup
	@sh .ci/setup.sh docs && $(BIN)/python -m tests.docs.site

## descriptors   compile the collector's .proto files anew, after a change of one
descriptors: setup
	@cd collector/src/walltime_collector && ../../../$(BIN)/python -m grpc_tools.protoc -I clickhouse/schema -I receive \
		--descriptor_set_out receive/messages.binpb otlp_traces.proto messages.proto
	@cd collector/src/walltime_collector/cli/profile && ../../../../../$(BIN)/python -m grpc_tools.protoc -I . \
		--descriptor_set_out pprof.binpb pprof.proto

## pins          renew the pinned requirements
PINS := ../$(BIN)/uv pip compile --quiet --universal --python-version 3.10 --no-header --no-annotate --no-emit-index-url --no-emit-find-links
pins: setup
	@cd requirements && $(PINS) ../sdk/pyproject.toml ../collector/pyproject.toml dev.in build.in -o dev.txt
	@cd requirements && $(PINS) -c dev.txt integrations.in -o integrations.txt
	@cd requirements && $(PINS) -c dev.txt -c integrations.txt docs.in -o docs.txt
	@cd requirements && $(PINS) --generate-hashes -c dev.txt ../collector/pyproject.toml -o collector.txt
	@cd requirements && $(PINS) -c dev.txt ../sdk/pyproject.toml shop.in -o shop.txt
	@cd requirements && $(PINS) --generate-hashes -c dev.txt build.in -o build.txt

## clean         remove the environment and what the demo and the benchmarks left
clean:
	rm -rf .venv .demo .bench .site dist

# Needs Python 3.11 or newer and make; everything else is set up on the way. `make help` lists the targets.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13; do \
    $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PY := $(CURDIR)/.venv/bin/python
PY43 := $(CURDIR)/.venv-4.3/bin/python

# Spark needs its Java, the same Python in driver and workers, and our settings.
WITH_SPARK = JAVA_HOME="$$(scripts/java.sh)" && export JAVA_HOME && unset SPARK_HOME && \
    SPARK_CONF_DIR="$(CURDIR)/conf" PYSPARK_PYTHON="$(PY)" PYSPARK_DRIVER_PYTHON="$(PY)"

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.PHONY: help setup setup-4.3 demo demo-catalog check lint servers unit spark test test-all test-4.3 lowest clients faults interleavings stream-kills kills fuzz flink auto-cdc java-servers feeds attack bench engine-matrix notebook report-browser docs audit format public-api settings clean

help: ## Show this list
	@sed -n 's/^\([a-z0-9.-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

setup: .venv/.ready ## Make .venv with the package, editable, and all tools; find or install Java
	@scripts/java.sh >/dev/null

setup-4.3: .venv-4.3/.ready
	@scripts/java.sh >/dev/null

# $(1): folder, $(2): constraints, $(3): dependency group
define make_venv
@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python." >&2; exit 1; }
@test -x $(1)/bin/python || $(PYTHON) -m venv $(1) || \
    { echo "Python's venv module does not work here (Debian: apt-get install python3-venv)." >&2; exit 1; }
@echo "Installing into $(1), once: a few minutes on a fresh machine."
@$(1)/bin/python -m pip install --quiet --no-input 'pip>=25.1' # the first with dependency groups
@$(1)/bin/python -m pip install --quiet --no-input -c $(2) -e . --group $(3)
@touch $(1)/.ready
endef

.venv/.ready: pyproject.toml constraints.txt constraints-4.1.txt
	$(call make_venv,.venv,constraints-4.1.txt,dev)

.venv-4.3/.ready: pyproject.toml constraints.txt constraints-4.3.txt
	$(call make_venv,.venv-4.3,constraints-4.3.txt,test)

.venv-clients/.ready: pyproject.toml constraints-clients.txt
	$(call make_venv,.venv-clients,constraints-clients.txt,clients)

.venv-lowest/.ready: pyproject.toml constraints.txt scripts/lowest_versions.sh
	@scripts/lowest_versions.sh "$(PYTHON)"
	@touch $@

demo: setup ## Run the main job on real data: a year of flights, partitioned by month
	@$(WITH_SPARK) $(PY) demo/flights.py

demo-catalog: setup ## The same on a REST catalog with S3, both started here
	@$(WITH_SPARK) $(PY) -m demo.catalog

check: lint ## Lint, types, layers, architecture
	$(PY) -m pytest tests/architecture -q -m "not slow"

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports

unit: setup ## Run the tests without Spark; ROOM=commits runs those of one room
	@$(WITH_SPARK) $(PY) -m pytest tests/unit/$(ROOM) -q -m "not slow" -n auto

spark: setup ## Run tests with Spark in one session: T=tests/spark/test_merge.py, K="part of a name"
	@$(WITH_SPARK) $(PY) -m pytest $(or $(T),tests/spark) $(if $(K),-k "$(K)") -q

test: setup setup-4.3 .venv-lowest/.ready .venv-clients/.ready ## Run the tests of CI: all without Spark, half of the cases with Spark, some on PySpark 4.3
	@$(MAKE) --no-print-directory servers
	@$(WITH_SPARK) $(PY) scripts/run_tests.py $(TEST_CASES)

test-all: TEST_CASES = --all
test-all: test ## Run every case of every test, and judge the coverage

servers: setup
	@scripts/postgres.sh >/dev/null
	@$(WITH_SPARK) $(PY) -m tests.servers.prepare

test-4.3: setup-4.3 ## Run a case of each test that faces Spark on PySpark 4.3
	@$(WITH_SPARK) $(PY43) scripts/run_tests.py spark-4.3

lowest: .venv-lowest/.ready ## Run a sample of the tests without Spark with the lowest versions that pyproject.toml allows
	@$(WITH_SPARK) $(PY) scripts/run_tests.py lowest

clients: .venv-clients/.ready ## Run dbt, Ibis and other clients of Spark on Iceberg tables; CLIENTS_ON=java runs them on Java's
	@$(WITH_SPARK) $(CURDIR)/.venv-clients/bin/python scripts/run_tests.py --all clients

faults: setup ## Break the store at every call of every verb, interrupt at every line of a commit, kill Spark's driver
	@FAULTS=all $(PY) -m pytest tests/faults -q -n 2 -rP --timeout 3000
	@$(WITH_SPARK) FAULTS=all $(PY) -m pytest tests/spark/test_killed_driver.py -q

interleavings: setup ## Run each verb at each call that each other verb makes to the catalog, and compare with the serial orders
	@INTERLEAVINGS=all $(PY) -m pytest tests/interleavings -q -n 2 --timeout 3000

kills: setup ## Kill writers of one table on each kind of catalog, on S3, Google and Azure for a minute each
	@$(WITH_SPARK) KILLS=all $(PY) -m pytest tests/catalog/test_stress.py tests/catalog/test_hdfs.py tests/catalog/test_nessie.py -q -n 2 --dist loadgroup --timeout 3000

stream-kills: setup ## Kill the driver of nine streams KILLS (22) times at random moments, and look for each row and change
	@$(WITH_SPARK) KILLS=$${KILLS:-22} $(PY) -m pytest tests/spark/test_killed_streams.py -q --timeout 10000

fuzz: setup ## Change files for FUZZ_SECONDS (600) and see that each ends in rows or an error of this library
	@$(PY) -m tests.fuzz

flink: setup ## Read what Flink upserts, and have Flink read and continue our tables
	@$(WITH_SPARK) $(PY) -m tests.flink

java-servers: setup ## Have Java and this library change tables alternating on S3, Google, Azure, HDFS, Nessie, Glue and DynamoDB
	@$(WITH_SPARK) $(PY) -m tests.java_servers

auto-cdc: setup-4.3 ## Apply SEEDS (4) feeds of changes by Spark 4.3's own auto CDC, too, and compare the rows
	@$(WITH_SPARK) PYSPARK_PYTHON="$(PY43)" PYSPARK_DRIVER_PYTHON="$(PY43)" $(PY43) -m tests.auto_cdc $${SEEDS:-4}

feeds: setup ## Record FEED_SEEDS (3) feeds of random changes with Debezium, and compare the tables with the database
	@$(WITH_SPARK) $(PY) -m tests.feeds

attack: setup ## Try many more hostile settings and sequences of verbs than the tests do; ATTACK_SEED=7 draws others
	@$(WITH_SPARK) ATTACK_BUNDLES=$${ATTACK_BUNDLES:-40} $(PY) -m pytest tests/spark/test_hostile_settings.py tests/spark/test_hostile_writes.py -q
	@$(WITH_SPARK) VERB_EXAMPLES=$${VERB_EXAMPLES:-10} $(PY) -m pytest tests/oracle/test_verb_sequences.py -q
	@$(WITH_SPARK) MERGE_STEPS=$${MERGE_STEPS:-300} $(PY) -m pytest tests/spark/test_merge_attack.py -q
	@$(WITH_SPARK) STATEMENTS_OVER=connect $(PY) -m pytest tests/oracle/test_statements.py tests/oracle/test_statement_corpus.py -q

bench: setup ## Measure against Java Iceberg, PyIceberg and plain Parquet; writes benchmarks/results.md
	@$(WITH_SPARK) $(PY) -m benchmarks.run

engine-matrix: setup ## Read tables of this library with other engines; writes the matrix of docs/engines.md
	@$(WITH_SPARK) $(PY) -m scripts.engine_matrix --write

notebook: setup ## Run the notebooks again and keep their output
	@$(WITH_SPARK) $(PY) scripts/run_notebooks.py

report-browser: setup ## Open a table report in Chromium (CHROMIUM=/usr/bin/chromium), light and dark, wide and narrow
	@$(PY) -m pip install --quiet --no-input -c constraints-4.1.txt 'playwright>=1.50'
	@$(PY) -m scripts.report_in_browser

docs: setup ## Build the documentation into site/
	@$(PY) -m pip install --quiet --no-input -c constraints-4.1.txt -e . --group docs
	$(PY) -m mkdocs build --strict

audit: ## Look for known vulnerabilities in the pinned dependencies (needs the package index's JSON interface, or OSV)
	@test -x .venv-audit/bin/pip-audit || { $(PYTHON) -m venv .venv-audit && .venv-audit/bin/pip install --quiet pip-audit; }
	@$(PYTHON) scripts/audit.py

format: setup ## Format the code and mend what ruff can mend
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

public-api: setup ## Write public-api.txt again
	$(PY) scripts/public_api.py --write

settings: setup ## Write the generated tables of the reference (settings, procedures, catalog properties, error conditions) again
	$(PY) -m scripts.runtime_settings --write
	$(PY) -m scripts.procedures_page --write
	$(PY) -m scripts.catalog_properties_page --write
	$(PY) -m scripts.error_conditions_page --write

clean: ## Remove everything that was made here, the environments too
	rm -rf .venv .venv-4.3 .venv-lowest .venv-clients .venv-audit .venv-engines build dist site .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf .import_linter_cache spark-warehouse metastore_db derby.log artifacts demo/warehouse benchmarks/data
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

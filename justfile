# launchguard: `./justw` lists the recipes; it brings just, uv and the Python packages by itself.

launchguard := "build/venv/bin/python -m launchguard"
pytest := "build/venv/bin/python -m pytest"

# List the recipes
default:
    @just --list --unsorted

# The main job: the series on its pinned Airflow, tested on every lane
apply-and-test *ARGS:
    @{{ launchguard }} run {{ ARGS }}

# The project's own tests, with Airflow's on one lane
test *ARGS:
    {{ pytest }} -n auto -m "not skew" {{ ARGS }}

# Everything: all suites on all lanes, every prefix of the series, the project's own tests, all races, mixed versions
test-all:
    {{ launchguard }} run --suite all --all-lanes
    {{ launchguard }} check --prefixes
    {{ pytest }} -n auto -m "not skew"
    {{ launchguard }} lab run
    {{ pytest }} -m skew

# The race laboratory: real schedulers and workers, released against patched
race *ARGS:
    @{{ launchguard }} lab run {{ ARGS }}

# Mixed versions: released and patched parts of Airflow against each other
skew *ARGS:
    {{ pytest }} tests/skew {{ ARGS }}

# Static checks of the tool and of the series
check:
    build/venv/bin/prek run --all-files
    {{ launchguard }} check

# Compare speeds: ratios and their spread, on this machine
bench *ARGS:
    build/venv/bin/python -m bench.bench {{ ARGS }}

# Any launchguard command: just lg status
lg *ARGS:
    @{{ launchguard }} {{ ARGS }}

# Remove what was made; downloads stay
clean *ARGS:
    @{{ launchguard }} clean {{ ARGS }}

"""Stand-in for the package of Airflow's monorepo that the tests shipped in sdists import.

Upstream's own ``tests_common`` is not published with these releases. This one holds what the tests of the
``cncf.kubernetes`` provider, the task SDK and the series itself use, and runs on Airflow 2.11 and 3.0 to 3.3.
"""

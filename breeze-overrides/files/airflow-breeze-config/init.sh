# Sourced by breeze's container shell: shows which launchguard patches the mounted checkout carries.
if git -C /opt/airflow rev-parse --quiet --verify refs/launchguard/base > /dev/null 2>&1; then
    git -C /opt/airflow log --oneline refs/launchguard/base..HEAD
fi

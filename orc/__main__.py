"""`python -m orc`: the command line."""

from orc_core.infra.collector import collector_paused


def main() -> None:
    """Run a command."""
    with collector_paused():
        from orc.cli.app import app
    app()


if __name__ == "__main__":
    main()

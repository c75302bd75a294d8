"""``signalprop`` and ``python -m signalprop``."""


def main() -> None:
    """Load and run the command line; an interrupt while it loads ends it as quietly as one later."""
    try:
        from signalprop.cli import main as command

        command()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()

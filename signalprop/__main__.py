"""``python -m signalprop``."""

from signalprop.cli import main

main()

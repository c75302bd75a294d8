"""The figures: one file each, with ``data(...) -> DataFrame`` and ``draw(frame) -> Figure``; `reproduce` writes them all."""

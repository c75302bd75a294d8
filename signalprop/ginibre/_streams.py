"""Former place of `signalprop._streams`."""

from signalprop._streams import cell_key, chunk_sizes, generator

__all__ = ["cell_key", "chunk_sizes", "generator"]

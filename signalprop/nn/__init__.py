"""Linear recurrent layers for PyTorch; needs the extra ``signalprop[torch]``.

Loaded only on request: ``import signalprop.nn``.
"""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError("signalprop.nn needs PyTorch; pip install 'signalprop[torch]'.") from error

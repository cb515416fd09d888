"""Batches for text-to-speech training, ready before they are needed: a module over libmyxtts.so.

    import myxtts

    loader = myxtts.Loader("DIR", batch_size=32, device="cuda:0", seed=1)
    for batch in loader:            # one epoch
        loss = model(batch.tokens, batch.token_length, batch.mel, batch.mel_length)
        ...
    print(loader.report().sentence)  # what holds training up, if anything does

Lines of status go to the logger "myxtts" of the module logging.
"""
from ._library import Error, library_version
from .loader import Batch, Loader, Report

__version__ = "1.0"
__all__ = ["Batch", "Error", "Loader", "Report", "library_version"]

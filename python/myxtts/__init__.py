"""Voices that speak, and batches for text-to-speech training that are ready before they are needed: a module over libmyxtts.so.

    import myxtts

    voice = myxtts.Voice("RUN")
    voice.save("morning.wav", voice.say("Good morning."))
    for piece in voice.stream("A long text."):   # float32 arrays, while it is spoken
        ...

    loader = myxtts.Loader("DIR", batch_size=32, device="cuda:0", seed=1)
    for batch in loader:            # one epoch
        loss = model(batch.tokens, batch.token_length, batch.mel, batch.mel_length)
        ...
    print(loader.report().sentence)  # what holds training up, if anything does

Lines of status go to the logger "myxtts" of the module logging.
"""
from ._library import Error, library_version
from .loader import Batch, Loader, Report
from .voice import LeftOut, Speech, Voice

__version__ = "0.4.0"
__all__ = ["Batch", "Error", "LeftOut", "Loader", "Report", "Speech", "Voice", "library_version"]

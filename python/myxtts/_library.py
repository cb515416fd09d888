"""libmyxtts.so: finds it, declares the structures and functions of src/lib/myxtts.h, turns errors into exceptions and log lines into logging.

The library is looked for at $MYXTTS_LIBRARY; beside this file or in lib beside it, where wheels put it; in the folder build of the source
tree that this file is in; and where the system finds libraries. It is loaded when it is first needed.
"""
from __future__ import annotations

import _thread
import atexit
import ctypes
import logging
import os
import threading
import weakref
from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Callable, List, Optional, Tuple

_log = logging.getLogger("myxtts")

CODES = {
    -1: "io", -2: "memory", -3: "usage", -4: "config", -5: "format", -6: "data", -7: "damaged", -8: "nospace", -9: "stopped",
    -10: "worker", -11: "missing", -12: "device", -14: "busy", -15: "language",
}


class Error(RuntimeError):
    """What went wrong, in a sentence.

    message: the sentence. hint: what to do about it, or "". code: a word, one of the values of CODES, as "config" or "busy".
    """

    def __init__(self, message: str, hint: str = "", code: str = "usage") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message, self.hint, self.code = message, hint, code

    def __reduce__(self) -> Tuple[Any, ...]:
        return Error, (self.message, self.hint, self.code)


# ---- structures of myxtts.h ----

LOG = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)


class CError(Structure):
    _fields_ = [("code", c_int), ("message", c_char * 800), ("hint", c_char * 400)]

    def exception(self) -> Error:
        return Error(self.message.decode(errors="replace"), self.hint.decode(errors="replace"), CODES.get(self.code, "usage"))


class CVoiceOptions(Structure):
    _fields_ = [
        ("size", c_size_t), ("checkpoint", c_char_p), ("device", c_char_p), ("vocoder", c_char_p), ("rounds", c_int), ("threads", c_int),
        ("settings", POINTER(c_char_p)), ("log", LOG), ("log_arg", c_void_p),
    ]


class CManner(Structure):
    _fields_ = [("size", c_size_t), ("speaker", c_char_p), ("reference", c_char_p), ("speed", c_double), ("pitch", c_double),
                ("language", c_char_p), ("force_language", c_int), ("text_format", c_char_p)]


class CLoss(Structure):
    _fields_ = [("at", c_size_t), ("bytes", c_size_t), ("why", c_char * 120)]


class CMark(Structure):
    _fields_ = [("name", c_char_p), ("seconds", c_double)]


class CLoaderOptions(Structure):
    _fields_ = [
        ("size", c_size_t), ("data", c_char_p), ("config", c_char_p), ("device", c_char_p), ("split", c_char_p), ("epochs", c_int64),
        ("settings", POINTER(c_char_p)), ("prepare", c_int), ("rank", c_int), ("ranks", c_int), ("cancel", POINTER(c_int)),
        ("log", LOG), ("log_arg", c_void_p),
    ]


class CArray(Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("type", c_int), ("dimensions", c_int), ("shape", c_int64 * 4)]


class CState(Structure):
    _fields_ = [("epoch", c_int64), ("index", c_int64), ("seed", c_uint64), ("data", c_char * 33)]


# ---- functions: name, result, arguments ----

_PROTOTYPES: List[Tuple[str, Any, List[Any]]] = [
    ("myxtts_version", c_char_p, []),
    ("myxtts_free", None, [c_void_p]),
    ("myxtts_voice_open", c_int, [POINTER(c_void_p), POINTER(CVoiceOptions), POINTER(CError)]),
    ("myxtts_voice_close", None, [c_void_p]),
    ("myxtts_voice_sample_rate", c_int, [c_void_p]),
    ("myxtts_voice_speaker_count", c_int, [c_void_p]),
    ("myxtts_voice_speaker", c_char_p, [c_void_p, c_int]),
    ("myxtts_voice_language_count", c_int, [c_void_p]),
    ("myxtts_voice_language", c_char_p, [c_void_p, c_int]),
    ("myxtts_speech_begin", c_int, [POINTER(c_void_p), c_void_p, c_char_p, c_size_t, POINTER(CManner), POINTER(CError)]),
    ("myxtts_speech_poll", c_int, [c_void_p, POINTER(POINTER(c_float)), POINTER(c_int64), c_double, POINTER(CError)]),
    ("myxtts_speech_left_out_count", c_int, [c_void_p]),
    ("myxtts_speech_left_out", c_int, [c_void_p, c_int, POINTER(CLoss)]),
    ("myxtts_speech_mark_count", c_int, [c_void_p]),
    ("myxtts_speech_mark", c_int, [c_void_p, c_int, POINTER(CMark)]),
    ("myxtts_speech_end", None, [c_void_p]),
    ("myxtts_write_audio", c_int, [c_char_p, POINTER(c_float), c_int64, c_int, POINTER(CError)]),
    ("myxtts_loader_open", c_int, [POINTER(c_void_p), POINTER(CLoaderOptions), POINTER(CError)]),
    ("myxtts_loader_close", None, [c_void_p]),
    ("myxtts_loader_batches", c_int64, [c_void_p]),
    ("myxtts_loader_utterances", c_int64, [c_void_p]),
    ("myxtts_loader_speaker_count", c_int, [c_void_p]),
    ("myxtts_loader_speaker", c_char_p, [c_void_p, c_int]),
    ("myxtts_loader_language_count", c_int, [c_void_p]),
    ("myxtts_loader_language", c_char_p, [c_void_p, c_int]),
    ("myxtts_loader_stop", None, [c_void_p]),
    ("myxtts_loader_poll", c_int, [c_void_p, POINTER(c_void_p), c_void_p, c_double, POINTER(CError)]),
    ("myxtts_loader_state", None, [c_void_p, POINTER(CState)]),
    ("myxtts_loader_resume", c_int, [c_void_p, POINTER(CState), POINTER(CError)]),
    ("myxtts_loader_pause", None, [c_void_p]),
    ("myxtts_loader_report", c_void_p, [c_void_p, POINTER(CError)]),
    ("myxtts_batch_arrays", c_int, [c_void_p]),
    ("myxtts_batch_array", c_int, [c_void_p, c_int, POINTER(CArray)]),
    ("myxtts_batch_epoch", c_int64, [c_void_p]),
    ("myxtts_batch_index", c_int64, [c_void_p]),
    ("myxtts_batch_id", c_void_p, [c_void_p, c_int, POINTER(c_size_t)]),
    ("myxtts_batch_release", None, [c_void_p]),
    ("myxtts_batch_dlpack", c_void_p, [c_void_p, c_int]),
]

_loaded: Optional[ctypes.CDLL] = None
_loading = threading.Lock()


def _places() -> List[str]:
    here = os.path.dirname(os.path.abspath(__file__))
    named = os.environ.get("MYXTTS_LIBRARY")
    if named:
        return [named]
    beside = [os.path.join(here, *path) for path in (("libmyxtts.so",), ("lib", "libmyxtts.so"), ("..", "..", "build", "libmyxtts.so"))]
    return [path for path in beside if os.path.exists(path)] + ["libmyxtts.so.1"]


def _open() -> ctypes.CDLL:
    place = _places()[0]
    try:
        found = ctypes.CDLL(place)
    except OSError as e:
        raise Error(f"libmyxtts.so cannot be loaded: {e}",
                    "build it with `make`, install it with `make install`, or name it with MYXTTS_LIBRARY", "missing") from None
    for name, result, arguments in _PROTOTYPES:
        try:
            function = getattr(found, name)
        except AttributeError:
            raise Error(f"{place} has no {name}: it is older than this package", "build both from the same sources", "missing") from None
        function.restype, function.argtypes = result, arguments
    return found


def library() -> Any:
    """The library with its functions; every call releases the GIL."""
    global _loaded
    with _loading:
        if _loaded is None:
            _loaded = _open()
        return _loaded


def library_version() -> str:
    """The version of libmyxtts.so, as "0.4.0"."""
    return str(library().myxtts_version().decode())


# ---- arguments and lines ----

def text_of(key: str, value: Any) -> str:
    """A setting's value as text, in the form of the configuration file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ("|" if key == "text2audio_texts" else ",").join(text_of(key, v) for v in value)
    return str(value)


def pairs(settings: "dict[str, Any]") -> Any:
    """Settings in the library's form: key, value, ..., NULL. A value of None means the default and is left out."""
    flat = [t.encode() for k, v in settings.items() if v is not None for t in (k, text_of(k, v))]
    return (c_char_p * (len(flat) + 1))(*flat, None)


def finish(call: Callable[[], None]) -> None:
    """For __del__, where Python drops exceptions: a Ctrl-C in the middle is raised afterwards. call: must be safe to repeat."""
    interrupted = False
    while True:
        try:
            call()
            break
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        _thread.start_new_thread(_thread.interrupt_main, ())


_open_at_exit: "weakref.WeakSet[Any]" = weakref.WeakSet()


def close_at_exit(handle: Any) -> None:
    """Closed before Python exits, if it still exists: the library's threads must not log to an interpreter that is gone."""
    _open_at_exit.add(handle)


@atexit.register
def _close_all() -> None:
    for handle in list(_open_at_exit):
        handle.close()


def encoded(value: Any) -> Optional[bytes]:
    return None if value is None else os.fsencode(value)


def log_function() -> Any:
    """Passes the library's log lines to the module logging. The caller must keep the result alive."""
    levels: "dict[int, Callable[..., None]]" = {0: _log.error, 1: _log.warning}

    def log(_arg: Any, level: int, line: bytes) -> None:
        levels.get(level, _log.info)("%s", line.decode(errors="replace"))

    return LOG(log)

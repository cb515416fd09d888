"""Voice: a trained voice that speaks."""
from __future__ import annotations

import ctypes
import os
import threading
import weakref
from ctypes import POINTER, byref, c_float, c_int64, c_void_p
from typing import Any, Iterator, List, NamedTuple, Optional, Set, Union

import numpy as np

from ._library import (CError, CLoss, CManner, CMark, CVoiceOptions, Error, close_at_exit, encoded, finish, library, log_function,
                       pairs)

_TICK = 0.1  # seconds: how long Ctrl-C may have to wait
_NO_ROUNDS = -1

Path = Union[str, "os.PathLike[str]"]


class LeftOut(NamedTuple):
    """A piece of a text that is left out because it cannot be spoken: a private character, kanji in Japanese text."""

    at: int  #: characters of the text before it
    text: str
    why: str


class Mark(NamedTuple):
    """A <mark> of SSML."""

    name: str
    seconds: float  #: from the beginning of the sound


class Speech(Iterator["np.ndarray[Any, np.dtype[np.float32]]"]):
    """A text being spoken: float32 arrays, one after the other, as soon as they are made.

    At most a few seconds are made before they are asked for. close() ends it in the middle, as dropping it does.
    left_out: what is not heard of the text, complete at its end and nearly always before the first piece.
    marks: those of SSML, each there with the piece that its sentence begins with.
    """

    def __init__(self, voice: "Voice", text: str, manner: CManner) -> None:
        self._speaking = c_void_p()  # the library writes it: nothing is lost when Ctrl-C comes in between
        self._voice, self._lib, self._process = voice, voice._lib, voice._process
        self._lock = threading.RLock()
        self._inside: Optional[int] = None  # the thread that is in __next__
        self._closing = self._ended = False
        self._error = CError()
        spoken = self._bytes = text.encode("utf-8", "replace")
        self.left_out: List[LeftOut] = []
        self.marks: List[Mark] = []
        with voice._lock:
            opened = voice._opened()
            voice._speeches.add(self)
            voice._speaking.add(id(self))
            rc = self._lib.myxtts_speech_begin(byref(self._speaking), opened, spoken, len(spoken), byref(manner), byref(self._error))
        if rc:
            self._end()
            raise self._error.exception()

    def __next__(self) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """Waits in pieces, so that Ctrl-C is seen; the GIL is free meanwhile."""
        samples, count = POINTER(c_float)(), c_int64()
        while True:
            with self._lock:
                if not self._speaking:
                    if self._voice.closed and not self._ended:
                        raise Error("the voice is closed")
                    raise StopIteration
                if self._process != os.getpid():
                    raise Error("the voice was opened by another process", "open it again in this process")
                self._inside = threading.get_ident()
                try:
                    rc = self._lib.myxtts_speech_poll(self._speaking, byref(samples), byref(count), _TICK, byref(self._error))
                    if rc >= 0 and rc != 2:
                        self._note()
                    if rc == 1:
                        return np.ctypeslib.as_array(samples, (count.value,)).copy()
                    self._ended = rc == 0
                finally:
                    self._inside = None
                    if self._closing:
                        self._end()
                if rc <= 0:
                    self._end()
                if rc < 0:
                    raise self._error.exception()

    def _note(self) -> None:
        """Adds newly known losses and marks."""
        for i in range(len(self.marks), self._lib.myxtts_speech_mark_count(self._speaking)):
            mark = CMark()
            if self._lib.myxtts_speech_mark(self._speaking, i, byref(mark)):
                break
            self.marks.append(Mark(mark.name.decode(errors="replace"), mark.seconds))
        for i in range(len(self.left_out), self._lib.myxtts_speech_left_out_count(self._speaking)):
            loss = CLoss()
            if self._lib.myxtts_speech_left_out(self._speaking, i, byref(loss)):
                break
            at, end = loss.at, loss.at + loss.bytes
            self.left_out.append(LeftOut(len(self._bytes[:at].decode(errors="replace")), self._bytes[at:end].decode(errors="replace"),
                                         loss.why.decode(errors="replace")))

    def _end(self) -> None:
        if self._process != os.getpid():
            return  # a forked child has none of the library's threads
        speaking, self._speaking = self._speaking, c_void_p()
        self._lib.myxtts_speech_end(speaking)
        with self._voice._lock:
            self._voice._speaking.discard(id(self))
            self._voice._leave()

    def close(self) -> None:
        """Stops speaking."""
        with self._lock:
            self._closing = True
            if self._inside is None:  # else a signal handler calls this in the middle of __next__, which will end it
                self._end()

    def __enter__(self) -> "Speech":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_error", None) is not None:
            finish(self._end)


class Voice:
    """A trained voice.

        voice = myxtts.Voice("RUN")
        audio = voice.say("Good morning.")
        voice.save("morning.wav", audio)

    checkpoint: a run, one of its checkpoints, or an exported voice.
    device:   "auto" (a GPU where there is one), "cpu", "cuda", "cuda:1" or a torch.device.
    vocoder:  what makes the sound: another vocoder, or "griffin_lim"; None: the voice's own.
    rounds:   of Griffin-Lim, alone or behind a vocoder; None: as many as usual, 0: none.
    threads:  on a CPU; 0: all cores.
    Every key of the configuration is an argument too.

    Any number of threads may use one voice at once: what they ask for together is spoken together. A forked child cannot use its
    parent's voice.

    sample_rate: samples per second. speakers: names that say() takes; a voice that learned from one speaker may have [""].
    languages: codes that say() takes, those of the texts it was trained on.
    """

    def __init__(self, checkpoint: Path, *, device: Any = "auto", vocoder: Optional[Path] = None, rounds: Optional[int] = None,
                 threads: int = 0, **settings: Any) -> None:
        self._handle: Optional[int] = None
        self._lib = library()
        self._process = os.getpid()
        self._lock = threading.Condition()
        self._speaking: Set[int] = set()  # speeches that have not ended, also those that nobody can reach any more
        self._speeches: "weakref.WeakSet[Speech]" = weakref.WeakSet()
        self._leaving: Optional[int] = None  # the handle, to be closed when the last of them has ended
        self._log = log_function()
        error, handle = CError(), c_void_p()
        options = CVoiceOptions(size=ctypes.sizeof(CVoiceOptions), checkpoint=encoded(checkpoint), device=str(device).encode(),
                                vocoder=encoded(vocoder), rounds=_NO_ROUNDS if rounds == 0 else rounds or 0, threads=threads,
                                settings=pairs(settings), log=self._log)
        try:
            rc = self._lib.myxtts_voice_open(byref(handle), byref(options), byref(error))
            self._handle = handle.value
        except BaseException:  # Ctrl-C has waited for the voice
            self._handle = None
            self._lib.myxtts_voice_close(handle)
            raise
        if rc:
            raise error.exception()
        self.sample_rate: int = self._lib.myxtts_voice_sample_rate(self._handle)
        self.speakers: List[str] = [self._lib.myxtts_voice_speaker(self._handle, i).decode(errors="replace")
                                    for i in range(self._lib.myxtts_voice_speaker_count(self._handle))]
        self.languages: List[str] = [self._lib.myxtts_voice_language(self._handle, i).decode(errors="replace")
                                     for i in range(self._lib.myxtts_voice_language_count(self._handle))]
        close_at_exit(self)

    def stream(self, text: str, *, speaker: Optional[str] = None, reference: Optional[Path] = None, speed: float = 1.0,
               pitch: float = 0.0, language: Optional[str] = None, force_language: bool = False,
               text_format: str = "auto") -> Speech:
        """The sound of a text, piece by piece, while it is made: float32 arrays in [-1, 1]. The arguments are those of say()."""
        for name, value in (("text", text), ("speaker", speaker or ""), ("language", language or ""), ("text_format", text_format)):
            if not isinstance(value, str):
                raise TypeError(f"{name} must be a str, not {type(value).__name__}")
        manner = CManner(size=ctypes.sizeof(CManner), speaker=None if speaker is None else speaker.encode(),
                         reference=encoded(reference), speed=speed, pitch=pitch,
                         language=None if language is None else language.encode(), force_language=force_language,
                         text_format=text_format.encode())
        return Speech(self, text, manner)

    def say(self, text: str, *, speaker: Optional[str] = None, reference: Optional[Path] = None, speed: float = 1.0,
            pitch: float = 0.0, language: Optional[str] = None, force_language: bool = False,
            text_format: str = "auto", left_out: Optional[List[LeftOut]] = None,
            marks: Optional[List[Mark]] = None) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """The sound of a text: a float32 array in [-1, 1], of sample_rate samples per second.

        speaker: one of self.speakers; None: the first. reference: a recording in whose voice to speak. speed: 1.2 is a fifth
        faster (0.25 .. 4). pitch: semitones up or down (-24 .. 24). language: one of self.languages, for any speaker; None: the usual
        one. A language, or letters, that the voice was never trained on are an Error with the code "language", unless force_language
        is True. text_format: "plain", "markdown", "html", "ssml", or "auto": it is found out. left_out, marks: lists that get the pieces of the text
        that cannot be spoken, and the marks of SSML.
        """
        with self.stream(text, speaker=speaker, reference=reference, speed=speed, pitch=pitch, language=language,
                         force_language=force_language, text_format=text_format) as pieces:
            made = list(pieces)
        if left_out is not None:
            left_out.extend(pieces.left_out)
        if marks is not None:
            marks.extend(pieces.marks)
        return np.concatenate(made) if made else np.zeros(0, np.float32)

    def save(self, path: Path, audio: Any) -> None:
        """Writes sound of this voice to a file; the extension chooses .wav, .flac, .ogg or .mp3."""
        samples, error = np.ascontiguousarray(audio, np.float32), CError()
        if samples.ndim != 1:
            raise Error(f"sound is an array of one dimension, and this has {samples.ndim}")
        data = samples.ctypes.data_as(POINTER(c_float))
        if self._lib.myxtts_write_audio(encoded(path), data, samples.size, self.sample_rate, byref(error)):
            raise error.exception()

    @property
    def closed(self) -> bool:
        return self._handle is None

    def close(self) -> None:
        """Ends what it is speaking, and its threads."""
        with self._lock:
            if self._process != os.getpid():
                self._handle = None
                return
            if self._handle is not None:
                self._leaving, self._handle = self._handle, None
            speeches = list(self._speeches)
        for speech in speeches:
            speech.close()
        with self._lock:
            self._leave()
            if all(speech._inside != threading.get_ident() for speech in speeches):
                self._lock.wait_for(lambda: self._leaving is None)

    def _leave(self) -> None:
        """With the lock: whoever ends the last speech of a voice that is being closed closes it."""
        if self._leaving is not None and not self._speaking:
            handle, self._leaving = self._leaving, None
            self._lib.myxtts_voice_close(handle)
        self._lock.notify_all()

    def _opened(self) -> int:
        if self._handle is None:
            raise Error("the voice is closed")
        if self._process != os.getpid():
            raise Error("the voice was opened by another process", "open it again in this process")
        return self._handle

    def __enter__(self) -> "Voice":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            finish(self.close)

    def __repr__(self) -> str:
        return f"<myxtts.Voice: {self.sample_rate} Hz, {len(self.speakers)} speaker{'' if len(self.speakers) == 1 else 's'}>"

    def __reduce__(self) -> Any:
        raise TypeError("a voice cannot be pickled; open it again in this process")

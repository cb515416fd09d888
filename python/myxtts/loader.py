"""Loader: batches of a dataset for training, in the memory of the CPU or of a GPU."""
from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import sys
import threading
import weakref
from ctypes import byref, c_int, c_size_t, c_void_p
from typing import Any, Callable, Dict, Iterator, List, Optional, Union

import numpy as np

from ._library import CArray, CError, CLoaderOptions, CState, Error, close_at_exit, encoded, finish, library, log_function, pairs

_TICK = 0.1  # seconds: how long Ctrl-C may have to wait
_TYPES = (np.dtype("float32"), np.dtype("int32"))
_DL_CPU, _DL_CUDA = 1, 2
_CAPSULE = b"dltensor"
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [c_void_p, ctypes.c_char_p, c_void_p]


def _torch(wanted: Optional[str]) -> Any:
    """The module torch, or None where it is not wanted or not installed."""
    if wanted == "numpy":
        return None
    if "torch" in sys.modules:
        return sys.modules["torch"]
    if wanted == "torch" or importlib.util.find_spec("torch") is not None:
        import torch
        return torch
    return None


class Report(Dict[str, Any]):
    """What `myxtts diagnose` would say: a dict with the keys of its JSON.

    The most useful ones: "bottleneck" (a stage, or "none"), "cause", "wait_share" (of the time, that the step waited for batches),
    "utterances_per_s", "step_ms", "gains" (what other settings would give).
    """

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        return str(self["verdict"])

    def __str__(self) -> str:
        return self.sentence


class _Hold:
    """A batch of the library, which fills this in itself. It is released when the last reference to this goes."""

    __slots__ = ("handle", "stream", "__weakref__")

    def __init__(self, release: Callable[[Any], Any]) -> None:
        self.handle, self.stream = c_void_p(), 0
        end = _End(self, release)
        end._as_parameter_ = self.handle
        for known in list(_ends.values()):
            if known() is None:
                _ends.pop(id(known), None)
        _ends[id(end)] = end


class _End(weakref.ref):  # type: ignore[type-arg]
    """The end of a _Hold. It is the argument of the library's function, which Python calls without any code of ours in between: a
    Ctrl-C that came in a __del__ would be dropped."""

    __slots__ = ("_as_parameter_",)
    _as_parameter_: c_void_p


_ends: Dict[int, _End] = {}


class _Memory:
    """Memory of a batch in a form that numpy reads. The resulting array keeps the batch alive."""

    def __init__(self, hold: _Hold, a: CArray) -> None:
        self._hold = hold
        self.__array_interface__ = {"version": 3, "data": (a.data, False), "typestr": _TYPES[a.type].str,
                                    "shape": tuple(a.shape[:a.dimensions])}


class DeviceArray:
    """An array on a GPU for frameworks other than PyTorch: it speaks DLPack and __cuda_array_interface__."""

    def __init__(self, batch: "Batch", hold: _Hold, index: int, a: CArray) -> None:
        self._hold, self._index, self._make = hold, index, batch._loader._lib.myxtts_batch_dlpack
        self._device, self._stream = batch._loader._gpu, batch._stream
        self.shape, self.dtype = tuple(a.shape[:a.dimensions]), _TYPES[a.type]
        self.__cuda_array_interface__ = {"version": 3, "data": (a.data, False), "typestr": self.dtype.str, "shape": self.shape,
                                         "stream": self._stream or 1}

    def __dlpack__(self, stream: Any = None, **_: Any) -> Any:
        return _capsule(self._make(self._hold.handle, self._index))

    def __dlpack_device__(self) -> Any:
        return (_DL_CUDA, self._device)


def _capsule(tensor: Optional[int]) -> Any:
    if not tensor:
        raise MemoryError("no memory for a tensor")
    return _new_capsule(tensor, _CAPSULE, None)


class Batch:
    """One batch. Its arrays are attributes and items: batch.mel is batch["mel"].

    They lie where the loader has put them; nothing is copied. They are torch tensors where PyTorch is installed, else numpy arrays. The
    memory is used again when the batch is dropped or released and the last of its arrays is gone: what is to be kept is copied
    (batch.mel.clone()).

    Rows are utterances, n of them:
        tokens [n, T], token_length [n]   phonemes as numbers, 0 behind the end
        mel [n, M, bands], mel_length [n] log mel, normalised, 0 behind the end
        pitch [n, M]                      logarithm of the frequency, normalised
        speaker [n], utterance [n]        numbers: of Loader.speakers, of the line in the metadata
        language [n]                      number of Loader.languages
        reference [n]                     row whose voice this one may learn from: of the same speaker, or itself
    With network="vocoder": mel [n, M, bands], not normalised, samples [n, S], speaker, utterance.

    epoch, index: which batch it is. ids: names of the clips.
    """

    tokens: Any
    token_length: Any
    mel: Any
    mel_length: Any
    pitch: Any
    speaker: Any
    language: Any
    utterance: Any
    reference: Any
    samples: Any

    def __init__(self, loader: "Loader", hold: _Hold) -> None:
        self._loader, self._stream = loader, hold.stream
        self._hold: Optional[_Hold] = hold
        self.epoch: int = loader._lib.myxtts_batch_epoch(hold.handle)
        self.index: int = loader._lib.myxtts_batch_index(hold.handle)

    def _held(self) -> _Hold:
        if self._hold is None:
            raise Error("the batch has been released")
        return self._hold

    def __getattr__(self, name: str) -> Any:
        # Only for what is not there yet: an array, which stays as an attribute.
        if name.startswith("_"):
            raise AttributeError(name)
        index = self._loader._names.get(name)
        if index is None:
            raise AttributeError(f"a batch has no '{name}'; its arrays are {', '.join(self._loader._names)}")
        array = self._array(index)
        self.__dict__[name] = array
        return array

    def _array(self, index: int) -> Any:
        hold, loader = self._held(), self._loader
        torch = loader._torch()
        if torch is not None:
            return torch.utils.dlpack.from_dlpack(_capsule(loader._lib.myxtts_batch_dlpack(hold.handle, index)))
        a = CArray()
        loader._lib.myxtts_batch_array(hold.handle, index, byref(a))
        if loader._gpu is not None:
            return DeviceArray(self, hold, index, a)
        return np.asarray(_Memory(hold, a))

    def __getitem__(self, name: str) -> Any:
        if name not in self._loader._names:
            raise KeyError(name)
        return getattr(self, name)

    def keys(self) -> List[str]:
        """Names of the arrays."""
        return list(self._loader._names)

    def __len__(self) -> int:
        """The number of utterances."""
        a = CArray()
        self._loader._lib.myxtts_batch_array(self._held().handle, 0, byref(a))
        return int(a.shape[0])

    @property
    def ids(self) -> List[str]:
        """Names of the clips, as in the metadata, in the order of the rows."""
        size, hold, lib = c_size_t(), self._held(), self._loader._lib
        rows = [(lib.myxtts_batch_id(hold.handle, row, byref(size)), size.value) for row in range(len(self))]
        return [ctypes.string_at(address, n).decode(errors="replace") for address, n in rows]

    def release(self) -> None:
        """Returns the memory, as dropping the batch does, once all arrays that are still in use are gone. On a GPU it is reused
        only when the work enqueued so far is done."""
        for name in self._loader._names:
            self.__dict__.pop(name, None)
        self._hold = None

    def __enter__(self) -> "Batch":
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<myxtts.Batch {self.index} of epoch {self.epoch}>"


class _Epoch(Iterator[Batch]):
    """The rest of an epoch."""

    def __init__(self, loader: "Loader") -> None:
        self._loader, self._ended = loader, False

    def __next__(self) -> Batch:
        if self._ended:
            self._loader.pause()
            raise StopIteration
        batch = self._loader._take()
        if batch is None:
            raise StopIteration
        self._ended = batch.index + 1 == self._loader._batches
        return batch


class Loader:
    """Batches of a dataset: a folder with recordings and their texts.

    Every key of the configuration is an argument: batch_size=32, num_workers=8, length_buckets=6, seed=1 (`myxtts config` lists them). A
    `for` loop goes over one epoch; the next one goes on with the next epoch, in another order, and loading does not pause in between.
    After a `break` the next loop goes on where the last one stopped.

    data:     the folder. Caches that are missing are built first, in this process; prepare=False makes that an error.
    device:   "cpu", "cuda", "cuda:1" or a torch.device.
    split:    "train" or "validation" (the share val_split of the clips).
    config:   a YAML file with settings; arguments win.
    epochs:   after so many the loader is at its end; 0: never.
    rank, ranks: of several processes that train together: each gets its share of every batch.
    framework: "torch" or "numpy"; None: PyTorch where it is installed.
    stream:   of a GPU, the cudaStream_t that uses the batches, or a function that returns it; None: PyTorch's current stream.

    It belongs to one thread at a time. Batches may be held, several at a time (setting pipeline_buffer_size), and be released in any
    thread. A forked child cannot use its parent's loader.
    """

    def __init__(self, data: Union[str, "os.PathLike[str]", None] = None, *, device: Any = "cpu", split: str = "train",
                 config: Union[str, "os.PathLike[str]", None] = None, epochs: int = 0, prepare: bool = True, rank: int = 0,
                 ranks: int = 0, framework: Optional[str] = None, stream: Union[int, Callable[[], int], None] = None,
                 **settings: Any) -> None:
        if framework not in (None, "torch", "numpy"):
            raise Error(f"unknown framework '{framework}'; use torch or numpy")
        self._handle: Optional[int] = None
        self._lib = library()
        self._process = os.getpid()
        self._lock, self._closing = threading.RLock(), threading.RLock()
        self._using = 0  # calls of the library that the owner of the lock is in
        self._leaving: Optional[int] = None  # the handle, to be closed when they are over
        self._waiting: List[_Hold] = []  # to be given out next: what came when Ctrl-C ended the wait for it
        self._error = CError()
        self._log = log_function()
        self._framework = framework
        self._module: Any = None
        self._has_module = False
        name = self._device_name(device)
        self._gpu: Optional[int] = int(name[5:]) if name.startswith("cuda:") else None
        self._current_stream = stream
        options = CLoaderOptions(size=ctypes.sizeof(CLoaderOptions), data=encoded(data), config=encoded(config), device=name.encode(),
                                 split=split.encode(), epochs=epochs, settings=pairs(settings), prepare=prepare, rank=rank, ranks=ranks,
                                 log=self._log)
        self._open(options)
        self._batches: int = self._lib.myxtts_loader_batches(self._handle)
        self._names: Dict[str, int] = {}  # of the arrays; known from the first batch on
        self.utterances: int = self._lib.myxtts_loader_utterances(self._handle)
        count = self._lib.myxtts_loader_speaker_count(self._handle)
        languages = self._lib.myxtts_loader_language_count(self._handle)
        self.languages: List[str] = [self._lib.myxtts_loader_language(self._handle, i).decode() for i in range(languages)]
        self.speakers: List[str] = [self._lib.myxtts_loader_speaker(self._handle, i).decode(errors="replace") for i in range(count)]
        close_at_exit(self)

    # ---- opening and closing ----

    def _device_name(self, device: Any) -> str:
        name = str(device)
        if name != "cuda":
            return name
        torch = _torch(self._framework)
        return f"cuda:{torch.cuda.current_device() if torch is not None else 0}"

    def _open(self, options: CLoaderOptions) -> None:
        """In a thread, because it may take long and Ctrl-C has to work: only Python code of the main thread sees it."""
        cancel, handle, error, codes = c_int(0), c_void_p(), CError(), []
        options.cancel = ctypes.pointer(cancel)
        thread = threading.Thread(
            target=lambda: codes.append(self._lib.myxtts_loader_open(byref(handle), byref(options), byref(error))), name="myxtts-open")
        thread.start()
        try:
            while thread.is_alive():
                thread.join(_TICK)
            self._handle = handle.value
        except BaseException:
            self._handle = None
            cancel.value = 1
            thread.join()
            self._lib.myxtts_loader_close(handle)
            raise
        if codes[0]:
            raise error.exception()

    def close(self) -> None:
        """Ends its threads. Batches that are still held remain valid. A thread that waits for a batch gets an Error."""
        if self._process != os.getpid():
            return
        with self._closing:
            if self._handle is not None:
                self._lib.myxtts_loader_stop(self._handle)
                self._leaving, self._handle = self._handle, None
        with self._lock:
            self._leave()

    def _leave(self) -> None:
        """Called with the lock held. A signal handler may have closed the loader in the middle of a call, which must end first."""
        if self._using or self._leaving is None:
            return
        handle, self._leaving = self._leaving, None
        self._waiting.clear()
        self._lib.myxtts_loader_close(handle)

    @contextlib.contextmanager
    def _use(self) -> Iterator[None]:
        with self._lock:
            self._using += 1
            try:
                yield
            finally:
                self._using -= 1
                self._leave()

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            finish(self.close)

    def _opened(self) -> int:
        if self._handle is None:
            raise Error("the loader is closed")
        if self._process != os.getpid():
            raise Error("the loader was opened by another process", "open it again in this process")
        return self._handle

    def _torch(self) -> Any:
        if not self._has_module:
            self._module, self._has_module = _torch(self._framework), True
        return self._module

    # ---- batches ----

    def _stream(self) -> int:
        if self._gpu is None:
            return 0
        if self._current_stream is None:
            torch = self._torch()
            return int(torch.cuda.current_stream(self._gpu).cuda_stream) if torch is not None else 0
        return int(self._current_stream() if callable(self._current_stream) else self._current_stream)

    def _take(self) -> Optional[Batch]:
        """The next batch, None at the end. Waits in pieces, so that Ctrl-C is seen; the GIL is free meanwhile."""
        stream, batch = self._stream(), None
        try:
            with self._use():
                if not self._waiting:
                    self._waiting.append(_Hold(self._lib.myxtts_batch_release))
                hold = self._waiting[0]
                while not hold.handle:
                    hold.stream = stream
                    rc = self._lib.myxtts_loader_poll(self._opened(), byref(hold.handle), stream, _TICK, byref(self._error))
                    if rc == 0:
                        return None
                    if rc < 0:
                        raise self._error.exception()
                self._opened()
                if not self._names:
                    self._learn_names(hold.handle)
                batch = Batch(self, hold)
                del self._waiting[0]
            return batch
        except BaseException:
            # Ctrl-C on the way out: the caller does not get this batch now, so it is still the next one.
            if batch is not None and hold not in self._waiting:
                self._waiting.insert(0, hold)
            raise

    def _learn_names(self, handle: c_void_p) -> None:
        a = CArray()
        for i in range(self._lib.myxtts_batch_arrays(handle)):
            self._lib.myxtts_batch_array(handle, i, byref(a))
            self._names[a.name.decode()] = i

    def __iter__(self) -> Iterator[Batch]:
        """The rest of the current epoch, or the next one."""
        self._opened()
        return _Epoch(self)

    def __len__(self) -> int:
        """Batches of an epoch."""
        return self._batches

    # ---- state ----

    def state_dict(self) -> Dict[str, Any]:
        """The loader's position: after the last batch that it returned. Small and picklable, meant for checkpoints."""
        state = CState()
        with self._use():
            self._lib.myxtts_loader_state(self._opened(), byref(state))
            for hold in self._waiting[:1]:
                if hold.handle:
                    state.epoch, state.index = self._lib.myxtts_batch_epoch(hold.handle), self._lib.myxtts_batch_index(hold.handle)
        return {"epoch": state.epoch, "index": state.index, "seed": state.seed, "data": state.data.decode()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Continues from there with exactly the same batches. An Error if data or settings have changed."""
        try:
            c = CState(int(state["epoch"]), int(state["index"]), int(state["seed"]), str(state["data"]).encode())
        except (KeyError, TypeError, ValueError) as e:
            raise Error(f"this is not the state of a loader: {e!r}") from None
        with self._use():
            if self._lib.myxtts_loader_resume(self._opened(), byref(c), byref(self._error)):
                raise self._error.exception()
            self._waiting.clear()

    def pause(self) -> None:
        """Says that the time until the next batch (validation, saving) is not part of a step for report(). A `for` loop that reaches
        the end of the epoch does this itself."""
        if self._handle is not None and self._process == os.getpid():
            with self._lock:
                self._lib.myxtts_loader_pause(self._handle)

    def report(self) -> Report:
        """What slows training down, judged by the times of the batches so far. A step lasts from one batch to the request for the next
        one. An Error as long as there are too few batches to judge (about twenty)."""
        with self._use():
            text = self._lib.myxtts_loader_report(self._opened(), byref(self._error))
            if not text:
                raise self._error.exception()
        try:
            return Report(json.loads(ctypes.string_at(text)))
        finally:
            self._lib.myxtts_free(text)

    def __repr__(self) -> str:
        return f"<myxtts.Loader: {self.utterances} utterances in {self._batches} batches>"

    def __reduce__(self) -> Any:
        raise TypeError("a loader cannot be pickled; its state_dict() can")

"""myxtts.Loader: numpy arrays always, torch tensors where PyTorch is installed. Run by tests/python/test_python.sh."""
import copy
import ctypes
import gc
import hashlib
import importlib.util
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import corpus
import lines
import myxtts
from myxtts._library import CError, library

HAS_TORCH = importlib.util.find_spec("torch") is not None
BATCHES = (corpus.CLIPS + 7) // 8


def digest(batch):
    h = hashlib.sha256()
    for name in batch.keys():
        a = np.asarray(batch[name])
        h.update(repr((name, a.shape, a.dtype.str)).encode())
        h.update(np.ascontiguousarray(a).tobytes())
    return h.hexdigest()


def threads():
    return len(os.listdir("/proc/self/task"))


def settled(count):
    """Threads that have ended are gone from /proc a moment later."""
    for _ in range(500):
        if threads() <= count:
            return True
        time.sleep(0.01)
    return False


class Test(unittest.TestCase):
    framework = "numpy"

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.data = corpus.make(os.path.join(cls.folder.name, "data"))
        cls.cache = os.path.join(cls.folder.name, "cache")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def loader(self, **more):
        options = {"cache_dir": self.cache, "framework": self.framework, **corpus.SETTINGS, **more}
        return myxtts.Loader(self.data, **options)


class LoaderTest(Test):
    def test_epochs_have_every_clip_once(self):
        with self.loader() as loader:
            self.assertEqual(len(loader), BATCHES)
            self.assertEqual(loader.utterances, corpus.CLIPS)
            self.assertEqual(loader.speakers, ["voice0", "voice1", "voice2"])
            self.assertEqual(loader.languages, ["en"])
            orders = []
            for epoch in range(3):
                ids = []
                for i, batch in enumerate(loader):
                    self.assertEqual((batch.epoch, batch.index), (epoch, i))
                    self.assertEqual(len(batch), len(batch.ids))
                    ids += batch.ids
                orders.append(ids)
                self.assertEqual(sorted(ids), [f"clip{i:02d}" for i in range(corpus.CLIPS)])
            self.assertNotEqual(orders[0], orders[1])

    def test_languages(self):
        data = os.path.join(self.folder.name, "languages")
        os.makedirs(data)
        os.symlink(os.path.join(self.data, "wavs"), os.path.join(data, "wavs"))
        with open(os.path.join(data, "metadata.csv"), "w", encoding="utf-8") as f:
            f.write("id|text|language\n")
            f.writelines(f"clip{i:02d}|one|{('fr', 'de', 'en')[i % 3]}\n" for i in range(corpus.CLIPS))
        options = {"framework": self.framework, **corpus.SETTINGS}
        with myxtts.Loader(data, cache_dir=self.cache + "-languages", **options) as loader:
            self.assertEqual(loader.languages, ["de", "en", "fr"])
            for batch in loader:
                self.assertEqual(list(np.asarray(batch.language)), [(2, 0, 1)[int(i[4:]) % 3] for i in batch.ids])

    def test_arrays(self):
        with self.loader() as loader:
            for batch in loader:
                n = len(batch)
                tokens, mel = np.asarray(batch.tokens), np.asarray(batch.mel)
                self.assertEqual((tokens.dtype, mel.dtype), (np.int32, np.float32))
                self.assertEqual(mel.shape, (n, mel.shape[1], 20))
                self.assertEqual(np.asarray(batch.pitch).shape, mel.shape[:2])
                for name in ("token_length", "mel_length", "speaker", "utterance", "reference", "language"):
                    self.assertEqual(np.asarray(batch[name]).shape, (n,))
                self.assertEqual([f"clip{u:02d}" for u in np.asarray(batch.utterance)], batch.ids)
                for row, (t, m) in enumerate(zip(np.asarray(batch.token_length), np.asarray(batch.mel_length))):
                    self.assertTrue((tokens[row, :t] > 0).all() and (tokens[row, t:] == 0).all())
                    self.assertTrue((mel[row, m:] == 0).all())
                self.assertIs(batch.mel, batch["mel"])
                self.assertEqual(set(dict(**batch)), set(batch.keys()))
                with self.assertRaisesRegex(AttributeError, "mel_length"):
                    batch.wav
                with self.assertRaises(KeyError):
                    batch["epoch"]

    def test_a_loop_goes_on_after_a_break(self):
        with self.loader() as loader:
            everything = [digest(b) for _ in range(2) for b in loader]
        with self.loader() as loader:
            got = []
            for batch in loader:
                got.append(digest(batch))
                if batch.index == 2:
                    break
            got += [digest(b) for b in loader]
            self.assertEqual(len(got), BATCHES)
            got += [digest(b) for b in loader]
            self.assertEqual(got, everything)

    def test_epochs_end(self):
        with self.loader(epochs=2) as loader:
            self.assertEqual([sum(1 for _ in loader) for _ in range(4)], [BATCHES, BATCHES, 0, 0])

    def test_resume_is_exact_after_twenty_stops(self):
        with self.loader() as loader:
            everything = [digest(b) for _ in range(4) for b in loader]
        chance = random.Random(5)
        for round_ in range(20):
            stop = chance.randrange(3 * BATCHES)
            loader = self.loader()
            batches = (b for _ in range(4) for b in loader)
            for _ in range(stop):
                next(batches)
            state = pickle.loads(pickle.dumps(loader.state_dict()))
            if round_ % 2:
                loader.close()
                loader = self.loader(num_workers=1)
            loader.load_state_dict(state)
            self.assertEqual(loader.state_dict(), state)
            got = [digest(b) for b in loader]
            self.assertEqual(got, everything[stop:stop + len(got)])
            self.assertEqual(len(got), BATCHES - stop % BATCHES)
            loader.close()

    def test_state_of_others_is_refused(self):
        with self.loader() as loader, self.loader(batch_size=4) as other:
            with self.assertRaises(myxtts.Error) as caught:
                other.load_state_dict(loader.state_dict())
            self.assertEqual(caught.exception.code, "config")
            self.assertIn("batch_size", caught.exception.hint)
            for wrong in ({}, None, {"epoch": "x"}, {**loader.state_dict(), "index": 99}):
                with self.assertRaises(myxtts.Error):
                    loader.load_state_dict(wrong)
            self.assertEqual(next(iter(loader)).index, 0)

    def test_held_batches(self):
        with self.loader(pipeline_buffer_size=5) as loader:
            batches = iter(loader)
            held = [next(batches) for _ in range(5)]
            before = [digest(b) for b in held]
            with self.assertRaises(myxtts.Error) as caught:
                next(batches)
            self.assertEqual(caught.exception.code, "busy")
            self.assertIn("pipeline_buffer_size", caught.exception.hint)
            self.assertEqual([digest(b) for b in held], before)
            held[2].release()
            self.assertEqual(next(batches).index, 5)
            with self.assertRaisesRegex(myxtts.Error, "released"):
                held[2].mel
            with held[0] as one:
                one.mel
            with self.assertRaisesRegex(myxtts.Error, "released"):
                held[0].mel

    def test_an_array_outlives_batch_and_loader(self):
        loader = self.loader(pipeline_buffer_size=3)
        batches = iter(loader)
        mel = next(batches).mel  # of a batch that nobody has any longer
        before = np.array(mel)
        for _ in range(12):
            try:
                next(batches)
            except StopIteration:
                batches = iter(loader)
            self.assertTrue((np.asarray(mel) == before).all())
        loader.close()
        del loader, batches
        gc.collect()
        self.assertTrue((np.asarray(mel) == before).all())

    def test_several_threads_share_a_loader(self):
        with self.loader(pipeline_buffer_size=32) as loader:
            epoch, seen, lock = iter(loader), [], threading.Lock()

            def work():
                for batch in epoch:
                    with lock:
                        seen.extend(batch.ids)
                    if len(seen) >= corpus.CLIPS:
                        return

            workers = [threading.Thread(target=work) for _ in range(3)]
            for w in workers:
                w.start()
            for w in workers:
                w.join()
            self.assertEqual(len(set(seen)), corpus.CLIPS)

    def test_waiting_leaves_the_gil_to_others(self):
        with self.loader(sim="read_ms=100000") as loader:
            counted, end = [0], threading.Event()

            def count():
                while not end.is_set():
                    counted[0] += 1

            thread = threading.Thread(target=count)
            thread.start()
            out = ctypes.c_void_p()
            before = counted[0]
            rc = library().myxtts_loader_poll(loader._handle, ctypes.byref(out), 0, 0.5, ctypes.byref(CError()))
            after = counted[0]
            end.set()
            thread.join()
            self.assertEqual(rc, 2)
            self.assertGreater(after, before + 1000)

    def test_ctrl_c_ends_a_wait(self):
        code = ("import sys, myxtts, corpus\n"
                f"loader = myxtts.Loader({self.data!r}, cache_dir={self.cache!r}, sim='read_ms=1000000', **corpus.SETTINGS)\n"
                "print('waiting', flush=True)\n"
                "try:\n"
                "    next(iter(loader))\n"
                "except KeyboardInterrupt:\n"
                "    print('interrupted', flush=True)\n"
                "    loader.close()\n")
        self.loader().close()  # caches are there
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "waiting\n")
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)
        self.assertEqual((out, child.returncode), ("interrupted\n", 0))

    def test_ctrl_c_loses_no_batch(self):
        """It is seen when the library returns, also with a batch that has just come."""
        interrupted = [0]

        class Interrupting:
            def __getattr__(self, name):
                return getattr(library(), name)

            def myxtts_loader_poll(self, *arguments):
                rc = library().myxtts_loader_poll(*arguments)
                if rc == 1 and interrupted[0] < BATCHES:
                    interrupted[0] += 1
                    raise KeyboardInterrupt
                return rc

        with self.loader() as whole:
            expected = [digest(b) for b in whole] + [digest(b) for b in whole]
        seen, states = [], []
        with self.loader() as loader, self.loader() as resumed:
            loader._lib = Interrupting()
            while len(seen) < 2 * BATCHES:
                try:
                    for batch in loader:
                        seen.append(digest(batch))
                        del batch
                except KeyboardInterrupt:
                    states.append((len(seen), loader.state_dict()))
            self.assertEqual(seen, expected)
            self.assertEqual(len(states), BATCHES)
            for at, state in states:
                resumed.load_state_dict(state)
                self.assertEqual(digest(next(iter(resumed))), expected[at])

    def test_ctrl_c_is_seen_while_batches_are_dropped(self):
        """Python drops what is raised in a __del__."""
        self.loader().close()
        child = subprocess.Popen([sys.executable, "-c", f"""
import signal, myxtts, corpus
loader = myxtts.Loader({self.data!r}, cache_dir={self.cache!r}, framework="numpy", **corpus.SETTINGS)
seen = 0
signal.signal(signal.SIGALRM, signal.default_int_handler)
for i in range(300):
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-5 + i * 1e-6)
        while True:
            for batch in loader:
                del batch
    except KeyboardInterrupt:
        seen += 1
print(seen)
"""], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, err = child.communicate(timeout=60)
        finally:
            child.kill()
        self.assertEqual((out, err), ("300\n", ""))

    def test_closing_while_another_waits(self):
        self.loader().close()
        for in_handler in (False, True):
            loader, said = self.loader(sim="read_ms=1000000"), []

            def wait():
                try:
                    next(iter(loader))
                except myxtts.Error as e:
                    said.append(e.message)

            if in_handler:
                old = signal.signal(signal.SIGALRM, lambda *_: loader.close())
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                wait()
                signal.signal(signal.SIGALRM, old)
            else:
                thread = threading.Thread(target=wait)
                thread.start()
                time.sleep(0.2)
                loader.close()
                thread.join()
            self.assertEqual(len(said), 1)
            loader.close()

    def test_a_batch_can_be_copied(self):
        with self.loader() as loader:
            batch = next(iter(loader))
            other = copy.copy(batch)
            batch.release()
            self.assertEqual(other.mel.shape[0], 8)

    def test_ctrl_c_ends_the_preparation(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        before, old = threads(), signal.signal(signal.SIGALRM, interrupt)
        cache = os.path.join(self.folder.name, "another")
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with self.assertRaises(KeyboardInterrupt):
                self.loader(cache_dir=cache, n_mels=80, num_workers=1)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)
        self.assertTrue(settled(before))
        with self.loader(cache_dir=cache, n_mels=80) as loader:
            self.assertEqual(loader.utterances, corpus.CLIPS)

    def test_errors_are_sentences(self):
        for more, code, message in (({"batchsize": 3}, "config", "batch_size"), ({"batch_size": 0}, "config", "1"),
                                    ({"split": "test"}, "usage", "validation"), ({"device": "tpu"}, "device", "tpu"),
                                    ({"framework": "tf"}, "usage", "tf"), ({"cache_dir": "/proc/1/x", "prepare": False}, "missing", "prepare")):
            with self.assertRaises(myxtts.Error) as caught:
                self.loader(**more)
            self.assertEqual(caught.exception.code, code, caught.exception)
            self.assertIn(message, str(caught.exception))
        with self.assertRaises(myxtts.Error) as caught:
            myxtts.Loader(os.path.join(self.folder.name, "nowhere"))
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((again.message, again.hint, again.code),
                         (caught.exception.message, caught.exception.hint, caught.exception.code))
        loader = self.loader()
        loader.close()
        loader.close()
        with self.assertRaisesRegex(myxtts.Error, "closed"):
            next(iter(loader))
        with self.assertRaises(TypeError):
            pickle.dumps(self.loader())

    def test_report(self):
        with self.loader(sim="read_ms=8", num_workers=1) as loader:
            with self.assertRaises(myxtts.Error) as caught:
                loader.report()
            self.assertEqual(caught.exception.code, "data")
            for _ in range(6):
                for _ in loader:
                    pass
            report = loader.report()
            self.assertEqual(report["bottleneck"], "read")
            self.assertIn("disk", report.sentence)
            self.assertEqual(str(report), report.sentence)
            self.assertGreater(report["wait_share"], 0.5)

    def test_lines_go_to_logging(self):
        with self.assertLogs("myxtts", "INFO") as logs:
            self.loader().close()
        self.assertTrue(any("60 clips" in line for line in logs.output), logs.output)

    def test_a_forked_child_keeps_off(self):
        loader = self.loader()
        batch = next(iter(loader))
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                next(iter(loader))
            except myxtts.Error:
                del batch
                loader.close()
                code = 0
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertEqual(next(iter(loader)).index, 1)
        loader.close()

    def test_nothing_is_left(self):
        self.loader().close()
        before, shared = threads(), set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
        for i in range(6):
            loader = self.loader()
            batch = next(iter(loader))
            if i % 2:
                loader.close()
            del loader, batch
        gc.collect()
        self.assertTrue(settled(before))
        children = [p for p in os.listdir("/proc") if p.isdigit() and parent_of(p) == os.getpid()]
        self.assertEqual(children, [])
        if os.path.isdir("/dev/shm"):
            self.assertEqual({n for n in os.listdir("/dev/shm") if "myxtts" in n} - shared, set())

    def test_a_program_may_just_end(self):
        code = ("import myxtts, corpus\n"
                f"loader = myxtts.Loader({self.data!r}, cache_dir={self.cache!r}, **corpus.SETTINGS)\n"
                "batches = iter(loader)\n"
                "kept = [next(batches), next(batches).mel]\n")
        done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_vocoder_batches(self):
        with self.loader(network="vocoder", vocoder_segment_frames=16, cache_dir=os.path.join(self.folder.name, "segments")) as loader:
            batch = next(iter(loader))
            self.assertEqual(batch.keys(), ["mel", "samples", "speaker", "utterance"])
            self.assertEqual(np.asarray(batch.mel).shape, (8, 16, 20))
            self.assertEqual(np.asarray(batch.samples).shape, (8, 15 * 256))

    def test_ranks_share_a_batch(self):
        seen = []
        for rank in range(2):
            with self.loader(rank=rank, ranks=2) as loader:
                seen += [i for b in loader for i in b.ids]
        self.assertEqual(sorted(seen), [f"clip{i:02d}" for i in range(corpus.CLIPS)])


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            text = f.read()
        state, parent = text[text.rindex(")") + 2:].split()[:2]
        return int(parent) if state != "Z" else 0
    except OSError:
        return 0


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class TorchTest(Test):
    framework = None

    def test_tensors_are_not_copies(self):
        import torch
        with self.loader() as loader, self.loader(framework="numpy") as plain:
            for batch, same in zip(loader, plain):
                for name in batch.keys():
                    tensor = batch[name]
                    self.assertIsInstance(tensor, torch.Tensor)
                    self.assertTrue((tensor.numpy() == same[name]).all())
                batch.mel[0, 0, 0] = 77  # it is the batch's memory, and ours to write to
                self.assertEqual(batch._array(batch._loader._names["mel"])[0, 0, 0], 77)

    def test_a_tensor_keeps_the_batch(self):
        with self.loader(pipeline_buffer_size=3) as loader:
            batches = iter(loader)
            part = next(batches).mel[0].T  # a view of a tensor of a batch that is gone
            before = part.clone()
            for _ in range(6):
                next(batches)
                self.assertTrue((part == before).all())
            del part, before
        gc.collect()

    def test_backward_holds_what_it_needs(self):
        import torch
        with self.loader(pipeline_buffer_size=3) as loader:
            weight = torch.ones(20, requires_grad=True)
            batches = iter(loader)
            loss = (next(batches).mel * weight).sum()
            with self.loader() as fresh:
                expected = next(iter(fresh)).mel.sum((0, 1)).clone()
            for _ in range(5):
                next(batches)
            loss.backward()
            self.assertTrue(torch.allclose(weight.grad, expected, atol=1e-4))

    def test_resume_with_tensors(self):
        with self.loader() as loader:
            everything = [digest(b) for b in loader]
        with self.loader() as loader:
            for batch in loader:
                if batch.index == 3:
                    state = loader.state_dict()
                    break
            loader.load_state_dict(state)
            self.assertEqual([digest(b) for b in loader], everything[4:])


if __name__ == "__main__":
    lines.main()

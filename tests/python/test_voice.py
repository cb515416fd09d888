"""myxtts.Voice on a small voice of the tests. Run by tests/python/test_python.sh."""
import copy
import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import wave

import numpy as np

import lines
import myxtts

CHECKPOINT = os.path.join("tests", "golden", "checkpoint.safetensors")
PROGRAM = os.path.join(os.environ.get("MYXTTS_OUT", "build"), "myxtts")
TEXT = "Two sentences are here. The second one is a little longer than the first!"
LONG = " ".join(f"Sentence number {i} of a long text." for i in range(60))


def open_voice(**more):
    return myxtts.Voice(CHECKPOINT, **{"device": "cpu", "rounds": 4, "threads": 2, **more})


class VoiceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.voice = open_voice()

    @classmethod
    def tearDownClass(cls):
        cls.voice.close()
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def synth(self, text, *more):
        out = self.path("synth.wav")
        subprocess.run([PROGRAM, "synth", "--checkpoint", CHECKPOINT, "--model-gpu", "cpu", "--iterations", "4", "--text", text,
                        "--output", out, "--quiet", *more], check=True, stdout=subprocess.DEVNULL)
        with open(out, "rb") as f:
            return f.read()

    def saved(self, audio):
        self.voice.save(self.path("ours.wav"), audio)
        with open(self.path("ours.wav"), "rb") as f:
            return f.read()

    def test_what_is_open_is_closed_when_python_ends(self):
        code = f"""
import atexit
atexit.register(lambda: print("end"))  # called after what was registered later: before anything is dropped
import myxtts
class Told(myxtts.Voice):
    def close(self):
        super().close()
        print("closed", self.closed)
kept = Told({CHECKPOINT!r}, device="cpu", rounds=4)
"""
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(run.stdout.splitlines()[:2], ["closed True", "end"])

    def test_what_it_is(self):
        self.assertEqual(self.voice.sample_rate, 8000)
        self.assertEqual(self.voice.speakers, ["anna"])
        self.assertIn("8000 Hz, 1 speaker>", repr(self.voice))

    def test_says_what_synth_says(self):
        audio = self.voice.say(TEXT)
        self.assertEqual((audio.dtype, audio.ndim), (np.float32, 1))
        self.assertTrue(0.001 < np.abs(audio).max() <= 1)
        self.assertEqual(self.saved(audio), self.synth(TEXT))
        self.assertEqual(self.saved(self.voice.say(TEXT, speaker="anna", speed=1.5, pitch=-2)),
                         self.synth(TEXT, "--speaker", "anna", "--speed", "1.5", "--pitch", "-2"))

    def test_languages(self):
        self.assertEqual(self.voice.languages, ["en"])
        both = self.path("both.safetensors")
        with open(CHECKPOINT, "rb") as f:
            size = int.from_bytes(f.read(8), "little")
            header, data = json.loads(f.read(size)), f.read()
        del header["__metadata__"]["xxh128"], header["__metadata__"]["written_by"]
        header["__metadata__"]["languages"] = json.dumps({"codes": ["de", "en"], "scripts": ["Latn"]})
        text = json.dumps(header).encode()
        text += b" " * (-(8 + len(text)) % 64)
        with open(both, "wb") as f:
            f.write(len(text).to_bytes(8, "little") + text + data)
        with myxtts.Voice(both, device="cpu", rounds=4) as voice:
            self.assertEqual(voice.languages, ["de", "en"])
            self.assertGreater(voice.say("Morgen.", language="de", speaker="anna").size, 0)
            for text, language in (("Hello.", "fr"), ("Доброе утро.", None)):
                with self.assertRaises(myxtts.Error) as told:
                    voice.say(text, language=language)
                self.assertEqual(told.exception.code, "language")
                self.assertIn("it speaks de, en", told.exception.message)
            self.assertGreater(voice.say("Hello.", language="fr", force_language=True).size, 0)
            with self.assertRaises(TypeError):
                voice.say("Hello.", language=7)

    def test_what_is_left_out(self):
        left_out = []
        self.voice.say("öld \ue000 hill.", left_out=left_out)
        self.assertEqual(left_out, [(4, "\ue000", "U+E000 is a private character")])
        with self.voice.stream("öld \ue000 hill.") as pieces:
            next(pieces)
            self.assertEqual(pieces.left_out, left_out)
        with self.assertRaisesRegex(myxtts.Error, "there is no lexicon"):
            open_voice(lexicon=self.path("nothing.tsv"))

    def test_ssml(self):
        marks = []
        text = "<speak>old <mark name='a'/><break time='1s'/><mark name='b'/>hill.</speak>"
        sound = self.voice.say(text, marks=marks)
        self.assertGreater(sound.size, self.voice.sample_rate)
        self.assertEqual([m.name for m in marks], ["a", "b"])
        self.assertAlmostEqual(marks[1].seconds - marks[0].seconds, 1, 1)
        with self.assertRaisesRegex(myxtts.Error, "line 1, column 1"):
            self.voice.say("old hill", text_format="ssml")

    def test_reference(self):
        reference = self.path("reference.wav")
        t = np.arange(12000) / 8000
        self.voice.save(reference, 0.4 * np.sin(2 * np.pi * (180 + 60 * t) * t) + 0.2 * np.sin(2 * np.pi * 700 * t))
        self.assertEqual(self.saved(self.voice.say(TEXT, reference=reference)), self.synth(TEXT, "--reference", reference))

    def test_streams(self):
        whole = self.voice.say(LONG)
        with self.voice.stream(LONG) as pieces:
            pieces = list(pieces)
        self.assertGreater(len(pieces), 2)
        np.testing.assert_array_equal(np.concatenate(pieces), whole)

    def test_pieces_are_their_own(self):
        stream = self.voice.stream(LONG)
        first = next(stream)
        kept = first.copy()
        next(stream)
        stream.close()
        gc.collect()
        np.testing.assert_array_equal(first, kept)
        with self.assertRaises(StopIteration):
            next(stream)

    def test_threads_speak_together(self):
        texts = [f"This is text number {i}. It has two sentences." for i in range(6)]
        alone = [self.voice.say(t) for t in texts]
        heard, errors = [None] * len(texts), []

        def speak(i):
            try:
                heard[i] = self.voice.say(texts[i])
            except Exception as e:  # noqa: BLE001
                errors.append(e)

        threads = [threading.Thread(target=speak, args=(i,)) for i in range(len(texts))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(errors, [])
        for a, b in zip(alone, heard):
            np.testing.assert_array_equal(a, b)

    def test_others_run_meanwhile(self):
        counted, done = [0], threading.Event()

        def count():
            while not done.is_set():
                counted[0] += 1
                time.sleep(0)

        thread = threading.Thread(target=count)
        thread.start()
        before = counted[0]
        self.voice.say(LONG)
        after = counted[0]
        done.set()
        thread.join()
        self.assertGreater(after - before, 10)

    def test_leaving_in_the_middle(self):
        for i in range(12):
            stream = self.voice.stream(LONG)
            for _ in range(i % 3):
                next(stream)
            if i % 2:
                stream.close()
            del stream
        gc.collect()
        self.assertEqual(self.voice._speaking, set())

    def test_errors(self):
        cases = [
            ("missing", "'nobody'", lambda: self.voice.say("Yes.", speaker="nobody")),
            ("data", "nothing to speak", lambda: self.voice.say("  ")),
            ("usage", "speed", lambda: self.voice.say("Yes.", speed=9)),
            ("missing", "none.wav", lambda: self.voice.say("Yes.", reference=self.path("none.wav"))),
            ("missing", "no_voice", lambda: myxtts.Voice(self.path("no_voice"), device="cpu")),
            ("config", "batch_size", lambda: open_voice(bach_size=3)),
            ("config", "toaster", lambda: open_voice(device="toaster")),
            ("usage", ".flac", lambda: self.voice.save(self.path("a.doc"), np.zeros(3))),
            ("usage", "dimension", lambda: self.voice.save(self.path("a.wav"), np.zeros((3, 2)))),
        ]
        for code, word, call in cases:
            with self.assertRaises(myxtts.Error) as raised:
                call()
            self.assertEqual(raised.exception.code, code)
            self.assertIn(word, str(raised.exception))
        self.assertGreater(self.voice.say("Yes.").size, 0)

    def test_what_is_no_text_is_told(self):
        for wrong in ({"text": None}, {"text": b"Yes."}, {"text": "Yes.", "speaker": 1}):
            with self.assertRaisesRegex(TypeError, "must be a str"):
                self.voice.say(**wrong)

    def test_save(self):
        audio = np.linspace(-1, 1, 800)  # float64
        self.voice.save(self.path("saved.wav"), audio)
        with wave.open(self.path("saved.wav")) as f:
            self.assertEqual((f.getframerate(), f.getnchannels(), f.getnframes()), (8000, 1, 800))
        self.voice.save(self.path("saved.flac"), audio[::2])
        self.assertGreater(os.path.getsize(self.path("saved.flac")), 0)

    def test_closing(self):
        before = len(os.listdir("/proc/self/task"))
        voice = open_voice(vocoder="griffin_lim")
        self.assertGreater(len(os.listdir("/proc/self/task")), before)
        stream = voice.stream(LONG)
        next(stream)
        lost = voice.stream(LONG)
        del lost
        voice.close()
        voice.close()
        self.assertTrue(voice.closed)
        for call in (lambda: next(stream), lambda: voice.say("Yes."), lambda: voice.stream("Yes.")):
            with self.assertRaises(myxtts.Error) as raised:
                call()
            self.assertIn("closed", str(raised.exception))
        for _ in range(500):
            if len(os.listdir("/proc/self/task")) <= before:
                break
            time.sleep(0.01)
        self.assertLessEqual(len(os.listdir("/proc/self/task")), before)
        with open_voice() as other:
            other.say("Yes.")
        self.assertTrue(other.closed)

    def test_closing_while_others_speak(self):
        voice, began, ended = open_voice(), threading.Event(), []

        def speak():
            try:
                for _ in voice.stream(LONG * 20):
                    began.set()
            except myxtts.Error as e:
                ended.append(str(e))

        thread = threading.Thread(target=speak)
        thread.start()
        began.wait()
        voice.close()
        thread.join()
        self.assertEqual(len(ended), 1)
        self.assertIn("closed", ended[0])

    def test_closing_in_a_signal_handler(self):
        voice = open_voice()
        old = signal.signal(signal.SIGALRM, lambda *_: voice.close())
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            with self.assertRaisesRegex(myxtts.Error, "closed"):
                voice.say(LONG * 1000)
        finally:
            signal.signal(signal.SIGALRM, old)
        self.assertTrue(voice.closed)
        voice.close()

    def test_an_end_stays_the_end(self):
        voice = open_voice()
        stream = voice.stream("Yes.")
        self.assertGreater(sum(piece.size for piece in stream), 0)
        voice.close()
        self.assertEqual(list(stream), [])

    def test_it_stays_in_its_process(self):
        for copier in (pickle.dumps, copy.copy):
            with self.assertRaises(TypeError):
                copier(self.voice)
        child = os.fork()
        if child == 0:
            try:
                self.voice.say("Yes.")
            except myxtts.Error as e:
                os._exit(0 if "another process" in str(e) else 2)
            os._exit(3)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def run_python(self, code):
        return subprocess.Popen([sys.executable, "-c", "import myxtts, signal\n" + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    def test_ctrl_c(self):
        process = self.run_python(f"""
voice = myxtts.Voice({CHECKPOINT!r}, device="cpu", rounds=4)
try:
    print("begins", flush=True)
    voice.say("This goes on and on. " * 100000)
except KeyboardInterrupt:
    print("stopped", voice.say("Yes.").size > 0, flush=True)
    raise
""")
        self.assertEqual(process.stdout.readline(), "begins\n")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        self.assertEqual(out, "stopped True\n", err)
        self.assertIn(process.returncode, (1, -signal.SIGINT))

    def test_python_ends_in_the_middle(self):
        process = self.run_python(f"""
voice = myxtts.Voice({CHECKPOINT!r}, device="cpu", rounds=4)
stream = voice.stream("This goes on and on. " * 1000)
next(stream)
print("ends", flush=True)
""")
        out, err = process.communicate()
        self.assertEqual((out, err, process.returncode), ("ends\n", "", 0))


if __name__ == "__main__":
    lines.main()

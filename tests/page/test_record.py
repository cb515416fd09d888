#!/usr/bin/env python3
"""The page that records, in a real browser whose microphone hears a recording again and again.

test_record.py PROGRAM FOLDER: prints `ok NAME` or `not ok NAME` lines; FOLDER is for what is written.
test_record.py PROGRAM FOLDER OUT: makes the picture OUT/record.png and nothing else.
"""
import array
import json
import os
import random
import subprocess
import sys
import wave

import browser
import pictures
import test_page
from test_page import Page, poor_contrasts, same, verdict

CLIP = "tests/data/ljspeech/wavs/LJ001-0008.wav"
SENTENCES = ["The kitchen window was open all night.", "هوای امروز سردتر از دیروز است.", "Keep it in a cool and dry place.", "We ate our lunch under a tree."]
# When the microphone last heard something: taken down in the page, since this program may look too late.
WATCH = """window.loud = 0; window.words = new Set(); setInterval(() => {
    if (Number(document.getElementById('meter').getAttribute('aria-valuenow')) > -45) loud = performance.now();
    words.add(document.getElementById('live').textContent);
}, 20)"""
SILENT_FOR = "(performance.now() - loud > %d && performance.now() - loud < %d)"


class Server:
    def __init__(self, program, record, log, *more):
        self.command = [program, "serve", "--record", record, "--model-gpu", "cpu", *more]
        self.log = log
        self.port = 0
        self.start()

    def start(self):
        self.process = subprocess.Popen([*self.command, "--json", "--listen", f"127.0.0.1:{self.port}"], stdout=subprocess.PIPE, stderr=open(self.log, "ab"))
        self.port = json.loads(self.process.stdout.readline())["port"]
        self.base = f"http://127.0.0.1:{self.port}"

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)


def make_sound(path, gain, silence=2.2):
    """The clip, and then a quiet room."""
    with wave.open(CLIP) as w:
        rate, samples = w.getframerate(), array.array("h", w.readframes(w.getnframes()))
    random.seed(1)
    room = [round(random.gauss(0, 12)) for _ in range(int(silence * rate))]
    loud = [max(-32768, min(32767, round(s * gain))) for s in samples]
    with wave.open(path, "wb") as w:
        w.setparams((1, 2, rate, 0, "NONE", ""))
        w.writeframes(array.array("h", loud + room).tobytes())


def bytes_of(*path):
    try:
        with open(os.path.join(*path), "rb") as f:
            return f.read()
    except OSError:
        return None


def space(b):
    b.key(" ", code="Space", number=32, text=" ")


def is_recording(b):
    return b.until("document.getElementById('record').classList.contains('on')", 20)


def take(b, ends=space, begins=SILENT_FOR % (300, 900)):
    """Records what the microphone hears from one silence to the next."""
    b.until("document.getElementById('record').getAttribute('aria-pressed') === 'false'", 10)
    well = b.until(begins, 20)
    space(b)
    well = is_recording(b) and well
    since = b.value("performance.now()")
    well = b.until(f"loud > {since} && {SILENT_FOR % (400, 1500)}", 20) and well
    ends(b)
    b.until("document.getElementById('light').className === 'light idle'", 20)
    return well


def first_takes(p, folder):
    b = p.b
    b.open(p.base + "/")
    verdict("the_first_page_is_the_one_that_records", b.until("location.pathname === '/record' && document.getElementById('sentence').textContent.length > 0", 20), p.get("error"))
    same("the_first_sentence_is_shown", p.get("sentence"), SENTENCES[0])
    same("controls_have_names", p.names(), [])
    b.value(WATCH)
    space(b)
    is_recording(b)
    space(b)
    verdict("a_take_that_is_too_short_is_refused", p.status_has("nothing was saved", 10, "error"), p.get("error"))
    same("and_not_written", bytes_of(folder, "0001.wav"), None)
    verdict("it_hears_from_silence_to_silence", take(b))
    verdict("a_good_take_is_called_so", p.status_has("^A good take", 10, "findings"), p.get("findings") + p.get("error"))
    same("its_text_is_beside_it", bytes_of(folder, "0001.txt").decode(), SENTENCES[0] + "\n")
    with wave.open(os.path.join(folder, "0001.wav")) as w:
        seconds = w.getnframes() / w.getframerate()
        rate = b.value("new AudioContext().sampleRate")
        same("it_is_mono_16_bit_at_the_microphones_rate", (w.getnchannels(), w.getsampwidth(), w.getframerate()), (1, 2, rate))
        peak = max(abs(s) for s in array.array("h", w.readframes(w.getnframes())))
    verdict("it_has_the_voice", 1.9 < seconds < 8 and peak > 3000, (seconds, peak))
    verdict("a_level_was_told", b.value("words.has('Good level') && words.has('Silence: read the sentence now')"), b.value("[...words].join()"))
    same("it_counts", p.get("place"), "Sentence 1 of 4, 1 recorded")
    b.key("p", code="KeyP", number=80, text="p")
    verdict("it_is_played_back", b.until("document.getElementById('audio').currentTime > 0.2", 20))
    first = bytes_of(folder, "0001.wav")
    take(b)
    b.until("!document.getElementById('taken').hidden", 10)
    verdict("it_can_be_taken_again", bytes_of(folder, "0001.wav") != first and p.get("place").endswith("1 recorded"), p.get("place"))
    same("the_text_stays", bytes_of(folder, "0001.txt").decode(), SENTENCES[0] + "\n")


def go_on(p, folder):
    """By keys; after a reload; after the server was started again."""
    b = p.b
    b.enter()
    same("enter_goes_to_the_next", p.get("sentence"), SENTENCES[1])
    same("persian_is_written_from_right_to_left", b.value("getComputedStyle(document.getElementById('sentence')).direction"), "rtl")
    b.key("ArrowLeft", number=37)
    same("an_arrow_goes_back", p.get("sentence"), SENTENCES[0])
    verdict("its_take_is_there", b.until("document.getElementById('audio').src.startsWith('blob:')", 10) and not p.get("taken", "hidden"))
    b.key("ArrowRight", number=39)
    take(b, lambda b: b.enter())
    verdict("enter_ends_a_take_and_goes_on", b.until(f"document.getElementById('sentence').textContent === {json.dumps(SENTENCES[2])}", 10), p.get("sentence") + p.get("error"))
    verdict("it_was_saved", bytes_of(folder, "0002.wav") is not None)
    b.open(p.base + "/record")
    b.until("document.getElementById('sentence').textContent.length > 0", 20)
    same("after_a_reload_it_goes_on", p.get("sentence"), SENTENCES[2])


def troubles(p, folder, server):
    b = p.b
    b.value(WATCH)
    space(b)  # opens the microphone
    is_recording(b)
    space(b)
    b.until("document.getElementById('light').className === 'light idle'", 20)
    take(b, begins="performance.now() - loud < 60")
    verdict("a_beginning_that_is_cut_off_is_told", p.status_has("Cut off at the beginning", 10, "findings"), p.get("findings") + p.get("error"))
    b.enter()
    same("the_last_one", p.get("sentence"), SENTENCES[3])
    code = server.stop()
    take(b)
    verdict("without_a_server_the_take_is_kept_in_the_page", code == 0 and b.until("!document.getElementById('unsaved').hidden", 20), p.get("error"))
    verdict("and_it_is_told", "does not respond" in p.get("error"), p.get("error"))
    server.start()
    p.focus("save")
    b.enter()
    verdict("it_is_saved_when_the_server_is_back", b.until("document.getElementById('unsaved').hidden", 20) and bytes_of(folder, "0004.wav") is not None, p.get("error"))
    verdict("all_are_read", p.get("place").endswith("4 recorded") and not p.get("command-row", "hidden"), p.get("place"))
    same("the_next_command_is_shown", p.get("command"), f"myxtts train {folder} --minutes 10")
    p.focus("remove")
    b.enter()
    verdict("a_take_can_be_removed", b.until("document.getElementById('taken').hidden", 10) and bytes_of(folder, "0004.wav") is None and bytes_of(folder, "0004.txt") is None)


def enough(p, folder, server):
    """Five minutes that somebody recorded elsewhere count too."""
    server.stop()
    with wave.open(os.path.join(folder, "other.wav"), "wb") as w:
        w.setparams((1, 2, 8000, 0, "NONE", ""))
        w.writeframes(bytes(2 * 8000 * 300))
    with open(os.path.join(folder, "other.txt"), "w") as f:
        f.write("Five minutes.\n")
    server.start()
    p.b.open(p.base + "/record")
    verdict("five_minutes_are_enough", p.status_has("^5[.][0-9] minutes are enough", 20, "then") and not p.get("command-row", "hidden"), p.get("then"))
    verdict("the_log_says_so_too", f"minutes are enough to start: myxtts train {folder}" in bytes_of(server.log).decode(), bytes_of(server.log))


def looks(p):
    b = p.b
    for theme in ("light", "dark"):
        b.value(f"(() => {{ const t = document.getElementById('theme'); t.value = '{theme}'; t.dispatchEvent(new Event('change')) }})()")
        same(f"{theme}_can_be_read", poor_contrasts(b), [])
    for language in ("fartl", "enltr"):
        p.focus("language")
        b.enter()
        same(f"it_is_{language}", b.value("document.documentElement.lang + document.documentElement.dir"), language)
        if language == "fartl":
            same("everything_is_persian", b.value("""[...document.querySelectorAll('[data-say]')].filter((e) => e.id !== 'language'
                && !/[\\u0600-\\u06ff]/.test(e.textContent)).map((e) => e.textContent)"""), [])
            same("names_are_persian", p.names(), [])
        for width in (360, 768):
            b.set_size(width, 800)
            b.pump(0.2)
            verdict(f"it_fits_{width}_pixels_{language}", p.fits())
        b.set_size(1100, 900)


def far_away(p):
    """Where the browser gives no microphone, the page says what to do."""
    b = p.b
    script = b.call("Page.addScriptToEvaluateOnNewDocument", source="Object.defineProperty(window, 'isSecureContext', { value: false })")["identifier"]
    b.open(p.base + "/record")
    verdict("without_a_microphone_it_says_what_to_do", p.status_has("ssh -L", 20, "error"), p.get("error"))
    b.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def too_loud(program, folder):
    sound, record = os.path.join(folder, "loud.wav"), os.path.join(folder, "loud")
    make_sound(sound, 30)
    server = Server(program, record, os.path.join(folder, "loud.log"))
    b = browser.Browser(os.path.join(folder, "second"), sound=sound)
    try:
        p = Page(b, server.base)
        b.open(p.base + "/record")
        b.until("document.getElementById('sentence').textContent.length > 0", 20)
        b.value(WATCH)
        space(b)
        is_recording(b)
        b.until("words.has('Too loud')", 20)
        b.until(SILENT_FOR % (400, 1500), 20)
        space(b)
        verdict("too_loud_is_told", p.status_has("^Too loud", 20, "findings") and b.value("words.has('Too loud')"), p.get("findings") + p.get("error"))
    finally:
        b.close()
        server.stop()


def picture(program, folder, out):
    make_sound(os.path.join(folder, "sound.wav"), 1.0, silence=1.5)
    server = Server(program, os.path.join(folder, "my-voice"), os.path.join(folder, "log"))
    b = browser.Browser(folder, sound=os.path.join(folder, "sound.wav"))
    b.call("Emulation.setScrollbarsHidden", hidden=True)
    try:
        p = Page(b, server.base)
        b.set_size(1000, 900)
        b.open(p.base + "/record")
        b.until("document.getElementById('sentence').textContent.length > 0", 20)
        b.value(WATCH)
        for _ in range(3):
            space(b)
            is_recording(b)
            b.pump(5.5)
            b.enter()
            b.until("document.getElementById('light').className === 'light idle'", 20)
            b.enter()
        space(b)
        is_recording(b)
        b.pump(2)
        b.until("document.getElementById('live').textContent === 'Good level' && performance.now() - loud < 60", 20)
        b.set_size(1000, b.value("document.querySelector('main').getBoundingClientRect().height + 80 | 0"))
        b.picture(os.path.join(out, "record.png"))
        pictures.shrink(os.path.join(out, "record.png"))
    finally:
        b.close()
        server.stop()


def main():
    program, folder = sys.argv[1:3]
    if len(sys.argv) > 3:
        return picture(program, folder, sys.argv[3])
    record, sound, sentences = (os.path.join(folder, n) for n in ("record", "sound.wav", "sentences.txt"))
    make_sound(sound, 1)
    os.mkdir(os.path.join(folder, "second"))
    with open(sentences, "w") as f:
        f.write("\n".join(SENTENCES))
    server = Server(program, record, os.path.join(folder, "record.log"), "--sentences", sentences)
    b = browser.Browser(folder, sound=sound)
    try:
        p = Page(b, server.base)
        first_takes(p, record)
        go_on(p, record)
        troubles(p, record, server)
        enough(p, record, server)
        looks(p)
        far_away(p)
        provoked = ("status of 422", "ERR_CONNECTION_REFUSED")
        same("the_console_is_silent", [c for c in b.console if not any(e in c for e in provoked)], [])
        same("no_other_host_is_asked", [r for r in b.requests if not r.startswith((server.base, "blob:", "data:", "about:"))], [])
    finally:
        b.close()
        same("the_server_ends_well", server.stop(), 0)
    too_loud(program, folder)
    return 1 if test_page.failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The pages in a real browser: used by keyboard, heard, looked at in both languages and in the dark.

test_page.py SPEAKING_SERVER TOKEN_SERVER TOKEN RUNS_FOLDER FOLDER: prints `ok NAME` or `not ok NAME` lines.
RUNS_FOLDER has the trainings `one` and `two`; FOLDER is for what is written.
"""
import base64
import json
import os
import re
import sys
import urllib.request

import browser

TEXT = "Two hills and a dog, seven small birds in a green field, and one old man who walks home."
# A busy machine may look away while the sound is heard: the page itself keeps what it saw.
WATCH = """window.watched = { times: new Set(), marked: new Set(), named: new Set() };
(function look() {
    watched.times.add(document.getElementById('audio').currentTime);
    for (const e of document.querySelectorAll('.now-symbol')) watched.marked.add(e.textContent);
    watched.named.add(document.getElementById('now').textContent);
    requestAnimationFrame(look);
})()"""
failed = False


def verdict(name, well, why=""):
    global failed
    if well:
        print(f"ok {name}", flush=True)
    else:
        failed = True
        print(f"{why}\nnot ok {name}", flush=True)


def same(name, got, expected):
    verdict(name, got == expected, f"{got!r} is not {expected!r}")


def post(base, **request):
    r = urllib.request.Request(f"{base}/v1/audio/speech", json.dumps(request).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(r, timeout=60) as answer:
        return answer.read()


class Page:
    def __init__(self, b, base):
        self.b, self.base = b, base

    def get(self, element, what="textContent"):
        return self.b.value(f"document.getElementById('{element}').{what}")

    def focus(self, element):
        self.b.value(f"document.getElementById('{element}').focus()")

    def put_text(self, text):
        self.focus("text")
        self.b.value("document.getElementById('text').select()")
        self.b.type(text)

    def status_has(self, pattern, seconds=60, element="status"):
        return self.b.until(f"/{pattern}/.test(document.getElementById('{element}').textContent)", seconds)

    def fits(self):
        return self.b.value("document.documentElement.scrollWidth <= innerWidth")

    def names(self):
        """Controls without a name that a screen reader could say."""
        roles = {"button", "textbox", "combobox", "slider", "checkbox", "link", "Audio", "region", "image", "progressbar"}
        nodes = self.b.call("Accessibility.getFullAXTree")["nodes"]
        return [n["role"]["value"] for n in nodes if not n.get("ignored") and n.get("role", {}).get("value") in roles
                and not n.get("name", {}).get("value")]


def speak_page(p):
    b = p.b
    b.open(p.base + "/")
    verdict("voices_are_listed", b.until("document.getElementById('voice').options.length > 0", 20), p.get("error"))
    same("language_is_the_browsers", b.value("document.documentElement.lang + document.documentElement.dir"), "enltr")
    # Everything is reached with the tabulator, in the order in which it is read.
    order = []
    b.value("document.body.focus()")
    for _ in range(20):
        b.tab()
        order.append(b.value("document.activeElement.id || document.activeElement.textContent.trim()"))
        if order[-1] == "speak":
            break
    same("tabulator_goes_through_the_form", order, ["Skip to content", "myxtts", "Speak", "Runs", "language", "theme", "text", "voice", "speaker",
                                                    "speed", "pitch", "choose", "record", "speak"])
    same("controls_have_names", p.names(), [])
    p.put_text(TEXT)
    p.focus("speed")
    b.key("ArrowRight", number=39)
    b.key("ArrowRight", number=39)
    same("speed_is_set_by_keys", p.get("speed-value"), "1.10×")
    b.value(WATCH)
    p.focus("speak")
    b.enter()
    verdict("it_ends", p.status_has("^Done"), p.get("status") + p.get("error"))
    verdict("it_is_heard", b.until("watched.times.size > 5 && Math.max(...watched.times) > 0.3", 30), p.get("error") + p.get("status"))
    verdict("the_sound_of_the_moment_is_marked", b.until("watched.marked.size > 5", 30), b.value("[...watched.marked].join()"))
    verdict("it_is_named", b.value("[...watched.marked].every((s) => watched.named.has(s))"), b.value("[...watched.named].join()"))
    verdict("symbols_are_shown", b.value("document.querySelectorAll('.symbols span').length") > 8)
    verdict("a_mel_is_drawn", b.value("""(() => { const c = document.querySelector('.part canvas');
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const seen = new Set();
        for (let i = 0; i < d.length; i += 4) seen.add(d[i] * 65536 + d[i + 1] * 256 + d[i + 2]); return seen.size })()""") > 20)
    verdict("what_was_said_is_written", TEXT.split()[1] in p.get("said"), p.get("said"))
    verdict("then_it_is_a_file", b.until("document.getElementById('audio').src.startsWith('blob:')", 30))
    b.until("document.getElementById('audio').duration > 0")
    b.value("(() => { const a = document.getElementById('audio'); a.currentTime = 0.1; return a.play() })()")
    verdict("it_is_heard_again", b.until("document.getElementById('audio').currentTime > 0.3", 20))
    downloads(p)


def download(p, kind):
    """What the button brings, as bytes."""
    b = p.b
    before = set(os.listdir(b.folder))
    b.value(f"document.getElementById('format').value = '{kind}'")
    p.focus("download")
    b.enter()
    p.status_has(f"{kind} is ready", 30, "download-status")
    data = b""
    for _ in range(100):
        new = [n for n in set(os.listdir(b.folder)) - before if n.endswith("." + kind)]
        was = data
        if new:
            with open(os.path.join(b.folder, new[0]), "rb") as f:
                data = f.read()
        if data and data == was:  # the browser has written all of it
            break
        b.pump(0.1)
    return data


def downloads(p):
    request = {"model": p.get("voice", "value"), "input": TEXT, "voice": p.get("speaker", "value"), "speed": 1.1, "pitch": 0}
    for kind in ("wav", "flac", "mp3", "opus"):
        data = download(p, kind)
        if kind == "wav":
            pcm = post(p.base, **request, response_format="pcm", sample_rate=0)
            same("wav_has_the_servers_samples", data[44:], pcm)
            same("wav_has_its_sizes", (data[:4], int.from_bytes(data[4:8], "little"), int.from_bytes(data[40:44], "little")), (b"RIFF", len(data) - 8, len(pcm)))
        elif kind == "opus":
            verdict("opus_is_opus", data[:4] == b"OggS" and b"OpusHead" in data[:80], data[:80])
        else:
            same(f"{kind}_is_what_the_server_makes", data, post(p.base, **request, response_format=kind))


def troubles(p):
    """What goes wrong is said in a sentence, and the next text is spoken."""
    b = p.b
    p.put_text(" ")
    p.focus("speak")
    b.enter()
    same("no_text_is_told", p.get("error"), "There is no text to speak yet.")
    p.put_text("word " * 12000)
    p.focus("speak")
    b.enter()
    verdict("the_servers_error_is_shown", b.until("document.getElementById('error').textContent.length > 20", 20) and p.get("status") == "", p.get("error"))
    # A long text can be stopped; what came is there.
    p.put_text("One two three four five six seven. " * 120)
    p.focus("speak")
    b.enter()
    verdict("a_long_text_is_heard_before_it_is_made", b.until("document.getElementById('audio').currentTime > 0.1", 60))
    b.enter()
    verdict("it_can_be_stopped", p.status_has("^Stopped", 20), p.get("status") + p.get("error"))
    p.put_text(TEXT)
    b.key("Enter", number=13, text="\r", modifiers=2)
    verdict("control_and_enter_speak", p.status_has("^Done", 30), p.get("status") + p.get("error"))


def references(p, folder):
    b = p.b
    plain = post(p.base, model=p.get("voice", "value"), input=TEXT, speed=1.1, response_format="pcm", sample_rate=0)
    node = b.call("DOM.querySelector", nodeId=b.call("DOM.getDocument")["root"]["nodeId"], selector="#file")["nodeId"]
    b.call("DOM.setFileInputFiles", nodeId=node, files=[os.path.join(folder, "reference.wav")])
    verdict("a_recording_is_taken", p.status_has("reference.wav", 10, "reference-about"), p.get("reference-about"))
    b.value("document.getElementById('status').textContent = ''")
    p.focus("speak")
    b.enter()
    verdict("it_speaks_with_a_reference", p.status_has("^Done", 30), p.get("error"))
    with open(os.path.join(folder, "reference.wav"), "rb") as f:
        like = post(p.base, model=p.get("voice", "value"), input=TEXT, speed=1.1, response_format="pcm", sample_rate=0, reference=base64.b64encode(f.read()).decode())
    got = download(p, "wav")
    verdict("it_is_another_voice", got[44:] == like and like != plain, f"{len(got)} {len(like)} {len(plain)}")
    with open(os.path.join(folder, "broken.wav"), "wb") as f:
        f.write(b"RIFF this is no recording")
    b.call("DOM.setFileInputFiles", nodeId=node, files=[os.path.join(folder, "broken.wav")])
    p.status_has("broken.wav", 10, "reference-about")
    p.focus("speak")
    b.enter()
    verdict("a_broken_recording_is_told", b.until("document.getElementById('error').textContent.length > 10", 30), p.get("status"))
    p.focus("remove")
    b.enter()
    same("it_can_be_removed", b.value("document.activeElement.id + document.getElementById('remove').hidden"), "choosetrue")
    p.focus("record")
    b.enter()
    b.until("document.getElementById('record').getAttribute('aria-pressed') === 'true'", 10)
    b.pump(1.2)
    b.enter()
    verdict("a_microphone_is_heard", p.status_has("your recording", 10, "reference-about"), p.get("reference-about") + p.get("error"))
    p.focus("remove")
    b.enter()


def looks(p):
    """Languages, colours, small screens; on both pages."""
    b = p.b
    for path in ("/", "/runs"):
        b.open(p.base + path)
        name = "speak" if path == "/" else "runs"
        ready = "document.getElementById('voice').options.length > 0" if path == "/" else "document.querySelectorAll('#runs tbody tr').length > 1 && document.querySelectorAll('.curve').length > 3"
        b.until(ready, 20)
        colours = {}
        for theme in ("light", "dark"):
            b.value(f"(() => {{ const t = document.getElementById('theme'); t.value = '{theme}'; t.dispatchEvent(new Event('change')) }})()")
            colours[theme] = b.value("getComputedStyle(document.body).backgroundColor")
            same(f"{name}_{theme}_can_be_read", poor_contrasts(b), [])
        verdict(f"{name}_has_two_sets_of_colours", colours["light"] != colours["dark"], colours)
        p.focus("language")
        b.enter()
        same(f"{name}_is_persian", b.value("document.documentElement.lang + document.documentElement.dir"), "fartl")
        english = b.value("""[...document.querySelectorAll('[data-say]')].filter((e) => e.id !== 'language' && !/[\\u0600-\\u06ff]/.test(e.textContent)
            && !/^(Ctrl \\+ Enter|loss|batch)$/.test(e.textContent)).map((e) => e.textContent)""")
        same(f"{name}_is_persian_everywhere", english, [])
        same(f"{name}_has_names_in_persian", p.names(), [])
        for width in (360, 768):
            b.set_size(width, 800)
            b.pump(0.2)
            verdict(f"{name}_fits_{width}_pixels_in_persian", p.fits())
        b.set_size(360, 800)
        p.focus("language")
        b.enter()
        b.pump(0.2)
        verdict(f"{name}_fits_360_pixels_in_english", p.fits())
        b.set_size(1100, 900)
    b.open(p.base + "/")
    same("colours_are_kept", b.value("document.documentElement.dataset.theme"), "dark")
    b.value("(() => { const t = document.getElementById('theme'); t.value = 'auto'; t.dispatchEvent(new Event('change')) })()")
    b.set_media(dark=True)
    verdict("the_systems_colours_are_followed", b.until("document.documentElement.dataset.theme === 'dark'", 5))
    b.set_media(dark=False)
    verdict("and_back", b.until("document.documentElement.dataset.theme === 'light'", 5))


def poor_contrasts(b):
    """Pairs of colours under the ratio of 4.5 that WCAG wants of text."""
    names = ["ink", "soft", "accent", "second", "bad", "card", "paper", "field", "accent-soft", "bad-soft", "accent-ink"]
    c = json.loads(b.value("JSON.stringify(Object.fromEntries(%s.map((n) => [n, getComputedStyle(document.documentElement).getPropertyValue('--' + n).trim()])))" % json.dumps(names)))

    def light(hex_colour):
        parts = [int(hex_colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, blue = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * r + 0.7152 * g + 0.0722 * blue

    def ratio(one, two):
        high, low = sorted((light(c[one]), light(c[two])), reverse=True)
        return (high + 0.05) / (low + 0.05)

    pairs = [(a, on) for a in ("ink", "soft") for on in ("card", "paper", "field", "accent-soft")]
    pairs += [("accent", "card"), ("accent", "accent-soft"), ("second", "card"), ("bad", "bad-soft"), ("accent-ink", "accent")]
    return [(a, on, round(ratio(a, on), 2)) for a, on in pairs if ratio(a, on) < 4.5]


def tokens(b, base, token):
    p = Page(b, base)
    b.open(base + "/")
    verdict("a_token_is_asked_for", b.until("document.getElementById('token-dialog').open", 20))
    p.focus("token")
    b.type("this-is-not-the-token")
    b.enter()
    verdict("a_wrong_one_is_told", b.until("document.getElementById('token-dialog').open && document.getElementById('token-error').textContent.length > 5", 20))
    p.focus("token")
    b.type(token)
    b.enter()
    verdict("the_right_one_opens", b.until("document.getElementById('voice').options.length > 0", 20), p.get("error"))
    b.open(base + "/runs")
    verdict("it_is_kept", b.until("document.querySelectorAll('#runs tbody tr').length > 0", 20) and not p.get("token-dialog", "open"))
    verdict("pictures_come_with_it", b.until("[...document.querySelectorAll('#pictures-box img')].some((i) => i.naturalWidth > 10)", 20))


def runs_page(p, folder):
    b = p.b
    b.open(p.base + "/runs#run=one")
    verdict("runs_are_listed", b.until("document.querySelectorAll('#runs tbody tr').length === 2", 20), p.get("error"))
    b.value("fetch = ((ask) => async (...a) => (a[0] === '/v1/runs' ? new Response('{\"runs\": [], \"hidden\": 60, \"incomplete\": false}') : ask(...a)))(window.seen_fetch = fetch)")
    verdict("what_is_not_listed_is_said", b.until("document.getElementById('not-listed').textContent === '60 older trainings are not listed.'", 10), p.get("not-listed"))
    b.value("fetch = window.seen_fetch")
    verdict("it_is_gone_when_all_are", b.until("document.getElementById('not-listed').hidden && document.querySelectorAll('#runs tbody tr').length === 2", 10), p.get("not-listed"))
    verdict("curves_are_drawn", b.until("[...document.querySelectorAll('.curve')].some((c) => (c.getAttribute('d') || '').split('L').length > 3)", 20))
    same("each_has_its_curves", b.value("[...document.querySelectorAll('.chart')].map((c) => c.querySelectorAll('.plot path.curve').length)"), [2, 0, 2, 2])
    verdict("the_doctor_has_a_word", b.until("document.querySelectorAll('#doctor li').length > 0 && document.getElementById('doctor').textContent.length > 20", 10))
    verdict("pictures_are_shown", b.until("[...document.querySelectorAll('#pictures-box img')].filter((i) => i.naturalWidth > 10).length >= 3", 20))
    verdict("samples_are_there", b.until("document.querySelectorAll('#samples-box button').length >= 4", 10))
    verdict("sentences_are_written_out", "Three small birds" in p.get("samples-box"), p.get("samples-box"))
    same("all_have_names", p.names(), [])
    b.value("document.querySelector('#samples-box button').focus()")
    b.enter()
    verdict("a_sample_is_heard", b.until("document.getElementById('sample-audio').currentTime > 0.05", 20), p.get("error"))
    # Live: lines come, one of them in two halves.
    log = os.path.join(folder, "one", "log.jsonl")
    label = "document.querySelector('.chart .plot').getAttribute('aria-label')"
    before = b.value(label)
    line = '{"event":"step","step":%d,"total_steps":2000,"loss":%g,"seconds":9,"step_ms":20,"busy_share":0.9,"wait_share":0.1,"step_times_ms":[20]}\n'
    with open(log, "a") as f:
        f.write("".join(line % (100 + k, 3 - k / 100) for k in range(0, 60, 10)) + (line % (777, 1.5))[:40])
    verdict("new_lines_are_drawn", b.until(f"/step 150/.test({label})", 20), b.value(label))
    verdict("they_were_not_there", "150" not in before, before)
    verdict("half_a_line_does_not_count", "777" not in b.value(label))
    with open(log, "a") as f:
        f.write((line % (777, 1.5))[40:])
    verdict("the_other_half_does", b.until(f"/step 777/.test({label})", 20), b.value(label))
    verdict("the_list_has_it_too", b.until("/777 of 2,000/.test(document.getElementById('runs').textContent)", 20), p.get("runs"))
    with open(log, "a") as f:
        f.write('{"event":"st')  # killed here
    b.pump(2.5)
    verdict("a_torn_log_shows", "777" in p.get("runs") and p.get("error") == "", p.get("error"))
    # Two beside each other.
    p.focus("compare")
    b.key("ArrowDown", number=40)
    verdict("another_run_is_chosen_by_keys", b.until("document.getElementById('run-name').textContent.includes('two')", 10))
    verdict("both_are_in_the_charts", b.until("document.querySelectorAll('.chart')[0].querySelectorAll('path.curve.two').length >= 1", 20))
    verdict("settings_that_differ_are_listed", b.until("/learning_rate/.test(document.getElementById('differ-box').textContent)", 10), p.get("differ-box"))
    same("and_only_those", b.value("document.querySelectorAll('#differ-box tbody tr').length"), 1)
    verdict("samples_of_both_are_side_by_side", b.until("document.querySelectorAll('#samples-box .of-run').length >= 4", 10))
    same("the_address_has_the_choice", b.value("location.hash"), "#run=one&with=two")
    b.value("document.querySelector('.chart .plot').focus()")
    b.key("ArrowLeft", number=37)
    verdict("values_are_read_by_keys", re.match("step [0-9]+: one: training", b.value("document.querySelector('.readout').textContent")) is not None,
            b.value("document.querySelector('.readout').textContent"))


def quiet(b, bases):
    """Nothing on the console but what the test provoked, and no other host."""
    provoked = r"the server responded with a status of (400|401)"
    same("the_console_is_silent", [c for c in b.console if not re.search(provoked, c)], [])
    own = tuple(bases) + ("blob:", "data:", "about:")
    same("no_other_host_is_asked", [r for r in b.requests if not r.startswith(own)], [])


def main():
    base, token_base, token, runs, folder = sys.argv[1:6]
    b = browser.Browser(folder)
    try:
        p = Page(b, base)
        speak_page(p)
        troubles(p)
        references(p, folder)
        runs_page(p, runs)
        looks(p)
        tokens(b, token_base, token)
        quiet(b, [base, token_base])
    finally:
        b.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

// record.js - the page at /record: shows a sentence, records it, says what is wrong with the take, and goes on.
import { $, ask, begin, make, onColours, tell } from '/page/base.js';
import { Microphone, peaksOf } from '/page/microphone.js';
import { wavOf } from '/page/sound.js';
import { currentLanguage, number, say } from '/page/words.js';

const LONGEST = 55; // seconds of a take
const GOALS = [5, 15, 30]; // minutes

let sentences = [];
let at = -1; // the one that is shown
let state = 'idle'; // idle, opening, waiting, recording, saving
let progress = { done: 0, count: 0, seconds: 0, wanted_seconds: 300, next: null, command: '' };
let unsaved = null; // {index, take}: a take that the server did not get
let goOn = false; // after this take
let peaks = [];
let loudest = { db: -100, until: 0 };
let clippedUntil = 0;
let told = { key: '', at: 0 };

const microphone = new Microphone(hear);
microphone.lost = () => {
  if (state === 'recording' || state === 'waiting') stop();
  microphone.close();
  tell($('error'), say('record_lost'));
};

const current = () => sentences[at];
const pathOf = (s) => `/v1/record/${encodeURIComponent(s.id)}`;

// ---- what is shown ----

function showProgress() {
  const minutes = progress.seconds / 60;
  const goal = GOALS.find((g) => g > minutes) ?? GOALS[GOALS.length - 1];
  tell($('place'), at < 0 ? '' : say('record_place', { n: number(at + 1), count: number(progress.count), done: number(progress.done) }));
  tell($('minutes'), say('record_minutes', { m: number(minutes, 1), goal: number(goal) }));
  $('progress').value = Math.min(1, minutes / goal);
  const enough = progress.seconds >= progress.wanted_seconds || (progress.count > 0 && progress.done === progress.count);
  $('command-row').hidden = !enough;
  tell($('command'), progress.command);
  const few = progress.seconds < progress.wanted_seconds;
  tell($('then'), enough ? say(few ? 'record_all_read' : 'record_enough', { m: number(minutes, 1) }) : say('record_not_yet', { m: number(progress.wanted_seconds / 60 - minutes, 1) }));
}

const findingText = (f) => {
  const text = say(`record_${f.code}`);
  return text === `record_${f.code}` ? f.message : text;
};

function showTake() {
  const s = current();
  const taken = Boolean(s && s.seconds);
  $('taken').hidden = !taken;
  $('record').dataset.say = state === 'recording' || state === 'waiting' ? 'record_stop' : taken ? 'record_again' : 'record_record';
  tell($('record'), say($('record').dataset.say));
  $('record').setAttribute('aria-pressed', String(state === 'recording' || state === 'waiting'));
  $('record').classList.toggle('on', state === 'recording');
  $('light').className = `light ${state}`;
  if (!taken) return;
  const items = s.findings.map((f) => make('li', { class: 'finding' }, findingText(f)));
  $('findings').replaceChildren(...(items.length ? items : [make('li', {}, say('record_good', { s: number(s.seconds, 1) }))]));
}

function showList() {
  $('list').replaceChildren(...sentences.map((s, i) => {
    const mark = !s.seconds ? '' : s.findings.length ? '!' : '✓';
    const name = !s.seconds ? '' : say(s.findings.length ? 'record_with_findings' : 'record_done');
    const b = make('button', { type: 'button', class: 'plain', dir: 'auto', 'aria-current': i === at ? 'true' : undefined },
      make('span', { class: 'mark', 'aria-hidden': 'true' }, mark), make('span', {}, s.text), make('span', { class: 'hidden-text' }, name));
    b.addEventListener('click', () => go(i));
    return make('li', {}, b);
  }));
}

function draw() {
  const canvas = $('wave');
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
  if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
  const c = canvas.getContext('2d');
  const style = getComputedStyle(document.documentElement);
  const colours = { good: style.getPropertyValue('--accent'), bad: style.getPropertyValue('--bad'), line: style.getPropertyValue('--line') };
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.clearRect(0, 0, width, height);
  c.fillStyle = colours.line;
  c.fillRect(0, height / 2 - 0.5, width, 1);
  const columns = Math.max(peaks.length, state === 'recording' ? 300 : 1);
  const step = width / columns;
  peaks.forEach((p, i) => {
    const h = Math.max(1, Math.sqrt(Math.abs(p)) * (height - 6)); // quiet speech is to be seen too
    c.fillStyle = p < 0 ? colours.bad : colours.good;
    c.fillRect(i * step, (height - h) / 2, Math.max(1, step * 0.7), h);
  });
}

const percent = (db) => `${Math.max(0, Math.min(100, ((db + 60) / 60) * 100))}%`;

// The word for this moment; the same word is not said again, and no word for less than a second.
function word(l, now) {
  if (now < clippedUntil) return 'record_live_loud';
  if (state === 'recording') {
    if (loudest.db < Math.max(-55, Math.min(l.noise + 10, -35))) return 'record_live_silence';
    return loudest.db < -40 ? 'record_live_quiet' : 'record_live_good';
  }
  if (state === 'idle') return l.noise > -45 ? 'record_live_noise' : 'record_live_ready';
  return `record_live_${state}`;
}

function hear(l) {
  const now = performance.now();
  if (l.db > loudest.db || now > loudest.until) loudest = { db: l.db, peak: l.peak, until: now + 1500 };
  if (l.clipped) clippedUntil = now + 1500;
  $('meter-bar').style.width = percent(l.db);
  $('meter-peak').style.insetInlineStart = percent(Math.max(l.peak, loudest.peak ?? -60));
  $('meter-noise').style.insetInlineStart = percent(l.noise);
  $('meter').classList.toggle('loud', now < clippedUntil);
  $('meter').setAttribute('aria-valuenow', String(Math.round(Math.max(-60, l.db))));
  if (state === 'waiting' && microphone.running) {
    state = 'recording';
    showTake();
  }
  if (state === 'recording') {
    peaks = microphone.take.peaks;
    tell($('elapsed'), say('record_seconds', { s: number(l.seconds, 1) }));
    draw();
    if (l.seconds > LONGEST) stop();
  }
  const key = word(l, now);
  if (key !== told.key && (now - told.at > 1000 || state === 'waiting' || key === 'record_live_loud')) {
    told = { key, at: now };
    tell($('live'), say(key));
    $('live').classList.toggle('bad', /loud|quiet|noise/.test(key));
  }
}

// ---- from sentence to sentence ----

async function showSound(s) {
  $('audio').removeAttribute('src');
  peaks = [];
  if (s.seconds) {
    try {
      const blob = await (await ask(pathOf(s))).blob();
      const bytes = await blob.arrayBuffer();
      if (s !== current() || state !== 'idle') return;
      hearAgain(blob);
      peaks = peaksOf(bytes);
      tell($('elapsed'), say('record_seconds', { s: number(s.seconds, 1) }));
    } catch (e) {
      tell($('error'), e.message);
    }
  }
  draw();
}

function hearAgain(blob) {
  if ($('audio').src) URL.revokeObjectURL($('audio').src);
  $('audio').src = URL.createObjectURL(blob);
}

function go(i) {
  if (state !== 'idle' || !sentences.length) return;
  at = (i + sentences.length) % sentences.length;
  $('audio').pause();
  tell($('error'), '');
  tell($('elapsed'), '');
  tell($('sentence'), current().text);
  history.replaceState(null, '', `#${encodeURIComponent(current().id)}`);
  showProgress();
  showTake();
  showList();
  showSound(current());
}

// The next that has not been read; the next of all where there is none.
function goNext() {
  if (state === 'recording' || state === 'waiting') {
    goOn = true;
    stop();
    return;
  }
  for (let k = 1; k < sentences.length; k++) {
    const i = (at + k) % sentences.length;
    if (!sentences[i].seconds) {
      go(i);
      return;
    }
  }
  go(at + 1);
}

// ---- a take ----

async function showDevices() {
  const all = (await navigator.mediaDevices.enumerateDevices()).filter((d) => d.kind === 'audioinput');
  $('device').replaceChildren(...all.map((d, i) => make('option', { value: d.deviceId }, d.label || say('record_device_n', { n: number(i + 1) }))));
  if (microphone.device) $('device').value = microphone.device;
}

async function openMicrophone(device) {
  if (!Microphone.allowed()) {
    tell($('error'), say('record_insecure', { port: location.port || '80' }));
    return false;
  }
  state = 'opening';
  showTake();
  try {
    await microphone.open(device);
    await showDevices();
  } catch (e) {
    tell($('error'), say(e.name === 'NotAllowedError' ? 'record_not_allowed' : 'reference_no_microphone', { why: e.message }));
  }
  state = 'idle';
  showTake();
  return Boolean(microphone.stream);
}

async function record() {
  if (state === 'recording' || state === 'waiting') {
    stop();
    return;
  }
  if (state !== 'idle' || !current()) return;
  tell($('error'), '');
  $('audio').pause();
  if (!microphone.stream && !(await openMicrophone())) return;
  goOn = false;
  peaks = [];
  state = 'waiting';
  microphone.begin();
  $('taken').hidden = true;
  showTake();
  $('taken').hidden = true;
  draw();
}

function stop() {
  const take = microphone.end();
  state = 'idle';
  if (take) {
    peaks = take.peaks;
    keep(at, { blob: wavOf(take.pieces, take.rate), peaks: take.peaks });
  } else {
    tell($('error'), say('record_too_short'));
    showTake();
    showSound(current());
  }
}

// Brings a take to the server. One that does not get there stays here.
async function keep(index, take) {
  const s = sentences[index];
  state = 'saving';
  tell($('error'), '');
  showTake();
  unsaved = { index, take };
  try {
    const answer = await (await ask(`${pathOf(s)}?text=${encodeURIComponent(s.text)}`, { method: 'POST', headers: { 'Content-Type': 'audio/wav' }, body: take.blob })).json();
    unsaved = null;
    s.seconds = answer.seconds;
    s.findings = answer.findings;
    progress = answer.progress;
    hearAgain(take.blob);
    tell($('elapsed'), say('record_seconds', { s: number(s.seconds, 1) }));
  } catch (e) {
    // What cannot be kept at all, and what belongs to another list, is of no use later either.
    if (e.status === 422 || e.status === 400 || e.status === 409) unsaved = null;
    tell($('error'), findingText({ code: e.code, message: e.message }));
    goOn = false;
  }
  $('unsaved').hidden = !unsaved;
  state = 'idle';
  showProgress();
  showTake();
  showList();
  if (!unsaved && !s.seconds) peaks = [];
  draw();
  if (goOn && !s.findings.length) goNext();
  goOn = false;
}

async function remove() {
  const s = current();
  if (state !== 'idle' || !s?.seconds) return;
  try {
    progress = (await (await ask(pathOf(s), { method: 'DELETE' })).json()).progress;
    s.seconds = null;
    s.findings = [];
    go(at);
    $('record').focus();
  } catch (e) {
    tell($('error'), e.message);
  }
}

function play() {
  const a = $('audio');
  if (state !== 'idle' || !a.src) return;
  if (a.paused) {
    a.currentTime = 0;
    a.play();
  } else {
    a.pause();
  }
}

// ---- the page ----

// Keys belong to what has the focus, if it knows what to do with them.
function takesKeys(target, key) {
  const e = target.closest?.('a, button, select, input, textarea, summary, audio, dialog');
  if (!e || e === $('record')) return false;
  return e.tagName !== 'BUTTON' && e.tagName !== 'A' && e.tagName !== 'SUMMARY' ? true : key === ' ' || key === 'Enter';
}

function onKey(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || takesKeys(e.target, e.key)) return;
  const back = currentLanguage() === 'fa' ? 'ArrowRight' : 'ArrowLeft';
  const forth = currentLanguage() === 'fa' ? 'ArrowLeft' : 'ArrowRight';
  const does = { ' ': record, Enter: goNext, [back]: () => go(at - 1), [forth]: () => go(at + 1), p: play, P: play }[e.key];
  if (!does) return;
  e.preventDefault();
  if (!e.repeat) does();
}

async function load() {
  try {
    const list = await (await ask('/v1/record')).json();
    sentences = list.sentences;
    progress = list;
    const wished = decodeURIComponent(location.hash.slice(1));
    const named = sentences.findIndex((s) => s.id === wished && !s.seconds);
    const next = sentences.findIndex((s) => s.id === list.next);
    go(named >= 0 ? named : Math.max(0, next));
    if (!Microphone.allowed()) tell($('error'), say('record_insecure', { port: location.port || '80' }));
  } catch (e) {
    tell($('error'), e.message);
    for (const id of ['record', 'previous', 'next']) $(id).disabled = true;
  }
}

begin('record_title', () => {
  showProgress();
  showTake();
  showList();
  told = { key: '', at: 0 };
});
onColours(draw);
addEventListener('resize', draw);
addEventListener('keydown', onKey);
// A button does nothing more with a space that was ours.
addEventListener('keyup', (e) => e.key === ' ' && e.target === $('record') && e.preventDefault());
addEventListener('beforeunload', (e) => (unsaved || state === 'recording') && e.preventDefault());
for (const [id, f] of [['record', record], ['previous', () => go(at - 1)], ['next', goNext], ['remove', remove]]) {
  $(id).addEventListener('click', (e) => {
    f();
    if (e.detail > 0) $('record').focus({ preventScroll: true }); // by the mouse: space records again
  });
}
$('save').addEventListener('click', () => unsaved && state === 'idle' && keep(unsaved.index, unsaved.take));
$('device').addEventListener('change', () => state === 'idle' && openMicrophone($('device').value));
$('copy').addEventListener('click', () => navigator.clipboard?.writeText(progress.command).then(() => tell($('copy'), say('record_copied'))));
if (navigator.mediaDevices) showDevices().catch(() => {});
load();

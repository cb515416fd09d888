// speak.js - the page at /: a text becomes sound that is heard while it is made, with mel, pitch and sounds.
import { $, Refused, ask, begin, make, onColours, tell } from '/page/base.js';
import { Player, recordingAsWav, samplesOf } from '/page/sound.js';
import { Strip, soundsOf } from '/page/strip.js';
import { bytes, number, say } from '/page/words.js';

const READ_BY_SERVER = /\.(wav|flac|ogg|oga|opus|mp3)$/i;

let voices = [];
let reference = null; // {name, blob}
let speaking = null; // the AbortController of what is being spoken
let spoken = null; // the request of what can be downloaded, and its parts
let recorder = null;

const player = new Player($('audio'), () => tell($('status'), say('press_play')));
const strip = new Strip($('strip'), $('strip-inner'), $('cursor'), $('now'), (s) => player.seek(s));

// ---- the form ----

function showRanges() {
  const speed = Number($('speed').value);
  const pitch = Number($('pitch').value);
  tell($('speed-value'), say('speed_value', { n: number(speed, 2) }));
  tell($('pitch-value'), pitch === 0 ? say('pitch_zero') : say('pitch_value', { n: (pitch > 0 ? '+' : '') + number(pitch, 1) }));
  $('speed').setAttribute('aria-valuetext', $('speed-value').textContent);
  $('pitch').setAttribute('aria-valuetext', $('pitch-value').textContent);
}

const chosenVoice = () => voices.find((v) => v.id === $('voice').value);

function showVoices() {
  const before = $('voice').value;
  $('voice').replaceChildren(...voices.map((v) => make('option', { value: v.id }, v.id)));
  if (voices.some((v) => v.id === before)) $('voice').value = before;
  showSpeakers();
}

function showSpeakers() {
  const v = chosenVoice();
  const names = v ? v.speakers : [];
  $('speaker').replaceChildren(...names.map((s) => make('option', { value: s }, s)));
  $('speaker-field').hidden = names.length < 2;
  const languages = v ? v.languages : [];
  $('spoken').replaceChildren(make('option', { value: '', 'data-say': 'spoken_usual' }, say('spoken_usual')),
    ...languages.map((l) => make('option', { value: l }, l)));
  $('spoken-field').hidden = languages.length < 2;
  const takes = !v || v.takes_reference;
  $('drop').classList.toggle('soft', !takes);
  for (const id of ['choose', 'record']) $(id).disabled = !takes;
  showReference();
}

async function loadVoices() {
  try {
    voices = (await (await ask('/v1/voices')).json()).data;
    tell($('error'), voices.length ? '' : say('no_voices'));
    showVoices();
  } catch (e) {
    tell($('error'), e.message);
  }
}

// ---- a recording as reference ----

function showReference() {
  const v = chosenVoice();
  let about = say('reference_hint');
  if (v && !v.takes_reference) about = say('reference_not_here');
  else if (reference) about = say('reference_is', { name: reference.name ?? say('reference_recorded'), size: bytes(reference.blob.size) });
  tell($('reference-about'), about);
  $('remove').hidden = !reference;
  tell($('record'), say(recorder ? 'reference_stop' : 'reference_record'));
  $('record').setAttribute('aria-pressed', recorder ? 'true' : 'false');
}

async function useReference(file) {
  tell($('error'), '');
  try {
    const blob = READ_BY_SERVER.test(file.name) ? file : await recordingAsWav(file);
    reference = { name: file.name, blob };
  } catch {
    tell($('error'), say('reference_bad', { name: file.name }));
  }
  showReference();
}

async function record() {
  if (recorder) {
    recorder.stop();
    return;
  }
  tell($('error'), '');
  try {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    const kept = [];
    const started = Date.now();
    recorder = new MediaRecorder(stream);
    recorder.addEventListener('dataavailable', (e) => kept.push(e.data));
    const clock = setInterval(() => {
      const s = (Date.now() - started) / 1000;
      tell($('status'), say('reference_recording', { s: number(s) }));
      if (s > 30 && recorder) recorder.stop();
    }, 500);
    recorder.addEventListener('stop', async () => {
      clearInterval(clock);
      for (const t of stream.getTracks()) t.stop();
      recorder = null;
      tell($('status'), '');
      try {
        reference = { name: null, blob: await recordingAsWav(new Blob(kept)) };
      } catch {
        tell($('error'), say('reference_bad', { name: say('reference_recorded') }));
      }
      showReference();
    });
    recorder.start();
    showReference();
  } catch (e) {
    recorder = null;
    tell($('error'), say('reference_no_microphone', { why: e.message }));
  }
}

const base64 = (blob) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.addEventListener('load', () => resolve(reader.result.slice(reader.result.indexOf(',') + 1)));
  reader.addEventListener('error', () => reject(reader.error));
  reader.readAsDataURL(blob);
});

// ---- speaking ----

async function requestOf() {
  const r = { model: $('voice').value, input: $('text').value, voice: $('speaker').value, speed: Number($('speed').value), pitch: Number($('pitch').value) };
  if ($('spoken').value) r.language = $('spoken').value;
  if (reference && chosenVoice()?.takes_reference) r.reference = await base64(reference.blob);
  return r;
}

const post = (body, signal) => ask('/v1/audio/speech', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), signal });

// The events of the stream, one after the other.
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split('\n\n');
    rest = blocks.pop();
    for (const b of blocks) {
      const data = b.split('\n').filter((l) => l.startsWith('data:')).map((l) => l.slice(5).trim()).join('');
      if (data && data !== '[DONE]') yield JSON.parse(data);
    }
  }
}

function take(event, state) {
  if (event.type === 'speech.part') {
    addPart(event, state);
  } else if (event.type === 'speech.audio.delta') {
    const samples = samplesOf(event.audio);
    if (!state.first) {
      state.first = performance.now() - state.began;
      player.begin(state.rate);
    }
    player.add(samples);
    // Not with every piece: a screen reader would talk of nothing else.
    if (performance.now() - state.told > 2000) {
      state.told = performance.now();
      tell($('status'), say('speaking', { s: number(player.seconds) }));
    }
  } else if (event.type === 'error' || event.error) {
    throw new Refused(event.error?.message ?? event.message ?? say('bad_answer', { status: '?' }));
  } else if (event.type === 'speech.audio.done') {
    state.done = true;
    state.leftOut = event.left_out_pieces ?? [];
  }
}

function addPart(event, state) {
  state.rate = event.sample_rate;
  const mel = Uint8Array.from(atob(event.mel.data), (c) => c.charCodeAt(0));
  const part = { start: event.start, end: event.end, sounds: soundsOf(event.symbols, event.end), mel, frames: event.mel.frames, bands: event.mel.bands };
  strip.add(part);
  state.parts.push(part);
  $('result').hidden = false;
  $('said').append(make('li', {}, make('span', { dir: 'auto' }, event.said), make('span', { class: 'ipa', lang: 'und-fonipa' },
    part.sounds.map((s) => s.text || ' ').join('').trim())));
  showPitchRange();
}

// "…" (line 2, column 4: U+E000 is a private character), isolated: it may be of any script.
function nameOf(piece) {
  return `\u2068${piece.text}\u2069 (${piece.line}:${piece.column}, ${piece.why})`;
}

function showPitchRange() {
  tell($('pitch-range'), strip.high > 0 ? say('pitch_line', { low: number(strip.low), high: number(strip.high) }) : say('no_pitch'));
}

function setSpeaking(controller) {
  speaking = controller;
  $('speak').dataset.say = controller ? 'stop' : 'speak';
  tell($('speak'), say($('speak').dataset.say));
}

async function speak() {
  if (speaking) {
    speaking.abort();
    return;
  }
  tell($('error'), '');
  if (!$('text').value.trim()) {
    tell($('error'), say('no_text'));
    $('text').focus();
    return;
  }
  const state = { began: performance.now(), told: 0, parts: [], rate: 0 };
  setSpeaking(new AbortController());
  player.clear();
  strip.clear();
  spoken = null;
  $('said').replaceChildren();
  $('download').disabled = true;
  tell($('download-status'), '');
  tell($('status'), say('waiting'));
  try {
    const request = await requestOf();
    const response = await post({ ...request, response_format: 'pcm', sample_rate: 0, stream_format: 'sse', details: true }, speaking.signal);
    for await (const event of eventsOf(response)) take(event, state);
    if (!state.done) throw new Refused(say('no_server'));
    spoken = request;
    const done = say('done', { s: number(player.seconds, 1), ms: number(state.first) });
    tell($('status'), state.leftOut.length > 0 ? `${done} ${say('left_out', { pieces: state.leftOut.map(nameOf).join(', ') })}` : done);
  } catch (e) {
    if (e.name === 'AbortError') tell($('status'), say('stopped', { s: number(player.seconds, 1) }));
    else {
      tell($('status'), '');
      tell($('error'), e.message);
    }
  }
  setSpeaking(null);
  if (player.pieces.length) player.end();
  $('download').disabled = !spoken;
}

// ---- downloads ----

async function download() {
  const format = $('format').value;
  const name = `myxtts-${new Date().toISOString().slice(0, 19).replace(/[:T]/g, '-')}.${format}`;
  tell($('error'), '');
  $('download').disabled = true;
  tell($('download-status'), say('downloading'));
  try {
    // The samples of a WAV are all here; of the others the server makes a file.
    const blob = format === 'wav' ? player.file() : await (await post({ ...spoken, response_format: format })).blob();
    const url = URL.createObjectURL(blob);
    make('a', { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
    tell($('download-status'), say('downloaded', { name, size: bytes(blob.size) }));
  } catch (e) {
    tell($('download-status'), '');
    tell($('error'), e.message);
  }
  $('download').disabled = !spoken;
}

// ---- the page ----

function frame() {
  if (!$('result').hidden) strip.show(player.position(), player.playing());
  requestAnimationFrame(frame);
}

begin('speak_title', () => {
  showRanges();
  showReference();
  showPitchRange();
  tell($('speak'), say($('speak').dataset.say));
});
onColours(() => strip.recolour());
$('text').value = say('example');
showRanges();
showPitchRange();
for (const id of ['speed', 'pitch']) $(id).addEventListener('input', showRanges);
$('voice').addEventListener('change', showSpeakers);
$('choose').addEventListener('click', () => $('file').click());
$('file').addEventListener('change', () => $('file').files[0] && useReference($('file').files[0]));
$('record').addEventListener('click', record);
$('record').hidden = !(navigator.mediaDevices && window.MediaRecorder);
$('remove').addEventListener('click', () => {
  reference = null;
  $('file').value = '';
  showReference();
  $('choose').focus();
});
for (const kind of ['dragover', 'dragleave', 'drop']) {
  $('drop').addEventListener(kind, (e) => {
    e.preventDefault();
    $('drop').classList.toggle('over', kind === 'dragover');
    if (kind === 'drop' && e.dataTransfer.files[0] && !$('choose').disabled) useReference(e.dataTransfer.files[0]);
  });
}
$('form').addEventListener('submit', (e) => {
  e.preventDefault();
  speak();
});
$('text').addEventListener('keydown', (e) => {
  if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && !speaking) {
    e.preventDefault();
    speak();
  }
});
$('follow').addEventListener('change', () => { strip.follow = $('follow').checked; });
$('download').addEventListener('click', download);
loadVoices();
requestAnimationFrame(frame);

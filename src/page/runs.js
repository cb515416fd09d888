// runs.js - the page at /runs: every training, live; curves, verdict, pictures, samples; two beside each other.
import { $, ask, begin, make, tell } from '/page/base.js';
import { Chart } from '/page/chart.js';
import { RunLog, differences } from '/page/run_log.js';
import { ago, clockTime, figure, number, percent, say } from '/page/words.js';

const EVERY = 2000; // milliseconds between two looks

let runs = [];
let notListed = { hidden: 0, incomplete: false };
let chosen = null; // names
let other = null;
let etag = '';
let lastAnswer = null;
const logs = new Map(); // name -> RunLog
const seen = new Map(); // name -> what its row said when log and files were fetched
const files = new Map(); // name -> [{path, size, changed}]
const about = new Map(); // name -> {findings}
const blobs = new Map(); // name, path and time of a file -> address of its bytes

const ms = (x) => number(x, x === 0 || x >= 100 ? 0 : x < 10 ? 2 : 1);
// A run that has ended was planned to end there.
const stepOf = (r) => (r.total_steps > 0 && r.state !== 'finished' ? say('of', { a: number(r.step), b: number(r.total_steps) }) : number(r.step));

const charts = {
  loss: new Chart('loss_chart', figure),
  words: new Chart('words_chart', (x) => percent(x)),
  busy: new Chart('busy_chart', (x) => percent(x)),
  time: new Chart('time_chart', ms),
};

const runOf = (name) => runs.find((r) => r.name === name);
const url = (name, what) => `/v1/runs/${encodeURI(name)}/${what}`;

// ---- the list ----

const wordsOf = (r) => (r.network === 'vocoder' ? '' : Number.isFinite(r.words_wrong_share) ? percent(r.words_wrong_share) : say('not_measured'));
const leftOf = (r) => (Number.isFinite(r.seconds_left) ? say('minutes', { n: number(Math.ceil(r.seconds_left / 60)) }) : '');
function stateOf(r) {
  const word = { running: 'running', finished: 'finished', stopped: 'stopped_state', empty: 'empty', preparing: 'preparing', 'warm-up': 'warm_up', validating: 'validating', listening: 'listening' }[r.state] ?? r.state;
  return make('span', { class: `state ${r.state}` }, say(word));
}

function showList() {
  const table = $('runs');
  table.hidden = !runs.length;
  const focused = document.activeElement?.dataset?.run;
  const cell = (key, text, kind = 'n') => make('td', { class: kind, 'data-head': say(key) }, text);
  table.tBodies[0].replaceChildren(...runs.map((r) => {
    const name = make('button', { type: 'button', class: 'run-name', 'data-run': r.name, 'aria-pressed': r.name === chosen ? 'true' : 'false' }, r.name);
    name.addEventListener('click', () => choose(r.name, null, true));
    return make('tr', { class: r.name === chosen ? 'chosen' : '' },
      make('td', { class: 'wide' }, name), make('td', {}, stateOf(r)),
      cell('step', stepOf(r)),
      cell('loss', figure(r.loss ?? NaN)), cell('words_wrong', wordsOf(r)), cell('busy', percent(r.busy_share ?? NaN)),
      cell('step_time', ms(r.step_ms ?? NaN)), cell('updated', ago(r.updated)),
      make('td', { class: 'wide' }, make('span', { class: 'verdict', dir: 'auto', title: r.verdict ?? '' }, r.verdict ?? say('no_verdict'))));
  }));
  if (focused) [...table.querySelectorAll('button')].find((b) => b.dataset.run === focused)?.focus();
  $('none').hidden = runs.length > 0 || lastAnswer === null;
  tell($('none'), say('runs_none'));
  $('not-listed').hidden = !notListed.hidden && !notListed.incomplete;
  tell($('not-listed'), notListed.hidden ? say('runs_hidden', { n: number(notListed.hidden) }) : say('runs_incomplete'));
}

// ---- one run, or two ----

function choose(name, withName, byHand) {
  chosen = name;
  other = withName && withName !== name ? withName : null;
  history.replaceState(null, '', `#${new URLSearchParams(other ? { run: name, with: other } : { run: name })}`);
  showList();
  showRun();
  if (byHand) $('run-name').focus({ preventScroll: false });
  refresh().catch(failed);
}

function showRun() {
  const r = runOf(chosen);
  for (const id of ['run', 'curves', 'samples', 'pictures']) $(id).hidden = !r;
  $('differ').hidden = !r || !other;
  if (!r) return;
  tell($('run-name'), other ? `${chosen}  ·  ${other}` : chosen);
  const select = $('compare');
  const options = runs.filter((x) => x.name !== chosen).map((x) => x.name);
  if (select.options.length !== options.length + 1 || options.some((o, i) => select.options[i + 1].value !== o))
    select.replaceChildren(make('option', { value: '' }, say('compare_none')), ...options.map((o) => make('option', { value: o }, o)));
  select.options[0].textContent = say('compare_none');
  select.value = other ?? '';
  $('progress').value = r.state === 'finished' ? 1 : r.total_steps > 0 ? Math.min(1, r.step / r.total_steps) : 0;
  showFacts(r);
  showDoctor(r);
  showCurves();
  showDifferences();
  showSamples();
  showPictures();
}

function showFacts(r) {
  const start = logs.get(chosen)?.start;
  const facts = [['state', stateOf(r)], ['step', stepOf(r)],
    ['loss', figure(r.loss ?? NaN)], ['validation_loss', figure(r.validation_loss ?? NaN)], ['words_wrong', wordsOf(r)], ['time_left', leftOf(r)],
    ['busy', percent(r.busy_share ?? NaN, 1)]];
  if (start) facts.push(['network', `${r.network ?? start.network ?? 'voice'} · ${r.model_size ?? start.model_size ?? ''}`], ['batch', number(start.batch_size)], ['parameters', number(start.parameters)], ['device', start.device]);
  const torn = logs.get(chosen)?.torn ?? 0;
  $('facts').replaceChildren(...facts.map(([k, v]) => make('div', {}, make('dt', {}, say(k)), make('dd', {}, v))),
    ...(torn ? [make('div', {}, make('dt', {}, say('torn', { n: number(torn) })))] : []));
}

function showDoctor(r) {
  const items = [make('li', {}, make('p', { dir: 'auto' }, r.verdict ?? say('no_verdict')))];
  for (const f of about.get(chosen)?.findings ?? [])
    items.push(make('li', { class: 'finding' }, make('p', { dir: 'auto' }, f.evidence), make('p', { dir: 'auto' }, f.advice)));
  $('doctor').replaceChildren(...items);
}

function showCurves() {
  const all = { loss: [], words: [], busy: [], time: [] };
  for (const [name, look] of other ? [[chosen, 'one'], [other, 'two']] : [[chosen, 'one']]) {
    const c = logs.get(name)?.curves;
    if (!c) continue;
    const named = (key) => (other ? `${name}: ${say(key)}` : say(key));
    all.loss.push({ name: named('training'), points: c.train, look: `${look} thin` }, { name: named('validation'), points: c.validation, look: `${look} dashed`, dots: true });
    all.words.push({ name: named('voice_words'), points: c.words, look, dots: true }, { name: named('recording_words'), points: c.recordings, look: `${look} dotted` });
    all.busy.push({ name: named('busy_share'), points: c.busy, look }, { name: named('wait_share'), points: c.wait, look: `${look} dashed` });
    all.time.push({ name: named('mean_time'), points: c.time, look }, { name: named('slowest_time'), points: c.slowest, look: `${look} dotted` });
  }
  charts.loss.set(all.loss, undefined, true);
  charts.words.set(all.words, 0);
  charts.busy.set(all.busy, 0);
  charts.time.set(all.time, 0);
}

function showDifferences() {
  if (!other || !logs.has(other) || !logs.has(chosen)) return;
  const rows = differences(logs.get(chosen), logs.get(other));
  const text = (v) => make('td', {}, make('bdi', {}, v === undefined ? '–' : String(v)));
  $('differ-box').replaceChildren(rows === null ? make('p', { class: 'soft' }, say('settings_unknown')) : !rows.length ? make('p', { class: 'soft' }, say('settings_same'))
    : make('table', {}, make('thead', {}, make('tr', {}, ...[say('setting'), chosen, other].map((h) => make('th', { scope: 'col' }, h)))),
      make('tbody', {}, ...rows.map(([k, a, b]) => make('tr', {}, make('td', {}, make('code', {}, k)), text(a), text(b))))));
}

// ---- files: samples and pictures ----

// With the token, which an address in the page could not send.
async function blobOf(name, file) {
  const key = `${name} ${file.path} ${file.changed} ${file.size}`;
  if (!blobs.has(key)) {
    const bytes = await (await ask(`${url(name, 'file')}?path=${encodeURIComponent(file.path)}`)).blob();
    blobs.set(key, URL.createObjectURL(bytes));
  }
  return blobs.get(key);
}

function samplesOf(name) {
  const out = new Map(); // sentence -> Map(step, -1 the recording -> file)
  for (const f of files.get(name) ?? []) {
    const m = /^samples\/(?:step-(\d+)|(recording))-(\d+)\.wav$/.exec(f.path);
    if (!m) continue;
    const sentence = Number(m[3]);
    if (!out.has(sentence)) out.set(sentence, new Map());
    out.get(sentence).set(m[2] ? -1 : Number(m[1]), f);
  }
  return out;
}

let playing = null; // {button, what}

function stopSample() {
  if (!playing) return;
  playing.button.classList.remove('playing');
  playing.button.replaceChildren(sign('M3 1 L13 8 L3 15 Z'));
  playing.button.setAttribute('aria-label', say('play_sample', { what: playing.what }));
  playing = null;
  $('sample-audio').pause();
}

function sign(path) {
  const s = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const p = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  s.setAttribute('viewBox', '0 0 16 16');
  s.setAttribute('aria-hidden', 'true');
  p.setAttribute('d', path);
  s.append(p);
  return s;
}

function playButton(name, file, what) {
  const b = make('button', { type: 'button', 'aria-label': say('play_sample', { what }), title: what }, sign('M3 1 L13 8 L3 15 Z'));
  b.addEventListener('click', async () => {
    const again = playing?.button === b;
    stopSample();
    if (again) return;
    playing = { button: b, what };
    b.classList.add('playing');
    b.replaceChildren(sign('M3 2 H13 V14 H3 Z'));
    b.setAttribute('aria-label', say('stop_sample', { what }));
    try {
      $('sample-audio').src = await blobOf(name, file);
      await $('sample-audio').play();
    } catch (e) {
      if (e.name !== 'AbortError') tell($('error'), e.message);
      stopSample();
    }
  });
  return b;
}

// The sentence itself, where the log has it.
function sentenceOf(name, n, recorded) {
  const texts = logs.get(name)?.start?.settings?.text2audio_texts;
  if (texts && !recorded) {
    try {
      const list = JSON.parse(texts);
      if (list[n - 1]) return list[n - 1];
    } catch { /* not a list: numbers do */ }
  }
  return say('sentence', { n: number(n) });
}

let samplesShown = '';

function showSamples() {
  const names = other ? [chosen, other] : [chosen];
  const found = names.map(samplesOf);
  const state = JSON.stringify([names, document.documentElement.lang, names.map((n) => [(files.get(n) ?? []).map((f) => `${f.path} ${f.changed}`), logs.has(n) && !!logs.get(n).start])]);
  if (state === samplesShown) return; // the buttons stay, with focus and all
  samplesShown = state;
  stopSample();
  const box = $('samples-box');
  const sentences = [...new Set(found.flatMap((f) => [...f.keys()]))].sort((a, b) => a - b);
  if (!sentences.length) {
    box.replaceChildren(make('p', { class: 'soft' }, say('no_samples')));
    return;
  }
  const steps = [...new Set(found.flatMap((f) => [...f.values()].flatMap((s) => [...s.keys()])))].sort((a, b) => a - b);
  const label = (s) => (s < 0 ? say('recording') : say('step_n', { n: number(s) }));
  const rows = sentences.flatMap((n) => names.map((name, i) => {
    const of = found[i].get(n);
    const text = sentenceOf(name, n, of?.has(-1));
    return make('tr', {}, make('th', { scope: 'row' }, make('span', { dir: 'auto' }, text), other ? make('span', { class: 'of-run' }, name) : null),
      ...steps.map((s) => make('td', {}, of?.has(s) ? playButton(name, of.get(s), `${other ? `${name}, ` : ''}${text} ${label(s)}`) : '')));
  }));
  box.replaceChildren(make('table', {}, make('thead', {}, make('tr', {}, make('th', { scope: 'col' }), ...steps.map((s) => make('th', { scope: 'col' }, label(s))))), make('tbody', {}, ...rows)));
}

let picturesShown = '';

async function showPictures() {
  const names = other ? [chosen, other] : [chosen];
  const list = names.flatMap((name) => (files.get(name) ?? []).filter((f) => /^[^/]+\.png$/.test(f.path)).map((f) => ({ name, f })));
  list.sort((a, b) => (a.f.path < b.f.path ? -1 : a.f.path > b.f.path ? 1 : 0));
  const state = JSON.stringify([names, document.documentElement.lang, list.map(({ name, f }) => [name, f.path, f.changed])]);
  if (state === picturesShown) return;
  picturesShown = state;
  const figures = await Promise.all(list.map(async ({ name, f }) => {
    const key = `picture_${f.path.replace(/\.png$/, '')}`;
    const title = say(key) === key ? f.path : say(key);
    const caption = other ? `${title} · ${name}` : title;
    return make('figure', {}, make('a', { href: await blobOf(name, f), target: '_blank' }, make('img', { src: await blobOf(name, f), alt: caption })), make('figcaption', { class: 'small soft' }, caption));
  }));
  if (state !== picturesShown) return; // another run was chosen meanwhile
  $('pictures-box').replaceChildren(...(figures.length ? figures : [make('p', { class: 'soft' }, say('no_pictures'))]));
}

// ---- looking again and again ----

async function lookAtList() {
  const response = await ask('/v1/runs', { headers: etag ? { 'If-None-Match': etag } : {} });
  lastAnswer = new Date();
  if (response.status === 304) return;
  etag = response.headers.get('ETag') ?? '';
  const before = runs.length;
  ({ runs, ...notListed } = await response.json());
  if (runs.length !== before) tell($('status'), runs.length === 1 ? say('runs_one') : say('runs_count', { n: number(runs.length) }));
}

// What has changed of the runs that are shown.
async function refresh() {
  for (const name of [chosen, other]) {
    const r = name && runOf(name);
    if (!r) continue;
    const state = `${r.changed} ${r.log_bytes}`;
    if (seen.get(name) === state) continue;
    if (!logs.has(name)) logs.set(name, new RunLog(name));
    await logs.get(name).update();
    files.set(name, (await (await ask(url(name, 'files'))).json()).files);
    about.set(name, await (await ask(url(name, 'about'))).json());
    seen.set(name, state);
  }
  showRun();
}

function failed(e) {
  if (e.status === 404) {
    $('none').hidden = false;
    tell($('none'), say('runs_off'));
    return;
  }
  tell($('error'), e.message);
}

async function look() {
  try {
    await lookAtList();
    tell($('error'), '');
    if (!chosen && runs.length) {
      const wish = new URLSearchParams(location.hash.slice(1));
      chosen = runOf(wish.get('run'))?.name ?? runs[0].name;
      other = runOf(wish.get('with'))?.name ?? null;
      if (other === chosen) other = null;
    }
    showList();
    await refresh();
    tell($('live'), say('live', { time: clockTime(lastAnswer) }));
  } catch (e) {
    failed(e);
    if (lastAnswer) tell($('live'), say('lost', { time: clockTime(lastAnswer) }));
  }
  setTimeout(look, EVERY);
}

begin('runs_title', () => {
  showList();
  showRun();
});
$('charts').append(...Object.values(charts).map((c) => c.element));
$('compare').addEventListener('change', () => choose(chosen, $('compare').value, false));
$('sample-audio').addEventListener('ended', stopSample);
look();

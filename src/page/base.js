// base.js - what all pages share: language and colours, the token, questions to the server.
import { currentLanguage, say, setLanguage, translate } from '/page/words.js';

export const $ = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (k in e && typeof v !== 'string') e[k] = v;
    else if (v !== undefined) e.setAttribute(k, v);
  }
  e.append(...children.filter((c) => c !== undefined && c !== null));
  return e;
}

// Screen readers read what changes in a live region; the same sentence twice is no change.
export function tell(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// ---- colours ----

const dark = matchMedia('(prefers-color-scheme: dark)');
const watchers = [];

export const onColours = (f) => watchers.push(f); // called when the colours have changed

function setColours(wish) {
  const theme = wish === 'light' || wish === 'dark' ? wish : dark.matches ? 'dark' : 'light';
  document.documentElement.dataset.theme = theme;
  for (const f of watchers) f();
}

// ---- the head of the page ----

// languageChanged: draws again what translate does not reach.
export function begin(titleKey, languageChanged) {
  const theme = $('theme');
  theme.value = localStorage.getItem('theme') || 'auto';
  setColours(theme.value);
  theme.addEventListener('change', () => {
    localStorage.setItem('theme', theme.value);
    setColours(theme.value);
  });
  dark.addEventListener('change', () => setColours(theme.value));
  const show = () => {
    translate();
    document.title = say(titleKey);
    $('language').lang = currentLanguage() === 'fa' ? 'en' : 'fa';
  };
  $('language').addEventListener('click', () => {
    setLanguage(currentLanguage() === 'fa' ? 'en' : 'fa');
    show();
    languageChanged();
  });
  show();
}

// ---- questions to the server ----

export class Refused extends Error {} // its message is a sentence for people

let asking = null;

// One dialog, however many questions were refused at once. Resolves to whether there is a token to try.
function askForToken(wrong) {
  asking ??= new Promise((resolve) => {
    const d = $('token-dialog');
    $('token').value = '';
    tell($('token-error'), wrong ? say('token_wrong') : '');
    d.returnValue = '';
    d.addEventListener('close', () => {
      asking = null;
      if (d.returnValue === 'ok' && $('token').value) sessionStorage.setItem('token', $('token').value.trim());
      resolve(d.returnValue === 'ok' && $('token').value !== '');
    }, { once: true });
    d.showModal();
  });
  return asking;
}

// The server's own sentence, where it gave one, with its status and code.
async function refusal(response) {
  let e = null;
  try {
    e = (await response.json()).error;
  } catch {
    // no JSON
  }
  return Object.assign(new Refused((e && e.message) || say('bad_answer', { status: response.status })), { status: response.status, code: e && e.code });
}

// fetch with the token; asks for one when the server wants it. Throws Refused with a sentence.
export async function ask(path, options = {}) {
  for (;;) {
    const token = sessionStorage.getItem('token');
    const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    let response;
    try {
      response = await fetch(path, { ...options, headers });
    } catch (e) {
      if (e.name === 'AbortError') throw e;
      throw new Refused(say('no_server'));
    }
    if (response.ok || response.status === 304) return response;
    if (response.status !== 401) throw await refusal(response);
    const now = sessionStorage.getItem('token');
    if (now !== token) continue; // another question has got one meanwhile
    if (!(await askForToken(token !== null))) throw await refusal(response);
  }
}

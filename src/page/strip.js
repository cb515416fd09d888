// strip.js - mel, pitch and sounds of what was spoken, along the time, with a cursor.
import { make } from '/page/base.js';

const PIXELS = 300; // for a second
const still = matchMedia('(prefers-reduced-motion: reduce)');

const stressed = (s) => s === 'ˈ' || s === 'ˌ'; // stands before its sound
const follows = (s) => /^[ːˑ\u0300-\u036fʲʰʷ˞ˠˤ]$/u.test(s); // stands behind its sound
const silent = (s) => s === '<space>' || /^[\s\p{P}]$/u.test(s);

// Symbols as the network has them -> sounds as people read them: marks go with their letter. A sound lasts
// until the next begins. Its pitch is that of its letter.
export function soundsOf(symbols, end) {
  const sounds = [];
  let mark = null;
  for (const s of symbols) {
    const last = sounds[sounds.length - 1];
    if (stressed(s.symbol)) mark ??= s;
    else if (follows(s.symbol) && last && !mark) last.text += s.symbol;
    else {
      const quiet = silent(s.symbol);
      sounds.push({ text: (mark ? mark.symbol : '') + (s.symbol === '<space>' ? ' ' : s.symbol), start: mark ? mark.start : s.start, silent: quiet, pitch: quiet ? null : s.pitch });
      mark = null;
    }
  }
  sounds.forEach((s, i) => { s.end = i + 1 < sounds.length ? sounds[i + 1].start : end; });
  return sounds.filter((s) => s.end > s.start);
}

const colour = (name) => {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
};

function palette() {
  const stops = ['--mel-low', '--mel-mid', '--mel-high'].map(colour);
  return Array.from({ length: 256 }, (_, v) => {
    const t = 2 * (v / 255) ** 1.7; // most of a mel is faint; what is strong should stand out
    const [a, b] = t < 1 ? [stops[0], stops[1]] : [stops[1], stops[2]];
    return a.map((x, i) => x + (b[i] - x) * (t < 1 ? t : t - 1));
  });
}

// mel: bytes, bands of one frame after the other, the lowest band first
function drawMel(canvas, mel, frames, bands) {
  const colours = palette();
  canvas.width = Math.max(1, frames);
  canvas.height = bands;
  const context = canvas.getContext('2d');
  const image = context.createImageData(canvas.width, bands);
  for (let f = 0; f < frames; f++) {
    for (let b = 0; b < bands; b++) {
      const c = colours[mel[f * bands + b]];
      const at = 4 * ((bands - 1 - b) * canvas.width + f);
      image.data[at] = c[0];
      image.data[at + 1] = c[1];
      image.data[at + 2] = c[2];
      image.data[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

const svg = (tag, attributes) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
};

export class Strip {
  constructor(box, inner, cursor, now, seek) {
    Object.assign(this, { box, inner, cursor, now, parts: [], sounds: [], follow: true, low: Infinity, high: 0 });
    inner.addEventListener('click', (e) => {
      const x = e.clientX - inner.getBoundingClientRect().left;
      const s = this.secondsAt(x);
      if (s !== null) seek(s);
    });
  }

  clear() {
    for (const p of this.parts) p.element.remove();
    Object.assign(this, { parts: [], sounds: [], low: Infinity, high: 0, current: null });
    this.box.scrollLeft = 0;
    this.show(0, false);
  }

  // part: {start, end, sounds, mel, frames, bands}
  add(part) {
    const seconds = Math.max(0.05, part.end - part.start);
    const element = make('div', { class: 'part' });
    element.style.width = `${Math.round(seconds * PIXELS)}px`;
    const canvas = make('canvas', { 'aria-hidden': 'true' });
    const drawing = svg('svg', { 'aria-hidden': 'true', preserveAspectRatio: 'none' });
    const row = make('div', { class: 'symbols', 'aria-hidden': 'true' });
    for (const s of part.sounds) {
      s.element = make('span', { class: s.silent ? 'quiet' : '' }, s.text);
      s.element.style.left = `${(s.start - part.start) * PIXELS}px`;
      s.element.style.width = `${(s.end - s.start) * PIXELS}px`;
      row.append(s.element);
    }
    element.append(canvas, drawing, row);
    this.inner.append(element);
    const p = { ...part, element, canvas, drawing, x: this.parts.reduce((x, q) => x + q.width, 0), width: Math.round(seconds * PIXELS) };
    this.parts.push(p);
    this.sounds.push(...part.sounds);
    drawMel(canvas, part.mel, part.frames, part.bands);
    // All parts share one scale of pitch.
    for (const { pitch } of part.sounds) {
      if (!(pitch > 0)) continue;
      this.low = Math.min(this.low, pitch);
      this.high = Math.max(this.high, pitch);
    }
    this.drawPitch();
  }

  drawPitch() {
    const low = Math.log(this.low) - 0.1;
    const high = Math.log(this.high) + 0.1;
    for (const p of this.parts) {
      let path = '';
      let pen = false;
      for (const s of p.sounds) {
        const x = ((s.start + s.end) / 2 - p.start) * PIXELS;
        if (s.pitch > 0) path += `${pen ? 'L' : 'M'}${x.toFixed(1)} ${(135 - (120 * (Math.log(s.pitch) - low)) / (high - low)).toFixed(1)}`;
        pen = s.pitch > 0;
      }
      p.drawing.setAttribute('viewBox', `0 0 ${p.width} 150`);
      p.drawing.replaceChildren(svg('path', { class: 'under', d: path }), svg('path', { d: path }));
    }
  }

  recolour() {
    for (const p of this.parts) drawMel(p.canvas, p.mel, p.frames, p.bands);
  }

  secondsAt(x) {
    const p = this.parts.find((q) => x < q.x + q.width);
    return p && x >= 0 ? p.start + (x - p.x) / PIXELS : null;
  }

  show(seconds, playing) {
    const p = this.parts.find((q) => seconds < q.end) || this.parts[this.parts.length - 1];
    const x = p ? p.x + Math.min(p.width, Math.max(0, (seconds - p.start) * PIXELS)) : 0;
    const sound = this.sounds.find((s) => seconds >= s.start && seconds < s.end) || null;
    if (sound !== this.current) {
      if (this.current) this.current.element.classList.remove('now-symbol');
      if (sound && !sound.silent) sound.element.classList.add('now-symbol');
      this.current = sound;
      this.now.textContent = sound && !sound.silent ? sound.text : '–';
      if (still.matches) this.cursor.style.transform = `translateX(${x}px)`;
    }
    // With reduced motion the cursor goes from sound to sound.
    if (!still.matches || !playing) this.cursor.style.transform = `translateX(${x}px)`;
    if (this.follow && playing) this.scrollTo(x);
  }

  scrollTo(x) {
    const { scrollLeft, clientWidth } = this.box;
    if (still.matches) {
      if (x < scrollLeft || x > scrollLeft + clientWidth - 20) this.box.scrollLeft = x - 40;
    } else if (x > scrollLeft + clientWidth * 0.6) this.box.scrollLeft = x - clientWidth * 0.6;
    else if (x < scrollLeft) this.box.scrollLeft = x - 40;
  }
}

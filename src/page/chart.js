// chart.js - a chart of curves over the steps: drawn as SVG, read by pointer, arrow keys and screen readers.
import { make, tell } from '/page/base.js';
import { figure, number, say } from '/page/words.js';

const WIDTH = 560;
const HEIGHT = 190;
const LEFT = 46;
const BOTTOM = 22;
const TOP = 6;
const MOST_POINTS = 500; // of a curve that is drawn

const svg = (tag, attributes = {}, ...children) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
};

// Round numbers that divide the span into a few parts.
function ticks(low, high, most) {
  const raw = (high - low) / most || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const each = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= raw * 0.999);
  const out = [];
  for (let v = Math.ceil(low / each - 1e-9) * each; v <= high + each * 1e-9; v += each) out.push(Math.abs(v) < each * 1e-6 ? 0 : v);
  return out;
}

// 1, 2 and 5 of every power of ten between two values; all of them only where there is room.
function logTicks(low, high) {
  const out = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high) + 1; p++) for (const f of [1, 2, 5]) out.push(f * 10 ** p);
  const inside = out.filter((v) => v >= low * 0.999 && v <= high * 1.001);
  return inside.length > 6 ? inside.filter((v) => /^1(e|$|0)|^0?\.0*1$/.test(String(v))) : inside;
}

// Of each stretch its lowest and highest point: no spike is lost.
function thin(points) {
  if (points.length <= MOST_POINTS) return points;
  const out = [];
  const part = (2 * points.length) / MOST_POINTS;
  for (let i = 0; i < points.length; i += part) {
    const some = points.slice(Math.floor(i), Math.floor(i + part));
    if (!some.length) continue;
    const low = some.reduce((a, b) => (b[1] < a[1] ? b : a));
    const high = some.reduce((a, b) => (b[1] > a[1] ? b : a));
    out.push(...(low === high ? [low] : low[0] < high[0] ? [low, high] : [high, low]));
  }
  return out;
}

// series: [{name, points: [[step, value], ...], look: 'one dashed' (classes), dots}]; format(value) -> text.
// set: from is the value at the bottom, if it is not the lowest one; logarithmic where all values are over 0.
export class Chart {
  constructor(titleKey, format) {
    Object.assign(this, { titleKey, format, series: [], at: null });
    this.title = make('h3');
    this.readout = make('span', { class: 'readout' });
    this.drawing = svg('svg', { class: 'drawing', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
    this.plot = make('div', { class: 'plot', tabindex: '0', role: 'img' }, this.drawing);
    this.legend = make('ul', { class: 'legend' });
    this.spoken = make('span', { class: 'hidden-text', role: 'status' });
    this.element = make('figure', { class: 'chart' }, make('figcaption', {}, this.title, this.readout), this.plot, this.legend, this.spoken);
    this.plot.addEventListener('pointermove', (e) => this.point(e));
    this.plot.addEventListener('pointerleave', () => this.read(null));
    this.plot.addEventListener('keydown', (e) => this.key(e));
    this.plot.addEventListener('blur', () => this.read(null));
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  set(series, from, logarithmic) {
    this.logarithmic = logarithmic;
    this.series = series.filter((s) => s.points.length);
    this.from = from;
    this.draw();
  }

  draw() {
    tell(this.title, say(this.titleKey));
    const all = this.series.flatMap((s) => s.points);
    this.plot.hidden = !all.length;
    if (!all.length) {
      tell(this.readout, say('no_points'));
      this.legend.replaceChildren();
      return;
    }
    tell(this.readout, '');
    // Drawn in the pixels there are, so that letters keep their shape.
    this.width = this.plot.clientWidth || WIDTH;
    this.drawing.setAttribute('viewBox', `0 0 ${this.width} ${HEIGHT}`);
    const steps = all.map((p) => p[0]);
    const values = all.map((p) => p[1]);
    this.low = this.from ?? values.reduce((a, b) => Math.min(a, b));
    this.high = values.reduce((a, b) => Math.max(a, b));
    if (this.high <= this.low) this.high = this.low + (Math.abs(this.low) || 1);
    this.log = this.logarithmic && this.low > 0 && this.high > 3 * this.low;
    const [a, b] = ticks(this.low, this.high, 4);
    // Up to the next line of the grid.
    if (b > a && !this.log) this.high = Math.ceil(this.high / (b - a) - 1e-9) * (b - a);
    this.first = steps.reduce((a, b) => Math.min(a, b));
    this.last = steps.reduce((a, b) => Math.max(a, b));
    if (this.last <= this.first) this.first = this.last - 1;
    this.steps = [...new Set(steps)].sort((a, b) => a - b);
    this.hair = svg('line', { class: 'hair', y1: TOP, y2: HEIGHT - BOTTOM, visibility: 'hidden' });
    this.drawing.replaceChildren(...this.axes(), ...this.series.flatMap((s) => this.curve(s)), this.hair);
    this.legend.replaceChildren(...this.series.map((s) => make('li', {}, this.key_of(s), s.name)));
    const summary = this.series.map((s) => say('series_summary', {
      name: s.name, last: this.format(s.points[s.points.length - 1][1]), step: number(s.points[s.points.length - 1][0]),
      low: this.format(s.points.reduce((a, b) => Math.min(a, b[1]), Infinity)) })).join('; ');
    this.plot.setAttribute('aria-label', `${say('chart_summary', { title: say(this.titleKey), series: summary })}. ${say('chart_keys')}`);
  }

  x(step) { return LEFT + ((this.width - LEFT - 8) * (step - this.first)) / (this.last - this.first); }

  y(value) {
    const part = this.log ? Math.log(value / this.low) / Math.log(this.high / this.low) : (value - this.low) / (this.high - this.low);
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * part;
  }

  axes() {
    const out = [];
    for (const v of this.log ? logTicks(this.low, this.high) : ticks(this.low, this.high, 4)) {
      out.push(svg('line', { class: 'grid', x1: LEFT, x2: this.width, y1: this.y(v), y2: this.y(v) }));
      out.push(svg('text', { x: LEFT - 6, y: this.y(v) + 4, 'text-anchor': 'end' }, this.format(v)));
    }
    for (const v of ticks(this.first, this.last, this.width < 380 ? 3 : 5)) {
      const x = this.x(v);
      out.push(svg('text', { x, y: HEIGHT - 5, 'text-anchor': x > this.width - 16 ? 'end' : x < LEFT + 10 ? 'start' : 'middle' }, figure(v)));
    }
    return out;
  }

  curve(s) {
    const points = thin(s.points);
    const d = points.map(([step, v], i) => `${i ? 'L' : 'M'}${this.x(step).toFixed(1)} ${this.y(v).toFixed(1)}`).join('');
    const out = [svg('path', { class: `curve ${s.look}`, d })];
    if (s.dots || points.length === 1) out.push(...points.map(([step, v]) => svg('circle', { class: `dot ${s.look}`, cx: this.x(step), cy: this.y(v), r: 3.2 })));
    return out;
  }

  key_of(s) {
    const e = svg('svg', { viewBox: '0 0 30 10', 'aria-hidden': 'true' }, svg('path', { class: `curve ${s.look}`, d: 'M1 5H29' }));
    if (s.dots) e.append(svg('circle', { class: `dot ${s.look}`, cx: 15, cy: 5, r: 3.5 }));
    return e;
  }

  point(e) {
    const x = e.clientX - this.drawing.getBoundingClientRect().left;
    const step = this.first + ((x - LEFT) / (this.width - LEFT - 8)) * (this.last - this.first);
    this.read(this.steps.reduce((a, b) => (Math.abs(b - step) < Math.abs(a - step) ? b : a)));
  }

  key(e) {
    const move = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[e.key];
    if (move === undefined || !this.steps) return;
    e.preventDefault();
    const now = this.at === null ? this.steps.length - 1 : this.steps.indexOf(this.at) + move;
    this.read(this.steps[Math.max(0, Math.min(this.steps.length - 1, now))]);
    tell(this.spoken, this.readout.textContent);
  }

  // The values at a step; of a curve that has none there, those of its nearest point.
  read(step) {
    this.at = step;
    if (!this.series.length) return;
    this.hair.setAttribute('visibility', step === null ? 'hidden' : 'visible');
    if (step === null) {
      tell(this.readout, '');
      return;
    }
    this.hair.setAttribute('x1', this.x(step));
    this.hair.setAttribute('x2', this.x(step));
    const values = this.series.map((s) => {
      const p = s.points.reduce((a, b) => (Math.abs(b[0] - step) < Math.abs(a[0] - step) ? b : a));
      return `${s.name} ${this.format(p[1])}`;
    });
    tell(this.readout, say('readout', { step: number(step), values: values.join(', ') }));
  }
}

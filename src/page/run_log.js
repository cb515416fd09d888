// run_log.js - the log of one run, read bit by bit, as curves and settings.
import { ask } from '/page/base.js';

const finite = (x) => typeof x === 'number' && Number.isFinite(x);

export class RunLog {
  constructor(name) {
    this.name = name;
    this.clear();
  }

  clear() {
    Object.assign(this, { next: 0, torn: 0, start: null, curves: {} });
    for (const k of ['train', 'validation', 'words', 'recordings', 'busy', 'wait', 'time', 'slowest']) this.curves[k] = [];
  }

  // Fetches what is new; true when something was.
  async update() {
    let changed = false;
    for (;;) {
      const r = await (await ask(`/v1/runs/${encodeURI(this.name)}/log?after=${this.next}`)).json();
      // A new training in the same folder has begun a new file.
      if (r.from < this.next) this.clear();
      for (const row of r.rows) this.add(row);
      this.torn += r.torn;
      changed ||= r.rows.length > 0 || r.next !== this.next;
      this.next = r.next;
      if (!r.more) return changed;
    }
  }

  point(curve, step, value) {
    if (finite(value)) this.curves[curve].push([step, value]);
  }

  add(row) {
    const { event, step } = row;
    if (event === 'start') this.start = row;
    else if (event === 'resume') {
      // Later steps do not count any more.
      for (const k of Object.keys(this.curves)) this.curves[k] = this.curves[k].filter((p) => p[0] <= step);
    } else if (event === 'validation') this.point('validation', step, row.loss);
    else if (event === 'heard') {
      this.point('words', step, row.words_wrong_share);
      this.point('recordings', step, row.recordings_words_wrong_share);
    } else if (event === 'step') {
      this.point('train', step, row.loss);
      this.point('busy', step, finite(row.gpu_utilisation) ? row.gpu_utilisation : row.busy_share);
      this.point('wait', step, row.wait_share);
      this.point('time', step, row.step_ms);
      const times = (row.step_times_ms ?? []).filter(finite);
      if (times.length) this.point('slowest', step, times.reduce((a, b) => Math.max(a, b)));
    }
  }
}

// The settings of two runs that are not the same, without the names of places.
export function differences(a, b) {
  if (!a.start || !b.start) return null;
  const one = { ...a.start.settings };
  const two = { ...b.start.settings };
  for (const k of ['device', 'ranks']) {
    one[k] = a.start[k];
    two[k] = b.start[k];
  }
  const keys = [...new Set([...Object.keys(one), ...Object.keys(two)])];
  return keys.filter((k) => !/_(dir|path)$/.test(k) && String(one[k] ?? '') !== String(two[k] ?? '')).map((k) => [k, one[k], two[k]]);
}

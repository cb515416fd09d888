// microphone.js - the microphone as it is, without echo cancelling, noise suppression and automatic gain: levels all the time, samples
// while a take is recorded. Levels are in dB below full scale. The server's take.c judges by the same limits.

const FLOOR = -100;
const FULL = 0.99;
const HEAD = 0.25; // seconds after the key that are left out: its click is in them
const TAIL = 0.08; // and before the key that stops
const NOISE_SECONDS = 4;

const decibel = (x) => (x > 0 ? Math.max(FLOOR, 20 * Math.log10(x)) : FLOOR);

export class Microphone {
  // heard(level): called for every block of sound; level: {db, peak, clipped, noise, seconds}, seconds of the take, or NaN.
  constructor(heard) {
    this.heard = heard;
    this.stream = null;
    this.quiet = []; // levels of the last seconds
    this.take = null;
  }

  static allowed() {
    return Boolean(window.isSecureContext && navigator.mediaDevices && window.AudioWorkletNode);
  }

  async open(device) {
    await this.close();
    const wish = { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false };
    if (device) wish.deviceId = { exact: device };
    const stream = await navigator.mediaDevices.getUserMedia({ audio: wish });
    const context = new AudioContext();
    await context.audioWorklet.addModule('/page/microphone_worklet.js');
    const tap = new AudioWorkletNode(context, 'tap', { numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit' });
    context.createMediaStreamSource(stream).connect(tap);
    tap.port.onmessage = (e) => this.hear(e.data);
    await context.resume();
    this.stream = stream;
    this.context = context;
    this.quiet = [];
    stream.getAudioTracks()[0].addEventListener('ended', () => this.lost?.());
  }

  async close() {
    if (!this.stream) return;
    for (const t of this.stream.getTracks()) t.stop();
    this.stream = null;
    this.take = null;
    await this.context.close();
  }

  get rate() {
    return this.context.sampleRate;
  }

  get device() {
    return this.stream?.getAudioTracks()[0].getSettings().deviceId;
  }

  hear(block) {
    let sum = 0;
    let peak = 0;
    let mean = 0;
    let full = 0;
    for (const s of block) mean += s / block.length;
    for (const s of block) {
      sum += (s - mean) * (s - mean);
      peak = Math.max(peak, Math.abs(s));
      full += Math.abs(s) >= FULL;
    }
    const db = decibel(Math.sqrt(sum / block.length));
    this.quiet.push(db);
    if (this.quiet.length > (NOISE_SECONDS * this.rate) / block.length) this.quiet.shift();
    const sorted = [...this.quiet].sort((a, b) => a - b);
    const noise = sorted[Math.floor(sorted.length / 10)];
    if (this.take) this.keep(block, peak, full > 2);
    this.heard({ db, peak: decibel(peak), clipped: full > 2, noise, seconds: this.take ? this.take.count / this.rate : NaN });
  }

  keep(block, peak, clipped) {
    const t = this.take;
    if (t.skip > 0) {
      t.skip -= block.length;
      return;
    }
    const samples = new Int16Array(block.length);
    for (let i = 0; i < block.length; i++) samples[i] = Math.round(32767 * Math.max(-1, Math.min(1, block[i])));
    t.pieces.push(samples);
    t.count += block.length;
    t.peaks.push(clipped ? -peak : peak);
  }

  begin() {
    this.take = { pieces: [], peaks: [], count: 0, skip: HEAD * this.rate };
  }

  // The take is on: what is said now is kept.
  get running() {
    return Boolean(this.take && this.take.count > 0);
  }

  // {pieces, peaks, rate}, or null where nothing was kept.
  end() {
    const t = this.take;
    this.take = null;
    if (!t) return null;
    let cut = Math.floor(TAIL * this.rate);
    while (t.pieces.length && cut > 0) {
      const last = t.pieces.pop();
      if (last.length > cut) t.pieces.push(last.subarray(0, last.length - cut));
      cut -= last.length;
    }
    return t.pieces.length ? { pieces: t.pieces, peaks: t.peaks, rate: this.rate } : null;
  }
}

// How loud each fiftieth of a second is; negative: at full scale. bytes: a WAV as the server keeps it.
export function peaksOf(bytes) {
  const view = new DataView(bytes);
  const step = Math.round(view.getUint32(24, true) / 50);
  const count = Math.floor((bytes.byteLength - 44) / 2);
  const peaks = [];
  for (let from = 0; from < count; from += step) {
    let peak = 0;
    let full = 0;
    for (let i = from; i < Math.min(count, from + step); i++) {
      const x = Math.abs(view.getInt16(44 + 2 * i, true)) / 32768;
      peak = Math.max(peak, x);
      full += x >= FULL;
    }
    peaks.push(full > 2 ? -peak : peak);
  }
  return peaks;
}

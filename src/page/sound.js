// sound.js - samples that come bit by bit: heard at once, kept, and at the end a file that can be sought in.

// 16-bit little-endian samples in base64 -> Int16Array
export function samplesOf(base64) {
  const binary = atob(base64);
  const data = new DataView(new ArrayBuffer(binary.length));
  for (let i = 0; i < binary.length; i++) data.setUint8(i, binary.charCodeAt(i));
  const samples = new Int16Array(binary.length >> 1);
  for (let i = 0; i < samples.length; i++) samples[i] = data.getInt16(2 * i, true);
  return samples;
}

// pieces: Int16Arrays, mono
export function wavOf(pieces, rate) {
  const count = pieces.reduce((n, p) => n + p.length, 0);
  const view = new DataView(new ArrayBuffer(44 + 2 * count));
  const text = (at, s) => [...s].forEach((c, i) => view.setUint8(at + i, c.charCodeAt(0)));
  text(0, 'RIFF');
  view.setUint32(4, 36 + 2 * count, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true); // PCM
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, 2 * count, true);
  let at = 44;
  for (const p of pieces) for (const s of p) {
    view.setInt16(at, s, true);
    at += 2;
  }
  return new Blob([view.buffer], { type: 'audio/wav' });
}

// Any recording that the browser can decode, as WAV: for what a microphone gives, and for kinds of file that
// the server does not read.
export async function recordingAsWav(blob) {
  const context = new OfflineAudioContext(1, 1, 24000);
  const decoded = await context.decodeAudioData(await blob.arrayBuffer());
  const mono = new Int16Array(decoded.length);
  for (let i = 0; i < decoded.length; i++) {
    let sum = 0;
    for (let c = 0; c < decoded.numberOfChannels; c++) sum += decoded.getChannelData(c)[i];
    mono[i] = Math.round(32767 * Math.max(-1, Math.min(1, sum / decoded.numberOfChannels)));
  }
  return wavOf([mono], decoded.sampleRate);
}

// While sound is being made, an AudioContext plays the pieces into a stream that the audio element shows. The
// element's own pause button stops the context's clock, so that nothing is lost. When all is there and nobody
// is listening, the stream is replaced by a file.
export class Player {
  constructor(audio, whenBlocked) {
    this.audio = audio;
    this.whenBlocked = whenBlocked;
    this.context = null;
    this.pieces = [];
    audio.addEventListener('pause', () => {
      if (!this.context) return;
      if (this.whole) this.useFile(this.position());
      else this.context.suspend();
    });
    audio.addEventListener('play', () => this.context && this.context.resume());
  }

  begin(rate) {
    this.clear();
    this.rate = rate;
    this.context = new AudioContext({ sampleRate: rate });
    this.target = this.context.createMediaStreamDestination();
    this.audio.removeAttribute('src');
    this.audio.srcObject = this.target.stream;
    this.audio.play().catch((e) => e.name === 'NotAllowedError' && this.whenBlocked());
  }

  add(samples) {
    this.pieces.push(samples);
    const buffer = this.context.createBuffer(1, samples.length, this.rate);
    const channel = buffer.getChannelData(0);
    for (let i = 0; i < samples.length; i++) channel[i] = samples[i] / 32768;
    const source = this.context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.target);
    // Behind the piece before; after a gap a little later than now, so that the next one is not late too.
    const now = this.context.currentTime;
    const at = this.until > now ? this.until : now + 0.1;
    source.start(at);
    this.until = at + buffer.duration;
    this.spans.push({ at, from: this.seconds });
    this.seconds += buffer.duration;
  }

  // Nothing more will come.
  end() {
    this.whole = true;
    if (!this.context) return;
    if (this.audio.paused && this.context.currentTime > 0) {
      this.useFile(this.position());
      return;
    }
    const look = () => {
      if (!this.context) return;
      if (this.context.currentTime < this.until + 0.15) this.timer = setTimeout(look, 100);
      else this.useFile(0);
    };
    look();
  }

  // Seconds of the sound that have been heard.
  position() {
    if (!this.context) return this.audio.currentTime;
    const now = this.context.currentTime;
    let heard = 0;
    for (const s of this.spans) {
      if (s.at > now) break;
      heard = s.from + (now - s.at);
    }
    return Math.min(heard, this.seconds);
  }

  playing() {
    return this.context ? !this.audio.paused && this.context.currentTime < this.until : !this.audio.paused;
  }

  seek(seconds) {
    if (this.context && this.whole) this.useFile(seconds);
    else if (!this.context) this.audio.currentTime = seconds;
  }

  file() {
    return wavOf(this.pieces, this.rate);
  }

  useFile(at) {
    this.closeContext();
    if (this.url) URL.revokeObjectURL(this.url);
    this.url = URL.createObjectURL(this.file());
    this.audio.srcObject = null;
    this.audio.src = this.url;
    if (at > 0) this.audio.currentTime = at;
  }

  closeContext() {
    clearTimeout(this.timer);
    if (this.context) this.context.close();
    this.context = null;
  }

  clear() {
    this.closeContext();
    this.pieces = [];
    this.spans = [];
    this.seconds = 0;
    this.until = 0;
    this.whole = false;
  }
}

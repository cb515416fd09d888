// microphone_worklet.js - in the thread of the sound: hands the samples of the microphone on, in blocks.
const BLOCK = 1024;

class Tap extends AudioWorkletProcessor {
  constructor() {
    super();
    this.block = new Float32Array(BLOCK);
    this.used = 0;
  }

  process([input]) {
    const samples = input[0];
    if (!samples) return true;
    for (const s of samples) {
      this.block[this.used++] = s;
      if (this.used < BLOCK) continue;
      this.port.postMessage(this.block, [this.block.buffer]);
      this.block = new Float32Array(BLOCK);
      this.used = 0;
    }
    return true;
  }
}

registerProcessor('tap', Tap);

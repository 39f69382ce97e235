/** Audio of the sandbox: a soft tone as long as the text would take to speak, in valid audio files.
 *  Pure. */
import type { Bytes } from '../../engine/plugin.ts'

/** OpenAI's speech format: 24,000 samples a second of 16 bits, one channel. */
const RATE = 24_000
const TONE_HZ = 330
const AMPLITUDE = 3_000

export interface AudioEncoder {
  readonly type: string
  make(seconds: number): Bytes
}

const samples = (seconds: number): Buffer => {
  const count = Math.round(seconds * RATE)
  const bytes = Buffer.alloc(count * 2)
  for (let at = 0; at < count; at++)
    bytes.writeInt16LE(
      Math.round(AMPLITUDE * Math.sin((2 * Math.PI * TONE_HZ * at) / RATE)),
      at * 2,
    )
  return bytes
}

/** RIFF: a header of 44 bytes, then samples. */
const wav = (seconds: number): Buffer => {
  const wave = samples(seconds)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + wave.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(RATE, 24)
  head.writeUInt32LE(RATE * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(wave.length, 40)
  return Buffer.concat([head, wave])
}

/** MPEG 2, layer III, 32 kbit, 24 kHz, mono: 96 bytes for 576 samples. A frame with only a header
 *  is silence. */
const FRAME = Buffer.concat([Buffer.from([0xff, 0xf3, 0x44, 0xc4]), Buffer.alloc(92)])
const SAMPLES = 576
const mp3 = (seconds: number): Buffer =>
  Buffer.concat(Array.from({ length: Math.ceil((seconds * RATE) / SAMPLES) }, () => FRAME))

/** Response format -> audio file. The sandbox has no encoders for other formats. */
export const AUDIO_ENCODERS: Readonly<Record<string, AudioEncoder>> = {
  mp3: { type: 'audio/mpeg', make: mp3 },
  wav: { type: 'audio/wav', make: wav },
  pcm: { type: 'audio/pcm', make: samples },
}

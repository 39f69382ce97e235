/** The sandbox's images: small plain PNGs, their colour by the words, in the answers of OpenAI's and of Recraft's. */
import { createHash } from 'node:crypto'
import { COLOURS, pngOf } from '../formats/png.ts'
import { writeEvent } from '../formats/sse.ts'
import type { Still } from './still.ts'
import { type Fields, numberIn, textIn } from './voice.ts'

const SIDE = 64
/** Images of one answer. */
const MOST = 10

export const images: Still = {
  path: /\/images\/(?:generations|edits|imageToImage|inpaint)$/,
  plain(body, _, { at }) {
    const count = numberOf(body)
    if (count === undefined) return undefined
    const rows = Array.from({ length: count }, (__, index) => row(body, index))
    return { created: at, data: rows, usage: usageOf(body, count) }
  },
  stream(body, path, { at }) {
    const type = path.endsWith('/edits') ? 'image_edit.completed' : 'image_generation.completed'
    const [first = {}, ...more] = Array.from({ length: numberOf(body) ?? 1 }, (_, index) => ({
      ...{ type, created_at: at, b64_json: drawn(body, index).base64 },
      usage: usageOf(body, 1),
    }))
    return [first, ...more].map(event => writeEvent(type, event))
  },
}

/** A form says numbers in words. */
const numberOf = ({ n }: Fields): number | undefined => {
  const count = numberIn(n) ?? Number(textIn(n) || 1)
  return Number.isInteger(count) && count >= 1 && count <= MOST ? count : undefined
}
const row = (body: Fields, index: number): Fields => {
  const { base64, mime } = drawn(body, index)
  const form = textIn(body.response_format)
  // Models of this name answer nothing else.
  const inline = form === 'b64_json' || (form === '' && textIn(body.model).startsWith('gpt-image'))
  return inline ? { b64_json: base64 } : { url: `data:${mime};base64,${base64}` }
}
const drawn = (body: Fields, index: number) => {
  const words = `${textIn(body.prompt)} ${index}`
  const [red = 0, green = 0, blue = 0] = createHash('sha256').update(words).digest()
  if (textIn(body.model).includes('vector')) {
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIDE} ${SIDE}"><rect width="100%" height="100%" fill="rgb(${red},${green},${blue})"/></svg>`
    return { base64: Buffer.from(svg).toString('base64'), mime: 'image/svg+xml' }
  }
  const line = [0, ...Array.from({ length: SIDE }, () => [red, green, blue]).flat()]
  const lines = Buffer.from(Array.from({ length: SIDE }, () => line).flat())
  const png = pngOf({ width: SIDE, height: SIDE }, COLOURS, lines)
  return { base64: png.toString('base64'), mime: 'image/png' }
}
const usageOf = ({ prompt }: Fields, count: number): Fields => {
  const [input, output] = [Math.max(1, Math.ceil(textIn(prompt).length / 4)), count * 16]
  return {
    ...{ input_tokens: input, output_tokens: output, total_tokens: input + output },
    input_tokens_details: { text_tokens: input, image_tokens: 0 },
  }
}

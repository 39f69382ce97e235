/** Images that an upstream drew, as OpenAI and those who follow it answer them: read into the hub, counted, put together. */
import type { Json } from '../../engine/plugin.ts'
import type { Meters } from '../slots.ts'
import type { Media } from './content.ts'
import { count, type Fields, inner, isFields, itemsIn, wordIn } from './fields.ts'
import { positive } from './format.ts'

/** Throws where there are none: that is no answer. */
export const drawnIn = (body: Fields): readonly Media[] => {
  const images = itemsIn(body, 'data').flatMap(readImage)
  if (images.length === 0) throw new Error('no image')
  return images
}
const readImage = (item: Fields): readonly Media[] => {
  const [url, data, revised] = ['url', 'b64_json', 'revised_prompt'].map(key => wordIn(item, key))
  const more = { ...(revised !== undefined && { revised }) }
  if (data) {
    const source = { type: 'data' as const, data, mime: mimeOf(data) }
    return [{ type: 'media', kind: 'image', source, ...more }]
  }
  return url ? [{ type: 'media', kind: 'image', source: { type: 'url', url }, ...more }] : []
}

/** By their first bytes, in base64. */
const BEGINNINGS: readonly (readonly [start: string, mime: string])[] = [
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
  ['PHN2Z', 'image/svg+xml'],
  ['PD94b', 'image/svg+xml'],
]
export const mimeOf = (data: string): string =>
  BEGINNINGS.find(([start]) => data.startsWith(start))?.[1] ?? 'image/png'

/** `images`: how many there are. Tokens only where the upstream counts them: what was cached is not told. */
export const metersOf = (usage: Fields, images: number): Meters => {
  const read = count(usage.input_tokens)
  const seen = Math.min(count(inner(usage, 'input_tokens_details').image_tokens), read)
  return positive({
    images,
    input: read - seen,
    image_input: seen,
    output: count(usage.output_tokens),
  })
}
export const countsOf = ({ input = 0, image_input: seen = 0, output = 0 }: Meters): Fields => ({
  input_tokens: input + seen,
  output_tokens: output,
  total_tokens: input + seen + output,
  input_tokens_details: { text_tokens: input, image_tokens: seen },
})

/** Of several answers: all images, all counts. */
export const joined = (bodies: readonly Fields[]): Fields => {
  const usages = bodies.flatMap(({ usage }) => (isFields(usage) ? [usage] : []))
  return {
    ...bodies[0],
    data: bodies.flatMap(body => itemsIn(body, 'data')),
    ...(usages.length > 0 && { usage: usages.reduce(added) }),
  }
}
/** Two counts, number by number. */
export const added = (one: Fields, other: Fields): Fields => {
  const sum: { [key: string]: Json } = { ...one }
  for (const [key, value] of Object.entries(other)) {
    const before = sum[key]
    // What cannot be a count is none in the sum either.
    if (typeof value === 'number') sum[key] = typeof before === 'number' ? before + value : value
    else if (isFields(value)) sum[key] = added(isFields(before) ? before : {}, value)
  }
  return sum
}

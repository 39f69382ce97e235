/** What the sandbox says: the same to the same question, in words that tell a newcomer what he is looking at. Pure. */
import type { Json } from '../../engine/plugin.ts'

/** A question, whatever the format it came in. */
export interface Ask {
  readonly model: string
  /** The last thing the user wrote. */
  readonly words: string
  /** Addresses or data URLs. */
  readonly images: readonly string[]
  readonly tools: readonly Tool[]
  /** What a tool answered, if that is what came last. */
  readonly result?: string | undefined
  readonly stream: boolean
  /** The most tokens it may write. */
  readonly limit?: number | undefined
  /** All that was sent, in characters. */
  readonly size: number
}
interface Tool {
  readonly name: string
  readonly schema: Json
}

/** The answer, before it is written in a format. */
export interface Play {
  readonly model: string
  /** In the pieces it is streamed in. */
  readonly words: readonly string[]
  readonly call?: { readonly name: string; readonly input: Json }
  readonly cut: boolean
  readonly input: number
  readonly output: number
}

export const play = (ask: Ask): Play => {
  const input = tokens(ask.size)
  const [tool] = ask.tools
  if (tool && ask.result === undefined) {
    const call = { name: tool.name, input: sample(tool.schema) }
    const output = tokens(JSON.stringify(call.input).length)
    return { model: ask.model, words: [], call, cut: false, input, output }
  }
  const all = said(ask).split(/(?<= )/)
  const words = all.slice(0, Math.max(1, ask.limit ?? all.length))
  return { model: ask.model, words, cut: words.length < all.length, input, output: words.length }
}

const said = ({ model, words, images, result }: Ask): string => {
  if (result !== undefined) return `The tool answered: ${quoted(result)}`
  const seen = images.map(image => `I see ${described(image)}. `).join('')
  return `${seen}This is the sandbox answering as ${model}; no upstream was asked. You wrote: ${quoted(words)}`
}
const quoted = (text: string): string =>
  `"${text.length > 200 ? `${text.slice(0, 200).trimEnd()}…` : text}"`

const described = (image: string): string => {
  const [, kind = 'unknown', base64 = ''] =
    /^data:image\/([\w.+-]+);base64,(.*)$/s.exec(image) ?? []
  if (!image.startsWith('data:')) return `an image at ${image.slice(0, 120)}`
  return `an inline ${kind.toUpperCase()} image of ${Math.floor((base64.length * 3) / 4)} bytes`
}
/** Four characters are about a token. */
const tokens = (characters: number): number => Math.max(1, Math.ceil(characters / 4))

// ---------------------------------------------------------------- arguments for a tool

type Schema = { readonly [keyword: string]: Json }
/** A value that fits a tool's schema well enough to be called with. */
export const sample = (given: Json | undefined): Json => {
  const schema = (given ?? {}) as Schema
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0] as Json
  const [branch] = [schema.anyOf, schema.oneOf].flatMap(each => (Array.isArray(each) ? each : []))
  if (branch !== undefined) return sample(branch)
  const type = String(Array.isArray(schema.type) ? schema.type[0] : (schema.type ?? 'object'))
  return (SAMPLES[type.toLowerCase()] ?? sampleObject)(schema)
}
const SAMPLES: Readonly<Record<string, (schema: Schema) => Json>> = {
  string: () => 'sandbox',
  integer: ({ minimum }) => (typeof minimum === 'number' ? minimum : 1),
  number: ({ minimum }) => (typeof minimum === 'number' ? minimum : 1),
  boolean: () => true,
  null: () => null,
  array: ({ items }) => [sample(items)],
}
const sampleObject = ({ properties, required }: Schema): Json => {
  const known = (properties ?? {}) as Schema
  const wanted = Array.isArray(required) ? required.map(String) : Object.keys(known)
  return Object.fromEntries(wanted.map(name => [name, sample(known[name])]))
}

/** The sandbox's answers: deterministic texts that say that no upstream was called. Pure. */
import type { Json } from '../../engine/plugin.ts'

/** A request, independent of its format. */
export interface SandboxRequest {
  readonly model: string
  /** The user's last text. */
  readonly text: string
  /** URLs or data URLs. */
  readonly images: readonly string[]
  readonly tools: readonly Tool[]
  /** The result of a tool, if the last message is one. */
  readonly toolResult?: string | undefined
  readonly stream: boolean
  /** Output limit in tokens. */
  readonly limit?: number | undefined
  /** Characters of the request. */
  readonly size: number
}
interface Tool {
  readonly name: string
  readonly schema: Json
}

/** An answer, before a format encodes it. */
export interface CannedAnswer {
  readonly model: string
  /** The text, split into stream chunks. */
  readonly chunks: readonly string[]
  readonly call?: { readonly name: string; readonly input: Json }
  readonly isTruncated: boolean
  readonly inputTokens: number
  readonly outputTokens: number
}

export const cannedAnswer = (request: SandboxRequest): CannedAnswer => {
  const input = tokens(request.size)
  const [tool] = request.tools
  if (tool && request.toolResult === undefined) {
    const call = { name: tool.name, input: sampleValue(tool.schema) }
    const output = tokens(JSON.stringify(call.input).length)
    return {
      model: request.model,
      chunks: [],
      call,
      isTruncated: false,
      inputTokens: input,
      outputTokens: output,
    }
  }
  const chunks = answerText(request).split(/(?<= )/)
  const words = chunks.slice(0, Math.max(1, request.limit ?? chunks.length))
  return {
    model: request.model,
    chunks: words,
    isTruncated: words.length < chunks.length,
    inputTokens: input,
    outputTokens: words.length,
  }
}

const answerText = ({ model, text, images, toolResult }: SandboxRequest): string => {
  if (toolResult !== undefined) return `The tool answered: ${quote(toolResult)}`
  const imageText = images.map(image => `I see ${describeImage(image)}. `).join('')
  return `${imageText}This is the sandbox answering as ${model}; no upstream was called. You wrote: ${quote(text)}`
}
const quote = (text: string): string =>
  `"${text.length > 200 ? `${text.slice(0, 200).trimEnd()}…` : text}"`

const describeImage = (image: string): string => {
  const [, kind = 'unknown', base64 = ''] =
    /^data:image\/([\w.+-]+);base64,(.*)$/s.exec(image) ?? []
  if (!image.startsWith('data:')) return `an image at ${image.slice(0, 120)}`
  return `an inline ${kind.toUpperCase()} image of ${Math.floor((base64.length * 3) / 4)} bytes`
}
/** Four characters are about one token. */
const tokens = (characters: number): number => Math.max(1, Math.ceil(characters / 4))

// ---------------------------------------------------------------- arguments for a tool

type Schema = { readonly [keyword: string]: Json }
/** A sample value for a tool's schema. */
export const sampleValue = (value: Json | undefined): Json => {
  const schema = (value ?? {}) as Schema
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0] as Json
  const [branch] = [schema.anyOf, schema.oneOf].flatMap(each => (Array.isArray(each) ? each : []))
  if (branch !== undefined) return sampleValue(branch)
  const type = String(Array.isArray(schema.type) ? schema.type[0] : (schema.type ?? 'object'))
  return (SAMPLES[type.toLowerCase()] ?? sampleObject)(schema)
}
const SAMPLES: Readonly<Record<string, (schema: Schema) => Json>> = {
  string: () => 'sandbox',
  integer: ({ minimum }) => (typeof minimum === 'number' ? minimum : 1),
  number: ({ minimum }) => (typeof minimum === 'number' ? minimum : 1),
  boolean: () => true,
  null: () => null,
  array: ({ items }) => [sampleValue(items)],
}
const sampleObject = ({ properties, required }: Schema): Json => {
  const propertySchemas = (properties ?? {}) as Schema
  const names = Array.isArray(required) ? required.map(String) : Object.keys(propertySchemas)
  return Object.fromEntries(names.map(name => [name, sampleValue(propertySchemas[name])]))
}

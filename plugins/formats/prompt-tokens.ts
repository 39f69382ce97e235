/** Estimates the tokens of a prompt without counts from the text of the request in any format.
 *  Pure. */
import { cutSize, isOutline } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'
import { isFields } from './fields.ts'

/** Bytes of text per token. */
export const BYTES_PER_TOKEN = 4
/** Typical counts of providers for media: an image, a page, a few seconds. */
export const MEDIA_TOKENS: Readonly<Record<string, number>> = {
  image: 1_100,
  document: 1_600,
  audio: 320,
  video: 2_600,
}

/** Members of a request that the model reads. */
const PROMPT_FIELDS = [
  'messages',
  'input',
  'instructions',
  'system',
  'prompt',
  'contents',
  'systemInstruction',
  'system_instruction',
  'tools',
  'functions',
]
/** Members that structure a prompt and hold no text. */
const STRUCTURE_FIELDS: ReadonlySet<string> = new Set([
  'role',
  'type',
  'id',
  'call_id',
  'tool_call_id',
  'tool_use_id',
  'status',
  'detail',
  'cache_control',
  'signature',
  'thoughtSignature',
  'thought_signature',
  'encrypted_content',
])
/** Members whose value is JSON that the model reads including its keys. */
const KEYED_FIELDS: ReadonlySet<string> = new Set([
  'tools',
  'functions',
  'args',
  'input',
  'parameters',
  'input_schema',
  'response',
])
/** Members that hold a file or refer to one. */
const MEDIA_FIELDS: ReadonlySet<string> = new Set([
  'image_url',
  'inlineData',
  'inline_data',
  'fileData',
  'file_data',
  'file_id',
  'file_url',
  'input_audio',
  'video_url',
  'source',
  'file',
])

/** `body`: or its outline. `size`: bytes of the request, if it has none of the known members. */
export const estimatePromptTokens = (body: Json, size: number): number => {
  const prompt = isFields(body) ? PROMPT_FIELDS.filter(name => name in body) : []
  if (!isFields(body) || prompt.length === 0) return Math.ceil(size / BYTES_PER_TOKEN)
  const sum = { bytes: 0, tokens: 0, isOutline: isOutline(body) }
  // Uses a list instead of recursion, because a request may be nested deeper than the stack.
  const queue: Visit[] = prompt.map(name => ({
    value: body[name],
    countsKeys: name === 'tools' || name === 'functions',
  }))
  for (let next = queue.pop(); next; next = queue.pop()) visit(next, queue, sum)
  return Math.ceil(sum.bytes / BYTES_PER_TOKEN) + sum.tokens
}

interface Visit {
  readonly value: Json | undefined
  /** The model reads the keys as well. */
  readonly countsKeys: boolean
}
interface Sum {
  readonly isOutline: boolean
  bytes: number
  tokens: number
}
const visit = ({ value, countsKeys }: Visit, queue: Visit[], sum: Sum): void => {
  if (typeof value === 'string')
    sum.bytes += (sum.isOutline ? cutSize(value) : undefined) ?? Buffer.byteLength(value)
  else if (Array.isArray(value)) for (const each of value) queue.push({ value: each, countsKeys })
  else if (isFields(value))
    for (const name in value) {
      const member = value[name]
      if (countsKeys) sum.bytes += name.length
      else if (STRUCTURE_FIELDS.has(name)) continue
      else if (MEDIA_FIELDS.has(name) && !holdsText(member)) {
        sum.tokens += MEDIA_TOKENS[kindOf(member)] ?? 0
        continue
      }
      queue.push({
        value: member,
        countsKeys: countsKeys || (KEYED_FIELDS.has(name) && isFields(member)),
      })
    }
}
/** Anthropic's documents may hold text. */
const holdsText = (value: Json | undefined): boolean =>
  isFields(value) && (value.type === 'text' || value.type === 'content')
const KINDS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['audio', /audio|\b(?:wav|mp3|flac|opus)\b/i],
  ['video', /video|\.(?:mp4|mov|webm)\b/i],
  ['document', /pdf|\bfile|text\//i],
]
/** Guesses the kind from the start of the value: a media type or a URL. */
const kindOf = (value: Json | undefined): string => {
  const parts = isFields(value) ? Object.entries(value).flat() : [value]
  const words = parts.map(each => (typeof each === 'string' ? each.slice(0, 256) : '')).join(' ')
  return KINDS.find(([, pattern]) => pattern.test(words))?.[0] ?? 'image'
}

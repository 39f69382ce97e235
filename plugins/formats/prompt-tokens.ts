/** Estimates the tokens of a prompt that no upstream counted, from the text of the request in any format. Pure. */
import type { Json } from '../../engine/plugin.ts'
import { isFields } from './fields.ts'

/** Bytes of text to a token. */
export const BYTES_PER_TOKEN = 4
/** What providers count for media of usual size: an image, a page, some seconds. */
export const MEDIA_TOKENS: Readonly<Record<string, number>> = {
  ...{ image: 1_100, document: 1_600, audio: 320, video: 2_600 },
}

/** Members of a request that the model reads. */
const PROMPT = [
  ...['messages', 'input', 'instructions', 'system', 'prompt', 'contents'],
  ...['systemInstruction', 'system_instruction', 'tools', 'functions'],
]
/** Members that structure a prompt and are no text. */
const STRUCTURE: ReadonlySet<string> = new Set([
  ...['role', 'type', 'id', 'call_id', 'tool_call_id', 'tool_use_id', 'status', 'detail'],
  ...['cache_control', 'signature', 'thoughtSignature', 'thought_signature', 'encrypted_content'],
])
/** Members whose value is JSON that the model reads with its keys. */
const WITH_KEYS: ReadonlySet<string> = new Set([
  ...['tools', 'functions', 'args', 'input', 'parameters', 'input_schema', 'response'],
])
/** Members that hold a file, or where it is found. */
const MEDIA: ReadonlySet<string> = new Set([
  ...['image_url', 'inlineData', 'inline_data', 'fileData', 'file_data', 'file_id', 'file_url'],
  ...['input_audio', 'video_url', 'source', 'file'],
])

/** `size`: bytes of the request, of which four are a token where no member of it is known. */
export const promptTokens = (body: Json, size: number): number => {
  const prompt = isFields(body) ? PROMPT.filter(name => name in body) : []
  if (!isFields(body) || prompt.length === 0) return Math.ceil(size / BYTES_PER_TOKEN)
  const sum = { bytes: 0, tokens: 0 }
  // A list in place of recursion: a request may be nested deeper than the stack.
  const rest: Visit[] = prompt.map(name => ({
    value: body[name],
    keys: name === 'tools' || name === 'functions',
  }))
  for (let next = rest.pop(); next; next = rest.pop()) visit(next, rest, sum)
  return Math.ceil(sum.bytes / BYTES_PER_TOKEN) + sum.tokens
}

interface Visit {
  readonly value: Json | undefined
  /** Keys are read as well. */
  readonly keys: boolean
}
interface Sum {
  bytes: number
  tokens: number
}
const visit = ({ value, keys }: Visit, rest: Visit[], sum: Sum): void => {
  if (typeof value === 'string') sum.bytes += Buffer.byteLength(value)
  else if (Array.isArray(value)) for (const each of value) rest.push({ value: each, keys })
  else if (isFields(value))
    for (const name in value) {
      const member = value[name]
      if (keys) sum.bytes += name.length
      else if (STRUCTURE.has(name)) continue
      else if (MEDIA.has(name) && !holdsText(member)) {
        sum.tokens += MEDIA_TOKENS[kindOf(member)] ?? 0
        continue
      }
      rest.push({ value: member, keys: keys || (WITH_KEYS.has(name) && isFields(member)) })
    }
}
/** Anthropic's documents may be text. */
const holdsText = (value: Json | undefined): boolean =>
  isFields(value) && (value.type === 'text' || value.type === 'content')
const KINDS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['audio', /audio|\b(?:wav|mp3|flac|opus)\b/i],
  ['video', /video|\.(?:mp4|mov|webm)\b/i],
  ['document', /pdf|\bfile|text\//i],
]
/** By what stands near the front of it: a type, or an address. */
const kindOf = (value: Json | undefined): string => {
  const parts = isFields(value) ? Object.entries(value).flat() : [value]
  const words = parts.map(each => (typeof each === 'string' ? each.slice(0, 256) : '')).join(' ')
  return KINDS.find(([, pattern]) => pattern.test(words))?.[0] ?? 'image'
}

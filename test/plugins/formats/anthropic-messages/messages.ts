/** Reads messages without code of the gateway, and with the official SDK behind a loopback
 *  server. */
import Anthropic from '@anthropic-ai/sdk'
import type { Test } from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import type { Prompt, Turn } from '../../../../plugins/formats/hub/prompt.ts'
import { encodePrompt, PROMPT } from '../../../helpers/formats/codec.ts'
import { startHttpUpstream } from '../../../helpers/gateway/test-server.ts'

// ---------------------------------------------------------------- prompts

export const NAME = 'anthropic-messages'
export const textPart = (text: string): Content => ({ type: 'text', text })
export const user = (...content: readonly Content[]): Turn => ({ role: 'user', content })
export const model = (...content: readonly Content[]): Turn => ({ role: 'assistant', content })
export const system = (text: string): Turn => ({ role: 'system', content: [textPart(text)] })
export const call = (id: string, input = '{}'): Content => ({
  type: 'call',
  id,
  name: 'look',
  input,
})
export const result = (id: string, text = 'seen'): Content => ({
  type: 'result',
  id,
  content: [{ type: 'text', text }],
})
export const promptOf = (turns: readonly Turn[], more: Partial<Prompt> = {}): Prompt => ({
  ...PROMPT,
  stream: false,
  turns,
  ...more,
})
export const encodeBody = (prompt: Prompt, traits: Fields = {}, output?: number) => {
  const { body, dropped } = encodePrompt(NAME, prompt, {
    traits,
    ...(output !== undefined && { maxOutput: output }),
  })
  return { body: body as Fields, dropped }
}
export const encodeTurns = (turns: readonly Turn[], traits: Fields = {}): Fields =>
  encodeBody(promptOf(turns), traits).body
export const roles = (body: Fields): readonly Json[] =>
  (body.messages as readonly Fields[]).map(({ role, content }) => [
    role ?? null,
    ...(content as readonly Fields[]).map(({ type }) => type ?? null),
  ])
export const HELLO = [user(textPart('hi'))]

// ---------------------------------------------------------------- the reader of its own

/** Assembles the message of a stream up to its first end; undefined if it has no end. */
export const messageOf = (sse: string): Fields | undefined => {
  let message: { [key: string]: Json } = {}
  const blocks: { [key: string]: Json }[] = []
  const inputs = new Map<number, string>()
  /** Offset of the current stream's blocks: spliced streams restart their indexes. */
  let base = 0
  for (const line of sse.split(/\r?\n/)) {
    if (!line.startsWith('data:')) continue
    const event = JSON.parse(line.slice(5))
    const at = base + (event.index ?? 0)
    if (event.type === 'message_start') {
      base = blocks.length
      message = message.id ? message : { ...event.message }
    } else if (event.type === 'content_block_start') blocks[at] = { ...event.content_block }
    else if (event.type === 'content_block_delta')
      grow(blocks[at] ?? {}, event.delta, json => inputs.set(at, (inputs.get(at) ?? '') + json))
    else if (event.type === 'message_delta') {
      const usage = { ...(message.usage as object), ...present(event.usage ?? {}) }
      message = { ...message, ...event.delta, usage }
    } else if (event.type === 'message_stop') {
      for (const [index, json] of inputs)
        if (json !== '') (blocks[index] as { [key: string]: Json }).input = JSON.parse(json)
      return { ...message, content: blocks }
    }
  }
  return undefined
}
const present = (usage: object): object =>
  Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null))
const grow = (
  block: { [key: string]: Json },
  delta: { readonly [key: string]: Json },
  input: (json: string) => void,
): void => {
  const add = (key: string, from = key): void => {
    block[key] = String(block[key] ?? '') + String(delta[from])
  }
  if (delta.type === 'text_delta') add('text')
  else if (delta.type === 'thinking_delta') add('thinking')
  else if (delta.type === 'signature_delta') block.signature = delta.signature ?? null
  else if (delta.type === 'compaction_delta') block.content = delta.content ?? null
  else if (delta.type === 'input_json_delta') input(String(delta.partial_json))
  else if (delta.type === 'citations_delta')
    block.citations = [...((block.citations as Json[] | null) ?? []), delta.citation ?? null]
}

/** The content of a message that must be equal for every writer. */
export const summarize = (message: Fields) => {
  const blocks = message.content as readonly Fields[]
  const usage = message.usage as Readonly<Record<string, number | undefined>>
  return {
    kinds: blocks.map(({ type }) => type),
    texts: blocks.filter(({ type }) => type === 'text').map(({ text }) => text),
    calls: blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, name, input }) => ({ id, name, input })),
    thoughts: blocks
      .filter(({ type }) => type === 'thinking' || type === 'redacted_thinking')
      .map(({ thinking = null, signature = null, data = null }) => ({ thinking, signature, data })),
    citations: blocks.flatMap(({ citations }) => (citations as Json[] | null | undefined) ?? []),
    works: blocks.filter(({ type }) => String(type).includes('_tool_')).map(bare),
    stop: message.stop_reason,
    sequence: message.stop_sequence ?? null,
    usage: [
      usage.input_tokens ?? 0,
      usage.cache_creation_input_tokens ?? 0,
      usage.cache_read_input_tokens ?? 0,
      usage.output_tokens ?? 0,
    ],
  }
}
/** A hosted tool's block without its caller. */
const bare = ({ caller: _, ...block }: Fields): Fields => block

// ---------------------------------------------------------------- the SDK

export interface SdkReader {
  /** Returns the message that the SDK reads from this answer, plain or streamed. */
  read(body: string): Promise<Fields>
}
/** A loopback server that answers with the given body. */
export const startSdkReader = async (t: Test): Promise<SdkReader> => {
  let answer = ''
  const baseURL = await startHttpUpstream(t, (request, response) => {
    request.resume().on('end', () => {
      const plain = answer.startsWith('{')
      response.setHeader('content-type', plain ? 'application/json' : 'text/event-stream')
      response.end(answer)
    })
  })
  const sdk = new Anthropic({ baseURL, apiKey: 'k', maxRetries: 0 })
  const question: Anthropic.MessageCreateParamsNonStreaming = {
    model: 'claude',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hello' }],
  }
  // Only the beta part of the SDK assembles calls of MCP servers.
  const finalOf = (body: string): Promise<unknown> =>
    body.includes('mcp_tool_use')
      ? sdk.beta.messages.stream(question).finalMessage()
      : sdk.messages.stream(question).finalMessage()
  return {
    async read(body) {
      answer = body
      const message = body.startsWith('{')
        ? await sdk.messages.create(question)
        : await finalOf(body)
      return JSON.parse(JSON.stringify(message)) as Fields
    },
  }
}

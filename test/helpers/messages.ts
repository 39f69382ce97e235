/** Messages as a reader of their own sees them, that knows nothing of the gateway; and the official SDK behind a loopback server. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import type { Json } from '../../engine/plugin.ts'
import type { Content } from '../../plugins/formats/content.ts'
import type { Fields } from '../../plugins/formats/fields.ts'
import type { Prompt, Turn } from '../../plugins/formats/hub.ts'
import { encodePrompt, PROMPT } from './codec.ts'

// ---------------------------------------------------------------- prompts

export const NAME = 'anthropic-messages'
export const say = (text: string): Content => ({ type: 'text', text })
export const user = (...content: readonly Content[]): Turn => ({ role: 'user', content })
export const model = (...content: readonly Content[]): Turn => ({ role: 'assistant', content })
export const system = (text: string): Turn => ({ role: 'system', content: [say(text)] })
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
export const asking = (turns: readonly Turn[], more: Partial<Prompt> = {}): Prompt => ({
  ...PROMPT,
  stream: false,
  turns,
  ...more,
})
export const write = (prompt: Prompt, traits: Fields = {}, output?: number) => {
  const { body, dropped } = encodePrompt(NAME, prompt, {
    traits,
    ...(output !== undefined && { maxOutput: output }),
  })
  return { body: body as Fields, dropped }
}
export const sent = (turns: readonly Turn[], traits: Fields = {}): Fields =>
  write(asking(turns), traits).body
export const roles = (body: Fields): readonly Json[] =>
  (body.messages as readonly Fields[]).map(({ role, content }) => [
    role ?? null,
    ...(content as readonly Fields[]).map(({ type }) => type ?? null),
  ])
export const HI = [user(say('hi'))]

// ---------------------------------------------------------------- the reader of its own

/** The message a stream builds up to its first end; undefined where it never ends. */
export const messageOf = (sse: string): Fields | undefined => {
  let message: { [key: string]: Json } = {}
  const blocks: { [key: string]: Json }[] = []
  const inputs = new Map<number, string>()
  /** Spliced streams count their blocks anew. */
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

/** What of a message matters, whoever wrote it. */
export const gist = (message: Fields) => {
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
/** Of what a provider's tool did: which, and all it gave. */
const bare = ({ caller: _, ...block }: Fields): Fields => block

// ---------------------------------------------------------------- the SDK

export interface Stage {
  /** What the SDK makes of this answer, plain or as a stream. */
  read(body: string): Promise<Fields>
  close(): void
}
/** One loopback server that answers whatever is put on it. */
export const sdkStage = async (): Promise<Stage> => {
  let answer = ''
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const plain = answer.startsWith('{')
      response.setHeader('content-type', plain ? 'application/json' : 'text/event-stream')
      response.end(answer)
    })
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const sdk = new Anthropic({ baseURL: `http://127.0.0.1:${port}`, apiKey: 'k', maxRetries: 0 })
  const question: Anthropic.MessageCreateParamsNonStreaming = {
    model: 'claude',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hello' }],
  }
  // What servers of the client's did, only the beta part of the SDK puts together.
  const finalOf = (body: string): Promise<unknown> =>
    body.includes('mcp_tool_use')
      ? sdk.beta.messages.stream(question).finalMessage()
      : sdk.messages.stream(question).finalMessage()
  return {
    async read(body) {
      answer = body
      // What servers of the client's did, only the beta part of the SDK puts together.
      const message = body.startsWith('{')
        ? await sdk.messages.create(question)
        : await finalOf(body)
      return JSON.parse(JSON.stringify(message)) as Fields
    },
    close: () => void server.close(() => {}),
  }
}

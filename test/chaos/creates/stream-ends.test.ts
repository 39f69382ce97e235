/** A stream whose text is complete ends as complete although the store is away, in every format;
 *  its charge is on disk, and written when the store is back, also by another process. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { patient, TIMEOUTS } from '../../../engine/store/timeouts.ts'
import { text } from '../../fixtures/upstream/scenarios.ts'
import type { Step } from '../../fixtures/upstream/script.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { startPostgres } from '../../helpers/store/postgres.ts'
import { sql } from '../../helpers/store/store.ts'
import { createTree, type Tree, writerOf } from '../gateway-tree.ts'
import { postgresAt, STORES, type StoreSetup } from '../stores.ts'

t.setTimeout(300_000)

const events = (...all: readonly object[]): string =>
  all
    .map(each => {
      const { type } = each as { readonly type?: string }
      return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(each)}\n\n`
    })
    .join('')
const chatChunk = (choice: object, more: object = {}): object => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, finish_reason: null, ...choice }],
  ...more,
})
const response = (status: string): object => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status,
  output: [],
})
interface StreamCase {
  readonly path: string
  readonly format: string
  readonly body: object
  /** The texts that the upstream sends before and after the store goes away. */
  readonly begin: string
  readonly end: string
  /** The last bytes for the client. */
  readonly terminal: RegExp
}
const messages = [{ role: 'user', content: 'hello' }]
const CASES: Readonly<Record<string, StreamCase>> = {
  chat: {
    path: '/v1/chat/completions',
    format: 'openai-chat',
    body: { messages, stream: true, stream_options: { include_usage: true } },
    begin: events(chatChunk({ delta: { role: 'assistant', content: 'one' } })),
    end: `${events(
      chatChunk({ delta: { content: ' two' } }),
      chatChunk({ delta: {}, finish_reason: 'stop' }),
      { ...chatChunk({}), choices: [], usage: { prompt_tokens: 7, completion_tokens: 5 } },
    )}data: [DONE]\n\n`,
    terminal: /data: \[DONE\]\n\n$/,
  },
  messages: {
    path: '/v1/messages',
    format: 'anthropic-messages',
    body: { messages, max_tokens: 50, stream: true },
    begin: events(
      {
        type: 'message_start',
        message: {
          id: 'm1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          usage: { input_tokens: 7, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'one' } },
    ),
    end: events(
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ),
    terminal: /event: message_stop\ndata: .*\n\n$/,
  },
  responses: {
    path: '/v1/responses',
    format: 'openai-responses',
    body: { input: 'hello', stream: true },
    begin: events(
      { type: 'response.created', response: response('in_progress'), sequence_number: 0 },
      {
        type: 'response.output_text.delta',
        item_id: 'i',
        output_index: 0,
        content_index: 0,
        delta: 'one',
        sequence_number: 1,
      },
    ),
    end: events({
      type: 'response.completed',
      response: {
        ...response('completed'),
        usage: { input_tokens: 7, output_tokens: 5, total_tokens: 12 },
      },
      sequence_number: 2,
    }),
    terminal: /event: response\.completed\ndata: .*\n\n$/,
  },
  gemini: {
    path: '/v1beta/models/gemini:streamGenerateContent?alt=sse',
    format: 'google-gemini',
    body: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
    begin: events({
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'one' }] } }],
    }),
    end: events({
      candidates: [
        { index: 0, content: { role: 'model', parts: [{ text: ' two' }] }, finishReason: 'STOP' },
      ],
      usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 12 },
    }),
    terminal: /"finishReason": ?"STOP".*\n\n$/,
  },
}
/** ms: longer than the store has to answer, and than a process trusts its Idempotency-Keys. */
const OUTAGE = patient(TIMEOUTS.suspect) + 1_500
/** 7 tokens of 0.001 in, 5 of 0.002 out, in nanos. */
const COST = 7 * 1_000_000 + 5 * 2_000_000

const scriptOf = ({ begin, end }: StreamCase): readonly Step[] => [
  { do: 'body' },
  text('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'),
  { do: 'send', bytes: begin, inChunks: true },
  { do: 'gate', name: 'end' },
  { do: 'send', bytes: end, inChunks: true },
  text('0\r\n\r\n'),
]
const routesTo = (url: string): string => `
pipeline: [errors, auth, model, idempotency, responses, meter, translate]
upstreams:
${Object.entries(CASES)
  .map(([name, { format }]) => `  ${name}: { url: '${url}/s/${name}', formats: [${format}] }`)
  .join('\n')}
models:
${Object.keys(CASES)
  .map(name => `  ${name}: { to: ${name}/m, price: { input: 0.001, output: 0.002 } }`)
  .join('\n')}
routes:
${Object.entries(CASES)
  .map(
    ([name, { path, format }]) =>
      `  - { path: 'POST ${path.replace('gemini:', '{model}:').replace(/\?.*/, '')}', name: ${name}, errors: ${format.split('-')[0]}, model: ${name === 'gemini' ? '{ path: model }' : 'body'}, idempotency: true, translate: ${format}${name === 'responses' ? ', responses: create' : ''} }`,
  )
  .join('\n')}
`

interface Store extends Pick<StoreSetup, 'url' | 'open' | 'end'> {
  away(tree: Tree): Promise<void>
  back(tree: Tree): Promise<void>
}
const OPEN: Readonly<Record<string, () => Promise<Store>>> = {
  async sqlite() {
    const setup = await STORES.sqlite()
    let writer = 0
    return {
      ...setup,
      async away(tree) {
        writer = writerOf(tree.pid()) ?? 0
        process.kill(writer, 'SIGSTOP')
      },
      back: async () => void process.kill(writer, 'SIGCONT'),
    }
  },
  async postgres() {
    const server = await startPostgres()
    return {
      ...postgresAt(await server.create()),
      end: () => server.stop(),
      away: () => server.stop(),
      back: () => server.start(),
    }
  },
}

const headersOf = (key: string) => ({
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
  'idempotency-key': 'once',
})
const startStreams = async (tree: Tree, key: string) =>
  Promise.all(
    Object.entries(CASES).map(async ([name, { path, body }]) => {
      const reply = await fetch(tree.url() + path, {
        method: 'POST',
        body: JSON.stringify({ model: name, ...body }),
        headers: headersOf(key),
      })
      const reader = (reply.body as ReadableStream<Uint8Array>).getReader()
      const first = await reader.read()
      const decoder = new TextDecoder()
      let received = decoder.decode(first.value, { stream: true })
      const end = (async () => {
        for (;;) {
          const { done, value } = await reader.read()
          if (done) return received
          received += decoder.decode(value, { stream: true })
        }
      })()
      return { name, end }
    }),
  )

const sendAgain = (tree: Tree, key: string, name: string): Promise<Response> => {
  const { path = '', body } = CASES[name] ?? {}
  return fetch(tree.url() + path, {
    method: 'POST',
    body: JSON.stringify({ model: name, ...body }),
    headers: headersOf(key),
  })
}

const runStreams = async (t: Test, open: () => Promise<Store>, isKilled: boolean) => {
  const upstream = await startUpstream()
  for (const [name, each] of Object.entries(CASES)) await upstream.script(name, scriptOf(each))
  const store = await open()
  const tree = createTree(routesTo(upstream.url), store.url, {}, {}, { workers: 1 })
  t.teardown(async () => {
    await tree.stop()
    tree.remove()
    await store.end()
    await upstream.stop()
  })
  await tree.start()
  const key = await eventually(() => /\b(sk-[A-Za-z0-9]{20,})/.exec(tree.output())?.[1])
  const before = await store.open(tree.data)
  await giveCredit(before, 1, 10n ** 15n)
  await before.close()
  const streams = await startStreams(tree, key)
  await store.away(tree)
  await pause(OUTAGE)
  await upstream.open('end')
  for (const { name, end } of streams) {
    const received = await end
    t.match(received, CASES[name]?.terminal ?? /^$/, `${name} ends as complete`)
    t.notMatch(received, /Retry|"error"/, name)
  }
  const owed = globSync(join(tree.data, 'owed', '*', '*.json'))
  t.equal(owed.length, streams.length, 'each charge is on disk')
  if (isKilled) tree.signal('SIGKILL')
  await store.back(tree)
  if (isKilled) await tree.start()
  const database = await store.open(tree.data)
  const settled = await eventually(async () => {
    const rows = await database.read(
      sql('charges', 'SELECT state, amount, estimated FROM charges ORDER BY route'),
      [],
    )
    return rows.every(({ state }) => state === 'settled') ? rows : undefined
  })
  const expected = streams.map(() => ({ state: 'settled', amount: COST, estimated: 0 }))
  t.match(settled, expected, 'each is charged what its upstream reported')
  await eventually(() => globSync(join(tree.data, 'owed', '*', '*.json')).length === 0 || undefined)
  for (const { name, end } of streams) {
    const again = await sendAgain(tree, key, name)
    t.equal(again.headers.get('idempotent-replayed'), 'true', `${name} is stored under its key`)
    t.equal(await again.text(), await end, name)
  }
  await database.close()
}

for (const [engine, open] of Object.entries(OPEN)) {
  t.test(`streams (${engine}): end as complete while the store is away`, t =>
    runStreams(t, open, false),
  )
  t.test(`streams (${engine}): are charged after a crash before the store is back`, t =>
    runStreams(t, open, true),
  )
}

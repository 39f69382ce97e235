/** The time for a history grows with its length, not with the square of it: a worker serves other
 *  requests meanwhile. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { pairResults, separateCalls } from '../../../plugins/formats/hub/turn-order.ts'
import { decodePrompt, encodePrompt } from '../../helpers/formats/codec.ts'

const [SHORT, LONG] = [3_000, 12_000]

const list = (length: number, each: (index: number) => Json): Json =>
  Array.from({ length }, (_, index) => each(index))
const chatCall = (id: string): Json => ({
  role: 'assistant',
  tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }],
})
const chatResult = (id: string): Json => ({ role: 'tool', tool_call_id: id, content: 'r' })
const functionCall = (name: string): Json => ({
  role: 'assistant',
  content: null,
  function_call: { name, arguments: '{}' },
})

/** A title, the client's format, and the body. */
type Case = readonly [title: string, format: string, body: (length: number) => Json]
const CASES: readonly Case[] = [
  ['calls of one id', 'openai-chat', n => ({ messages: list(n, () => chatCall('a')) })],
  ['results of one id', 'openai-chat', n => ({ messages: list(n, () => chatResult('a')) })],
  [
    'calls and results of one id',
    'openai-chat',
    n => ({ messages: list(n, index => (index % 2 ? chatResult('a') : chatCall('a'))) }),
  ],
  [
    'calls before their results',
    'openai-chat',
    n => ({
      messages: list(n, index =>
        index < n / 2 ? chatCall(`${index}`) : chatResult(`${n - index}`),
      ),
    }),
  ],
  [
    'functions without results',
    'openai-chat',
    n => ({ messages: list(n, index => functionCall(`f${index}`)) }),
  ],
  [
    'calls, then their results',
    'openai-responses',
    n => ({
      input: list(n, index =>
        index < n / 2
          ? { type: 'function_call', call_id: `${index}`, name: 'f', arguments: '{}' }
          : { type: 'function_call_output', call_id: `${index - n / 2}`, output: 'r' },
      ),
    }),
  ],
  [
    'results that name only their tool',
    'google-gemini',
    n => ({
      contents: list(n, index =>
        index < n / 2
          ? { role: 'model', parts: [{ functionCall: { name: `f${index}` } }] }
          : {
              role: 'user',
              parts: [{ functionResponse: { name: `f${n - 1 - index}`, response: {} } }],
            },
      ),
    }),
  ],
  [
    'messages of one side',
    'anthropic-messages',
    n => ({ max_tokens: 9, messages: list(n, () => ({ role: 'user', content: 'x' })) }),
  ],
]
const PATHS: Readonly<Record<string, string>> = {
  'google-gemini': '/v1beta/models/m:generateContent',
}

const translate = (format: string, body: Json, target: string): void => {
  const { prompt } = decodePrompt(format, body, PATHS[format])
  const turns = pairResults(separateCalls(prompt.turns))
  encodePrompt(target, { ...prompt, turns })
}
/** CPU time of this process, milliseconds: other processes do not add to it. */
const timeOf = (run: () => void): number => {
  const start = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1_000
}
/** For collections of garbage, milliseconds; the square of the length takes seconds. */
const SLACK = 300

for (const [title, format, body] of CASES)
  t.test(`long histories: ${title}, of ${format}`, t => {
    const timeFor = (length: number): number => {
      const request = body(length)
      return timeOf(() => translate(format, request, 'anthropic-messages'))
    }
    timeFor(SHORT)
    const [short, long] = [timeFor(SHORT), timeFor(LONG)]
    t.ok(long < 8 * short + SLACK, `${short.toFixed()} ms become ${long.toFixed()} ms`)
    t.end()
  })

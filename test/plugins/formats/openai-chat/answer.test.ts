/** Answers and streams of chat completions, from upstreams and for clients. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Part } from '../../../../plugins/formats/hub/answer.ts'
import { partsOf as unrolled } from '../../../../plugins/formats/hub/answer-parts.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import { decodeAnswer } from '../../../../plugins/formats/openai-chat/response.ts'
import {
  assembleParts,
  codecOf,
  contextWith,
  decodeParts,
  decodeStream,
  encodeStream,
  PROMPT,
} from '../../../helpers/formats/codec.ts'

const NAME = 'openai-chat'
const codec = codecOf(NAME)
const chunk = (delta: Json, reason: Json = null, index = 0) =>
  `data: ${JSON.stringify({ id: 'c', created: 5, choices: [{ index, delta, finish_reason: reason }] })}\n\n`
const DONE = 'data: [DONE]\n\n'
const fragment = (index: number, more: object) => chunk({ tool_calls: [{ index, ...more }] })
const opening = (index: number, name: string) =>
  fragment(index, { id: `call_${name}`, type: 'function', function: { name, arguments: '' } })
const growing = (index: number, text: string) => fragment(index, { function: { arguments: text } })
const contentOf = (stream: string) => decodeStream(NAME, stream).choices[0]?.content
const stopOf = (stream: string) => decodeStream(NAME, stream).choices[0]?.stop
const encodeMessage = (content: readonly Content[], reason: 'end' | 'call' | 'refusal' = 'end') =>
  codec.encodeAnswer({ choices: [{ content, stop: { reason } }] }, contextWith()) as never as {
    choices: { message: Record<string, Json>; finish_reason: string }[]
  }

t.test('chat stream decoder: keeps interleaved fragments of calls apart (edge 1)', t => {
  const stream = [
    opening(0, 'a'),
    opening(1, 'b'),
    growing(0, '{"x"'),
    growing(1, '{"y"'),
    growing(0, ':1}'),
    growing(1, ':2}'),
    chunk({}, 'tool_calls'),
    DONE,
  ].join('')
  t.match(contentOf(stream), [
    { type: 'call', name: 'a', input: '{"x":1}' },
    { type: 'call', name: 'b', input: '{"y":2}' },
  ])
  t.end()
})

t.test('chat stream decoder: accepts the shapes of call fragments that upstreams send', t => {
  const late = [
    fragment(0, { id: 'i', function: { arguments: '{' } }),
    fragment(0, { function: { name: 'f' } }),
  ]
  t.match(contentOf([...late, growing(0, '}'), chunk({}, 'tool_calls'), DONE].join('')), [
    { name: 'f', input: '{}' },
  ])
  const numberless = [
    chunk({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{"a"' } }] }),
    chunk({ tool_calls: [{ function: { arguments: ':1}' } }] }),
    chunk({ tool_calls: [{ id: 'b', function: { name: 'g', arguments: '{}' } }] }, 'stop'),
  ]
  t.match(contentOf([...numberless, DONE].join('')), [
    { id: 'a', name: 'f', input: '{"a":1}' },
    { id: 'b', name: 'g', input: '{}' },
  ])
  t.match(
    stopOf([...numberless, DONE].join('')),
    { reason: 'call' },
    'a finish reason of stop after a call',
  )
  t.end()
})

t.test('chat stream decoder: a null finish reason is not an end (edge 4)', t => {
  const { parts, hasEnded } = decodeParts(NAME, chunk({ content: 'a' }) + chunk({ content: 'b' }))
  t.notOk(hasEnded)
  t.notOk(parts.some(({ type }) => type === 'stop'))
  t.end()
})
t.test('chat stream decoder: is complete without a terminator only after a finish reason', t => {
  t.ok(decodeParts(NAME, chunk({ content: 'a' }, 'stop')).hasEnded)
  t.notOk(decodeParts(NAME, chunk({ content: 'a' })).hasEnded)
  t.notOk(decodeParts(NAME, '').hasEnded)
  t.end()
})
t.test('chat stream encoder: sends usage in a chunk of its own (edge 15)', t => {
  const counts = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } })}\n\n`
  const { parts } = decodeParts(NAME, chunk({ content: 'a' }, 'stop') + counts + DONE)
  t.match(assembleParts(parts).meters, { input: 3, output: 2 })
  t.match(encodeStream(NAME, parts), /"choices":\[\],"usage":\{"prompt_tokens":3/)
  const without = encodeStream(NAME, parts, { prompt: { ...PROMPT, includeUsage: false } })
  t.notMatch(without, /usage/)
  t.end()
})
t.test('chat stream encoder: the first chunk of each choice has the role (edge 25)', t => {
  const encodedText = encodeStream(
    NAME,
    decodeParts(NAME, chunk({ content: 'a' }) + chunk({ content: 'b' }, 'stop', 1) + DONE).parts,
  )
  const first = encodedText
    .split('\n\n')
    .map(event => event.slice(6))
    .filter(text => text.includes('"role"'))
  t.same(
    first.map(text => JSON.parse(text).choices[0].index),
    [0, 1],
  )
  t.end()
})
t.test('chat codec: missing arguments become an empty object (edge 16)', t => {
  const stream = opening(0, 'f') + chunk({}, 'tool_calls') + DONE
  t.match(encodeStream(NAME, decodeParts(NAME, stream).parts), /"arguments":"\{\}"/)
  const plain = codec.decodeAnswer({
    choices: [
      {
        message: { tool_calls: [{ id: 'a', function: { name: 'f', arguments: '' } }] },
        finish_reason: 'tool_calls',
      },
    ],
  })
  t.match(plain.choices[0]?.content, [{ type: 'call', input: '{}' }])
  t.end()
})
t.test('chat encoder: content is null if there are only calls', t => {
  const [choice] = encodeMessage(
    [{ type: 'call', id: 'a', name: 'f', input: '{}' }],
    'call',
  ).choices
  t.match(choice, { finish_reason: 'tool_calls', message: { content: null, refusal: null } })
  t.end()
})
t.test('chat codec: a length limit wins over a call (edge 3)', t => {
  t.match(stopOf(opening(0, 'f') + chunk({}, 'length') + DONE), { reason: 'length' })
  t.end()
})
t.test('chat encoder: writes a refusal, whole and streamed', t => {
  t.match(contentOf(chunk({ refusal: 'I ' }) + chunk({ refusal: "won't" }, 'stop') + DONE), [
    { type: 'refusal', text: "I won't" },
  ])
  t.match(encodeMessage([{ type: 'refusal', text: 'no' }], 'refusal').choices[0], {
    finish_reason: 'content_filter',
    message: { content: null, refusal: 'no' },
  })
  t.end()
})
t.test('chat encoder: writes an answer without candidates (edge 6)', t => {
  const empty = codec.encodeAnswer({ choices: [] }, contextWith()) as never as { choices: object[] }
  t.match(empty.choices, [
    { finish_reason: 'content_filter', message: { role: 'assistant', content: null } },
  ])
  t.end()
})

t.test('chat codec: shows thoughts as text and carries their payloads', t => {
  const payload = { origin: 'anthropic-messages', data: 'sig' }
  const thoughts: Content[] = [
    { type: 'thought', text: 'hm', payload },
    {
      type: 'thought',
      text: '',
      payload: { origin: 'anthropic-messages', data: 'red', kind: 'redacted' },
    },
  ]
  const [choice] = encodeMessage([...thoughts, { type: 'text', text: 'yes' }]).choices
  t.equal(choice?.message.reasoning_content, 'hm')
  const message = { role: 'assistant', ...choice?.message } as Json
  const { turns } = codec.decodePrompt({ messages: [message] }, '/', { add() {} })
  t.same(
    turns[0]?.content,
    [...thoughts, { type: 'text', text: 'yes' }],
    'both payloads come back, also without text (edge 10)',
  )
  const request = codec.encodePrompt({ ...PROMPT, turns }, { name: 'm', traits: {} }, { add() {} })
  t.notMatch(JSON.stringify(request.body), /reasoning/, 'other providers do not receive them')
  t.end()
})
t.test('chat codec: carries the signature of a call, whole and streamed (edge 7)', t => {
  const payload = { origin: 'google-gemini', data: 'c2ln' }
  const answer = {
    choices: [
      {
        content: [{ type: 'call', id: 'a', name: 'f', input: '{}', payload } as const],
        stop: { reason: 'call' } as const,
      },
    ],
  }
  const [choice] = encodeMessage(answer.choices[0]?.content ?? [], 'call').choices
  const back = codec.decodePrompt(
    { messages: [{ role: 'assistant', ...choice?.message }] as never },
    '/',
    { add() {} },
  )
  t.match(back.turns[0]?.content, [{ type: 'call', payload }])
  t.match(decodeStream(NAME, encodeStream(NAME, unrolled(answer))).choices[0]?.content, [
    { payload },
  ])
  t.end()
})
t.test('chat codec: keeps citations of a message', t => {
  const citation = { url: 'https://a.example', title: 'A', start: 0, end: 3 }
  const text: Content = { type: 'text', text: 'yes', citations: [citation] }
  const [choice] = encodeMessage([text]).choices
  t.match(choice?.message.annotations, [
    { type: 'url_citation', url_citation: { start_index: 0, end_index: 3 } },
  ])
  const parts: readonly Part[] = unrolled({
    choices: [{ content: [text], stop: { reason: 'end' } }],
  })
  t.same(decodeStream(NAME, encodeStream(NAME, parts)).choices[0]?.content, [text])
  t.end()
})
t.test('chat usage: totals agree in both directions, also if xAI counts thoughts apart', t => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 27,
    completion_tokens_details: { reasoning_tokens: 12 },
  }
  const { meters } = codec.decodeAnswer({ choices: [], usage })
  t.same(meters, { input: 10, output: 5, thinking: 12 })
  const again = codec.encodeAnswer({ choices: [], meters: meters ?? {} }, contextWith())
  t.match(again.usage, {
    completion_tokens: 17,
    total_tokens: 27,
    completion_tokens_details: { reasoning_tokens: 12 },
  })
  t.end()
})
t.test('chat error replies: accept the shapes of many vendors', t => {
  const decodeMessage = (body: Json | undefined) => codec.decodeError(418, body).message
  t.equal(decodeMessage({ error: { message: 'a', code: 'c', param: 'p', type: 't' } }), 'a')
  t.equal(decodeMessage({ error: 'b' }), 'b')
  t.equal(decodeMessage({ message: 'c' }), 'c')
  t.equal(decodeMessage({ detail: 'd' }), 'd')
  t.match(decodeMessage(undefined), /418/)
  t.end()
})

t.test('chat decoder: an answer without a call does not stop for tools', async t => {
  for (const reason of ['tool_calls', 'function_call']) {
    t.match(stopOf(chunk({ content: 'a' }, reason) + DONE), { reason: 'end' }, reason)
    const choice = { message: { content: 'a' }, finish_reason: reason }
    t.match(decodeAnswer({ choices: [choice] }).choices, [{ stop: { reason: 'end' } }], reason)
  }
})
t.test('chat decoder: a single call stops for tools, whatever the reason says', async t => {
  const stopWith = (calls: readonly object[]) =>
    decodeAnswer({
      choices: [{ finish_reason: 'stop', message: { role: 'assistant', tool_calls: calls } }],
    } as never).choices[0]?.stop.reason
  const tool = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  t.not(stopWith([tool]), stopWith([]))
})

/** Streams for responses clients: the lifecycle of every item, for parts in any order. */
import OpenAI from 'openai'
import t from 'tap'
import type { Part } from '../../../../plugins/formats/hub/answer.ts'
import { partsOf as partsOfAnswer } from '../../../../plugins/formats/hub/answer-parts.ts'
import { codecOf, contextWith, decodeStream } from '../../../helpers/formats/codec.ts'
import { startHttpUpstream } from '../../../helpers/gateway/test-server.ts'
import { block, CASES, ending, grow, open, text } from './answer-parts.ts'
import { lifecycleErrors } from './lifecycle.ts'
import { eventsOf, type Item } from './recorded-responses.ts'

const NAME = 'openai-responses'
const codec = codecOf(NAME)
const context = contextWith({ id: 'abc' })
const encode = (parts: readonly Part[]): string => {
  const encoder = codec.encodeStream(context)
  return parts.map(part => encoder.push(part)).join('')
}
const last = (stream: string) => eventsOf(stream).at(-1)
const outputOf = (stream: string): readonly Item[] => last(stream)?.response?.output ?? []
const typesOf = (stream: string) =>
  eventsOf(stream).map(
    ({ type, output_index: at = '' }) => `${type.replace(/^response\./, '')} ${at}`,
  )

for (const [name, parts] of Object.entries(CASES))
  t.test(`responses stream encoder: ${name}`, async t => {
    const stream = encode(parts)
    t.same(lifecycleErrors(stream), [])
    const finishedItems = eventsOf(stream)
      .filter(({ type }) => type === 'response.output_item.done')
      .sort((one, other) => Number(one.output_index) - Number(other.output_index))
    t.same(
      outputOf(stream),
      finishedItems.map(({ item }) => item),
      'all items are in the last event',
    )
    t.match(last(stream)?.response?.usage, { input_tokens: 3, output_tokens: 2, total_tokens: 5 })
    t.notMatch(stream, /\[DONE\]/)
  })

t.test('responses stream encoder: writes text, citations and calls', async t => {
  const output = (name: string) => outputOf(encode(CASES[name] ?? []))
  t.match(output('interleaved calls (edge 1)'), [
    { id: 'fc_abc_0', call_id: 'a', arguments: '{"x":1}' },
    { id: 'fc_abc_1', call_id: 'b', arguments: '{}' },
  ])
  t.match(output('a call without arguments (edge 16)'), [{ arguments: '{}' }])
  t.match(output('a text that continues during a call'), [
    { content: [{ text: 'one two' }] },
    { type: 'function_call' },
    { content: [{ text: 'three' }] },
  ])
  t.match(output('interleaved texts'), [{ content: [{ text: 'a' }, { text: 'b' }] }])
  t.match(output('a refusal after a text'), [{ content: [{ text: 'well' }, { refusal: 'no' }] }])
  t.match(output('a call with a payload (edge 8)'), [
    { type: 'reasoning', summary: [] },
    { call_id: 'c' },
  ])
  t.match(output('a text with a late payload'), [
    { type: 'message' },
    { type: 'reasoning' },
    { type: 'function_call' },
  ])
  t.match(output('several choices (edge 25)'), [{ content: [{ text: 'a' }] }])
  t.match(output('a truncated call (edge 3)'), [{ status: 'incomplete', arguments: '{"a' }])
  const lastEvent = last(encode(CASES['a truncated text (edge 23)'] ?? []))
  t.match(lastEvent, { type: 'response.incomplete', response: { status: 'incomplete' } })
  t.match(lastEvent?.response, { incomplete_details: { reason: 'max_output_tokens' } })
})
t.test('responses stream encoder: finishes an item early (edge 24)', async t => {
  t.same(typesOf(encode(CASES['thought, text and call (edge 24)'] ?? [])), [
    'created ',
    'in_progress ',
    'output_item.added 0',
    'reasoning_summary_part.added 0',
    'reasoning_summary_text.delta 0',
    'reasoning_summary_text.delta 0',
    'reasoning_summary_text.done 0',
    'reasoning_summary_part.done 0',
    'output_item.done 0',
    'output_item.added 1',
    'content_part.added 1',
    'output_text.delta 1',
    'output_text.done 1',
    'content_part.done 1',
    'output_item.done 1',
    'output_item.added 2',
    'function_call_arguments.delta 2',
    'function_call_arguments.delta 2',
    'function_call_arguments.done 2',
    'output_item.done 2',
    'completed ',
  ])
})
t.test('responses stream encoder: sends text at once and holds back only the end', async t => {
  const encoder = codec.encodeStream(context)
  const parts = CASES['a text'] ?? []
  const before = parts.slice(0, -1).map(part => encoder.push(part))
  t.notMatch(before.join(''), /response\.completed/)
  t.match(encoder.push({ type: 'end' }), /event: response\.completed/)
  t.match(before[1], /output_text\.delta/, 'text is sent as it arrives')
})
t.test('responses stream encoder: a stream holds the same items as the whole answer', async t => {
  for (const [name, parts] of Object.entries(CASES)) {
    if (name.includes('never closed')) continue
    const answer = decodeStream(NAME, encode(parts))
    const complete = codec.encodeAnswer(answer, context)
    t.same(
      last(encode(partsOfAnswer(answer)))?.response,
      JSON.parse(JSON.stringify(complete)),
      name,
    )
  }
})
t.test('responses stream encoder: an error ends the stream (edge 17)', async t => {
  const body = {
    error: { message: 'gone', type: 'server_error', code: 'upstream_error', param: null },
  }
  for (const parts of [[], [open(0, text), grow(0, 'he')], block(0, text, 'hello')]) {
    const encoder = codec.encodeStream(context)
    const stream = parts.map(part => encoder.push(part)).join('') + encoder.failure(body)
    const [error, failedEvent] = eventsOf(stream).slice(-2)
    t.match(error, { type: 'error', code: 'upstream_error', message: 'gone', param: null })
    t.match(failedEvent, {
      type: 'response.failed',
      response: { status: 'failed', error: { message: 'gone' } },
    })
    t.same(lifecycleErrors(stream), [])
  }
})
t.test('responses stream encoder: a broken answer becomes an error (edge 5)', async t => {
  const stream = encode([...block(0, text, 'he'), ...ending('broken', { raw: 'MALFORMED_CALL' })])
  t.match(eventsOf(stream).slice(-2), [
    { type: 'error', message: /MALFORMED_CALL/ },
    { type: 'response.failed' },
  ])
  t.same(lifecycleErrors(stream), [])
})

t.test('official OpenAI SDK: reads every stream and every error', async t => {
  const error = { error: { message: 'gone', type: 'server_error', code: 'x', param: null } }
  const url = await startHttpUpstream(t, (request, response) => {
    const bytes: Buffer[] = []
    request.on('data', part => bytes.push(part))
    request.on('end', () => {
      const { model } = JSON.parse(Buffer.concat(bytes).toString())
      const encoder = codec.encodeStream(context)
      const parts = CASES[model] ?? [open(0, text), grow(0, 'he')]
      response.setHeader('content-type', 'text/event-stream')
      for (const part of parts) response.write(encoder.push(part))
      response.end(model in CASES ? '' : encoder.failure(error))
    })
  })
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 })
  for (const [name, parts] of Object.entries(CASES)) {
    const result = await client.responses.stream({ model: name, input: 'hi' }).finalResponse()
    t.match(result.output, outputOf(encode(parts)), name)
  }
  await t.rejects(client.responses.stream({ model: 'gone', input: 'hi' }).finalResponse(), {
    message: /gone/,
  })
})

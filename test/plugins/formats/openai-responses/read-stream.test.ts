/** Streams of responses upstreams, regular and irregular. */
import t from 'tap'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Part } from '../../../../plugins/formats/hub/answer.ts'
import { assembleParts, codecOf, decodeParts } from '../../../helpers/formats/codec.ts'

const NAME = 'openai-responses'
const line = (event: object): string => `data: ${JSON.stringify(event)}\n\n`
const stream = (...events: readonly object[]): string => events.map(line).join('')
const read = (...events: readonly object[]) => decodeParts(NAME, stream(...events))
const answer = (...events: readonly object[]) => assembleParts(read(...events).parts)
const content = (...events: readonly object[]) => answer(...events).choices[0]?.content
const stop = (...events: readonly object[]) => answer(...events).choices[0]?.stop

const createdEvent = {
  type: 'response.created',
  response: { id: 'resp_1', model: 'm', created_at: 5 },
}
const completedEvent = (output: readonly object[] = [], more: object = {}) => ({
  type: 'response.completed',
  response: { status: 'completed', output, usage: { input_tokens: 3, output_tokens: 2 }, ...more },
})
const addedEvent = (item: object, at = 0) => ({
  type: 'response.output_item.added',
  output_index: at,
  item,
})
const doneEvent = (item: object, at = 0) => ({
  type: 'response.output_item.done',
  output_index: at,
  item,
})
const delta = (text: string, at = 0, part = 0) => ({
  type: 'response.output_text.delta',
  output_index: at,
  content_index: part,
  delta: text,
})
const growing = (text: string, at: number) => ({
  type: 'response.function_call_arguments.delta',
  output_index: at,
  delta: text,
})
const message = (...texts: readonly string[]) => ({
  type: 'message',
  id: 'msg_1',
  status: 'completed',
  role: 'assistant',
  content: texts.map(text => ({ type: 'output_text', text, annotations: [] })),
})
const call = (id: string, input: string) => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'f',
  arguments: input,
})
const thought = (more: object = {}) => ({ type: 'reasoning', id: 'rs_1', summary: [], ...more })
const summaryDelta = (text: string, index = 0) => ({
  type: 'response.reasoning_summary_text.delta',
  output_index: 0,
  summary_index: index,
  delta: text,
})

t.test('responses stream decoder: reads a regular stream event by event', async t => {
  const { parts, hasEnded } = read(
    createdEvent,
    { type: 'response.in_progress', response: { id: 'resp_1' } },
    addedEvent({ type: 'message', id: 'msg_1', content: [] }),
    { type: 'response.content_part.added', output_index: 0, content_index: 0 },
    delta('he'),
    delta('llo'),
    { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'hello' },
    doneEvent(message('hello')),
    completedEvent([message('hello')]),
  )
  t.ok(hasEnded)
  t.same(parts, [
    { type: 'begin', id: 'resp_1', model: 'm', created: 5 },
    { type: 'open', index: 0, choice: 0, content: { type: 'text', text: '' } },
    { type: 'grow', index: 0, text: 'he' },
    { type: 'grow', index: 0, text: 'llo' },
    { type: 'close', index: 0 },
    { type: 'count', meters: { input: 3, output: 2 } },
    { type: 'stop', choice: 0, stop: { reason: 'end', raw: 'completed' } },
    { type: 'end' },
  ] satisfies Part[])
})
t.test('responses stream decoder: reads everything from the last event alone', async t => {
  const items = [thought({ summary: [{ text: 'hm' }] }), message('a', 'b'), call('c', '{}')]
  t.match(content(completedEvent(items)), [
    { type: 'thought', text: 'hm' },
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
    { type: 'call', id: 'c', input: '{}' },
  ])
  t.match(stop(completedEvent(items)), { reason: 'call' })
})
t.test('responses stream decoder: accepts missing and late events', async t => {
  t.match(content(delta('hi'), completedEvent()), [{ text: 'hi' }])
  t.match(content(doneEvent(message('hi')), completedEvent()), [{ text: 'hi' }])
  t.match(content(delta('h'), completedEvent([message('hi')])), [{ text: 'hi' }])
  t.match(content(delta('h'), doneEvent(message('hi')), completedEvent([message('hi')])), [
    { text: 'hi' },
  ])
  t.match(content(growing('{}', 0), doneEvent(call('c', '{}')), completedEvent()), [
    { input: '{}' },
  ])
})
t.test('responses stream decoder: keeps interleaved calls apart (edge 1)', async t => {
  const { parts } = read(
    addedEvent(call('a', ''), 0),
    addedEvent(call('b', ''), 1),
    growing('{"x"', 0),
    growing('{"y"', 1),
    growing(':1}', 0),
    growing(':2}', 1),
    doneEvent(call('b', '{"y":2}'), 1),
    doneEvent(call('a', '{"x":1}'), 0),
    completedEvent(),
  )
  t.match(assembleParts(parts).choices[0]?.content, [
    { id: 'a', input: '{"x":1}' },
    { id: 'b', input: '{"y":2}' },
  ])
  t.same(
    parts.flatMap(part => ('index' in part ? [`${part.type} ${part.index}`] : [])),
    ['open 0', 'open 1', 'grow 0', 'grow 1', 'grow 0', 'grow 1', 'close 1', 'close 0'],
  )
})
t.test('responses stream decoder: missing arguments are an object (edge 16)', async t => {
  t.match(content(addedEvent(call('a', '')), doneEvent(call('a', '')), completedEvent()), [
    { input: '{}' },
  ])
  t.match(
    content(addedEvent(call('a', '{}')), growing('{}', 0), completedEvent([call('a', '{}')])),
    [{ input: '{}' }],
  )
})
t.test('responses stream decoder: reads thoughts with paragraphs and ciphertext', async t => {
  const part = (index: number) => ({
    type: 'response.reasoning_summary_part.added',
    output_index: 0,
    summary_index: index,
  })
  const complete = thought({
    summary: [{ text: 'one' }, { text: 'two' }],
    encrypted_content: 'final',
  })
  const events = [
    addedEvent(thought({ encrypted_content: 'first' })),
    part(0),
    summaryDelta('one'),
    part(1),
    summaryDelta('two', 1),
    doneEvent(complete),
    completedEvent([complete]),
  ]
  const payload = { origin: NAME, data: 'final', id: 'rs_1' }
  t.same(content(...events), [{ type: 'thought', text: 'one\n\ntwo', payload }])
  t.same(content(addedEvent(thought()), doneEvent(thought()), completedEvent([thought()])), [])
  const raw = { type: 'response.reasoning_text.delta', output_index: 0, delta: 'hm' }
  t.match(content(raw, completedEvent()), [{ type: 'thought', text: 'hm' }])
})
t.test('responses stream decoder: reads a streamed refusal', async t => {
  const refusal = { type: 'message', content: [{ type: 'refusal', refusal: 'I won’t' }] }
  const words = (text: string) => ({
    type: 'response.refusal.delta',
    output_index: 0,
    content_index: 0,
    delta: text,
  })
  const events = [words('I '), words('won’t'), doneEvent(refusal), completedEvent([refusal])]
  t.same(content(...events), [{ type: 'refusal', text: 'I won’t' }])
  t.match(stop(...events), { reason: 'refusal' })
})
t.test('responses stream decoder: emits each citation once', async t => {
  const annotation = { type: 'url_citation', url: 'https://x', start_index: 0, end_index: 2 }
  const outcome = { type: 'response.output_text.annotation.added', output_index: 0, annotation }
  const second = { ...annotation, url: 'https://y' }
  const complete = {
    type: 'message',
    id: 'msg_1',
    content: [{ type: 'output_text', text: 'hi', annotations: [annotation, second] }],
  }
  t.match(content(delta('hi'), outcome, doneEvent(complete), completedEvent([complete])), [
    { citations: [{ url: 'https://x' }, { url: 'https://y' }] },
  ])
})
t.test('responses stream decoder: opens and completes hosted calls', async t => {
  const searchItem = { type: 'web_search_call', id: 'ws_1', status: 'in_progress' }
  const over = { ...searchItem, status: 'completed', action: { type: 'search', query: 'q' } }
  const { parts } = read(addedEvent(searchItem), doneEvent(over), completedEvent([over]))
  t.match(parts.slice(1, 3), [
    { type: 'open', content: { type: 'hostedCall', tool: 'web_search' } },
    { type: 'close', content: { input: { query: 'q' } } },
  ])
  const image = { type: 'image_generation_call', id: 'ig', result: 'AAAA' }
  const partial = { type: 'response.image_generation_call.partial_image', output_index: 0 }
  t.match(
    content(addedEvent({ ...image, result: null }), partial, doneEvent(image), completedEvent()),
    [{ type: 'media', source: { data: 'AAAA' } }],
  )
})
t.test('responses stream decoder: maps unsuccessful ends', async t => {
  const over = (type: string, response: object) => ({ type: `response.${type}`, response })
  const truncatedResponse = {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
  }
  // A call began, but the length limit ended the answer (edge 3).
  t.match(
    stop(addedEvent(call('a', '')), growing('{"x', 0), over('incomplete', truncatedResponse)),
    {
      reason: 'length',
    },
  )
  const filteredResponse = {
    status: 'incomplete',
    incomplete_details: { reason: 'content_filter' },
  }
  t.match(stop(delta('a'), over('incomplete', filteredResponse)), { reason: 'filter' })
  const failedResponse = { status: 'failed', error: { code: 'server_error', message: 'oops' } }
  t.match(stop(delta('a'), over('failed', failedResponse)), { reason: 'broken', message: 'oops' })
  t.match(stop(over('cancelled', { status: 'cancelled' })), { reason: 'broken' })
  t.match(stop(createdEvent, over('failed', { status: 'failed', error: null })), {
    reason: 'broken',
  })
})
t.test('responses stream decoder: is incomplete without a last event (edge 17)', async t => {
  for (const events of [
    [],
    [createdEvent],
    [createdEvent, delta('a')],
    [doneEvent(message('a'))],
  ]) {
    const { parts, hasEnded } = read(...events)
    t.notOk(hasEnded)
    t.notOk(parts.some(({ type }) => type === 'end' || type === 'stop'))
  }
})
t.test('responses stream decoder: ignores events after the end (edge 30)', async t => {
  const { parts } = read(
    completedEvent(),
    createdEvent,
    delta('more'),
    completedEvent([message('more')]),
  )
  t.equal(parts.filter(({ type }) => type === 'end').length, 1)
  t.same(assembleParts(parts).choices[0]?.content, [])
})
t.test('responses stream decoder: accepts a reordered last event', async t => {
  const two = [call('a', '{}'), call('b', '{}')] as const
  const events = [doneEvent(two[0], 0), doneEvent(two[1], 1), completedEvent([two[1], two[0]])]
  t.equal(content(...events)?.length, 2)
  const messageWithOtherId = { ...message('hi'), id: 'msg_other' }
  t.equal(content(doneEvent(message('hi')), completedEvent([messageWithOtherId]))?.length, 1)
  // An item that no earlier event mentioned.
  t.equal(content(doneEvent(two[0], 0), completedEvent([two[0], two[1]]))?.length, 2)
})
t.test('responses stream decoder: ignores malformed events (edges 4 and 31)', async t => {
  const odd: readonly object[] = [
    {},
    { type: null },
    { type: 'response.smell.delta', delta: 'x' },
    { type: 'keepalive' },
    addedEvent(null as never),
    { type: 'response.output_item.added' },
    doneEvent(null as never, 3),
    { type: 'response.output_text.delta', delta: null },
    { ...delta('x'), output_index: '0' },
    { type: 'response.output_text.annotation.added', output_index: 9 },
    { type: 'toString' },
    { type: 'response.function_call_arguments.delta', output_index: 8, delta: '{' },
  ]
  t.match(content(...odd, delta('hi'), completedEvent()), [{ text: 'xhi' }])
  const odds =
    ': ping\n\ndata: {"type":\ndata: "response.output_text.delta","delta":"a"}\n\nevent: x\n\n'
  const { parts } = decodeParts(NAME, `${odds}data: not json\n\n${line(completedEvent())}`)
  t.match(assembleParts(parts).choices[0]?.content, [{ text: 'a' }])
  t.match(stop({ type: 'response.completed', response: null } as never), { reason: 'end' })
})
t.test('responses stream decoder: uses the event’s name if its type is missing', async t => {
  const text = `event: response.output_text.delta\ndata: {"delta":"hi"}\n\n${line(completedEvent())}`
  t.match(assembleParts(decodeParts(NAME, text).parts).choices[0]?.content, [{ text: 'hi' }])
})
t.test('responses stream decoder: emits log probabilities with their text', async t => {
  const odds = [{ token: 'hi', logprob: -1 }]
  const { parts } = read({ ...delta('hi'), logprobs: odds }, completedEvent())
  t.match(parts[2], { type: 'grow', logprobs: { content: odds } })
})
t.test('responses stream decoder: keeps its state per stream', async t => {
  const [one, other] = [codecOf(NAME).decodeStream(), codecOf(NAME).decodeStream()]
  const event = (fields: Fields) => ({ name: '', data: JSON.stringify(fields), start: 0, end: 0 })
  one.push(event(completedEvent() as never), () => undefined)
  t.ok(one.close(() => undefined))
  t.notOk(other.close(() => undefined))
})

/** Stored responses: kept by the gateway for their account, with their charge, and continued at any
 *  upstream; tested with the official client and upstreams of two formats. */
import type OpenAI from 'openai'
import t from 'tap'
import { eventually } from '../../helpers/gateway/primary.ts'
import {
  messageBody,
  plainReply,
  rejectsWith,
  responseBody,
  streamedReply,
} from '../../helpers/gateway/stored-responses.ts'
import { otherClient, ownClient, rows, sentBody, upstream } from './stored-gateway.ts'

t.test('stored response: is read back and continued at another upstream', async t => {
  // As OpenAI answers a request with `store: false`.
  await upstream.script('gp', plainReply(responseBody('resp_a', 'Paris', { store: false })))
  const request = { model: 'gp', input: 'Capital of France?', instructions: 'Be brief.' }
  const first = await ownClient.responses.create(request)
  t.equal(first.id, 'resp_a', 'bytes of the same format pass')
  t.match(first, { store: true }, 'the gateway stores it')
  const upstreamRequest = { ...request, model: 'gpt', store: false }
  t.same(
    await sentBody('gp'),
    upstreamRequest,
    'the upstream stores nothing, from the first request on',
  )
  const again = await ownClient.responses.retrieve('resp_a')
  t.match(again, { store: true })
  t.equal(again.output_text ?? '', first.output_text)
  t.same(again.output, first.output)
  const items = await ownClient.responses.inputItems.list('resp_a')
  t.match(items.data, [
    {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: 'Capital of France?' }],
    },
  ])

  await upstream.script('cl', plainReply(messageBody('Rome')))
  const second = await ownClient.responses.create({
    model: 'cl',
    input: 'And of Italy?',
    previous_response_id: 'resp_a',
    store: true,
  })
  t.equal(second.previous_response_id, 'resp_a')
  t.equal(second.output_text, 'Rome')
  const translatedBody = await sentBody('cl')
  t.match(
    translatedBody.messages.map(({ role, content }: { role: string; content: unknown }) => [
      role,
      JSON.stringify(content).match(/Capital of France\?|Paris|And of Italy\?/)?.[0],
    ]),
    [
      ['user', 'Capital of France?'],
      ['assistant', 'Paris'],
      ['user', 'And of Italy?'],
    ],
  )
  t.notOk('system' in translatedBody, 'instructions are not carried over')

  await upstream.script('gp', plainReply(responseBody('resp_up', 'Madrid')))
  const third = await ownClient.responses.create({
    model: 'gp',
    input: 'Spain?',
    previous_response_id: second.id,
  })
  t.equal(third.previous_response_id, second.id)
  const body = await sentBody('gp')
  t.notOk('previous_response_id' in body)
  t.equal(body.store, false, 'the upstream stores nothing')
  t.match(JSON.stringify(body.input), /France.*Paris.*Italy.*Rome.*Spain/)
  t.match(await rows('SELECT request, state FROM charges ORDER BY opened'), [
    { state: 'settled' },
    { state: 'settled' },
    { state: 'settled' },
  ])
})

t.test('stored response: a tool call is answered at another upstream', async t => {
  const output = [
    { type: 'reasoning', id: 'rs_1', summary: [] },
    {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      status: 'completed',
      name: 'weather',
      arguments: '{"city":"Bonn"}',
    },
  ]
  await upstream.script('gp', plainReply(responseBody('resp_t', '', { output })))
  const tools = [
    { type: 'function', name: 'weather', parameters: { type: 'object' }, strict: false } as const,
  ]
  await ownClient.responses.create({ model: 'gp', input: 'Weather in Bonn?', tools })
  const toolOutput = { type: 'function_call_output', call_id: 'call_1', output: 'Rain' } as const
  const next = { input: [toolOutput], tools, previous_response_id: 'resp_t' }
  await upstream.script('cl', plainReply(messageBody('It rains')))
  t.equal((await ownClient.responses.create({ model: 'cl', ...next })).output_text, 'It rains')
  t.match((await sentBody('cl')).messages, [
    { role: 'user' },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', name: 'weather', input: { city: 'Bonn' } }],
    },
    { role: 'user', content: [{ type: 'tool_result' }] },
  ])
  await upstream.script('gp', plainReply(responseBody('resp_t2', 'It rains')))
  await ownClient.responses.create({ model: 'gp', ...next })
  const types = (await sentBody('gp')).input.map(({ type }: { type?: string }) => type ?? 'message')
  t.same(
    types,
    ['message', 'function_call', 'function_call_output'],
    'no reasoning item that another upstream would have to know',
  )
})

t.test('stored response: the hold covers the prepended history', async t => {
  const long = 'x'.repeat(20_000)
  await upstream.script('gp', plainReply(responseBody('resp_long', 'ok')))
  await ownClient.responses.create({ model: 'gp', input: long })
  await upstream.script('cl', [
    { do: 'body' },
    { do: 'gate', name: 'open' },
    ...plainReply(messageBody('ok')).slice(1),
  ])
  const call = ownClient.responses.create({
    model: 'cl',
    input: 'more',
    previous_response_id: 'resp_long',
    stream: true,
  })
  const [openCharge] = await eventually(async () => {
    const openCharges = await rows("SELECT held FROM charges WHERE state = 'open'")
    return openCharges.length > 0 ? openCharges : undefined
  })
  t.ok(
    Number(openCharge?.held) >= 20_000 * 1_000_000,
    'at least the price of a token for each byte',
  )
  await upstream.open('open')
  for await (const _ of await call);
})

t.test('stored response: a stream is stored from its final event', async t => {
  const finalResponse = responseBody('resp_s', 'Oslo', { store: false })
  await upstream.script(
    'gp',
    streamedReply(
      {
        type: 'response.created',
        response: { ...finalResponse, status: 'in_progress', output: [] },
      } as never,
      { type: 'response.output_text.delta', delta: 'Oslo' } as never,
      { type: 'response.completed', response: finalResponse } as never,
    ),
  )
  const stores: unknown[] = []
  for await (const event of await ownClient.responses.create({
    model: 'gp',
    input: 'Norway?',
    stream: true,
  }))
    if ('response' in event) stores.push((event.response as { store?: boolean }).store)
  t.same(stores, [true, true], 'the first and the last event say that it is stored')
  t.equal((await ownClient.responses.retrieve('resp_s')).status, 'completed')
  const events = [
    { type: 'message_start', message: { ...messageBody(''), content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Bern' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ]
  await upstream.script('cl', streamedReply(...events))
  const all: OpenAI.Responses.ResponseStreamEvent[] = []
  for await (const event of await ownClient.responses.create({
    model: 'cl',
    input: 'Switzerland?',
    stream: true,
    previous_response_id: 'resp_s',
  }))
    all.push(event)
  const last = all.at(-1)
  if (last?.type !== 'response.completed') throw new Error('the stream has no final event')
  t.equal(last.response.previous_response_id, 'resp_s')
  const stored = await ownClient.responses.retrieve(last.response.id)
  t.same(stored.output, last.response.output)
  t.match(JSON.stringify((await sentBody('cl')).messages), /Norway.*Oslo.*Switzerland/)
})

t.test('stored response: store=false and large responses are not stored', async t => {
  await upstream.script('gp', plainReply(responseBody('resp_no', 'Lima', { store: false })))
  const unstored = await ownClient.responses.create({ model: 'gp', input: 'x', store: false })
  t.match(unstored, { output_text: 'Lima', store: false })
  await rejectsWith(t, ownClient.responses.retrieve('resp_no'), 404)
  await upstream.script('gp', plainReply(responseBody('resp_big', 'x'.repeat(300_000))))
  const large = await ownClient.responses.create({ model: 'gp', input: 'x' })
  t.equal(large.output_text.length, 300_000)
  t.match(large, { store: false }, 'a response that is not stored says so')
  const ofStream = responseBody('resp_big', 'x'.repeat(300_000), { store: false })
  const response = { ...ofStream, status: 'in_progress', output: [] }
  await upstream.script(
    'gp',
    streamedReply(
      { type: 'response.created', response } as never,
      { type: 'response.completed', response: ofStream } as never,
    ),
  )
  const stores: unknown[] = []
  for await (const event of await ownClient.responses.create({
    model: 'gp',
    input: 'x',
    stream: true,
  }))
    if ('response' in event) stores.push((event.response as { store?: boolean }).store)
  t.same(stores, [true, false], 'the last event of a stream that is not stored says so')
  await rejectsWith(t, ownClient.responses.retrieve('resp_big'), 404)
  await upstream.script('gp', [
    { do: 'body' },
    { do: 'send', bytes: 'HTTP/1.1 400 Bad\r\ncontent-length: 2\r\n\r\n{}' },
  ])
  await rejectsWith(t, ownClient.responses.create({ model: 'gp', input: 'x' }), 400)
})

t.test('stored response: is missing for another account', async t => {
  await upstream.script('gp', plainReply(responseBody('resp_mine', 'Quito')))
  await ownClient.responses.create({ model: 'gp', input: 'Ecuador?' })
  const unknown = { code: 'previous_response_not_found', param: 'previous_response_id' }
  for (const previous_response_id of ['resp_mine', 'resp_none', '', '\u0000', "' OR 1=1"])
    await rejectsWith(
      t,
      otherClient.responses.create({ model: 'gp', input: 'x', previous_response_id }),
      400,
      unknown,
    )
  await rejectsWith(t, otherClient.responses.retrieve('resp_mine'), 404, {
    type: 'invalid_request_error',
  })
  await rejectsWith(t, otherClient.responses.delete('resp_mine'), 404)
  await rejectsWith(t, otherClient.responses.cancel('resp_mine'), 404)
  await rejectsWith(t, otherClient.responses.inputItems.list('resp_mine'), 404)
  await otherClient.responses.create({ model: 'gp', input: 'the same id, from the same upstream' })
  t.match(await ownClient.responses.inputItems.list('resp_mine'), {
    data: [{ content: [{ text: 'Ecuador?' }] }],
  })
  await rejectsWith(t, ownClient.responses.cancel('resp_mine'), 400)
  await ownClient.responses.delete('resp_mine')
  await rejectsWith(t, ownClient.responses.retrieve('resp_mine'), 404)
  await rejectsWith(
    t,
    ownClient.responses.create({ model: 'gp', input: 'x', previous_response_id: 'resp_mine' }),
    400,
    unknown,
  )
})

t.test('stored response: refuses invalid requests', async t => {
  const base = { model: 'gp', input: 'x' }
  const create = (more: object) => ownClient.responses.create({ ...base, ...more } as never)
  await rejectsWith(t, create({ previous_response_id: 'a', conversation: 'b' }), 400, {
    code: 'mutually_exclusive_parameters',
  })
  await rejectsWith(t, create({ background: true, store: false }), 400, { param: 'store' })
  await rejectsWith(t, create({ background: true, stream: true }), 400, { param: 'stream' })
  for (const completion_window of ['2h', '8h'])
    await rejectsWith(
      t,
      create({ background: true, background_options: { completion_window } }),
      400,
      {
        param: 'background_options.completion_window',
      },
    )
  await rejectsWith(t, create({ conversation: 'conv_none' }), 400, {
    code: 'conversation_not_found',
  })
  await upstream.script('gp', plainReply(responseBody('resp_q', 'x')))
  await create({ input: [1, 2, 3, 4].map(n => ({ role: 'user', content: `${n}` })) })
  const list = (query: object) => ownClient.responses.inputItems.list('resp_q', query as never)
  await rejectsWith(t, list({ limit: 0 }), 400, { param: 'limit' })
  await rejectsWith(t, list({ limit: 101 }), 400, { param: 'limit' })
  await rejectsWith(t, list({ order: 'up' }), 400, { param: 'order' })
  await rejectsWith(t, list({ after: 'msg_x' }), 400, { param: 'after' })
  const texts: unknown[] = []
  for await (const item of await list({ limit: 3, order: 'asc' }))
    texts.push((item as { content?: [{ text: string }] }).content?.[0].text)
  t.same(texts, ['1', '2', '3', '4'], 'all pages')
  await rejectsWith(t, ownClient.responses.retrieve('resp_q', { stream: true }), 400, {
    param: 'stream',
  })
})

t.test('conversation: continues at any upstream', async t => {
  const { id } = await ownClient.conversations.create({
    items: [{ type: 'message', role: 'user', content: 'I am Ada.' }],
    metadata: { a: 'b' },
  })
  t.match(await ownClient.conversations.retrieve(id), {
    object: 'conversation',
    metadata: { a: 'b' },
  })
  await upstream.script('cl', plainReply(messageBody('Hello Ada')))
  const first = await ownClient.responses.create({ model: 'cl', input: 'Hi', conversation: id })
  t.same(first.conversation, { id })
  await upstream.script('gp', plainReply(responseBody('resp_c', 'Ada')))
  const second = await ownClient.responses.create({
    model: 'gp',
    input: 'My name?',
    conversation: { id },
  })
  t.same(second.conversation, { id })
  t.match(JSON.stringify((await sentBody('gp')).input), /I am Ada.*Hi.*Hello Ada.*My name/)
  t.equal((await ownClient.conversations.items.list(id, { order: 'asc' })).data.length, 5)
  await rejectsWith(t, otherClient.conversations.retrieve(id), 404)
  await rejectsWith(
    t,
    otherClient.responses.create({ model: 'gp', input: 'x', conversation: id }),
    400,
  )
  await ownClient.conversations.delete(id)
  await rejectsWith(t, ownClient.conversations.items.list(id), 404)
})

t.test(
  'stored response: a loop of grouped tools goes on at an upstream without groups',
  async t => {
    const wait = { type: 'function', name: 'wait', parameters: null, strict: false }
    const agents = { type: 'namespace', name: 'agents_v1', description: 'Agents.', tools: [wait] }
    const tools = [agents, { type: 'web_search' }] as never
    const call = { type: 'tool_use', id: 'toolu_1', name: 'agents_v1__wait', input: { seconds: 1 } }
    await upstream.script(
      'cl',
      plainReply({ ...messageBody(''), content: [call], stop_reason: 'tool_use' }),
      plainReply(messageBody('done')),
    )
    const { data: first, response } = await ownClient.responses
      .create({ model: 'cl', input: 'Wait.', tools })
      .withResponse()
    t.equal(response.headers.get('x-tollgate-unpriced'), 'web_search')
    t.match(first.output, [
      { type: 'function_call', namespace: 'agents_v1', name: 'wait', arguments: '{"seconds":1}' },
    ])
    t.match(first.tools, [agents, { type: 'web_search' }])
    const [functionCall] = first.output
    if (functionCall?.type !== 'function_call') throw new Error('no call')
    const second = await ownClient.responses.create({
      model: 'cl',
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: functionCall.call_id, output: 'ok' }],
      tools,
    })
    t.equal(second.output_text, 'done')
    const { messages, tools: declared } = await sentBody('cl')
    t.match(declared, [{ name: 'agents_v1__wait', description: 'Agents.' }, { name: 'web_search' }])
    t.match(messages.slice(1), [
      { role: 'assistant', content: [call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] },
    ])
  },
)

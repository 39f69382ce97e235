/** Threads of Messages, which the gateway keeps for every target: with the official client and its
 *  tool runner, plain and streamed. */
import Anthropic, { APIError } from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import t from 'tap'
import {
  messageBody,
  plainReply,
  rejectsBy,
  streamedReply,
} from '../../helpers/gateway/stored-responses.ts'
import { gateway, otherClient, ownClient, rows, sentBody, upstream } from './stored-gateway.ts'

const clientOf = (apiKey: string | null) =>
  new Anthropic({ baseURL: gateway.url, apiKey: apiKey ?? '', maxRetries: 0 })
const own = clientOf(ownClient.apiKey)
const other = clientOf(otherClient.apiKey)

const weather = betaTool({
  name: 'weather',
  description: 'The weather of a town.',
  inputSchema: { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] },
  run: async ({ town }) => `sunny in ${town}`,
})
const system = 'Be brief.'
const ask = { role: 'user', content: 'Weather?' } as const
const again = { role: 'user', content: 'And tomorrow?' } as const
const base = { model: 'cl', max_tokens: 50 } as const
const create = { type: 'create' } as const
const after = (id: string) => ({ type: 'continue', previous_message_id: id }) as const
const reply = (id: string, text: string) => plainReply({ ...messageBody(text), id })

/** A call of the tool in each format, and the final answer after it. */
const CALL = { id: 'call_1', name: 'weather' }
const TOWN = '{"town":"Rome"}'
const chatUsage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const chatOf = (id: string, message: object, reason: string) => ({
  id,
  object: 'chat.completion',
  created: 1,
  model: 'gpt',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: reason }],
  usage: chatUsage,
})
const chatCall = {
  content: null,
  tool_calls: [{ id: CALL.id, type: 'function', function: { name: CALL.name, arguments: TOWN } }],
}
const message = (id: string, content: readonly object[], reason: string) => ({
  ...messageBody(''),
  id,
  content,
  stop_reason: reason,
})
const use = { type: 'tool_use', id: CALL.id, name: CALL.name, input: { town: 'Rome' } }

const streamOf = (id: string, deltas: readonly object[], block: object, reason: string) =>
  streamedReply(
    { type: 'message_start', message: { ...messageBody(''), id, content: [] } } as never,
    { type: 'content_block_start', index: 0, content_block: block } as never,
    ...deltas.map(delta => ({ type: 'content_block_delta', index: 0, delta }) as never),
    { type: 'content_block_stop', index: 0 } as never,
    {
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { output_tokens: 5 },
    } as never,
    { type: 'message_stop' },
  )
const streamedCall = (id: string) =>
  streamOf(
    id,
    ['{"town":', '"Rome"}'].map(partial_json => ({ type: 'input_json_delta', partial_json })),
    { ...use, input: {} },
    'tool_use',
  )
const streamedText = (id: string, text: string) =>
  streamOf(id, [{ type: 'text_delta', text }], { type: 'text', text: '' }, 'end_turn')

const textsOf = (
  messages: readonly { readonly content: readonly { readonly text?: string }[] }[],
) => messages.map(({ content }) => content[0]?.text ?? '')

const rejects = rejectsBy(APIError)
const code = (error_code: string) => ({ error: { error: { details: { error_code } } } })

for (const model of ['cl', 'chat'])
  t.test(`thread: the tool runner of the SDK continues it on ${model}`, async t => {
    const replies =
      model === 'cl'
        ? [
            plainReply(message('msg_t1', [use], 'tool_use')),
            plainReply(message('msg_t2', [{ type: 'text', text: 'Sunny.' }], 'end_turn')),
          ]
        : [
            plainReply(chatOf('chatcmpl-t1', chatCall, 'tool_calls')),
            plainReply(chatOf('chatcmpl-t2', { content: 'Sunny.' }, 'stop')),
          ]
    await upstream.script(model, ...replies)
    const final = await own.beta.messages.toolRunner({
      ...base,
      model,
      system,
      messages: [ask],
      tools: [weather],
    })
    t.match(final.content, [{ type: 'text', text: 'Sunny.' }])
    for (const { body } of await upstream.events('body', model))
      t.notMatch(Buffer.from(body?.bytes ?? []).toString(), '"thread"')
    for (const request of await upstream.events('request', model))
      t.notMatch(JSON.stringify(request), 'message-threads')
    const last = await sentBody(model)
    t.match(JSON.stringify(last.messages), /Weather\?.*weather.*sunny in Rome/)
    t.equal(last.tools.length, 1, 'of the request that began the thread')
    t.match(JSON.stringify(last), system)
  })

t.test('thread: a streamed message is continued, plain and streamed', async t => {
  await upstream.script(
    'cl',
    streamedCall('msg_s1'),
    streamedText('msg_s2', 'Sunny.'),
    reply('msg_s3', 'Rain.'),
  )
  const runner = own.beta.messages.toolRunner({
    ...base,
    system,
    messages: [ask],
    tools: [weather],
    stream: true,
  })
  const final = await runner
  t.equal(final.id, 'msg_s2')
  const { messages } = await sentBody('cl')
  t.match(messages.slice(1), [
    { role: 'assistant', content: [use] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: CALL.id }] },
  ])
  await own.beta.messages.create({ ...base, messages: [again], thread: after('msg_s2') })
  const third = await sentBody('cl')
  t.match(textsOf(third.messages), [ask.content, '', '', 'Sunny.', again.content])
  t.match(JSON.stringify(third.system), system)
})

t.test('thread: unknown messages and those of others are refused as the SDK expects', async t => {
  await upstream.script('cl', reply('msg_o1', 'Hi.'))
  await own.beta.messages.create({ ...base, messages: [ask], thread: create })
  for (const [client, id] of [
    [own, 'msg_none'],
    [own, 'x y'],
    [other, 'msg_o1'],
  ] as const)
    for (const stream of [false, true])
      await rejects(
        t,
        client.beta.messages.create({ ...base, messages: [again], thread: after(id), stream }),
        404,
        code('thread_not_found'),
      )
  await upstream.script('cl', reply('msg_o2', 'New.'))
  const thread = { messages: [ask, { role: 'assistant', content: 'Hi.' } as const, again] }
  t.equal((await other.beta.messages.create({ ...base, ...thread, thread: create })).id, 'msg_o2')
})

t.test('thread: invalid requests are refused, and an empty turn only goes on', async t => {
  const refuse = (body: object, match: object) =>
    rejects(t, own.beta.messages.create({ ...base, messages: [ask], ...body } as never), 400, match)
  await refuse({ thread: { type: 'fork' } }, { message: /thread/ })
  await refuse({ thread: { type: 'continue' } }, { message: /previous_message_id/ })
  await refuse({ thread: { type: 'continue', previous_message_id: 7 } }, { message: /thread/ })
  await refuse({ thread: 'create' }, { message: /thread/ })
  await refuse({ thread: create, messages: [] }, { message: /messages/ })
  await upstream.script(
    'cl',
    plainReply(message('msg_p1', [], 'pause_turn')),
    reply('msg_p2', 'Done.'),
  )
  await own.beta.messages.create({ ...base, system, messages: [ask], thread: create })
  await refuse({ system: 'Other.', thread: after('msg_p1') }, code('thread_fingerprint_mismatch'))
  const more = { ...base, messages: [], thread: after('msg_p1') }
  t.equal((await own.beta.messages.create(more)).id, 'msg_p2')
})

t.test('thread: refusals and broken streams are not stored', async t => {
  await upstream.script('cl', plainReply(message('msg_r1', [], 'refusal')))
  await own.beta.messages.create({ ...base, messages: [ask], thread: create })
  await rejects(
    t,
    own.beta.messages.create({ ...base, messages: [again], thread: after('msg_r1') }),
    404,
    code('thread_not_found'),
  )
  t.same(await rows(`SELECT id FROM stored_responses WHERE id LIKE '%msg_r1'`), [])
})

t.test('thread: a deleted message ends it, and only its owner deletes it', async t => {
  await upstream.script('cl', reply('msg_d1', 'One.'), reply('msg_d2', 'Two.'))
  await own.beta.messages.create({ ...base, messages: [ask], thread: create })
  await own.beta.messages.create({ ...base, messages: [again], thread: after('msg_d1') })
  const remove = (client: Anthropic, id: string) => client.delete(`/v1/messages/${id}`)
  await rejects(t, remove(other, 'msg_d1'), 404, {})
  t.same(await remove(own, 'msg_d1'), { id: 'msg_d1', type: 'message_deleted' })
  await rejects(t, remove(own, 'msg_d1'), 404, {})
  await rejects(
    t,
    own.beta.messages.create({ ...base, messages: [again], thread: after('msg_d2') }),
    404,
    code('thread_not_found'),
  )
})

t.test('thread: its messages are not responses', async t => {
  await upstream.script('cl', reply('msg_x1', 'One.'))
  await own.beta.messages.create({ ...base, messages: [ask], thread: create })
  for (const id of ['msg_x1', 'message%20msg_x1'])
    t.equal(
      (
        await fetch(`${gateway.url}/v1/responses/${id}`, {
          headers: { authorization: `Bearer ${ownClient.apiKey}` },
        })
      ).status,
      404,
    )
})

t.test('thread: an upstream that repeats its ids does not lose the conversation', async t => {
  await upstream.script(
    'cl',
    reply('msg_1', 'One.'),
    reply('msg_1', 'Two.'),
    reply('msg_1', 'Three.'),
  )
  await own.beta.messages.create({ ...base, system, messages: [ask], thread: create })
  for (let turn = 0; turn < 2; turn++)
    await own.beta.messages.create({ ...base, messages: [again], thread: after('msg_1') })
  const last = await sentBody('cl')
  t.same(textsOf(last.messages), [ask.content, 'One.', again.content, 'Two.', again.content])
  t.match(JSON.stringify(last.system), system)
})

t.test('thread: a message above the size limit is answered and cannot be continued', async t => {
  await upstream.script('cl', reply('msg_l1', 'x'.repeat(300_000)), reply('msg_l2', 'Two.'))
  const long = await own.beta.messages.create({ ...base, messages: [ask], thread: create })
  t.equal(long.id, 'msg_l1')
  await rejects(
    t,
    own.beta.messages.create({ ...base, messages: [again], thread: after('msg_l1') }),
    404,
    code('thread_not_found'),
  )
})

t.test('thread: passes to targets that keep threads themselves', async t => {
  await upstream.script('cl', reply('msg_n1', 'One.'))
  await own.beta.messages.create({
    ...base,
    model: 'native',
    messages: [again],
    thread: after('msg_n0'),
    betas: ['message-threads-2026-08-12'],
  })
  t.same((await sentBody('cl')).thread, after('msg_n0'))
  const [request] = await upstream.events('request', 'cl')
  t.match(JSON.stringify(request), 'message-threads')
  t.same(await rows(`SELECT id FROM stored_responses WHERE id LIKE '%msg_n1'`), [])
})

/** A realtime session of the sandbox: the events that answer each event of a client. */
import t from 'tap'
import type { WebSocket } from 'ws'
import { openRealtime } from '../../../plugins/sandbox/realtime.ts'
import { RealtimeSession } from '../../../plugins/sandbox/realtime-session.ts'

type Event = Readonly<Record<string, unknown>>
const newSession = () => {
  const session = new RealtimeSession('gpt-realtime', 'abc', 1_800_000_000)
  const send = (event: object): readonly Event[] => session.handle(JSON.stringify(event))
  return { session, send }
}
const typesOf = (events: readonly Event[]) => events.map(({ type }) => type)
const message = (text: string, id?: string) => ({
  type: 'conversation.item.create',
  item: {
    ...(id && { id }),
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text }],
  },
})

t.test('sandbox realtime: each event of a client has its answers', async t => {
  const { session, send } = newSession()
  t.match(session.start(), {
    type: 'session.created',
    session: { id: 'sess_abc', model: 'gpt-realtime', output_modalities: ['audio'] },
  })
  send(message('first', 'item_1'))
  for (const [event, ...expected] of [
    [
      {
        type: 'session.update',
        session: { instructions: 'x', audio: { output: { voice: 'ash' } } },
      },
      'session.updated',
    ],
    [message('second', 'item_2'), 'conversation.item.added', 'conversation.item.done'],
    [{ type: 'conversation.item.retrieve', item_id: 'item_2' }, 'conversation.item.retrieved'],
    [{ type: 'conversation.item.delete', item_id: 'item_2' }, 'conversation.item.deleted'],
    [{ type: 'conversation.item.delete', item_id: 'item_2' }, 'error'],
    [{ type: 'conversation.item.retrieve', item_id: 'item_2' }, 'error'],
    [
      { type: 'conversation.item.truncate', item_id: 'item_1', content_index: 0, audio_end_ms: 5 },
      'conversation.item.truncated',
    ],
    [{ type: 'input_audio_buffer.commit' }, 'error'],
    [{ type: 'input_audio_buffer.append', audio: 'AAAA' }],
    [{ type: 'input_audio_buffer.clear' }, 'input_audio_buffer.cleared'],
    [{ type: 'input_audio_buffer.append', audio: 'A'.repeat(12_800) }],
    [
      { type: 'input_audio_buffer.commit' },
      'input_audio_buffer.committed',
      'conversation.item.added',
      'conversation.item.done',
    ],
    [{ type: 'response.cancel' }, 'error'],
    [{ type: '__proto__' }, 'error'],
    [{}, 'error'],
  ] as const)
    t.same(typesOf(send(event)), expected, JSON.stringify(event).slice(0, 80))
  t.same(typesOf(session.handle('[')), ['error'], 'not JSON')
  const done = send({ type: 'response.create' }).at(-1)
  t.match(done, {
    type: 'response.done',
    response: {
      audio: { output: { voice: 'ash', format: { type: 'audio/pcm' } } },
      usage: { input_token_details: { text_tokens: 2, audio_tokens: 2 } },
    },
  })
})

t.test('sandbox realtime: refuses a response while another one is being sent', async t => {
  const { session } = newSession()
  const create = JSON.stringify({ type: 'response.create' })
  t.same(typesOf(session.handle(create, true)), ['error'])
  t.equal(session.handle(create).at(-1)?.type, 'response.done')
})

t.test('sandbox realtime: the oldest items leave a long conversation', async t => {
  const { send } = newSession()
  const half = 'x'.repeat(600_000)
  send(message(half, 'item_1'))
  send(message(half, 'item_2'))
  const find = (item_id: string) => typesOf(send({ type: 'conversation.item.retrieve', item_id }))
  t.same(find('item_1'), ['error'])
  t.same(find('item_2'), ['conversation.item.retrieved'])
  send(message('x', 'item_2'))
  send(message(half, 'item_3'))
  t.same(find('item_2'), ['conversation.item.retrieved'], 'a replaced item counts once')
})

t.test('sandbox realtime: a client that reads late gets every answer', async t => {
  const socket = (await openRealtime({ model: 'm', id: 'a', protocols: '' })) as WebSocket
  t.teardown(() => socket.terminate())
  const count = 20
  for (let index = 0; index < count; index++) socket.send('{"type":"response.create"}')
  let answers = 0
  const all = new Promise<void>(resolve =>
    socket.on('message', payload => {
      if (/"type":"(?:response\.done|error)"/.test(String(payload).slice(0, 200))) answers++
      if (answers === count) resolve()
    }),
  )
  socket.resume()
  await all
  t.pass('as many ends as requests')
})

t.test('sandbox realtime: an error names the event of the client', async t => {
  const { send } = newSession()
  t.match(send({ type: 'nothing', event_id: 'mine' }), [
    { type: 'error', error: { type: 'invalid_request_error', param: 'type', event_id: 'mine' } },
  ])
})

t.test('sandbox realtime: audio has the format that the session sets', async t => {
  const { send } = newSession()
  for (const [type, bytes] of [
    ['audio/pcm', 48_000],
    ['audio/pcmu', 8_000],
    ['audio/pcma', 8_000],
  ] as const) {
    const output = { format: { type } }
    const events = send({ type: 'response.create', response: { audio: { output } } })
    const deltas = events.filter(event => event.type === 'response.output_audio.delta')
    t.equal(
      Buffer.concat(deltas.map(({ delta }) => Buffer.from(String(delta), 'base64'))).length,
      bytes,
      type,
    )
  }
})

t.test('sandbox realtime: a response answers its own input if it has one', async t => {
  const { send } = newSession()
  send(message('in the conversation'))
  const input = [message('only here').item]
  const [first] = send({
    type: 'response.create',
    response: { input, output_modalities: ['text'] },
  }).filter(({ type }) => type === 'response.output_text.done')
  t.match(first?.text, /You wrote: "only here"/)
  const [second] = send({
    type: 'response.create',
    response: { output_modalities: ['text'] },
  }).filter(({ type }) => type === 'response.output_text.done')
  t.match(second?.text, /You wrote: "in the conversation"/)
})

/** A guard in a realtime session: texts of the upstream that are split anywhere, in every kind of
 *  event that has some. */
import t from 'tap'
import type { Document, Exchange, Message, Plugin, Stage } from '../../../engine/plugin.ts'
import guardPlugin from '../../../plugins/guard/index.ts'
import { CLOSE_MESSAGE } from '../../../plugins/slots.ts'
import { fakeHost, type HostOptions } from '../../../program/exports/testing.ts'

const guard = guardPlugin as Plugin
/** `decide`: the webhook of the guards, which gets texts. */
const start = (
  guards: Readonly<Record<string, object>>,
  decide?: (texts: readonly string[]) => object,
) => {
  const route = { option: (name: string) => (name === 'realtime' ? true : undefined) }
  const host = fakeHost({
    document: { guards } as unknown as Document,
    route,
  } as HostOptions)
  const request = async (_: string, { body = '' }: { readonly body?: string }) => ({
    status: 200,
    text: JSON.stringify(decide?.(JSON.parse(body).texts)),
  })
  const stage = guard.setup(Object.keys(guards), { ...host, request } as never) as Stage
  const values = new Map<unknown, unknown>()
  const slots = {
    get: (slot: unknown) => values.get(slot),
    need: (slot: unknown) => values.get(slot),
    set: (slot: unknown, value: unknown) => void values.set(slot, value),
  }
  slots.set(CLOSE_MESSAGE, () => Buffer.from('{"type":"error"}'))
  const cuts: unknown[] = []
  const exchange = { id: 'req_1', slots, cut: (reason: unknown) => cuts.push(reason) }
  stage.handle?.(exchange as unknown as Exchange, async () => {})
  const pass = (from: Message['from'], events: readonly object[]) => {
    const messages: Record<string, unknown>[] = []
    for (const event of events) {
      const payload = Buffer.from(JSON.stringify(event))
      const out = (message: Message) =>
        void messages.push(JSON.parse(Buffer.from(message.payload).toString()))
      stage.message?.({ from, text: true, payload }, out, exchange as unknown as Exchange)
    }
    return messages
  }
  /** Resolves to what the upstream gets of an event of the client, or the client in its place. */
  const send = async (event: object): Promise<Record<string, unknown>> => {
    let forwarded: Message | undefined
    const out = (message: Message) => {
      forwarded = message
    }
    const message = { from: 'client', text: true, payload: Buffer.from(JSON.stringify(event)) }
    await stage.message?.(message as Message, out, exchange as unknown as Exchange)
    return JSON.parse(Buffer.from(forwarded?.payload ?? 'null').toString())
  }
  return { pass, send, cuts }
}
const sayingOf = (text: string) => ({
  type: 'conversation.item.create',
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
})
const TEXT = 'Write to bob@example.org now.'
const MASKED = 'Write to [EMAIL_1] now.'
const KINDS = [
  ['response.output_text', 'text'],
  ['response.text', 'text'],
  ['response.output_audio_transcript', 'transcript'],
  ['conversation.item.input_audio_transcription', 'transcript'],
  ['response.function_call_arguments', 'arguments'],
] as const
const endOf = (kind: string) => (kind.includes('transcription') ? 'completed' : 'done')
const at = { item_id: 'i', content_index: 0, response_id: 'r' }

t.test('realtime guard: texts that are split anywhere are masked', async t => {
  const { pass } = start({ own: { find: 'email', do: 'mask' } })
  for (const [kind, member] of KINDS)
    for (let cut = 1; cut < TEXT.length; cut++) {
      const json = (text: string) => (member === 'arguments' ? JSON.stringify({ text }) : text)
      const whole = json(TEXT)
      const messages = pass('upstream', [
        { type: `${kind}.delta`, ...at, delta: whole.slice(0, cut) },
        { type: `${kind}.delta`, ...at, delta: whole.slice(cut) },
        { type: `${kind}.${endOf(kind)}`, ...at, [member]: whole },
      ])
      const name = `${kind}, cut at ${cut}`
      t.equal(messages.map(({ delta = '' }) => delta).join(''), json(MASKED), name)
      t.equal(messages.at(-1)?.[member], json(MASKED), name)
      t.notMatch(JSON.stringify(messages), 'bob@', name)
    }
})

t.test('realtime guard: a blocked text ends the session before it is sent', async t => {
  for (const [kind, member] of KINDS) {
    const { pass, cuts } = start({ own: { words: ['falcon'], do: 'block' } })
    const messages = pass('upstream', [
      { type: `${kind}.delta`, ...at, delta: 'a fal' },
      { type: `${kind}.delta`, ...at, delta: 'con ' },
      { type: `${kind}.${endOf(kind)}`, ...at, [member]: 'a falcon ' },
    ])
    t.notMatch(JSON.stringify(messages), 'falcon', kind)
    t.ok(cuts.length > 0, kind)
    t.ok(
      messages.some(({ type }) => type === 'error'),
      kind,
    )
  }
})

t.test('realtime guard: flag changes nothing; sound, other events and replays pass', async t => {
  const { pass } = start({ own: { find: 'email', do: 'flag' } })
  const events = [
    { type: 'response.output_text.delta', ...at, delta: 'to bob@exam' },
    { type: 'response.output_text.delta', ...at, delta: 'ple.org' },
    { type: 'response.output_text.done', ...at, text: 'to bob@example.org' },
    { type: 'response.output_audio.delta', ...at, delta: 'bob@example.org' },
    { type: 'rate_limits.updated', rate_limits: [] },
  ]
  t.same(pass('upstream', events), events)
  const masking = start({ own: { find: 'email', do: 'mask', on: 'answer' } })
  const own = { type: 'input_text', text: 'ann@example.com' }
  const added = { type: 'conversation.item.added', item: { role: 'user', content: [own] } }
  t.same(masking.pass('upstream', [added]), [added], 'the client wrote it')
  const silent = { type: 'input_audio_buffer.append', audio: 'AAAA' }
  t.same(await masking.send(silent), silent)
})

const WEBHOOK = { webhook: 'http://127.0.0.1:9/check', on_error: 'block' }
t.test('realtime guard: a webhook masks what the finders left, which it gets masked', async t => {
  const questions: (readonly string[])[] = []
  const own = { ...WEBHOOK, find: 'email', do: 'mask' }
  const { send } = start({ own }, texts => {
    questions.push(texts)
    return { action: 'mask', texts: texts.map(text => text.replace('secret', '***')) }
  })
  const forwarded = await send(sayingOf('I am ann@example.com, the word is secret'))
  t.same(questions, [['I am [EMAIL_1], the word is secret']])
  t.same(forwarded, sayingOf('I am [EMAIL_1], the word is ***'))
  const flagging = start({ own: { ...own, do: 'flag' } }, texts => ({ action: 'mask', texts }))
  t.same(await flagging.send(sayingOf('a@b.org')), sayingOf('a@b.org'), 'it only reports')
})

t.test('realtime guard: the end of a response completes its own texts only', async t => {
  const { pass } = start({ own: { find: 'email', do: 'mask' } })
  const delta = (response: string, item: string, text: string) => ({
    type: 'response.output_text.delta',
    response_id: response,
    item_id: item,
    content_index: 0,
    delta: text,
  })
  const done = (id: string) => ({ type: 'response.done', response: { id, output: [] } })
  const transcription = 'conversation.item.input_audio_transcription'
  const messages = pass('upstream', [
    delta('r1', 'i', 'to bob@exam'),
    delta('r2', 'j', 'to eve@exam'),
    { type: `${transcription}.delta`, item_id: 'k', content_index: 0, delta: 'I am ann@exam' },
    done('r2'),
    delta('r1', 'i', 'ple.org'),
    { type: `${transcription}.delta`, item_id: 'k', content_index: 0, delta: 'ple.org' },
    { ...at, response_id: 'r1', type: 'response.output_text.done', text: 'to bob@example.org' },
    { type: `${transcription}.completed`, item_id: 'k', content_index: 0, transcript: 'x' },
    done('r1'),
  ])
  const textOf = (item: string) =>
    messages.map(each => (each.item_id === item ? (each.delta ?? '') : '')).join('')
  t.equal(textOf('i'), 'to [EMAIL_1]')
  t.equal(textOf('j'), 'to eve@exam')
  t.equal(textOf('k'), 'I am [EMAIL_2]')
})

t.test('realtime guard: placeholders of several guards are different', async t => {
  const { pass, send } = start({
    one: { words: ['falcon'], do: 'mask', restore: true },
    two: { words: ['eagle'], do: 'mask', restore: true },
  })
  t.same(await send(sayingOf('falcon, eagle')), sayingOf('[WORD_1], [WORD_2]'))
  const [answer] = pass('upstream', [
    { type: 'response.output_text.done', ...at, text: '[WORD_2], [WORD_1]' },
  ])
  t.equal(answer?.text, 'eagle, falcon')
})

t.test('realtime guard: variables and prompts of transcriptions are searched', async t => {
  const { send } = start({ own: { find: 'email', do: 'mask' } })
  const event = (text: string) => ({
    type: 'response.create',
    response: {
      prompt: { id: 'pmpt_1', variables: { a: text, b: { type: 'input_text', text } } },
    },
    session: { audio: { input: { transcription: { prompt: text } } } },
  })
  t.same(await send(event('ask bob@example.org')), event('ask [EMAIL_1]'))
})

t.test('realtime guard: contents and inputs that are texts are searched', async t => {
  const { send, pass } = start({ own: { find: 'email', do: 'mask' } })
  const item = (text: string) => ({
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: text },
  })
  t.same(await send(item('ask bob@example.org')), item('ask [EMAIL_1]'))
  const response = (text: string) => ({
    type: 'response.create',
    response: { input: text },
  })
  t.same(await send(response('ask bob@example.org')), response('ask [EMAIL_1]'))
  const done = (text: string) => ({
    type: 'conversation.item.done',
    item: { type: 'message', role: 'assistant', content: text },
  })
  t.same(pass('upstream', [done('ask bob@example.org')]), [done('ask [EMAIL_1]')])
})

t.test('realtime guard: texts above max_bytes are not sent to a webhook', async t => {
  let count = 0
  const pass = () => {
    count++
    return { action: 'pass' }
  }
  const long = sayingOf('word '.repeat(300))
  const own = { ...WEBHOOK, on_error: 'pass', max_bytes: '1KiB' }
  const blocking = start({ own: { ...own, do: 'block' } }, pass)
  await t.rejects(blocking.send(long), { code: 'GUARD_TOO_LARGE' })
  const flagging = start({ own: { ...own, do: 'flag' } }, pass)
  t.same(await flagging.send(long), long)
  t.equal(count, 0)
  await blocking.send(sayingOf('short'))
  t.equal(count, 1)
})

/** A guard in a realtime session: texts of the upstream that are split anywhere, in every kind of
 *  event that has some. */
import t from 'tap'
import type { Document, Exchange, Message, Plugin, Stage } from '../../../engine/plugin.ts'
import guardPlugin from '../../../plugins/guard/index.ts'
import { CLOSE_MESSAGE } from '../../../plugins/slots.ts'
import { fakeHost, type HostOptions } from '../../../program/exports/testing.ts'

const guard = guardPlugin as Plugin
const start = (own: object) => {
  const route = { option: (name: string) => (name === 'realtime' ? true : undefined) }
  const host = fakeHost({
    document: { guards: { own } } as unknown as Document,
    route,
  } as HostOptions)
  const stage = guard.setup('own', host) as Stage
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
  return { pass, cuts }
}
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
  const { pass } = start({ find: 'email', do: 'mask' })
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
    const { pass, cuts } = start({ words: ['falcon'], do: 'block' })
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
  const { pass } = start({ find: 'email', do: 'flag' })
  const events = [
    { type: 'response.output_text.delta', ...at, delta: 'to bob@exam' },
    { type: 'response.output_text.delta', ...at, delta: 'ple.org' },
    { type: 'response.output_text.done', ...at, text: 'to bob@example.org' },
    { type: 'response.output_audio.delta', ...at, delta: 'bob@example.org' },
    { type: 'rate_limits.updated', rate_limits: [] },
  ]
  t.same(pass('upstream', events), events)
  const masking = start({ find: 'email', do: 'mask', on: 'answer' })
  const own = { type: 'input_text', text: 'ann@example.com' }
  const added = { type: 'conversation.item.added', item: { role: 'user', content: [own] } }
  t.same(masking.pass('upstream', [added]), [added], 'the client wrote it')
  const silent = { type: 'input_audio_buffer.append', audio: 'AAAA' }
  masking.pass('client', [silent])
})

/** The reasons why answers ended, in the words of every format, plain and streamed, whatever the
 *  chunks are. */
import t from 'tap'
import type { Answer, Stop } from '../../../plugins/formats/hub/answer.ts'
import { partsOf } from '../../../plugins/formats/hub/answer-parts.ts'
import { FinishReasons } from '../../../plugins/telemetry/finish-reasons.ts'
import { CLIENTS, formatOf, ownCodec } from '../../helpers/formats/listening-gateway.ts'

const REASONS: Readonly<Record<string, readonly [end: string, length: string]>> = {
  'openai-chat': ['stop', 'length'],
  'openai-responses': ['completed', 'max_output_tokens'],
  'anthropic-messages': ['end_turn', 'max_tokens'],
  'google-gemini': ['STOP', 'MAX_TOKENS'],
}
/** A text that quotes what ends answers. */
const TEXT = '"finish_reason":"no" "stop_reason":"no" "finishReason":"no"'
const answerOf = (reason: Stop['reason']): Answer => ({
  id: 'a1',
  model: 'm',
  choices: [{ content: [{ type: 'text', text: TEXT }], stop: { reason } }],
  meters: { input: 3, output: 4 },
})
const contextOf = (stream: boolean) => ({
  id: '1',
  model: 'm',
  now: 1,
  path: '/',
  prompt: { turns: [], tools: [], settings: {}, stream, includeUsage: true, body: {} },
})
const bytesOf = (name: string, answer: Answer, stream: boolean): Buffer => {
  const codec = ownCodec(name)
  if (!stream) return Buffer.from(JSON.stringify(codec.encodeAnswer(answer, contextOf(false))))
  const encoder = codec.encodeStream(contextOf(true))
  return Buffer.concat(partsOf(answer).map(part => Buffer.from(encoder.push(part) ?? '')))
}
const reasonsIn = (name: string, chunks: readonly Buffer[]) => {
  const { finish } = formatOf(name)
  if (!finish) throw new Error(`the format ${name} owes finish`)
  const filter = new FinishReasons(finish)
  const passed: Uint8Array[] = []
  const out = { write: (chunk: Uint8Array) => void passed.push(chunk), end() {}, fail() {} }
  for (const chunk of chunks) filter.write(chunk, out)
  if (!Buffer.concat(passed).equals(Buffer.concat([...chunks]))) throw new Error('bytes differ')
  filter.end(undefined, out)
  return filter.reasons
}

t.test('finish reasons: of every format, plain and streamed, split anywhere', async t => {
  for (const name of CLIENTS)
    for (const stream of [false, true])
      for (const [index, reason] of (['end', 'length'] as const).entries()) {
        const bytes = bytesOf(name, answerOf(reason), stream)
        const expected = [REASONS[name]?.[index]]
        t.same(reasonsIn(name, [bytes]), expected, `${name} ${stream}`)
        const wrong: number[] = []
        for (let cut = 1; cut < bytes.length; cut++) {
          const reasons = reasonsIn(name, [bytes.subarray(0, cut), bytes.subarray(cut)])
          if (JSON.stringify(reasons) !== JSON.stringify(expected)) wrong.push(cut)
        }
        t.same(wrong, [], `${name} ${stream} ${reason}`)
        const each = Array.from(bytes, byte => Buffer.from([byte]))
        t.same(reasonsIn(name, each), expected, `${name} ${stream}, byte by byte`)
      }
})

t.test('finish reasons: several answers have several, a cut one has none', async t => {
  const answer = answerOf('end')
  const [first] = answer.choices
  if (!first) return
  const two = { ...answer, choices: [first, { ...first, stop: { reason: 'length' } as const }] }
  t.same(reasonsIn('openai-chat', [bytesOf('openai-chat', two, false)]), ['stop', 'length'])
  const facts = formatOf('openai-responses').finish
  t.equal(facts && new FinishReasons(facts).reasons, undefined)
})

t.test(
  'finish reasons: a response that has not completed is not reported as completed',
  async t => {
    const item = { type: 'web_search_call', status: 'completed' }
    for (const [status, expected] of [
      ['completed', ['completed']],
      ['failed', ['failed']],
      ['cancelled', ['cancelled']],
      ['queued', undefined],
      ['in_progress', undefined],
    ] as const) {
      const response = (now: string, output: readonly object[]) => ({
        id: 'r',
        object: 'response',
        created_at: 1_741_476_777,
        completed_at: 1_741_476_778,
        status: now,
        error: null,
        incomplete_details: null,
        output,
      })
      const whole = response(status, [item])
      t.same(reasonsIn('openai-responses', [Buffer.from(JSON.stringify(whole))]), expected, status)
      const pretty = Buffer.from(JSON.stringify(whole, undefined, 2))
      t.same(reasonsIn('openai-responses', [pretty]), expected, `${status}, in lines`)
      const events = [
        { type: 'response.created', response: response('queued', []) },
        { type: 'response.output_item.done', item },
        { type: `response.${status}`, response: whole },
      ].map(event => Buffer.from(`data: ${JSON.stringify(event)}\n\n`))
      t.same(reasonsIn('openai-responses', events), expected, `${status}, streamed`)
    }
  },
)

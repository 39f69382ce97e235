/** Usage of audio calls for every way to price them: from the upstream's counts or estimated from
 *  request and answer, never zero and never counted twice. */
import t from 'tap'
import { requestBoundsOf } from '../../../plugins/billing/request-bounds.ts'
import { worstCase } from '../../../plugins/billing/worst-case.ts'
import type { Fields } from '../../../plugins/formats/fields.ts'
import { speechEstimate } from '../../../plugins/formats/openai-speech/usage.ts'
import { transcriptionEstimate } from '../../../plugins/formats/openai-transcription/usage.ts'
import { priceUsage } from '../../../plugins/ledger/call-charge.ts'
import type { Meter } from '../../../plugins/slots.ts'
import { ruleIn } from '../../helpers/billing.ts'

const paying = (...meters: readonly Meter[]) => new Set<Meter>(meters)
const LETTERS = paying('characters')
const TOKENS = paying('input', 'audio_output')
const BOTH = paying('input', 'audio_output', 'characters')
const CALLS = paying('calls')
const request = { input: 'twenty letters and äö' }
const counts = { input_tokens: 5, output_tokens: 40 }
const reported = { input: 5, audio_output: 40 }
const guessed = { input: 6, audio_output: Math.ceil(23 * (20 / 15)) }

t.test('speech usage: matches the meters that the price uses', async t => {
  for (const [what, paid, text, meters, estimated] of [
    ['letters, told nothing', LETTERS, undefined, { characters: 21 }, false],
    ['letters, told tokens', LETTERS, counts, { ...reported, characters: 21 }, false],
    ['tokens, told', TOKENS, counts, reported, false],
    ['tokens, told nothing', TOKENS, undefined, guessed, true],
    ['both, told tokens', BOTH, counts, reported, false],
    ['both, told nothing', BOTH, undefined, { characters: 21 }, false],
    ['by the call', CALLS, undefined, { characters: 21 }, false],
  ] as const) {
    const gauge = speechEstimate(request, paid)
    t.match(gauge.usage(text, true), { meters, estimated }, what)
    const cut = gauge.usage(text, false)
    t.same(cut, { meters, estimated: true, isFinalEstimate: true }, `${what}, cut`)
  }
  t.same(speechEstimate({}, LETTERS).usage(undefined, true).meters, { characters: 0 })
})

const SECONDS = paying('seconds')
const HEARD = paying('input', 'audio_input', 'output')
const EITHER = paying('input', 'audio_input', 'output', 'seconds')
const tokens = { input_tokens: 100, output_tokens: 7 }
const seconds = { type: 'duration', seconds: 4 }
const file = [{ type: 'audio/mpeg', bytes: 32_000 }]
const gauged = (
  paid: ReadonlySet<Meter>,
  type: string,
  chunks: readonly string[],
  text?: Fields,
) => {
  const gauge = transcriptionEstimate({ file }, paid, type)
  for (const chunk of chunks) gauge.observe(Buffer.from(chunk))
  return gauge.usage(text, true)
}
const inTokens = (audio_input: number, output: number) => ({ input: 0, audio_input, output })

t.test('transcription usage: matches the meters that the price uses', async t => {
  const verbose = ['{"text":"x","dura', 'tion": 6.5,"segments":[{"duration":1}]}']
  const letters = ['x'.repeat(60)]
  for (const [what, paid, type, chunks, text, meters, estimated] of [
    ['seconds, told', SECONDS, 'application/json', [], seconds, { seconds: 4 }, false],
    ['seconds, told tokens', SECONDS, 'application/json', [], tokens, { seconds: 10 }, true],
    ['a duration', SECONDS, 'application/json', verbose, undefined, { seconds: 6.5 }, false],
    [
      'a duration as a text',
      SECONDS,
      'application/json',
      ['{"duration":"3.5"}'],
      undefined,
      { seconds: 3.5 },
      false,
    ],
    [
      'no duration',
      SECONDS,
      'application/json',
      ['{"duration":"long"}'],
      undefined,
      { seconds: 2 },
      true,
    ],
    [
      'tokens, told',
      HEARD,
      'application/json',
      verbose,
      tokens,
      { audio_input: 100, output: 7 },
      false,
    ],
    ['tokens, told seconds', HEARD, 'application/json', [], seconds, inTokens(40, 0), true],
    ['tokens, a duration', HEARD, 'application/json', verbose, undefined, inTokens(70, 14), true],
    ['tokens, text', HEARD, 'text/plain', letters, undefined, inTokens(40, 15), true],
    [
      'either, told tokens',
      EITHER,
      'application/json',
      verbose,
      tokens,
      { audio_input: 100, output: 7 },
      false,
    ],
    ['either, told seconds', EITHER, 'application/json', [], seconds, { seconds: 4 }, false],
    ['either, text', EITHER, 'text/plain', letters, undefined, { seconds: 4 }, true],
    [
      'by the call, told',
      CALLS,
      'application/json',
      [],
      tokens,
      { audio_input: 100, output: 7 },
      false,
    ],
    ['nothing at all: by the file', SECONDS, 'text/plain', [], undefined, { seconds: 2 }, true],
    [
      'never longer than the file can last',
      SECONDS,
      'text/plain',
      ['x'.repeat(9_999)],
      undefined,
      { seconds: 64 },
      true,
    ],
    [
      'a time cut by a chunk',
      SECONDS,
      'text/vtt',
      ['00:00.000 --> 00:0', '9.100 align:start\nx'],
      undefined,
      { seconds: 10 },
      true,
    ],
    [
      'the last time',
      SECONDS,
      'text/plain',
      ['--> 00:00:20,000\n', 'a --> 00:00:10,000\n'],
      undefined,
      { seconds: 20 },
      true,
    ],
    [
      'hours, within the file',
      SECONDS,
      'text/plain',
      ['--> 01:00:00,000\n'],
      undefined,
      { seconds: 64 },
      true,
    ],
    [
      'a speaker’s segment',
      SECONDS,
      'text/event-stream',
      [
        'data: {"type":"transcript.text.segment","end":7.2}\n\n',
        'data: {"type":"transcript.text.delta","delta":"x"}\n\n',
        ': ping\n\n',
      ],
      undefined,
      { seconds: 8 },
      true,
    ],
  ] as const)
    t.match(gauged(paid, type, chunks, text), { meters, estimated }, what)
  const silent = { input_tokens: 4, input_token_details: { audio_tokens: 0 } }
  t.same(gauged(HEARD, 'application/json', [], silent), { meters: { input: 4 }, estimated: false })
})

t.test('audio usage: an estimate never exceeds the amount held for the call', async t => {
  for (const rule of [
    'price: { seconds: 0.001 }',
    '{ price: { seconds: 0.001 }, max_calls: { seconds: 50 } }',
  ])
    for (const bytes of [1, 499, 501, 25_000, 32_000]) {
      const compiled = ruleIn(rule)
      const question = requestBoundsOf({}, bytes + 300, { rule: compiled }, bytes)
      const { nanos, unboundedMeters: unbounded } = worstCase(compiled, question.bounds, { at: 0 })
      t.same(unbounded, [])
      const gauge = transcriptionEstimate({ file: [{ bytes }] }, SECONDS, 'text/plain')
      gauge.observe(Buffer.from('x'.repeat(100_000)))
      const charge = priceUsage(gauge.usage(undefined, true), { rule: compiled, facts: { at: 0 } })
      t.ok(charge.nanos > 0n)
      if (compiled.maxCalls.size === 0) t.ok(charge.nanos <= nanos, `${bytes} bytes`)
      else t.ok(nanos <= 50_000_000n, 'the limit of the model')
    }
})
t.test('audio usage: a file bounds seconds only', async t => {
  const images = ruleIn('price: { images: 1 }')
  const question = requestBoundsOf({ n: 1 }, 5_000, { rule: images }, 4_000)
  t.equal(question.bounds.meters?.seconds, undefined)
  t.same(worstCase(images, question.bounds, { at: 0 }).unpriced, [])
  t.ok(question.isLimited)
  const video = requestBoundsOf({ duration: 5 }, 100, { rule: ruleIn('price: { seconds: 1 }') })
  t.equal(video.bounds.meters?.seconds, 5)
})

/** Usage of audio calls for every way to price them: from the upstream's counts or estimated from
 *  request and answer, never zero and never counted twice. */
import t from 'tap'
import { requestBoundsOf } from '../../../../plugins/billing/request-bounds.ts'
import { worstCase } from '../../../../plugins/billing/worst-case.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import { speechEstimate } from '../../../../plugins/formats/openai-speech/usage.ts'
import { transcriptionEstimate } from '../../../../plugins/formats/openai-transcription/usage.ts'
import { priceUsage } from '../../../../plugins/ledger/call-charge.ts'
import type { Meter } from '../../../../plugins/slots.ts'
import { ruleIn } from '../../../helpers/money/billing.ts'

const pricedMeters = (...meters: readonly Meter[]) => new Set<Meter>(meters)
const CHARACTERS = pricedMeters('characters')
const TOKENS = pricedMeters('input', 'audio_output')
const BOTH = pricedMeters('input', 'audio_output', 'characters')
const CALLS = pricedMeters('calls')
const request = { input: 'twenty letters and äö' }
const counts = { input_tokens: 5, output_tokens: 40 }
const reportedMeters = { input: 5, audio_output: 40 }
const estimatedMeters = { input: 6, audio_output: Math.ceil(23 * (20 / 15)) }

t.test('speech usage: matches the meters that the price uses', async t => {
  for (const [what, prices, upstreamCounts, meters, isEstimate] of [
    ['priced by characters, no counts', CHARACTERS, undefined, { characters: 21 }, false],
    [
      'priced by characters, token counts',
      CHARACTERS,
      counts,
      { ...reportedMeters, characters: 21 },
      false,
    ],
    ['priced by tokens, token counts', TOKENS, counts, reportedMeters, false],
    ['priced by tokens, no counts', TOKENS, undefined, estimatedMeters, true],
    ['priced by both, token counts', BOTH, counts, reportedMeters, false],
    ['priced by both, no counts', BOTH, undefined, { characters: 21 }, false],
    ['by the call', CALLS, undefined, { characters: 21 }, false],
  ] as const) {
    const estimate = speechEstimate(request, prices)
    t.match(estimate.usage(upstreamCounts, true), { meters, estimated: isEstimate }, what)
    const truncatedUsage = estimate.usage(upstreamCounts, false)
    t.same(truncatedUsage, { meters, estimated: true, isFinalEstimate: true }, `${what}, cut`)
  }
  t.same(speechEstimate({}, CHARACTERS).usage(undefined, true).meters, { characters: 0 })
})

const SECONDS = pricedMeters('seconds')
const AUDIO_TOKENS = pricedMeters('input', 'audio_input', 'output')
const EITHER = pricedMeters('input', 'audio_input', 'output', 'seconds')
const tokens = { input_tokens: 100, output_tokens: 7 }
const seconds = { type: 'duration', seconds: 4 }
const file = [{ type: 'audio/mpeg', bytes: 32_000 }]
const estimateUsage = (
  prices: ReadonlySet<Meter>,
  type: string,
  chunks: readonly string[],
  upstreamCounts?: Fields,
) => {
  const estimate = transcriptionEstimate({ file }, prices, type)
  for (const chunk of chunks) estimate.observe(Buffer.from(chunk))
  return estimate.usage(upstreamCounts, true)
}
const inTokens = (audio_input: number, output: number) => ({ input: 0, audio_input, output })

t.test('transcription usage: matches the meters that the price uses', async t => {
  const verbose = ['{"text":"x","dura', 'tion": 6.5,"segments":[{"duration":1}]}']
  const letters = ['x'.repeat(60)]
  for (const [what, prices, type, chunks, upstreamCounts, meters, isEstimate] of [
    [
      'priced by seconds, seconds reported',
      SECONDS,
      'application/json',
      [],
      seconds,
      { seconds: 4 },
      false,
    ],
    [
      'priced by seconds, token counts',
      SECONDS,
      'application/json',
      [],
      tokens,
      { seconds: 10 },
      true,
    ],
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
      'priced by tokens, token counts',
      AUDIO_TOKENS,
      'application/json',
      verbose,
      tokens,
      { audio_input: 100, output: 7 },
      false,
    ],
    [
      'priced by tokens, seconds reported',
      AUDIO_TOKENS,
      'application/json',
      [],
      seconds,
      inTokens(40, 0),
      true,
    ],
    [
      'tokens, a duration',
      AUDIO_TOKENS,
      'application/json',
      verbose,
      undefined,
      inTokens(70, 14),
      true,
    ],
    ['tokens, text', AUDIO_TOKENS, 'text/plain', letters, undefined, inTokens(40, 15), true],
    [
      'priced by either, token counts',
      EITHER,
      'application/json',
      verbose,
      tokens,
      { audio_input: 100, output: 7 },
      false,
    ],
    [
      'priced by either, seconds reported',
      EITHER,
      'application/json',
      [],
      seconds,
      { seconds: 4 },
      false,
    ],
    ['either, text', EITHER, 'text/plain', letters, undefined, { seconds: 4 }, true],
    [
      'priced by the call, counts reported',
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
    t.match(
      estimateUsage(prices, type, chunks, upstreamCounts),
      { meters, estimated: isEstimate },
      what,
    )
  const silent = { input_tokens: 4, input_token_details: { audio_tokens: 0 } }
  t.same(estimateUsage(AUDIO_TOKENS, 'application/json', [], silent), {
    meters: { input: 4 },
    estimated: false,
  })
})

t.test('audio usage: an estimate never exceeds the amount held for the call', async t => {
  for (const rule of [
    'price: { seconds: 0.001 }',
    '{ price: { seconds: 0.001 }, max_calls: { seconds: 50 } }',
  ])
    for (const bytes of [1, 499, 501, 25_000, 32_000]) {
      const compiledRule = ruleIn(rule)
      const question = requestBoundsOf({}, bytes + 300, { rule: compiledRule }, bytes)
      const { nanos, unboundedMeters: unbounded } = worstCase(compiledRule, question.bounds, {
        at: 0,
      })
      t.same(unbounded, [])
      const estimate = transcriptionEstimate({ file: [{ bytes }] }, SECONDS, 'text/plain')
      estimate.observe(Buffer.from('x'.repeat(100_000)))
      const charge = priceUsage(estimate.usage(undefined, true), {
        rule: compiledRule,
        facts: { at: 0 },
      })
      t.ok(charge.nanos > 0n)
      if (compiledRule.maxCalls.size === 0) t.ok(charge.nanos <= nanos, `${bytes} bytes`)
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
t.test('audio usage: characters are bounded by the text, or by the bytes of the body', async t => {
  const rule = ruleIn('price: { characters: 1 }')
  const boundOf = (body: Fields) => requestBoundsOf(body, 400, { rule }).bounds.meters?.characters
  t.equal(boundOf({ text: 'é'.repeat(101) }), 101)
  t.equal(boundOf({ input: 'spoken' }), 400)
  t.equal(boundOf({ input: 'spoken', text: '' }), 400, 'a text that is not spoken bounds nothing')
})

/** Usage of reranking and moderation: reported counts in the meter that has a price, or an
 *  estimate; a hold that covers both. */
import t from 'tap'
import { requestBoundsOf } from '../../../../plugins/billing/request-bounds.ts'
import { rerankEstimate } from '../../../../plugins/formats/cohere-rerank/usage.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import { openaiModerations } from '../../../../plugins/formats/openai-moderations/index.ts'
import type { Meter } from '../../../../plugins/slots.ts'
import { ruleIn } from '../../../helpers/money/billing.ts'

const priced = (...meters: readonly Meter[]) => new Set<Meter>(meters)
const [UNITS, TOKENS, CALLS] = [priced('search_units'), priced('input'), priced('calls')]
const request = { query: 'abcd', documents: Array.from({ length: 250 }, () => ({ text: 'x' })) }
const DOCUMENT_BYTES = '{"text":"x"}'.length
const ESTIMATE = Math.ceil((250 * (4 + DOCUMENT_BYTES)) / 4)

/** The usage of an answer that arrives in two chunks. */
const usageOf = (prices: ReadonlySet<Meter>, answer: Fields, body: Fields = request) => {
  const estimate = rerankEstimate(body, prices)
  const bytes = Buffer.from(JSON.stringify(answer))
  estimate.observe(bytes.subarray(0, 9))
  estimate.observe(bytes.subarray(9))
  return estimate.usage(answer.meta as Fields | undefined, true)
}
const cohere = (units: number) => ({ results: [], meta: { billed_units: { search_units: units } } })
const jina = { results: [{ usage: 5 }], usage: { total_tokens: 815, prompt_tokens: 815 } }
const silicon = { results: [], meta: { tokens: { input_tokens: 28, output_tokens: 0 } } }

t.test('rerank usage: reported counts in the meter that has a price', async t => {
  for (const [what, prices, answer, meters, estimated] of [
    ['units', UNITS, cohere(2), { search_units: 2 }, false],
    ['tokens', TOKENS, jina, { input: 815 }, false],
    ['tokens of meta', TOKENS, silicon, { input: 28 }, false],
    ['by the call, units', CALLS, cohere(2), { search_units: 2 }, false],
    ['by the call, tokens', CALLS, jina, { input: 815 }, false],
    ['units, only tokens reported', UNITS, jina, { search_units: 3 }, true],
    ['tokens, only units reported', TOKENS, cohere(1), { input: ESTIMATE }, true],
    ['nothing reported', TOKENS, { results: [] }, { input: ESTIMATE }, true],
    [
      'invalid counts',
      UNITS,
      { meta: { billed_units: { search_units: -1 } } },
      { search_units: 3 },
      true,
    ],
  ] as const) {
    const usage = usageOf(prices, answer as Fields)
    t.same(usage.meters, meters, what)
    t.equal(usage.estimated, estimated, what)
  }
  t.same(usageOf(UNITS, {}, {}).meters, { search_units: 1 }, 'a body without documents')
})

t.test('rerank hold: covers what the upstream can report', async t => {
  const boundsOf = (body: Fields, price: string) =>
    requestBoundsOf(body, JSON.stringify(body).length, { rule: ruleIn(price), context: 10 }).bounds
  const { meters, prompt } = boundsOf(request, 'price: { search_units: 1 }')
  t.equal(meters?.search_units, 3)
  t.ok((prompt ?? 0) >= ESTIMATE * 4, 'the query with each document')
  const long = { query: 'q', documents: ['x'.repeat(49_900), 'y'] }
  t.equal(boundsOf(long, 'price: { search_units: 1 }').meters?.search_units, 2)
  t.equal(boundsOf(request, 'price: { input: 1 }').meters?.search_units, undefined)
  t.equal(boundsOf({ query: 'q' }, 'price: { input: 1 }').prompt, 10, 'other requests as before')
})

t.test('moderation usage: free, by the call, or by estimated tokens', async t => {
  const usage = (prices: ReadonlySet<Meter>, counts?: Fields) =>
    openaiModerations.usage.estimate?.({ input: 'x'.repeat(40) }, prices, '').usage(counts, true)
  t.match(usage(CALLS), { meters: {}, estimated: false })
  t.match(usage(TOKENS), { meters: { input: 10 }, estimated: true })
  t.match(usage(TOKENS, { prompt_tokens: 7 }), { meters: { input: 7 }, estimated: false })
})

/** A request body in prices: its attributes, and whether tools may add to its input. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { compileCurrency } from '../../../plugins/billing/currency.ts'
import { factsOf, heldFactsOf, requestBoundsOf } from '../../../plugins/billing/request-bounds.ts'
import { compileRule } from '../../../plugins/billing/rule.ts'
import { worstCase } from '../../../plugins/billing/worst-case.ts'
import { type SecondsOrder, USUAL_ORDER } from '../../../plugins/formats/seconds-order.ts'

const report = (): void => {}
const currency = compileCurrency({ name: 'USD' }, [], report)
const CONTEXT = 200_000
const capacityOf = (price: Json) => {
  const rule = compileRule({ price }, { currency, where: [], report })
  if (!rule) throw new Error('no rule')
  return { rule, context: CONTEXT, output: 1_000 }
}
const TOKENS = capacityOf({ input: '1 / 1M', output: '1 / 1M' })
const CALLS = capacityOf({ calls: 1 })
const SEARCH = { tools: [{ type: 'web_search' }] }
const FUNCTION = { tools: [{ type: 'function', function: { name: 'a' } }] }

t.test('request bounds: targets are checked for tools only if the answer matters', async t => {
  for (const [capacity, body, calls] of [
    [TOKENS, SEARCH, 1],
    [CALLS, SEARCH, 0],
    [TOKENS, FUNCTION, 0],
    [TOKENS, {}, 0],
  ] as const) {
    let count = 0
    const getsTools = (): boolean => ++count > 0
    const { bounds } = requestBoundsOf(body as Json, 50, capacity, 0, undefined, { getsTools })
    t.equal(count, calls, JSON.stringify(body))
    t.equal(bounds.prompt, calls > 0 ? CONTEXT : 50)
  }
  const outgoing = { getsTools: () => false }
  t.equal(requestBoundsOf(SEARCH, 50, TOKENS, 0, undefined, outgoing).bounds.prompt, 50)
})

t.test('request bounds: bytes of a file bound no recording that is elsewhere', async t => {
  const seconds = (body: Json, files: number): number | undefined =>
    requestBoundsOf(body, 100, capacityOf({ seconds: 1 }), files).bounds.meters?.seconds
  t.equal(seconds({}, 5_000), 10)
  t.equal(seconds({ url: '' }, 5_000), 10)
  for (const name of ['url', 'file_url', 'file_id'])
    t.equal(seconds({ [name]: 'https://e.com/a.mp3' }, 5_000), undefined, name)
})

t.test('request bounds: segments count only if they are ordered, and never less', async t => {
  const seconds = (body: Json, order?: SecondsOrder): number | undefined =>
    requestBoundsOf(body, 100, capacityOf({ seconds: 1 }), 0, undefined, { order }).bounds.meters
      ?.seconds
  const segments = { ...USUAL_ORDER, hasSegments: true }
  const three = { image_settings: [{ duration: 3 }, { duration: 0.001 }, {}] }
  t.equal(seconds(three), undefined)
  t.equal(seconds(three, segments), 13)
  t.equal(seconds({ image_settings: [] }, segments), undefined)
  t.equal(seconds({ ...three, duration: 1 }, segments), 13)
  for (const duration of [0, 0.5, -1, null])
    t.equal(seconds({ duration }), undefined, String(duration))
  t.equal(seconds({ duration: 1, seconds: '8' }), 8, 'the longer one')
  t.equal(seconds({ duration: 1 }, { ...USUAL_ORDER, members: [] }), undefined)
})

t.test('request bounds: no request orders less than an image', async t => {
  for (const [n, images] of [
    [0, 1],
    [0.001, 1],
    [3, 3],
  ] as const)
    t.equal(requestBoundsOf({ n }, 9, capacityOf({ images: 1 })).bounds.meters?.images, images)
})

t.test('request bounds: a stored prompt as the model of a target fills the context', async t => {
  const bound = (name: string, capacity = TOKENS): number | undefined =>
    requestBoundsOf({}, 50, capacity, 0, undefined, { targets: [{ name: 'a' }, { name }] }).bounds
      .prompt
  t.equal(bound('arn:aws:bedrock:us-east-1:111122223333:prompt/PROMPT12345:1'), CONTEXT)
  t.equal(bound('arn:aws:bedrock:us-east-1:111122223333:inference-profile/eu.m'), 50)
  t.equal(bound('arn:aws:bedrock:us-east-1:111122223333:prompt/PROMPT12345:1', CALLS), 50)
})

t.test('request attributes: each text is short, and a store keeps it', async t => {
  const searchOf = (size: string): Json => ({ web_search_options: { search_context_size: size } })
  for (const bodyOf of [
    searchOf,
    (size: string): Json => ({ search_context_size: size }),
    (service_tier: string): Json => ({ service_tier }),
  ]) {
    t.same(Object.values(factsOf(bodyOf('high'), 0).attributes ?? {}), ['high'])
    for (const text of ['x'.repeat(65), 'a\0', 'a\ud800'])
      t.same(factsOf(bodyOf(text), 0).attributes, {}, JSON.stringify(text))
  }
})

t.test('hold of a tier: covers the standard, which may serve in its place', async t => {
  for (const [name, cheap] of [
    ['service_tier', 'flex'],
    ['speed', 'slow'],
    ['inference_geo', 'eu'],
  ] as const) {
    const input = { by: name, price: { [cheap]: 1, default: 2 } }
    const { rule } = capacityOf({ input, output: 0 })
    const costOf = (body: Json): bigint =>
      worstCase(rule, { prompt: 1, completion: 0 }, factsOf(body, 0)).nanos
    t.equal(costOf({ [name]: cheap }), costOf({}), name)
  }
})

t.test('hold of a tier: covers the standard of an upstream whose target drops it', async t => {
  const input = [
    { price: 1, when: { service_tier: 'flex' } },
    { price: 4, when: { service_tier: 'priority' } },
    2,
  ]
  const { rule } = capacityOf({ input, output: 0 })
  const costOf = (body: Json, defaultTiers: Readonly<Record<string, string>>): bigint =>
    worstCase(rule, { prompt: 1, completion: 0 }, heldFactsOf(factsOf(body, 0), defaultTiers)).nanos
  const flex = { service_tier: 'flex' }
  const standard = costOf(flex, {})
  for (const tier of ['priority', 'auto'])
    t.equal(costOf(flex, { service_tier: tier }), standard * 2n, tier)
  t.equal(costOf(flex, flex), standard, 'the same tier')
  t.equal(costOf({}, flex), standard, 'a request without a tier is held as before')
})

/** Images are charged by the quality and size that the answer names, and held at the dearest that
 *  the request permits. */
import t from 'tap'
import { plain, stream } from '../../../fixtures/upstream/scenarios.ts'
import {
  type Customer,
  chargeOf,
  postJson,
  prepareCustomer,
  UNIT,
  units,
  upstream,
} from '../../../helpers/money/billing-gateway.ts'

const TABLE = `{ images: { by: [quality, size], price: { low: { small: 1, default: 2 }, high: { small: 4, default: 8 }, default: { default: 3 } } } }`
const HOLES = `{ images: { by: quality, price: { low: 1, high: 4 } } }`
const ROUTES = `
pipeline: [errors, auth, model, meter, translate]
upstreams:
  draw: { url: '${upstream.url}/s/draw', formats: [openai-images] }
models:
  m: { to: draw/there, price: ${TABLE} }
  holes: { to: draw/there, price: ${HOLES} }
routes:
  - { path: 'POST /v1/images/generations', auth: key, model: body, translate: openai-images, errors: openai }
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, errors: openai }
`
let customer: Customer
t.test('setup: routes and a funded account', async () => {
  customer = await prepareCustomer(ROUTES, 1_000_000n * UNIT)
})
const post = (path: string, body: object) => postJson(customer.key, path, body)
const costsOf = async (id: string) => {
  const row = await chargeOf(id)
  return [row.amount, row.held, row.uncollected].map(units)
}
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Attributes of the request, those of the answer, and the charge with its hold. */
const ROWS: readonly (readonly [request: object, answer: object, cost: number, hold: number])[] = [
  [{ quality: 'auto', size: 'auto' }, { quality: 'low', size: 'small' }, 1, 8],
  [{ quality: 'auto' }, { quality: 'high', size: 'wide' }, 8, 8],
  [{}, { quality: 'high', size: 'small' }, 4, 8],
  [{}, {}, 3, 8],
  [{ quality: 'high', size: 'auto' }, { quality: 'high', size: 'small' }, 4, 8],
  [{ quality: 'low', size: 'small' }, {}, 1, 1],
  [{ quality: 'high', size: 'small' }, { quality: 'low', size: 'small' }, 1, 4],
  [{ quality: 'odd' }, { quality: 'odd', size: 'x' }, 3, 3],
]
t.test('images: charged by the answer, held at the dearest permitted price', async t => {
  for (const [request, answer, cost, hold] of ROWS)
    for (const isStream of [false, true]) {
      const event = { type: 'image_generation.completed', b64_json: PIXEL, usage: {}, ...answer }
      await upstream.script(
        'draw',
        isStream
          ? stream(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
          : [plain({ created: 1, data: [{ b64_json: PIXEL }], ...answer })],
      )
      const body = { model: 'm', prompt: 'x', ...request, ...(isStream && { stream: true }) }
      const { response, text, id } = await post('/v1/images/generations', body)
      t.equal(response.status, 200, text)
      t.same(await costsOf(id), [cost, hold, 0], JSON.stringify([request, answer, isStream]))
    }
})

t.test('images: a table without a default costs its dearest if nothing is named', async t => {
  const rows = [
    [{ quality: 'low' }, 1],
    [{}, 4],
  ] as const
  for (const [answer, cost] of rows) {
    await upstream.script('draw', [plain({ created: 1, data: [{ b64_json: PIXEL }], ...answer })])
    const { response, text, id } = await post('/v1/images/generations', {
      model: 'holes',
      prompt: 'x',
    })
    t.equal(response.status, 200, text)
    t.same(await costsOf(id), [cost, 4, 0])
  }
})

t.test('images through chat: charged by the answer of the image model', async t => {
  const answer = { quality: 'high', size: 'wide' }
  await upstream.script('draw', [plain({ created: 1, data: [{ b64_json: PIXEL }], ...answer })])
  const messages = [{ role: 'user', content: 'draw' }]
  const { response, text, id } = await post('/v1/chat/completions', { model: 'm', messages })
  t.equal(response.status, 200, text)
  t.same(await costsOf(id), [8, 8, 0])
})

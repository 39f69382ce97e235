/** The price page: ratios in dollars, the endpoints that serve each model, exact prices. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { rowsOf } from '../../../plugins/account/price-sheet.ts'
import { pageOf } from '../../../plugins/account/pricing.ts'

const ROOT = new URL('../../../', import.meta.url)
const shipped = (path: string) => parse(readFileSync(new URL(path, ROOT), 'utf8'))

const SECTIONS = parse(`
settings: { currency: { name: CNY, rates: { USD: 7.2 } } }
routes:
  - { path: POST /v1/chat/completions, name: chat, translate: openai-chat }
  - { path: POST /v1/messages, translate: anthropic-messages }
  - { path: GET /v1/models, name: models }
models:
  gp-4.1:
    to: gp/gpt-4.1
    price: { input: 2.00 USD / 1M, cached: 0.50 USD / 1M, output: 8.00 USD / 1M, web_search: 25 USD / 1k }
  audio:
    to: gp/audio
    price: { input: 4 USD / 1M, output: 16 USD / 1M, audio_input: 32 USD / 1M, audio_output: 64 USD / 1M }
  cl: { to: cl/claude, price: { input: 3 USD / 1M, cached: 0.30 USD / 1M, cache_write: 3.75 USD / 1M, output: 15 USD / 1M } }
  both: { to: [gp/x, cl/x], owner: us, price: { input: 1 USD / 1M } }
  closed: { to: gp/x, accepts: { chat: false }, price: { input: 1 / 1M } }
  nowhere: { to: gp/x, accepts: { '*': false }, price: { input: 1 / 1M } }
  closed-but-one: { to: [gp/x, cl/x], accepts: { '*': false, chat: {} }, price: { input: 1 / 1M } }
  tiers:
    to: gp/x
    price:
      input: [{ price: 2.50 USD / 1M, when: { prompt: '> 200k' } }, 1.25 USD / 1M]
      output: 10 USD / 1M
  video:
    to: vd/x
    accepts: { '*': false, text2video: true }
    defaults: { text2video: { duration: 5, resolution: 720p } }
    price: { seconds: { by: resolution, price: { 540p: 0.07 USD, 720p: 0.15 USD } } }
  image:
    to: gp/x
    price: { images: { by: quality, price: { low: 0.01 USD, hd: 0.5 USD, default: 0.25 USD } } }
  letters: { to: gp/x, price: { characters: 15 USD / 1M } }
  odd: { to: vd/x, price: { calls: 1 EUR } }
  third: { to: gp/x, price: { input: 1 / 1M, output: 3 / 1M } }
  gift: { to: vd/x, free: true }
  'gizmo-{id:[a-z]+}': { to: gp/x, price: { calls: 0.10 USD } }
`)
const hostOf = (sections: Readonly<Record<string, object>>) => ({
  section: <T>(name: string) => (sections[name] ?? {}) as T,
  upstreams: {
    gp: { options: { formats: ['openai-chat', 'openai-responses'] } },
    cl: { options: { formats: ['anthropic-messages'] } },
  },
  file: () => '{}',
  config: { version: 1, hash: '', isTrial: true },
  memo: (_: string, make: () => string) => make(),
  share: <T extends object>(_: string, __: string, create: (previous: T | undefined) => T) =>
    create(undefined),
})
const page = JSON.parse(JSON.stringify(pageOf(hostOf(SECTIONS))))
const rowOf = (name: string) =>
  page.data.find((row: { model_name: string }) => row.model_name === name)

t.test('price page: token prices are shown as ratios', async t => {
  t.match(rowOf('gp-4.1'), {
    model_ratio: 1,
    completion_ratio: 4,
    cache_ratio: 0.25,
    quota_type: 0,
    model_price: 0,
    owner_by: 'gp',
  })
  t.match(rowOf('audio'), { model_ratio: 2, audio_ratio: 8, audio_completion_ratio: 2 })
  t.match(rowOf('cl'), { model_ratio: 1.5, cache_ratio: 0.1, create_cache_ratio: 1.25 })
  t.match(rowOf('tiers'), { model_ratio: 0.625, completion_ratio: 8 }, 'the price of the rest')
  t.match(rowOf('third'), { model_ratio: 0.069444444, completion_ratio: 3 }, 'without a code: CNY')
})

t.test('price page: a price by call is shown in dollars', async t => {
  t.match(rowOf('gizmo-*'), { quota_type: 1, model_price: 0.1, model_ratio: 0 })
  t.match(rowOf('gift'), { free: true, quota_type: 0, model_ratio: 0, prices: [] })
})

t.test('price page: model_price is the price of a request that sets no option', async t => {
  t.match(rowOf('image'), { quota_type: 1, model_price: 0.25 }, 'neither cheapest nor dearest')
  t.match(rowOf('video'), { model_price: 0.75 }, 'five seconds of 720p, the defaults')
  t.match(rowOf('letters'), { model_price: 0.000015 }, 'one character')
})

t.test('price page: patterns are shown without expressions', async t => {
  t.ok(rowOf('gizmo-*'))
  t.equal(rowOf('gizmo-{id:[a-z]+}'), undefined)
})

t.test('price page: exact prices are in the configured currency', async t => {
  t.equal(page.currency, 'CNY')
  t.match(rowOf('gp-4.1').prices, [
    { meter: 'input', price: '14.4 / 1M' },
    { meter: 'cached', price: '3.6 / 1M' },
    { meter: 'output', price: '57.6 / 1M' },
    { meter: 'web_search', price: '180 / 1k' },
  ])
  t.match(rowOf('tiers').prices[0], { when: { prompt: '> 200k' }, price: '18 / 1M' })
  t.match(rowOf('video').prices, [{ by: ['resolution'], price: { '720p': '1.08' } }])
  t.match(rowOf('odd'), { prices: [], model_ratio: 0 }, 'a price in an unknown currency is omitted')
})

t.test('price page: each model lists the endpoints that serve it', async t => {
  t.same(
    rowOf('gp-4.1').supported_endpoint_types,
    ['openai', 'anthropic'],
    'the second is translated',
  )
  t.same(rowOf('both').supported_endpoint_types, ['openai', 'anthropic'])
  t.same(rowOf('closed').supported_endpoint_types, ['anthropic'])
  t.same(rowOf('nowhere').supported_endpoint_types, [])
  t.same(rowOf('closed-but-one').supported_endpoint_types, ['openai'])
  t.same(page.supported_endpoint, {
    openai: { method: 'POST', path: '/v1/chat/completions' },
    anthropic: { method: 'POST', path: '/v1/messages' },
  })
})

t.test('price page: video models show the credits of a second by resolution', async t => {
  const { models } = shipped('models/vd.yaml')
  const host = hostOf({ settings: shipped('routes.yaml').settings, models })
  const { data } = JSON.parse(JSON.stringify(pageOf(host)))
  const pricesOf = (name: string) =>
    data.find((row: { model_name: string }) => row.model_name === name).video_prices
  t.same(pricesOf('vdq3'), [
    { resolution: '540p', credits_per_second: 10, duration: 5, credits: 50 },
    { resolution: '720p', credits_per_second: 25, duration: 5, credits: 125 },
    { resolution: '1080p', credits_per_second: 30, duration: 5, credits: 150 },
  ])
  t.match(
    pricesOf('vdq2')[0],
    { credits_per_second: 3.6, duration: 5, credits: 18 },
    'the first second costs more than the others',
  )
  t.same(pricesOf('vdq2').length, 3, 'images are not clips')
  t.same(pricesOf('vdq1'), [
    { resolution: '1080p', credits_per_second: 16, duration: 5, credits: 80 },
  ])
  t.match(pricesOf('vd2.0')[0], { resolution: '360p', credits_per_second: 5, duration: 4 })
  t.equal(pricesOf('audio1.0'), undefined)
  const { accepts, defaults, to } = models.vdq3
  const priced = { accepts, defaults, to, price: { seconds: 1 } }
  const [row] = JSON.parse(JSON.stringify(pageOf(hostOf({ models: { priced } })))).data
  t.equal(row.video_prices, undefined, 'credits have no rate there')
})

t.test('shipped prices: hosted tools cost what was decided', async t => {
  const files = globSync('models/*.yaml', { cwd: ROOT.pathname })
  const models: Record<string, { price?: Record<string, string> }> = Object.assign(
    {},
    ...files.map(path => shipped(path).models),
  )
  /** US dollars: a web search by model, per 1,000; a file search; a run of code. */
  const searchOf = (name: string) => {
    if (name.startsWith('gx-')) return '14 USD / 1k'
    return /^gp-4(\.1|o)/.test(name) ? '25 USD / 1k' : '10 USD / 1k'
  }
  let priced = 0
  for (const [name, { price }] of Object.entries(models)) {
    if (price?.web_search === undefined) continue
    priced++
    t.equal(price.web_search, searchOf(name), name)
    if (price.file_search !== undefined) t.equal(price.file_search, '2.5 USD / 1k', name)
  }
  t.ok(priced >= 15, `${priced} models`)
})

t.test('price page: an empty configuration has an empty list', async t => {
  t.match(pageOf(hostOf({})), { success: true, data: [], currency: 'CNY' })
})

t.test('prices of routes: each is in the list and in the sheet, with a model or not', t => {
  const routes = [
    ...SECTIONS.routes,
    { path: 'POST /v1/rerank', meter: { price: { calls: '0.10' } } },
    { path: 'POST /files/convert', model: { name: 'gone' }, meter: { price: { calls: '0.20' } } },
    {
      path: 'POST /v1/responses',
      translate: 'openai-responses',
      meter: { price: { calls: { by: ['model', 'size'], price: { third: { small: '0.30' } } } } },
    },
    { path: 'POST /free', meter: { free: true } },
  ]
  const host = hostOf({ ...SECTIONS, routes })
  const { route_prices: others, data } = JSON.parse(JSON.stringify(pageOf(host)))
  t.match(others, [
    { path: 'POST /v1/rerank', prices: [{ meter: 'calls' }] },
    { path: 'POST /files/convert', prices: [{ meter: 'calls' }] },
  ])
  t.equal(others.length, 2)
  t.match(data.find((row: { model_name: string }) => row.model_name === 'third').route_prices, [
    { path: 'POST /v1/responses' },
  ])
  const sheet = rowsOf(host)
  const ofRoutes = sheet.filter(([, , , , when]) => when?.startsWith('route = '))
  t.same(
    ofRoutes.map(([model, , , , when, price]) => [model, when, Number(price)]),
    [
      ['third', 'route = POST /v1/responses; size = small', 0.3],
      ['*', 'route = POST /v1/rerank', 0.1],
      ['*', 'route = POST /files/convert', 0.2],
    ],
  )
  const priced = routes.flatMap(({ path, meter }) => (meter && 'price' in meter ? [path] : []))
  for (const path of priced)
    t.ok(
      ofRoutes.some(([, , , , when]) => when?.startsWith(`route = ${path}`)),
      path,
    )
  t.notOk('route_prices' in JSON.parse(JSON.stringify(pageOf(hostOf(SECTIONS)))))
  t.end()
})

/** The price sheet over the shipped routes: it has the prices of all models, and a task of each
 *  model on each route of media costs what the sheet says for it. */
import t from 'tap'
import {
  applies,
  cataloguePrices,
  cellsOf,
  type Fields as Facts,
  printUnitPrice,
  readYaml,
} from './catalogue-prices.ts'
import { gateway, postWithKey } from './shipped-gateway.ts'

const CREDIT = 0.036
const IMAGE = 'https://files.example/cat.png'
const BODIES: Readonly<Record<string, object>> = {
  text2video: { prompt: 'a cat' },
  img2video: { images: [IMAGE] },
  'start-end2video': { images: [IMAGE, IMAGE] },
  reference2video: { prompt: 'a cat', images: [IMAGE] },
  reference2image: { prompt: 'a cat', images: [IMAGE] },
  text2audio: { prompt: 'rain' },
  extend: { video_url: IMAGE },
  timing2audio: { timing_prompts: [{ from: 0, to: 1, prompt: 'rain' }] },
}
interface Line {
  readonly meter: string
  readonly when: string
  readonly price: number
}
/** The rows of a model. No cell of them holds a comma. */
const linesOf = (sheet: string, model: string): readonly Line[] =>
  sheet
    .split('\r\n')
    .map(row => row.split(','))
    .filter(([name]) => name === model)
    .map(([, , , meter = '', when = '', price = '']) => ({ meter, when, price: Number(price) }))

/** By the first row of each meter whose conditions are met; rows of the route count alone. */
const priceIn = (lines: readonly Line[], path: string, facts: Facts): number => {
  const begin = `route = ${path}`
  const ofRoute = lines.filter(({ when }) => when.startsWith(begin))
  const own = ofRoute.length > 0 ? ofRoute : lines.filter(({ when }) => !when.includes('route ='))
  const costOf = (meter: string): number => {
    const line = own.find(
      ({ when, ...each }) =>
        each.meter === meter &&
        when.split('; ').every(one => ['', begin].includes(one) || applies(one, facts)),
    )
    return line?.price ?? 0
  }
  return costOf('calls') + costOf('seconds') * Number(facts.duration ?? 0)
}

t.test('price sheet: a task of each model costs what it says, on each route', async t => {
  const sheet = await (await fetch(`${gateway.url}/api/models.csv`)).text()
  t.match(sheet, /^\*,,,discount,request of a batch,0\.5,/m)
  const { routes } = readYaml('routes.yaml') as { readonly routes: readonly Facts[] }
  const priced = routes.filter(({ meter }) => (meter as Facts | undefined)?.price !== undefined)
  t.ok(priced.length > 0)
  for (const { path } of priced) t.match(sheet, `,route = ${path}`, `the price of ${path}`)
  let count = 0
  for (const [model, { accepts, price }] of Object.entries<{
    readonly accepts: Readonly<Record<string, unknown>>
    readonly price: object
  }>(readYaml('models/vd.yaml').models))
    for (const [route, body] of Object.entries(BODIES)) {
      if (!accepts[route] || price === undefined) continue
      const response = await postWithKey(`/ent/v2/${route}`, { model, ...body })
      const task = (await response.json()) as Facts
      t.equal(response.status, 200, JSON.stringify(task))
      const facts = { is_rec: false, ...task }
      const expected = priceIn(linesOf(sheet, model), `POST /ent/v2/${route}`, facts) / CREDIT
      t.equal(Number(task.credits), Math.round(expected * 1e6) / 1e6, `${route} of ${model}`)
      count++
    }
  t.ok(count > 30, `${count} tasks`)
})

t.test('price list: has the prices of routes, of each duration, and of batches', async t => {
  const response = await fetch(`${gateway.url}/api/models`)
  const { data, batch_factor: factor } = (await response.json()) as {
    readonly data: readonly Facts[]
    readonly batch_factor: number
  }
  t.equal(factor, 0.5)
  const rowOf = (name: string): Facts => data.find(row => row.model_name === name) ?? {}
  const path = 'POST /ent/v2/reference2image'
  t.match(rowOf('vdq1').route_prices, [{ path, prices: [{ meter: 'calls' }] }])
  t.equal(rowOf('vdq3').route_prices, undefined)
  t.match(
    (rowOf('vd2.0').video_prices as readonly Facts[]).find(each => each.resolution === '720p'),
    {
      duration: 4,
      credits: 40,
      durations: [
        { duration: 4, credits: 40 },
        { duration: 8, credits: 100 },
      ],
    },
  )
  t.notOk('durations' in ((rowOf('vdq3').video_prices as readonly Facts[])[0] ?? {}), 'a rate')
})

t.test('price sheet: has each price in the files of models once, and no other', async t => {
  const sheet = await (await fetch(`${gateway.url}/api/models.csv`)).text()
  const rows = sheet.trim().split('\r\n').map(cellsOf)
  const models = cataloguePrices()
  t.ok(models.size > 70, `${models.size} models`)
  for (const [model, prices] of models) {
    const own = rows.filter(([name, , , , when]) => name === model && !when?.includes('route ='))
    const listed = own.map(([, , , meter = '', , price = '', per = '']) =>
      printUnitPrice(meter, price, per === '' ? '1' : per),
    )
    t.strictSame(listed.sort(), prices, model)
    const conditions = own.map(([, , , meter, when]) => `${meter} ${when}`)
    t.equal(new Set(conditions).size, own.length, `${model}: each price has its own condition`)
  }
})

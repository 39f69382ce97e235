/** Upstreams that send answers nobody asked for, frame them wrongly or end them early, on
 *  connections that are used again: no client receives or pays for the answer of another. The long
 *  form makes 10,000 calls. */
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { audit } from '../../../plugins/ledger/audit.ts'
import {
  FAULT_NAMES,
  messageOf,
  OUTPUT_TOKENS,
  type Plan,
} from '../../fixtures/upstream/stray-answers.ts'
import { readAll } from '../../helpers/gateway/event-stream.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import {
  type Customer,
  database,
  gateway,
  prepareCustomer,
  rows,
  UNIT,
} from '../../helpers/money/billing-gateway.ts'
import { forkProgram } from '../../helpers/operator.ts'
import { createChance, shortOrLong } from '../../helpers/run-settings.ts'

const CALLS = shortOrLong(600, 10_000)
const LANES = 24
/** Nanos per token, in and out. */
const PRICE = 1_000_000

const upstream = forkProgram(new URL('../../fixtures/upstream/stray-answers.ts', import.meta.url))
const [{ port }] = (await once(upstream, 'message')) as [{ port: number }]
t.teardown(() => upstream.disconnect())

const ROUTES = `
pipeline: [errors, auth, model, meter, translate]
upstreams:
  up:
    url: 'http://127.0.0.1:${port}'
    formats: [openai-chat]
    connections: 6
    timeout: { first_byte: ${scaled(2_000)}ms, idle: ${scaled(1_000)}ms }
    health: { failures: 1000000 }
models:
  talk: { to: up, price: { input: 1 / 1k, output: 1 / 1k }, output: 1000 }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, errors: openai, rewrite: / }
  - { path: POST /v1/messages, auth: key, model: body, translate: anthropic-messages, errors: anthropic, rewrite: /, retries: 0 }
`

interface Call {
  readonly plan: Plan
  readonly path: '/v1/chat/completions' | '/v1/messages'
  readonly isStream: boolean
  /** ms after which the client leaves; 0: it stays. */
  readonly leaves: number
}
interface Result extends Call {
  readonly id: string
  readonly status: number
  readonly text: string
  /** Whether the whole response arrived, without an error event. */
  readonly isWhole: boolean
}

/** Half of the calls meet a fault. */
const drawCall = (index: number, chance: () => number): Call => {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] as T
  const fault = chance() < 0.5 ? 'none' : pick(FAULT_NAMES)
  const plan = {
    marker: `m${index}`,
    fault,
    // A count that no such message could have would be estimated instead.
    tokens: 100 + (index % 500),
    delay: Math.floor(chance() * 20),
    part: Math.round(chance() * 100) / 100,
    once: chance() < 0.5 ? 1 : 0,
  }
  const path = chance() < 0.5 ? '/v1/chat/completions' : '/v1/messages'
  const leaves = chance() < 0.05 ? 1 + Math.floor(chance() * 30) : 0
  return { plan, path, isStream: chance() < 0.5, leaves }
}

const send = async (call: Call, key: string, headers: object = {}): Promise<Result> => {
  const { plan, path, isStream, leaves } = call
  const messages = [{ role: 'user', content: messageOf(plan) }]
  try {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'talk', messages, max_tokens: 100, stream: isStream }),
      ...(leaves > 0 && { signal: AbortSignal.timeout(leaves) }),
    })
    const id = String(response.headers.get('x-request-id'))
    const { bytes, broke } = await readAll(response)
    const text = bytes.toString()
    const isWhole =
      response.status === 200 && !broke && !/"error"/.test(text) && (isStream || isJson(text))
    return { ...call, id, status: response.status, text, isWhole }
  } catch {
    return { ...call, id: '', status: 0, text: '', isWhole: false }
  }
}

const isJson = (text: string): boolean => {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

/** A stream without its last line is complete if its answer is: the upstream cut that line off. */
const END = /"finish_reason":"stop"|message_stop/
/** The fault of a response; undefined if it has none. */
const faultOf = ({ plan, path, isStream, status, text, isWhole, leaves }: Result) => {
  if (/stray/.test(text)) return 'received a stray answer'
  const markers = new Set(text.match(/\bm\d+\b/g))
  markers.delete(plan.marker)
  if (markers.size > 0) return `received the answer of ${[...markers]}`
  if (isWhole && !text.includes(`"${plan.marker}"`)) return 'received no answer with status 200'
  if (isWhole && isStream && !END.test(text)) return 'a stream without its end'
  if (status >= 400 && leaves === 0) {
    const { type, error } = JSON.parse(text)
    const isOwnDialect = path === '/v1/messages' ? type === 'error' : error.code !== undefined
    if (!isOwnDialect || !error.type || !/upstream/.test(error.message)) return `unclear: ${text}`
  }
  return undefined
}

/** The charges of a customer, by request. */
const chargesOf = async ({ account }: Customer) => {
  const list = `SELECT request, state, amount, usage, estimated FROM charges WHERE account = ${account}`
  for (;;) {
    const all = await rows(list)
    if (all.every(({ state }) => state !== 'open'))
      return new Map(all.map(charge => [String(charge.request), charge]))
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
/** An answer costs its own tokens; what was cut costs no more than that. */
const chargeFault = (
  { plan, isWhole }: Result,
  charge: Awaited<ReturnType<typeof rows>>[number] | undefined,
) => {
  if (!charge) return isWhole ? 'is not in the ledger' : undefined
  const own = (plan.tokens + OUTPUT_TOKENS) * PRICE
  const amount = Number(charge.amount)
  if (isWhole && plan.fault === 'none' && amount !== own) return `paid ${amount} for ${own}`
  const isRight = Number(charge.estimated) === 1 ? amount <= own : [0, own].includes(amount)
  return isRight ? undefined : `paid ${amount} where its answer costs ${own}`
}

const report = (t: Test, results: readonly Result[]): void => {
  for (const [fault, calls] of Map.groupBy(results, ({ plan }) => plan.fault)) {
    const ends = Map.groupBy(calls, ({ isWhole, status }) => (isWhole ? 'whole' : status || 'left'))
    t.comment(`${fault}: ${[...ends].map(([end, { length }]) => `${length} ${end}`).join(', ')}`)
  }
}

t.test('stray answers: no client receives or pays for the answer of another', async t => {
  const chance = createChance()
  const customers: Customer[] = []
  for (let count = 0; count < 3; count++)
    customers.push(await prepareCustomer(ROUTES, 10_000_000n * UNIT))
  // Connections are used again until the first bytes that nobody asked for: in a worker that has
  // not met any, an answer that comes late enough would be taken for that of the next request.
  const warmUp = { ...drawCall(CALLS, chance), leaves: 0 }
  const plan = { ...warmUp.plan, fault: 'two answers', once: 0 }
  const key = customers[0]?.key ?? ''
  for (let count = 0; count < 20; count++)
    await send({ ...warmUp, plan }, key, { connection: 'close' })
  const waiting = Array.from({ length: CALLS }, (_, index) => drawCall(index, chance))
  const results: (Result & { readonly customer: Customer })[] = []
  const lane = async (customer: Customer): Promise<void> => {
    for (let call = waiting.shift(); call; call = waiting.shift())
      results.push({ ...(await send(call, customer.key)), customer })
  }
  await Promise.all(
    Array.from({ length: LANES }, (_, lanes) => lane(customers[lanes % 3] as Customer)),
  )
  report(t, results)
  const mixedUp = results.flatMap(result => {
    const fault = faultOf(result)
    return fault === undefined ? [] : [`${result.plan.marker}, ${result.plan.fault}: ${fault}`]
  })
  t.same(mixedUp, [], 'each client received its own answer or an error')
  const charges = new Map<string, Awaited<ReturnType<typeof rows>>[number]>()
  for (const customer of customers)
    for (const [request, charge] of await chargesOf(customer)) charges.set(request, charge)
  const wrongCharges = results.flatMap(result => {
    const fault = result.id === '' ? undefined : chargeFault(result, charges.get(result.id))
    return fault === undefined ? [] : [`${result.plan.marker}, ${result.plan.fault}: ${fault}`]
  })
  t.same(wrongCharges, [], 'each client paid for its own answer')
  const whole = results.filter(({ isWhole }) => isWhole).length
  t.comment(`${CALLS} calls, ${whole} whole, ${mixedUp.length} mixed up`)
  t.ok(whole > CALLS / 2, 'most calls are served')
  t.same(await audit(database), [], 'the books balance')
})

/** Balances of the operator's accounts at providers: each upstream is asked with each of its
 *  keys. */
import { isFields } from '../../engine/kit.ts'
import type { HostBase, TargetPin } from '../../engine/plugin.ts'
import type { BalanceRule } from './section.ts'
import type { Observation, RuleReading } from './transition.ts'

/** ms between two requests for a balance, and until the response must have arrived. */
const INTERVAL = 600_000
const TIMEOUT = 10_000
const MAX_BYTES = 65_536

type Host = Pick<HostBase, 'log' | 'pins' | 'send'>

export class Balances {
  readonly #rules: readonly BalanceRule[]
  #askedAt = Number.NEGATIVE_INFINITY
  #reading: RuleReading = { observations: [], isComplete: false }

  constructor(rules: readonly BalanceRule[]) {
    this.#rules = rules
  }
  /** A balance that could not be read counts as unknown. `tick`: ms, monotonic. */
  async read(host: Host, tick: number): Promise<RuleReading> {
    if (tick - this.#askedAt < INTERVAL) return this.#reading
    this.#askedAt = tick
    const lists = await Promise.all(
      this.#rules.map(rule =>
        Promise.all(keysOf(host.pins(rule.upstream)).map(pin => ask(host, rule, pin))),
      ),
    )
    const all = lists.flat()
    const observations = all.filter(each => each !== undefined)
    this.#reading = { observations, isComplete: observations.length === all.length }
    return this.#reading
  }
}

const ask = async (
  host: Host,
  rule: BalanceRule,
  pin: TargetPin,
): Promise<Observation | undefined> => {
  const { upstream, path, at, minus, below } = rule
  try {
    const reply = await host.send(upstream, { method: 'GET', path, timeout: TIMEOUT, pin })
    const text = Buffer.from(await reply.bytes(MAX_BYTES)).toString()
    const balance = balanceIn(text, at, minus)
    if (reply.status !== 200 || balance === undefined)
      throw new Error(`status ${reply.status}, and no number at ${at}`)
    return {
      object: [upstream, pin.key].filter(Boolean).join(' '),
      isBroken: balance < below,
      text: `The balance at ${upstream} is ${balance}; the bound is ${below}.`,
    }
  } catch (error) {
    host.log.warn({ upstream, error }, 'the balance at a provider could not be read')
    return undefined
  }
}

/** One for each key: its addresses lead to the same account. */
const keysOf = (pins: readonly TargetPin[]): readonly TargetPin[] => [
  ...new Map(pins.map(pin => [pin.key, pin])).values(),
]

/** A number, or a text of one. `minus` is subtracted. */
export const balanceIn = (text: string, at: string, minus?: string): number | undefined => {
  try {
    const answer: unknown = JSON.parse(text)
    const [amount, used] = [numberAt(answer, at), minus === undefined ? 0 : numberAt(answer, minus)]
    return amount === undefined || used === undefined ? undefined : amount - used
  } catch {
    return undefined
  }
}
const numberAt = (answer: unknown, path: string): number | undefined => {
  let at = answer
  for (const name of path.split('.'))
    at = Array.isArray(at) ? at[Number(name)] : isFields(at) ? at[name] : undefined
  const number = typeof at === 'string' && at.trim() !== '' ? Number(at) : at
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** The kinds of limits: concurrency, tokens, requests. A gate takes units from an allowance and
 *  returns the unused ones at the end of the exchange. */
import { type Rate, rateOf } from '../../engine/config/shape.ts'
import type { Allowance, Fault, HostBase } from '../../engine/plugin.ts'
import { fault } from './faults.ts'
import type { CountedUnit, WindowState } from './headers.ts'
import type { Limits } from './section.ts'

/** The subject that a limit counts. */
export type Scope = 'key' | 'account' | 'model'

export interface Gate {
  readonly scope: Scope
  /** The unit in rate-limit headers; undefined: none. */
  readonly unit: CountedUnit | undefined
  /** Whether an exchange takes as many units as it has tokens, or one unit. */
  readonly inTokens: boolean
  readonly allowance: Allowance
  /** The window of a caller. */
  stateOf(caller: string): WindowState | undefined
  refusal(caller: string, amount: bigint): Fault
  /** Called at the end of an exchange that took `amount` units of `window`. `usage`: its tokens. */
  release(caller: string, amount: bigint, window: number | undefined, usage: bigint): void
}
type Member = keyof Limits
type CreateGate = (
  host: Pick<HostBase, 'allowance'>,
  scope: Scope,
  name: string,
  limit: string,
) => Gate

/** Concurrency and tokens first: they are returned when a later limit refuses the exchange. */
export const MEMBERS: readonly Member[] = ['concurrency', 'tokens', 'requests']

const windowStates =
  (allowance: Allowance, { amount, ms }: Rate) =>
  (caller: string): WindowState => {
    const { remaining, ms: wait } = allowance.reading(caller) ?? { remaining: 0n, ms }
    return { limit: amount, remaining, ms: wait }
  }
const retrySeconds = (allowance: Allowance, caller: string): number =>
  Math.max(1, Math.ceil(allowance.retryAfter(caller) / 1_000))
const retryAfter = (wait: number, more = {}) => ({
  headers: { 'retry-after': String(wait), ...more },
})
/** The SDKs of OpenAI and Anthropic obey this header before all others. */
const NO_RETRY = { 'x-should-retry': 'false' }

export const GATES: Readonly<Record<Member, CreateGate>> = {
  concurrency(host, scope, name, limit) {
    const allowance = host.allowance(name, { concurrency: { amount: BigInt(limit) } })
    return {
      scope,
      allowance,
      unit: undefined,
      inTokens: false,
      stateOf: () => undefined,
      refusal: () => fault('CONCURRENCY_EXCEEDED', [limit]),
      release: (caller, amount) => allowance.returnUnits(caller, amount),
    }
  },
  tokens(host, scope, name, limit) {
    const rate = rateOf(limit)
    const { amount: limitAmount, ms, per } = rate
    const allowance = host.allowance(name, { window: { amount: limitAmount, ms, returns: true } })
    return {
      scope,
      allowance,
      unit: 'tokens',
      inTokens: true,
      stateOf: windowStates(allowance, rate),
      refusal(caller, amount) {
        const wait = retrySeconds(allowance, caller)
        return amount > limitAmount
          ? fault(
              'TOKENS_TOO_MANY',
              [String(amount), String(limitAmount), per],
              retryAfter(wait, NO_RETRY),
            )
          : fault(
              'TOKENS_LIMITED',
              [String(limitAmount), per, String(amount), wait],
              retryAfter(wait),
            )
      },
      release(caller, amount, window, usage) {
        if (usage > amount) allowance.spend(caller, usage - amount)
        else if (usage < amount) allowance.returnUnits(caller, amount - usage, window)
      },
    }
  },
  requests(host, scope, name, limit) {
    const rate = rateOf(limit)
    const { amount: limitAmount, ms, per } = rate
    const allowance = host.allowance(name, { window: { amount: limitAmount, ms } })
    return {
      scope,
      allowance,
      unit: 'requests',
      inTokens: false,
      stateOf: windowStates(allowance, rate),
      refusal(caller) {
        const wait = retrySeconds(allowance, caller)
        return fault('RATE_LIMITED', [String(limitAmount), per, wait], retryAfter(wait))
      },
      release() {},
    }
  },
}

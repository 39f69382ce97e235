/** The kinds of limits (concurrency, tokens, requests): each takes from an allowance and releases at the
 *  end of the exchange what is to be returned. */
import type { Allowance, Fault, HostBase } from '../../engine/plugin.ts'
import { fault } from './faults.ts'
import type { CountedUnit, WindowState } from './headers.ts'
import { type Limits, type Rate, rateOf } from './section.ts'

/** The subject that a limit counts. */
export type Scope = 'key' | 'account' | 'model'

export interface Gate {
  readonly scope: Scope
  /** The unit in rate-limit headers; undefined: none. */
  readonly counted: CountedUnit | undefined
  /** Whether an exchange takes its tokens, or one. */
  readonly inTokens: boolean
  readonly allowance: Allowance
  /** The window of a caller. */
  stateOf(caller: string): WindowState | undefined
  refusal(caller: string, amount: bigint): Fault
  /** At the end of an exchange that took `amount` out of `window` and used `used` tokens. */
  release(caller: string, amount: bigint, window: number | undefined, used: bigint): void
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
    const { remaining: left, ms: wait } = allowance.reading(caller) ?? { remaining: 0n, ms }
    return { limit: amount, left, ms: wait }
  }
const seconds = (allowance: Allowance, caller: string): number =>
  Math.max(1, Math.ceil(allowance.retryAfter(caller) / 1_000))
const retryAfter = (wait: number, more = {}) => ({
  headers: { 'retry-after': String(wait), ...more },
})
/** SDKs of OpenAI's and Anthropic's generator obey this header before all others. */
const NO_RETRY = { 'x-should-retry': 'false' }

export const GATES: Readonly<Record<Member, CreateGate>> = {
  concurrency(host, scope, name, limit) {
    const allowance = host.allowance(name, { concurrency: { amount: BigInt(limit) } })
    return {
      scope,
      allowance,
      counted: undefined,
      inTokens: false,
      stateOf: () => undefined,
      refusal: () => fault('CONCURRENCY_EXCEEDED', [limit]),
      release: (caller, amount) => allowance.returnUnits(caller, amount),
    }
  },
  tokens(host, scope, name, limit) {
    const rate = rateOf(limit)
    const { amount: most, ms, per } = rate
    const allowance = host.allowance(name, { window: { amount: most, ms, returns: true } })
    return {
      scope,
      allowance,
      counted: 'tokens',
      inTokens: true,
      stateOf: windowStates(allowance, rate),
      refusal(caller, amount) {
        const wait = seconds(allowance, caller)
        return amount > most
          ? fault(
              'TOKENS_TOO_MANY',
              [String(amount), String(most), per],
              retryAfter(wait, NO_RETRY),
            )
          : fault('TOKENS_LIMITED', [String(most), per, String(amount), wait], retryAfter(wait))
      },
      release(caller, amount, window, used) {
        if (used > amount) allowance.spend(caller, used - amount)
        else if (used < amount) allowance.returnUnits(caller, amount - used, window)
      },
    }
  },
  requests(host, scope, name, limit) {
    const rate = rateOf(limit)
    const { amount: most, ms, per } = rate
    const allowance = host.allowance(name, { window: { amount: most, ms } })
    return {
      scope,
      allowance,
      counted: 'requests',
      inTokens: false,
      stateOf: windowStates(allowance, rate),
      refusal(caller) {
        const wait = seconds(allowance, caller)
        return fault('RATE_LIMITED', [String(most), per, wait], retryAfter(wait))
      },
      release() {},
    }
  },
}

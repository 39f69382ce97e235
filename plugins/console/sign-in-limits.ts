/** Limits failed sign-ins, exactly across all workers and machines: by network, and by the account
 *  that the credential claims to be of. */
import type { Allowance, HostBase } from '../../engine/plugin.ts'
import { networkOf } from '../credentials/network.ts'
import { fault } from './faults.ts'

/** Failed sign-ins of a network or of a credential's beginning in a window. */
const MOST = { address: 20n, account: 10n }
const WINDOW = 60_000
/** The visible beginning of a credential names its account without showing the secret. */
const PREFIX = 7

interface Ticket {
  readonly allowance: Allowance
  readonly key: string
  readonly window: number | undefined
}

export class SignInLimits {
  readonly #address: Allowance
  readonly #account: Allowance

  constructor({ allowance }: Pick<HostBase, 'allowance'>) {
    const open = (name: keyof typeof MOST): Allowance =>
      allowance(`console/sign-in/${name}`, {
        window: { amount: MOST[name], ms: WINDOW, returns: true },
      })
    this.#address = open('address')
    this.#account = open('account')
  }
  /** Runs `attempt`, which throws if it fails. Throws SIGN_IN_LIMIT instead after too many
   *  failures. Successful attempts do not count. */
  async limit<T>(address: string, credential: string, attempt: () => Promise<T>): Promise<T> {
    const tickets = [
      await take(this.#address, networkOf(address)),
      await take(this.#account, credential.slice(0, PREFIX)),
    ]
    const result = await attempt()
    for (const { allowance, key, window } of tickets) allowance.returnUnits(key, 1n, window)
    return result
  }
}

const take = async (allowance: Allowance, key: string): Promise<Ticket> => {
  const isAdmitted = allowance.take(key, 1n) ?? (await allowance.request(key, 1n))
  if (isAdmitted) return { allowance, key, window: allowance.reading(key)?.window }
  const seconds = Math.max(1, Math.ceil(allowance.retryAfter(key) / 1_000))
  throw fault('SIGN_IN_LIMIT', [seconds], { headers: { 'retry-after': String(seconds) } })
}

/** Refused credentials of operators in the log of actions: at routes that need the role admin, and
 *  at the admin listener. */
import { asFault } from '../../engine/errors.ts'
import type { HostBase, PresentedCredential, Stage } from '../../engine/plugin.ts'
import type { Actor } from '../action-log/action.ts'
import { recordRefusal, strangerOf } from '../action-log/refusals.ts'

/** Of requests without a credential, which are not recorded. */
const UNRECORDED: readonly string[] = ['AUTH_MISSING', 'AUTH_SIGNED_OUT']

/** Never rejects. */
const record = async (host: HostBase, error: unknown, actor: Actor): Promise<void> => {
  const { code, status } = asFault(error)
  if (UNRECORDED.includes(code) || (status !== 401 && status !== 403)) return
  const action = { operation: 'access refused', object: 'endpoints of operators', actor }
  await recordRefusal(host, { ...action, reason: code, isKnown: false })
}
export const recordingRefusals = (stage: Stage, host: HostBase): Stage => ({
  ...stage,
  async handle(exchange, next) {
    let hasPassed = false
    try {
      await stage.handle?.(exchange, () => {
        hasPassed = true
        return next()
      })
    } catch (error) {
      if (!hasPassed) await record(host, error, strangerOf(exchange, 'admin API'))
      throw error
    }
  },
})
export const recordingAuthorizer =
  <T>(authorize: (credential: PresentedCredential, host: HostBase) => Promise<T>) =>
  async (credential: PresentedCredential, host: HostBase): Promise<T> => {
    try {
      return await authorize(credential, host)
    } catch (error) {
      const { address } = credential
      await record(host, error, { via: 'admin listener', name: 'unknown', address })
      throw error
    }
  }

/** The decider of a guard. */
import type { HostBase } from '../../engine/plugin.ts'
import type { Decider } from './decider.ts'
import { ModelDecider } from './model-decision.ts'
import type { Guard } from './section.ts'
import { Webhook } from './webhook.ts'

/** Undefined: its finders decide. */
export const deciderOf = (name: string, guard: Guard, host: HostBase): Decider | undefined => {
  if (guard.webhook !== undefined) return new Webhook(name, guard, host)
  return guard.model === undefined ? undefined : new ModelDecider(name, guard, host)
}

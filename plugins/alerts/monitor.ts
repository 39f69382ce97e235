/** Looks at the rules and stores what changes: an alert and its messages are one transaction, so
 *  that a crash neither loses nor repeats a message. */
import { ATTEMPTS } from '../webhooks/schedule.ts'
import { Balances } from './balances.ts'
import { receiverId } from './queue.ts'
import { sendTime } from './quiet.ts'
import {
  type ActiveRule,
  activeRules,
  type Host,
  longestWindow,
  METRICS,
  type Surroundings,
} from './rules.ts'
import type { Section } from './section.ts'
import { ALERTS, type Alert, addMessage, alertOf, changeAlert } from './statements.ts'
import { type Observation, transition } from './transition.ts'
import { Windows } from './windows.ts'

export class Monitor {
  readonly #section: Section
  readonly #rules: readonly ActiveRule[]
  readonly #windows: Windows
  readonly #balances: Balances

  constructor(section: Section) {
    this.#section = section
    this.#rules = activeRules(section)
    this.#windows = new Windows(longestWindow(section))
    this.#balances = new Balances(section.balances)
  }
  /** `tick`: ms, monotonic. */
  async look(host: Host, tick = performance.now()): Promise<void> {
    const { gateway, database, log } = host
    const [status, readings, now, rows] = await Promise.all([
      gateway.status(),
      gateway.readings(METRICS),
      database.now(),
      database.read(ALERTS, []),
    ])
    this.#windows.add(tick, readings)
    const alerts = rows.map(alertOf)
    const [windows, balances] = [this.#windows, this.#balances]
    const surroundings = { host, status, windows, balances, now, tick }
    for (const rule of this.#rules)
      try {
        await this.#apply(rule, surroundings, alerts)
      } catch (error) {
        log.warn({ rule: rule.name, error }, 'a rule of alerts could not be looked at')
      }
    await this.#endRemoved(surroundings, alerts)
  }
  async #apply(rule: ActiveRule, surroundings: Surroundings, alerts: readonly Alert[]) {
    const { observations, isComplete } = await rule.read(surroundings)
    const known = new Map(
      alerts.filter(each => each.rule === rule.name).map(each => [each.object, each]),
    )
    const missing = isComplete ? absentFrom(observations, [...known.values()]) : []
    for (const observation of [...observations, ...missing])
      await this.#move(rule, surroundings, observation, known.get(observation.object))
  }
  /** Alerts of rules that were removed end. */
  async #endRemoved(surroundings: Surroundings, alerts: readonly Alert[]): Promise<void> {
    const names: readonly string[] = this.#rules.map(({ name }) => name)
    for (const alert of alerts.filter(({ rule }) => !names.includes(rule)))
      await this.#move({ name: alert.rule, hold: 0 }, surroundings, endOf(alert), alert)
  }
  async #move(
    { name: rule, hold }: { readonly name: string; readonly hold: number },
    { host, now }: Surroundings,
    { object, isBroken, text }: Observation,
    before: Alert | undefined,
  ): Promise<void> {
    const { clear, quiet, to } = this.#section
    const step = transition(before, isBroken, { hold, clear, now })
    if (!step) return
    const { message } = step
    const due = quiet?.except.some(each => each === rule) ? now : sendTime(quiet, now)
    const messages = (message ? to : []).map(receiver =>
      addMessage({
        receiver: receiverId(receiver),
        kind: message ?? 'firing',
        rule,
        object,
        text,
        attempts: ATTEMPTS,
        due,
        now,
      }),
    )
    await host.database.write([changeAlert({ rule, object, text }, before, step.next), ...messages])
    if (message === undefined) return
    host.metrics.count('alerts_total', { rule, state: message })
    host.log.warn({ rule, object }, `alert ${message}: ${text}`)
  }
}

const endOf = ({ object }: Alert): Observation => ({
  object,
  isBroken: false,
  text: 'It is no longer so, or the rule no longer applies.',
})
const absentFrom = (
  observations: readonly Observation[],
  alerts: readonly Alert[],
): readonly Observation[] => {
  const present = new Set(observations.map(({ object }) => object))
  return alerts.filter(({ object }) => !present.has(object)).map(endOf)
}

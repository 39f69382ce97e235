/** The list of alerts and the test message for operators, and the command `tollgate alerts`. */
import type { Command, HostBase, Row } from '../../engine/plugin.ts'
import { subcommandsOf } from '../operator/command-line.ts'
import { type AlertPart, contribute } from '../operator/contributions.ts'
import type { Context } from '../operator/operation.ts'
import { alertOperations } from '../operator/operations/alerts.ts'
import type { AlertRules, AlertTestRow } from '../views.ts'
import { awaitDelivery } from '../webhooks/await-delivery.ts'
import { lastMessage } from '../webhooks/delivery.ts'
import { makeEventId } from '../webhooks/statements.ts'
import { placeOf, receiverId } from './queue.ts'
import { sendTime } from './quiet.ts'
import { activeRules } from './rules.ts'
import { type RawSection, type Receiver, RULE_NAMES, SECTION, type Section } from './section.ts'
import { ALERTS, addMessage, alertOf, FIND, LAST } from './statements.ts'

/** Undefined without the section. */
export const sectionOf = (host: Pick<HostBase, 'section'>): Section | undefined => {
  const raw = host.section<Partial<RawSection>>('alerts')
  return raw.to === undefined ? undefined : SECTION.read(raw as RawSection)
}

/** ms: the timeout of one attempt, and time for earlier messages to the receiver. */
const TIMEOUT = 22_000

const alertPart = (section: Section): AlertPart => ({
  async list({ database }) {
    const rows = await database.read(ALERTS, [])
    return rows.map(alertOf).map(({ rule, object, state, since, text }) => ({
      rule,
      object,
      state,
      since: new Date(since).toISOString(),
      text,
    }))
  },
  rules: host => showRules(host, section),
  test: context => testReceivers(context, section.to),
})

const showRules = async (
  { database }: Pick<HostBase, 'database'>,
  section: Section,
): Promise<AlertRules> => {
  const [alerts, messages, now] = await Promise.all([
    database.read(ALERTS, []),
    database.read(LAST, []),
    database.now(),
  ])
  // A budget alert has no state: `budgets:` configures it.
  const active = new Set<string>(['budget', ...activeRules(section).map(({ name }) => name)])
  const lastOf = (rule: string, kind: string) =>
    timeOf(messages.find(each => each.rule === rule && each.kind === kind)?.at)
  const { quiet, to } = section
  const due = sendTime(quiet, now)
  return {
    rules: RULE_NAMES.map(rule => {
      const states = alerts.filter(each => each.rule === rule).map(({ state }) => String(state))
      const firing = states.filter(state => state === 'firing').length
      const waiting = states.includes('pending') ? 'pending' : 'kept'
      return {
        rule,
        state: active.has(rule) ? (firing > 0 ? 'firing' : waiting) : 'off',
        firing,
        fired: lastOf(rule, 'firing'),
        recovered: lastOf(rule, 'resolved'),
        waits: quiet !== undefined && !quiet.except.includes(rule),
      }
    }),
    receivers: to.map(each => `${each.kind} ${placeOf(each)}`),
    quiet: quiet
      ? {
          from: clock(quiet.from),
          to: clock(quiet.to),
          zone: quiet.zone,
          until: due > now ? timeOf(due) : null,
        }
      : null,
  }
}
const timeOf = (at: Row[string] | undefined): string | null =>
  at === undefined || at === null ? null : new Date(Number(at)).toISOString()
/** HH:MM of a minute of the day. */
const clock = (minute: number): string =>
  [Math.floor(minute / 60), minute % 60].map(each => String(each).padStart(2, '0')).join(':')

const testReceivers = async (
  { store, now }: Context,
  receivers: readonly Receiver[],
): Promise<readonly AlertTestRow[]> => {
  const tests = receivers.map(receiver => ({ receiver, id: makeEventId(now) }))
  await store.change(
    tests.map(({ receiver, id }) =>
      addMessage(
        {
          receiver: receiverId(receiver),
          kind: 'test',
          rule: 'test',
          object: id,
          text: 'This is a test: alerts arrive here.',
          attempts: 1,
          due: now,
          now,
        },
        id,
      ),
    ),
    { object: 'alerts', before: null, after: { tested: receivers.length } },
  )
  return Promise.all(
    tests.map(async ({ receiver, id }) =>
      rowOf(receiver, await awaitDelivery(store, FIND, id, TIMEOUT)),
    ),
  )
}

const rowOf = (receiver: Receiver, { state, outcome, status, detail }: Row): AlertTestRow => ({
  receiver: `${receiver.kind} ${placeOf(receiver)}`,
  state: state as AlertTestRow['state'],
  message:
    outcome === null || outcome === undefined
      ? 'Not sent yet; a running gateway sends it.'
      : [lastMessage({ outcome, status: status ?? null }), detail].filter(Boolean).join(' '),
})

/** Lets the operations of operators run. */
export const offerToOperators = (host: HostBase): void => {
  const section = sectionOf(host)
  contribute(host, 'alerts', section && alertPart(section))
}

export const commands: Readonly<Record<string, Command>> = {
  alerts: {
    summary: 'Shows alerts, and tests their receivers.',
    subcommands: subcommandsOf(alertOperations, offerToOperators),
  },
}

/** The list of alerts and the test message for operators, and the command `tollgate alerts`. */
import type { Command, HostBase, Row } from '../../engine/plugin.ts'
import { subcommandsOf } from '../operator/command-line.ts'
import { type AlertPart, operatorParts } from '../operator/contributions.ts'
import type { Context } from '../operator/operation.ts'
import { alertOperations } from '../operator/operations/alerts.ts'
import type { AlertTestRow } from '../views.ts'
import { awaitDelivery } from '../webhooks/await-delivery.ts'
import { messageOf } from '../webhooks/delivery.ts'
import { makeEventId } from '../webhooks/statements.ts'
import { placeOf, receiverId } from './queue.ts'
import { type RawSection, type Receiver, SECTION, type Section } from './section.ts'
import { ALERTS, addMessage, alertOf, FIND } from './statements.ts'

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
  test: context => testReceivers(context, section.to),
})

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
  state: String(state),
  message:
    outcome === null || outcome === undefined
      ? 'Not sent yet; a running gateway sends it.'
      : [
          messageOf({
            outcome: String(outcome),
            ...(status != null && { status: Number(status) }),
          }),
          detail,
        ]
          .filter(Boolean)
          .join(' '),
})

/** Lets the operations of operators run. */
export const offerToOperators = (host: HostBase): void => {
  const section = sectionOf(host)
  const parts = operatorParts(host)
  if (section) parts.alerts = alertPart(section)
  else delete parts.alerts
}

export const commands: Readonly<Record<string, Command>> = {
  alerts: {
    summary: 'Shows alerts, and tests their receivers.',
    subcommands: subcommandsOf(alertOperations, offerToOperators),
  },
}

/** The outbox of alerts: messages are made from their rows when they are sent, so that no address
 *  and no secret is in the store. */
import { createHash } from 'node:crypto'
import type { HostBase, Row } from '../../engine/plugin.ts'
import { hostOf } from '../webhooks/address.ts'
import { type DeliveryResult, resultOf } from '../webhooks/delivery.ts'
import { deliverMail, type MailSettings } from '../webhooks/mail.ts'
import type { DeliveryQueue } from '../webhooks/queue.ts'
import { DELAYS } from '../webhooks/schedule.ts'
import { type AlertMessage, MAX_DETAIL, mailOf, refusalIn, requestTo } from './receivers.ts'
import type { ChatReceiver, Receiver, Section } from './section.ts'
import { DUE, deleteOld, NEXT, PENDING, recordAttempt } from './statements.ts'

type Sender = Pick<HostBase, 'request' | 'mail'>

/** ms for the whole response of a receiver. */
const TIMEOUT = 10_000

/** Identifies a receiver in the store without its address. */
export const receiverId = (receiver: Receiver): string => {
  const place = receiver.kind === 'mail' ? receiver.to : receiver.url
  return `${receiver.kind} ${createHash('sha256').update(place).digest('hex').slice(0, 12)}`
}
/** For logs and lists: an address without its secrets. */
export const placeOf = (receiver: Receiver): string =>
  receiver.kind === 'mail' ? receiver.to : hostOf(receiver.url)

export const alertQueue = (
  host: Sender,
  { to, name }: Section,
  mail: MailSettings | undefined,
): DeliveryQueue => {
  const receivers = new Map(to.map(each => [receiverId(each), each]))
  return {
    noun: 'alert',
    due: DUE,
    next: NEXT,
    pending: PENDING,
    delays: DELAYS,
    requestOf(row) {
      const receiver = receivers.get(String(row.receiver))
      const message = messageOf(row, name)
      return {
        id: message.id,
        kind: receiver?.kind ?? 'none',
        receiver: receiver ? placeOf(receiver) : '',
        send(at) {
          if (receiver?.kind !== 'mail')
            return receiver ? sendTo(host, receiver, message, at) : REMOVED
          return mail ? deliverMail(host, mail, mailOf(receiver, message), at) : REMOVED
        },
      }
    },
    recordAttempt,
    deleteOld,
    countAttempt: (metrics, outcome) => metrics.count('alert_attempts_total', { outcome }),
    measure: (metrics, pending) => metrics.gauge('alert_messages_pending', {}, pending),
  }
}
/** It is no longer in the configuration. */
const REMOVED = Promise.resolve({ outcome: 'removed' })

const messageOf = (row: Row, name: string): AlertMessage => ({
  id: String(row.id),
  kind: row.kind as AlertMessage['kind'],
  name,
  rule: String(row.rule),
  object: String(row.object),
  text: String(row.text),
  created: Number(row.created),
})

const sendTo = async (
  { request }: Pick<HostBase, 'request'>,
  receiver: ChatReceiver,
  message: AlertMessage,
  at: number,
): Promise<DeliveryResult> => {
  const { url, headers, body } = requestTo(receiver, message, at)
  try {
    const post = { method: 'POST', headers: headers as Record<string, string>, body }
    const response = await request(url, { ...post, timeout: TIMEOUT })
    const { status, text } = response
    const result = resultOf({ status, headers: response.headers as never }, at)
    const detail =
      result.outcome === 'delivered' ? refusalIn(receiver, text) : text.slice(0, MAX_DETAIL)
    if (result.outcome !== 'delivered') return { ...result, ...(detail && { detail }) }
    return detail === undefined ? result : { outcome: 'declined', status, detail }
  } catch (error) {
    return { outcome: 'SEND_FAILED', detail: String((error as Error).message).slice(0, MAX_DETAIL) }
  }
}

/** Messages as each kind of receiver takes them, and how it says that it took one. Pure. */
import { createHmac } from 'node:crypto'
import type { Headers, Json } from '../../engine/plugin.ts'
import type { MailMessage } from '../webhooks/mail.ts'
import { signatureHeaders } from '../webhooks/signature.ts'
import type { Chat, ChatReceiver, MailReceiver } from './section.ts'

export interface AlertMessage {
  readonly id: string
  readonly kind: 'firing' | 'resolved' | 'test'
  /** Names the gateway. */
  readonly name: string
  readonly rule: string
  readonly object: string
  readonly text: string
  /** ms since 1970. */
  readonly created: number
}
export interface ReceiverRequest {
  readonly url: string
  readonly headers: Headers
  readonly body: string
}
interface Format {
  /** The body, with its signature if it has a place for it. */
  body(message: AlertMessage, secret: string | undefined, at: number): Json
  url?(url: string, secret: string | undefined, at: number): string
  headers?(message: AlertMessage, body: string, secret: string, at: number): Headers
  /** Whether the answer with status 200 says that the message was refused. */
  refuses?(answer: Readonly<Record<string, unknown>>): boolean
}

const WORDS = { firing: 'ALERT', resolved: 'RECOVERED', test: 'TEST' } as const
const titleOf = ({ kind, name, rule, object }: AlertMessage): string =>
  `${WORDS[kind]} ${name}: ${[rule, object].filter(Boolean).join(' ')}`
const plainText = (message: AlertMessage): string =>
  `${titleOf(message)}\n${message.text}\n${new Date(message.created).toISOString()}`

const hmac = (key: string, text: string): string =>
  createHmac('sha256', key).update(text).digest('base64')
/** Slack reads these characters as markup. */
const slackText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const FORMATS: Readonly<Record<Chat, Format>> = {
  webhook: {
    body: ({ kind, name, rule, object, text, created }) => ({
      topic: 'alert',
      data: { state: kind, name, rule, object, text, at: new Date(created).toISOString() },
    }),
    headers: ({ id }, body, secret, at) => signatureHeaders({ id, body, secret, at }),
  },
  slack: { body: message => ({ text: slackText(plainText(message)) }) },
  feishu: {
    body(message, secret, at) {
      const timestamp = String(Math.floor(at / 1_000))
      return {
        // The key is the text to sign; the signed message is empty.
        ...(secret !== undefined && { timestamp, sign: hmac(`${timestamp}\n${secret}`, '') }),
        msg_type: 'text',
        content: { text: plainText(message) },
      }
    },
    refuses: ({ code, StatusCode }) => Number(code ?? StatusCode ?? 0) !== 0,
  },
  dingtalk: {
    body: message => ({ msgtype: 'text', text: { content: plainText(message) } }),
    url(url, secret, at) {
      if (secret === undefined) return url
      const signed = new URL(url)
      signed.searchParams.set('timestamp', String(at))
      signed.searchParams.set('sign', hmac(secret, `${at}\n${secret}`))
      return signed.href
    },
    refuses: ({ errcode }) => Number(errcode ?? 0) !== 0,
  },
  wecom: {
    body: message => ({ msgtype: 'text', text: { content: plainText(message) } }),
    refuses: ({ errcode }) => Number(errcode ?? 0) !== 0,
  },
}

export const requestTo = (
  { kind, url, secret }: ChatReceiver,
  message: AlertMessage,
  at: number,
): ReceiverRequest => {
  const format = FORMATS[kind]
  const body = JSON.stringify(format.body(message, secret, at))
  return {
    url: format.url?.(url, secret, at) ?? url,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Tollgate-Webhooks/1',
      ...(secret !== undefined && format.headers?.(message, body, secret, at)),
    },
    body,
  }
}

export const mailOf = ({ to }: MailReceiver, message: AlertMessage): MailMessage => ({
  id: message.id,
  to,
  subject: titleOf(message),
  text: plainText(message),
})

/** Characters of a receiver's own words that are kept. */
export const MAX_DETAIL = 200
/** Why the answer of a receiver with status 200 is a refusal, in its own words. */
export const refusalIn = (
  { kind }: Pick<ChatReceiver, 'kind'>,
  text: string,
): string | undefined => {
  const { refuses } = FORMATS[kind]
  if (!refuses) return undefined
  try {
    return refuses(JSON.parse(text)) ? text.slice(0, MAX_DETAIL) : undefined
  } catch {
    return text.slice(0, MAX_DETAIL)
  }
}

/** The section `mail:` of routes.yaml, and mails as deliveries of an outbox. */
import {
  integer,
  object,
  oneOf,
  type RawOf,
  required,
  text,
  type ValueOf,
} from '../../engine/config/shape.ts'
import { isFields } from '../../engine/kit.ts'
import type { Document, HostBase, Report } from '../../engine/plugin.ts'
import type { DeliveryResult } from './delivery.ts'

const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_{|}~-]+"
const LABEL = '[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
/** One address without a name. The pattern excludes added headers and second addresses. */
const ADDRESS = {
  pattern: `^${ATOM}(\\.${ATOM})*@${LABEL}(\\.${LABEL})*$`,
  maxLength: 254,
} as const
export const address = (description: string, example: string) =>
  text(description, { ...ADDRESS, examples: [example] })
export const isAddress = (value: string): boolean =>
  value.length <= ADDRESS.maxLength && new RegExp(ADDRESS.pattern).test(value)

export const MAIL = object(
  'The server that sends mails: those of alerts, and those of accounts whose balance is low.',
  {
    host: required(
      text('The name or address of the SMTP server.', {
        pattern: '^[A-Za-z0-9.:-]+$',
        examples: ['smtp.example.com'],
      }),
    ),
    port: integer('Its port; by default 465 with `tls: implicit`, otherwise 587.', {
      minimum: 1,
      maximum: 65_535,
      examples: [2525],
    }),
    tls: oneOf(
      '`starttls`: TLS, or no mail is sent. `implicit`: TLS from the first byte, as on port 465. `off`: no TLS.',
      ['starttls', 'implicit', 'off'],
      { default: 'starttls', examples: ['implicit'] },
    ),
    ca: text(
      'PEM of the authorities that sign the certificate of the server; the authorities of the system by default.',
      {
        examples: ['${file:/etc/ssl/mail-ca.pem}'],
      },
    ),
    user: text('The login.', { minLength: 1, examples: ['tollgate'] }),
    password: text('Its password.', {
      format: 'password',
      minLength: 1,
      examples: ['${SMTP_PASSWORD}'],
    }),
    from: required(address('The address of the sender.', 'tollgate@example.com')),
    name: text('The name of the sender.', {
      default: 'Tollgate',
      maxLength: 100,
      examples: ['Example AI'],
    }),
  },
  {
    examples: [
      {
        host: 'smtp.example.com',
        user: 'tollgate',
        password: '${SMTP_PASSWORD}',
        from: 'tollgate@example.com',
      },
    ],
  },
)
type RawMail = RawOf<typeof MAIL>
export interface MailSettings extends ValueOf<typeof MAIL> {
  readonly port: number
}

/** Undefined without the section. */
export const mailSettingsOf = (host: Pick<HostBase, 'section'>): MailSettings | undefined => {
  const raw = host.section<Partial<RawMail>>('mail')
  if (raw.host === undefined) return undefined
  const { port, ...settings } = MAIL.read(raw as RawMail)
  return { ...settings, port: port ?? (settings.tls === 'implicit' ? 465 : 587) }
}

/** Problems of the section that its schema cannot see. */
export const checkMail = ({ mail }: Document, report: Report): void => {
  if (!isFields(mail)) return
  const { port, tls, user, password } = MAIL.read(mail as RawMail)
  if ((user === undefined) !== (password === undefined)) {
    const [present, absent] = user === undefined ? ['password', 'user'] : ['user', 'password']
    report(
      ['mail', present],
      'MAIL_OPTION',
      `\`${present}\` needs \`${absent}\`; add it, or remove both`,
    )
  }
  if (tls === 'off' && password !== undefined)
    report(
      ['mail', 'tls'],
      'MAIL_OPTION',
      'the password would be sent unencrypted; set `tls: starttls` or `implicit`',
    )
  if ((port === 465 && tls === 'starttls') || (port === 587 && tls === 'implicit')) {
    const other = port === 465 ? 'implicit' : 'starttls'
    report(
      ['mail', 'port'],
      'MAIL_OPTION',
      `servers expect \`tls: ${other}\` on port ${port}; set it, or remove \`port\` to have the one of \`tls: ${tls}\``,
    )
  }
}

/** ms for the whole SMTP connection. */
const TIMEOUT = 20_000
const MAX_SUBJECT = 200
const MAX_DETAIL = 200

export interface MailMessage {
  /** Part of the `Message-ID`: a mail that is sent again has the same. */
  readonly id: string
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly headers?: Readonly<Record<string, string>>
}
/** `at`: ms since 1970. Never rejects. */
export const deliverMail = async (
  host: Pick<HostBase, 'mail'>,
  { from, name, ...server }: MailSettings,
  { id, to, subject, text, headers }: MailMessage,
  at: number,
): Promise<DeliveryResult> => {
  const mail = {
    messageId: `<${id}@${from.slice(from.indexOf('@') + 1)}>`,
    from: { name: oneLine(name), address: from },
    to: { name: '' as const, address: to },
    subject: oneLine(subject),
    text,
    date: new Date(at),
    headers: { 'Auto-Submitted': 'auto-generated', ...headers },
  }
  try {
    await host.mail(server, mail, TIMEOUT)
    return { outcome: 'delivered' }
  } catch (error) {
    const { message, responseCode: status } = error as { message: string; responseCode?: number }
    const detail = withoutSecret(message, server.password).slice(0, MAX_DETAIL)
    return status === undefined
      ? { outcome: 'SEND_FAILED', detail }
      : { outcome: 'refused', status, detail }
  }
}
/** Names in a subject come from routes.yaml and from clients. */
const oneLine = (words: string): string =>
  words.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, MAX_SUBJECT)
const withoutSecret = (words: string, password: string | undefined): string =>
  password === undefined ? words : words.replaceAll(password, '…')

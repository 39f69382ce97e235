/** Reads, changes and shows the webhook settings of an account. */
import { errors } from '../../engine/errors.ts'
import type { Database, HostBase, Row, Sql, Statement } from '../../engine/plugin.ts'
import { moneyIn, printMoney } from '../billing/money.ts'
import { balanceInSql, lockWallet } from '../ledger/views/wallets.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { isoTime, rowReader } from '../operator/rows.ts'
import { OWN_DELIVERY_COLUMNS } from '../rows/work.ts'
import type { NotificationSettings } from '../views.ts'
import { ADDRESSES, LIST_MAILS } from '../webhooks/account-mails.ts'
import { admitAddress } from '../webhooks/address.ts'
import { lastMessage } from '../webhooks/delivery.ts'
import { mailSettingsOf } from '../webhooks/mail.ts'
import { isSecret, makeSecret, maskSecret } from '../webhooks/signature.ts'
import {
  changeSecret,
  closeEndpoint,
  ENDPOINTS,
  LIST_OF,
  openEndpoint,
} from '../webhooks/statements.ts'
import { deleteCrossing, recordCrossing } from './crossings.ts'
import { admitMailCode, changeMail, mailFault, type SavedMail } from './mail-address.ts'

const fault = errors({
  WEBHOOK_SECRET: [
    400,
    'A secret must be whsec_ and the base64 of 24 to 64 bytes; null creates a new one.',
    { param: 'secret' },
  ],
  WEBHOOK_SECRET_ALONE: [400, 'No webhook URL is set; save a URL with the secret.'],
})
const sql = (name: string, text: string): Sql => ({ name: `notifications: ${name}`, text })

const FIND = sql(
  'find',
  `SELECT s.threshold, p.url, p.secret, p.disabled, m.address, m.confirmed,
     ${balanceInSql('a.id')} AS balance
   FROM (SELECT CAST(? AS BIGINT) AS id) a
     LEFT JOIN notification_settings s ON s.account = a.id
     LEFT JOIN ${ENDPOINTS} p ON p.id = a.id
     LEFT JOIN ${ADDRESSES} m ON m.account = a.id`,
)
const THRESHOLD = sql(
  'threshold',
  `INSERT INTO notification_settings (account, threshold) VALUES (?, ?)
   ON CONFLICT (account) DO UPDATE SET threshold = excluded.threshold`,
)
const MAX_DELIVERIES = 10

export interface Settings {
  readonly threshold: bigint | undefined
  readonly url: string | undefined
  readonly secret: string | undefined
  /** ms since 1970. */
  readonly disabledAt: number | undefined
  readonly mail: SavedMail
  /** Nanos. */
  readonly balance: bigint
}
type Reader = Pick<Database, 'read'>
type Writer = Pick<Database, 'read' | 'write' | 'now'>

export const readSettings = async (database: Reader, account: number): Promise<Settings> => {
  const [row = {}] = await database.read(FIND, [account])
  return {
    threshold: row.threshold == null ? undefined : nanosOf(row.threshold),
    url: row.url == null ? undefined : String(row.url),
    secret: row.secret == null ? undefined : String(row.secret),
    disabledAt: row.disabled == null ? undefined : Number(row.disabled),
    mail: {
      address: row.address == null ? undefined : String(row.address),
      isConfirmed: row.confirmed != null,
    },
    balance: nanosOf(row.balance ?? 0),
  }
}
const nanosOf = (value: NonNullable<Row[string]>): bigint => BigInt(value as number | bigint)

/** A body that the schema of the route accepts. Absent members stay unchanged. */
export interface Change {
  readonly url?: string | null
  readonly threshold?: string | number | null
  readonly secret?: string | null
  readonly mail?: string | null
  /** The code of the mail that confirms the address. */
  readonly mail_code?: string
}
/** Returns the secret if it is new. */
export const saveSettings = async (
  database: Writer,
  account: number,
  change: Change,
  host: Pick<HostBase, 'checkUrl' | 'section'>,
): Promise<string | undefined> => {
  const before = await readSettings(database, account)
  const url = change.url == null ? change.url : await admitAddress(change.url, host)
  const threshold =
    change.threshold == null ? change.threshold : moneyIn(change.threshold, 'threshold')
  const secret = secretOf(before, url, change.secret)
  const now = await database.now()
  const canMail = mailSettingsOf(host) !== undefined
  const mail = changeMail(account, change.mail, { before: before.mail, canMail, now })
  const confirmation =
    change.mail_code === undefined
      ? []
      : [await admitMailCode(database, account, change.mail_code, now)]
  const after = {
    url: url === undefined ? before.url : (url ?? undefined),
    threshold: threshold === undefined ? before.threshold : (threshold ?? undefined),
    hasMail: mail.after.isConfirmed || confirmation.length > 0,
  }
  await writeWithRetry(database, [
    // Serialises with charges: each charge uses either the old threshold or the new one.
    lockWallet(account),
    (after.url === undefined && !after.hasMail) || after.threshold === undefined
      ? deleteCrossing(account)
      : recordCrossing(account, after.threshold, now),
    ...mail.statements,
    ...confirmation,
    ...(threshold === undefined ? [] : [{ sql: THRESHOLD, values: [account, threshold] }]),
    ...endpointOf(account, url, secret ?? before.secret ?? makeSecret()),
    ...(secret === undefined ? [] : [changeSecret(account, secret)]),
  ]).catch(mailFault)
  return secret
}

const secretOf = (
  { url: savedUrl, secret: savedSecret }: Settings,
  url: string | null | undefined,
  newSecret: string | null | undefined,
): string | undefined => {
  if (newSecret !== undefined && (url === null || (url ?? savedUrl) === undefined))
    throw fault('WEBHOOK_SECRET_ALONE')
  if (typeof newSecret === 'string' && !isSecret(newSecret)) throw fault('WEBHOOK_SECRET')
  if (newSecret !== undefined) return newSecret ?? makeSecret()
  return typeof url === 'string' && savedSecret === undefined ? makeSecret() : undefined
}
const endpointOf = (
  account: number,
  url: string | null | undefined,
  secret: string,
): readonly Statement[] => {
  if (url === undefined) return []
  return url === null ? closeEndpoint(account) : [openEndpoint(account, url, secret)]
}

/** `secret`: a new secret, which is shown in full only this once. */
export const showSettings = async (
  { database, ...host }: Pick<HostBase, 'section'> & { readonly database: Reader },
  account: number,
  secret?: string,
): Promise<NotificationSettings> => {
  const settings = await readSettings(database, account)
  const rows = await database.read(LIST_OF, [account, MAX_DELIVERIES])
  const mails = await database.read(LIST_MAILS, [account, MAX_DELIVERIES])
  return {
    url: settings.url ?? null,
    threshold: settings.threshold === undefined ? null : printMoney(settings.threshold),
    secret: secret ?? (settings.secret === undefined ? null : maskSecret(settings.secret)),
    disabled: settings.disabledAt === undefined ? null : isoTime(settings.disabledAt),
    deliveries: rows.map(showDelivery),
    can_mail: mailSettingsOf(host) !== undefined,
    mail: settings.mail.address ?? null,
    mail_confirmed: settings.mail.isConfirmed,
    mails: mails.map(showDelivery),
  }
}
/** The state of an outbox event. */
export const showDelivery = rowReader(OWN_DELIVERY_COLUMNS, row => ({
  next: row.state === 'pending' ? isoTime(row.due) : null,
  message: lastMessage(row),
}))

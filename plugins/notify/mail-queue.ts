/** The outbox of mails to accounts: codes that confirm addresses, and low balances. */
import type { HostBase, Row } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { balanceOf, printMoney } from '../billing/money.ts'
import { withAccountNames } from '../credentials/statements.ts'
import {
  CODE_LIFETIME,
  DUE,
  deleteOldMails,
  NEXT,
  PENDING,
  recordMailAttempt,
} from '../webhooks/account-mails.ts'
import { deliverMail, type MailMessage, type MailSettings } from '../webhooks/mail.ts'
import type { DeliveryQueue } from '../webhooks/queue.ts'
import { DELAYS } from '../webhooks/schedule.ts'

/** Later a low balance is old, and a code has expired. */
const MAX_AGE = CODE_LIFETIME
const NEXT_WITH_NAME = { name: 'account mails: next', text: withAccountNames(NEXT, 'account') }
const MAIL_DELAYS = DELAYS.slice(0, 5)
export const MAIL_ATTEMPTS = MAIL_DELAYS.length + 1
const REMOVED = Promise.resolve({ outcome: 'removed' })

export const mailQueue = (
  host: Pick<HostBase, 'mail' | 'section'>,
  settings: MailSettings,
): DeliveryQueue => {
  const { name: currency } = configuredCurrency(host)
  return {
    noun: 'account mail',
    due: DUE,
    next: NEXT_WITH_NAME,
    pending: PENDING,
    delays: MAIL_DELAYS,
    requestOf(row) {
      const message = messageOf(row, settings.name, currency)
      const send = (at: number) =>
        at - Number(row.created) > MAX_AGE || !message
          ? REMOVED
          : deliverMail(host, settings, message, at)
      return { id: String(row.id), kind: 'mail', receiver: String(row.address), send }
    },
    recordAttempt: recordMailAttempt,
    deleteOld: deleteOldMails,
    countAttempt: (metrics, outcome) => metrics.count('account_mail_attempts_total', { outcome }),
    measure: (metrics, pending) => metrics.gauge('account_mails_pending', {}, pending),
  }
}

/** Undefined if the code was used meanwhile. */
const messageOf = (row: Row, gateway: string, currency: string): MailMessage | undefined => {
  const head = { id: String(row.id), to: String(row.address) }
  const account = String(row.account_name)
  if (row.kind === 'low') return { ...head, ...lowMail(row, { account, gateway, currency }) }
  if (row.code === null) return undefined
  const subject = `${gateway}: confirm this address`
  return {
    ...head,
    subject,
    text: `The account ${account} of ${gateway} asks for mails to this address when its balance is low.

Code: ${row.code}

Enter the code in the console, on the page Notifications, or send it as "mail_code" to
PUT /api/notifications. It is valid for a day.

If you did not ask for this, ignore this mail: without the code no mail about a balance comes.
`,
  }
}
const lowMail = (
  row: Row,
  { account, gateway, currency }: { account: string; gateway: string; currency: string },
) => {
  const [balance, threshold] = [row.balance, row.threshold].map(each => BigInt(each as bigint))
  const amount = `${balanceOf(balance ?? 0n)} ${currency}`
  return {
    subject: `${gateway}: the balance of ${account} is ${amount}`,
    text: `The balance of the account ${account} of ${gateway} fell below ${printMoney(threshold ?? 0n)} ${currency}.
It was ${amount} on ${new Date(Number(row.created)).toISOString()}.

Calls are refused when the balance is used up.

To stop these mails, remove the address in the console, on the page Notifications.
`,
  }
}

/** The mail address of an account: saved, confirmed by a code, and removed. */
import { randomInt } from 'node:crypto'
import { errors } from '../../engine/errors.ts'
import type { Database, Statement } from '../../engine/plugin.ts'
import { isCode } from '../ledger/faults.ts'
import {
  addCodeMail,
  confirmAddress,
  MAX_CODES,
  removeAddress,
  setAddress,
  tryCode,
} from '../webhooks/account-mails.ts'
import { isAddress } from '../webhooks/mail.ts'
import { makeEventId } from '../webhooks/statements.ts'
import { MAIL_ATTEMPTS } from './mail-queue.ts'

const fault = errors({
  MAIL_ADDRESS: [
    400,
    'The mail address must be one address of ASCII characters, such as ops@example.com.',
    { param: 'mail' },
  ],
  MAIL_OFF: [
    409,
    'This gateway sends no mails: its operator has not set `mail:`.',
    { param: 'mail' },
  ],
  MAIL_LIMIT: [
    429,
    `At most ${MAX_CODES} codes are sent in 24 hours; try again later.`,
    { param: 'mail' },
  ],
  MAIL_CODE: [
    400,
    'The code is wrong, was tried too often, or is older than a day; save the address again for a new one.',
    { param: 'mail_code' },
  ],
})
/** Without letters and digits that look alike: 32 to the power of 8. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const makeMailCode = (): string =>
  Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join('')

export interface SavedMail {
  readonly address: string | undefined
  readonly isConfirmed: boolean
}
/** Statements that change the address, and the address after them. `mail`: undefined for no change,
 *  null to remove it. An address that is confirmed stays so. Throws MAIL_ADDRESS and MAIL_OFF. */
export const changeMail = (
  account: number,
  mail: string | null | undefined,
  { before, canMail, now }: { before: SavedMail; canMail: boolean; now: number },
): { readonly after: SavedMail; readonly statements: readonly Statement[] } => {
  if (mail === undefined || (mail === before.address && before.isConfirmed))
    return { after: before, statements: [] }
  if (mail === null)
    return {
      after: { address: undefined, isConfirmed: false },
      statements: removeAddress(account),
    }
  if (!isAddress(mail)) throw fault('MAIL_ADDRESS')
  if (!canMail) throw fault('MAIL_OFF')
  return {
    after: { address: mail, isConfirmed: false },
    statements: [
      ...setAddress({ account, address: mail, code: makeMailCode(), now }),
      addCodeMail({ id: makeEventId(now), account, attempts: MAIL_ATTEMPTS, now }),
    ],
  }
}

/** Counts the attempt before the comparison, so that parallel requests cannot guess more often.
 *  Returns the statement that confirms the address. Rejects with MAIL_CODE. */
export const admitMailCode = async (
  database: Pick<Database, 'write'>,
  account: number,
  text: string,
  now: number,
): Promise<Statement> => {
  const [[row] = []] = await database.write([tryCode(account, now)]).catch(mailFault)
  const code = text.trim().toUpperCase()
  if (row?.code !== code) throw fault('MAIL_CODE')
  return confirmAddress(account, code, now)
}
/** The fault of a statement of this file, or the error itself. */
export const mailFault = (error: unknown): never => {
  if (isCode(error, 'MAIL_LIMIT')) throw fault('MAIL_LIMIT')
  throw isCode(error, 'MAIL_CODE') ? fault('MAIL_CODE') : error
}

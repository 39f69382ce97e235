/** The operations on mails to accounts and on their addresses. */
import { object, required } from '../../../../engine/config/shape.ts'
import { findAccount } from '../../../credentials/find.ts'
import { withAccountNames } from '../../../credentials/statements.ts'
import { MAIL_COLUMNS } from '../../../rows/work.ts'
import {
  list as listOf,
  nullable as nullableView,
  object as row,
  text as word,
} from '../../../shapes.ts'
import {
  ADDRESSES_OF_ALL,
  MAILS,
  removeAddress,
  setAddress,
} from '../../../webhooks/account-mails.ts'
import { lastMessage } from '../../../webhooks/delivery.ts'
import { address as mailAddress } from '../../../webhooks/mail.ts'
import { ACCOUNT, ANY_ACCOUNT, nullable } from '../../arguments.ts'
import { type Operation, operation } from '../../operation.ts'
import { isoTime, rowReader } from '../../rows.ts'

const MAX_MAILS = 100
const MAILS_OF_ALL = {
  name: 'operator: mails',
  text: `${withAccountNames(
    `${MAILS} WHERE (CAST(? AS BIGINT) IS NULL OR e.account = ?) ORDER BY e.id DESC LIMIT ?`,
    'account',
  )} ORDER BY r.id DESC`,
}
const ADDRESS_OF = { name: 'operator: mail address', text: `${ADDRESSES_OF_ALL} WHERE account = ?` }

const mails = operation({
  name: 'webhooks mails',
  summary: 'Lists the last mails to accounts, newest first.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, { account: ANY_ACCOUNT }),
  result: listOf(row(MAIL_COLUMNS)),
  command: {
    arguments: '[ACCOUNT]',
    example: 'tollgate webhooks mails acme',
    print: rows => ({
      rows: rows.map(({ message: last, ...mail }) => ({ ...mail, last })),
      json: rows,
    }),
  },
  async run({ store }, { account }) {
    const id = account === undefined ? null : (await findAccount(store, account)).id
    const rows = await store.read(MAILS_OF_ALL, [id, id, MAX_MAILS])
    return { data: rows.map(mailRowOf) }
  },
})
const mailRowOf = rowReader(MAIL_COLUMNS, mail => ({
  account: String(mail.account_name ?? mail.account),
  next: mail.state === 'pending' ? isoTime(mail.due) : null,
  message: lastMessage(mail),
}))

const setMail = operation({
  name: 'webhooks mail',
  summary: 'Sets or removes the address that gets mails of a low balance, without a code.',
  scope: 'operator',
  arguments: object(undefined, {
    account: ACCOUNT,
    address: required(nullable(mailAddress('The address; null removes it.', 'ops@example.com'))),
  }),
  result: row({ account: word, address: nullableView(word) }),
  command: {
    arguments: 'ACCOUNT ADDRESS',
    example: 'tollgate webhooks mail acme ops@example.com',
    read: ({ positionals: [account = '', address = ''] }) => ({
      account,
      address: address === 'none' ? null : address,
    }),
    print: ({ account, address }: { account: string; address: string | null }) => ({
      rows: [{ account, address: address ?? 'none' }],
    }),
  },
  async run({ store, now }, { account: nameOrId, address }) {
    const { id, name } = await findAccount(store, nameOrId)
    const [before] = await store.read(ADDRESS_OF, [id])
    const statements =
      address === null
        ? removeAddress(id)
        : setAddress({ account: id, address, code: undefined, now })
    await store.change(statements, {
      object: `account ${id}`,
      before: { mail: before === undefined ? null : String(before.address) },
      after: { mail: address },
    })
    return { data: { account: name, address } }
  },
})

/** In the order of the help. */
export const mailOperations: readonly Operation[] = [mails, setMail]

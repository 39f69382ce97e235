/** Operations that read accounts. */
import { countOf, textOf } from '../../../engine/cli/kit.ts'
import { flag, integer, object } from '../../../engine/config/shape.ts'
import { findAccount } from '../../credentials/find.ts'
import { ACCOUNT_COLUMNS, ACCOUNT_DETAILS } from '../../rows/accounts.ts'
import { USAGE_CELL } from '../../rows/money.ts'
import { list as listOf, object as row } from '../../shapes.ts'
import type { AccountDetails, AccountRow } from '../../views.ts'
import { ACCOUNT_QUERY, accountsPage } from '../account-pages.ts'
import { accountText } from '../account-text.ts'
import { accountDetails, accountRow } from '../accounts.ts'
import { ACCOUNT } from '../arguments.ts'
import { operation } from '../operation.ts'
import { usageCells } from '../usage.ts'

export const accountsList = operation({
  name: 'accounts list',
  summary: 'Lists the accounts with their balance and the number of their keys.',
  scope: 'operator',
  reads: true,
  arguments: ACCOUNT_QUERY,
  result: listOf(row(ACCOUNT_COLUMNS)),
  command: {
    example: 'tollgate accounts list --json',
    options: { all: { type: 'boolean', summary: 'deleted accounts too' } },
    print: accounts => ({
      rows: accounts.map(({ used: _, overdraft: _o, limits: _l, ...cells }) => cells),
    }),
  },
  run: ({ store }, query) => accountsPage(store, query),
})

const MAX_CALLS = 1_000
const USUAL_CALLS = 5
export const accountsShow = operation({
  name: 'accounts show',
  summary: 'Shows an account: balance, use of today and this month, keys and last calls.',
  scope: 'operator',
  reads: true,
  earlier: 'GET account',
  arguments: object(undefined, {
    account: ACCOUNT,
    calls: integer('How many of the last calls; 5 by default.', {
      minimum: 0,
      maximum: MAX_CALLS,
    }),
    deleted: flag('Also an account that was deleted.'),
    brief: flag('Without holds, spending, keys and calls, which need more reads.'),
  }),
  result: row(ACCOUNT_COLUMNS, ACCOUNT_DETAILS),
  command: {
    arguments: 'NAME',
    example: 'tollgate accounts show ann',
    options: { calls: { type: 'string', value: 'COUNT', summary: 'how many calls; 5 by default' } },
    read({ positionals: [account = ''], values }) {
      const calls = countOf(textOf(values.calls), 'calls', MAX_CALLS)
      return { account, deleted: true, ...(calls !== undefined && { calls }) }
    },
    print(details: AccountRow | AccountDetails, currency) {
      const text = 'holds' in details ? accountText(details, currency) : details.name
      return { text, json: details }
    },
  },
  async run({ store, now }, { account, calls = USUAL_CALLS, deleted = false, brief = false }) {
    if (brief && !deleted) return { data: await accountRow(store, account) }
    return { data: await accountDetails(store, account, { now, calls, isDeletedToo: deleted }) }
  },
})

const MOST_DAYS = 92
const USUAL_DAYS = 30
const DAY = 86_400_000
export const accountsUsage = operation({
  name: 'accounts usage',
  summary: 'Shows the calls, cost and tokens of an account by day and model.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, {
    account: ACCOUNT,
    days: integer('How many days, with today (UTC); 30 by default.', {
      minimum: 1,
      maximum: MOST_DAYS,
    }),
  }),
  result: listOf(row(USAGE_CELL)),
  command: {
    arguments: 'NAME',
    example: 'tollgate accounts usage ann --days 7',
    options: { days: { type: 'string', value: 'COUNT', summary: 'how many days; 30 by default' } },
    read({ positionals: [account = ''], values }) {
      const days = countOf(textOf(values.days), 'days', MOST_DAYS)
      return { account, ...(days !== undefined && { days }) }
    },
    print: rows => ({ rows }),
  },
  async run({ store, now }, { account, days = USUAL_DAYS }) {
    const { id } = await findAccount(store, account, { isDeletedToo: true })
    const from = (Math.floor(now / DAY) - days + 1) * DAY
    return { data: await usageCells(store, id, { from, to: now + 1 }) }
  },
})

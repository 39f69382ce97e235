/** Statements of accounts: what a customer had, paid and used within days. */

import { textOf, UsageError } from '../../../engine/cli/kit.ts'
import { object, oneOf, required, text } from '../../../engine/config/shape.ts'
import { configuredCurrency } from '../../billing/currency.ts'
import { printMoney } from '../../billing/money.ts'
import { tokenColumns } from '../../billing/tokens.ts'
import { findAccount } from '../../credentials/find.ts'
import {
  type Days,
  readStatement,
  type StatementCounts,
} from '../../ledger/views/account-statements.ts'
import { STATEMENT } from '../../rows/money.ts'
import { list as listOf } from '../../shapes.ts'
import type { AccountStatement, StatementCountsRow } from '../../views.ts'
import { accountsPage } from '../account-pages.ts'
import { ANY_ACCOUNT, CURSOR } from '../arguments.ts'
import { queryFault } from '../faults.ts'
import { type Context, type Operation, operation } from '../operation.ts'
import { FORMATS, statementText } from './statement-texts.ts'

const DAY = 86_400_000
const dayText = (day: number): string => new Date(day * DAY).toISOString().slice(0, 10)

/** `2026-11`, or two dates of which the second is not included. */
const daysOf = (period: string): Days => {
  const [, from = '', to] = /^(\d{4}-\d\d(?:-\d\d)?)(?:\.\.(\d{4}-\d\d-\d\d))?$/.exec(period) ?? []
  const first = Date.parse(from.length === 7 ? `${from}-01` : from)
  const start = new Date(first)
  const after =
    from.length === 7 ? Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1) : first + DAY
  const last = to === undefined ? after : Date.parse(to)
  const isOfCalendar = (at: number, text: string) => dayText(at / DAY).startsWith(text)
  if (!(first < last) || !isOfCalendar(first, from) || !isOfCalendar(last, to ?? ''))
    throw queryFault(
      'period',
      'a month such as 2026-11, a day, or days such as 2026-11-01..2026-11-15',
    )
  return { first: first / DAY, last: last / DAY }
}

const countsRow = (line: StatementCounts): StatementCountsRow => ({
  calls: line.calls,
  ...tokenColumns(line),
  amount: printMoney(line.amount),
  refunded: printMoney(line.refunded),
})
const statementOf = async (
  { store, host }: Context,
  account: { readonly id: number; readonly name: string },
  days: Days,
): Promise<AccountStatement> => {
  const { lines, tags, pending, ...amounts } = await readStatement(store, account.id, days)
  return {
    account: account.name,
    number: account.id,
    currency: configuredCurrency(host).name,
    from: dayText(days.first),
    to: dayText(days.last),
    opening: printMoney(amounts.opening),
    credited: printMoney(amounts.credited),
    debited: printMoney(amounts.debited),
    refunded: printMoney(amounts.refunded),
    charged: printMoney(amounts.charged),
    planned: printMoney(amounts.planned),
    closing: printMoney(amounts.closing),
    pending,
    lines: lines.map(line => ({
      day: dayText(line.day),
      key: line.key === 0 ? null : line.key,
      member: line.member === 0 ? null : line.member,
      member_name: line.memberName,
      model: line.model,
      failed: line.failed,
      ...countsRow(line),
    })),
    tags: tags.map(line => ({ tag: line.tag, ...countsRow(line) })),
  }
}

const show = operation({
  name: 'statements show',
  summary: 'Shows what accounts had, paid and used in a month: it adds up to the ledger.',
  scope: 'both',
  reads: true,
  arguments: object(undefined, {
    period: required(
      text('A month (UTC) such as 2026-11, a day, or days such as 2026-11-01..2026-11-15.', {
        maxLength: 24,
      }),
    ),
    account: ANY_ACCOUNT,
    format: oneOf(`${FORMATS.join(', ')}: statements as a text.`, FORMATS),
    cursor: CURSOR,
  }),
  result: listOf(STATEMENT),
  command: {
    arguments: 'PERIOD',
    example: 'tollgate statements show 2026-11 --account ann --csv > statement.csv',
    options: {
      account: { type: 'string', value: 'NAME', summary: 'only this account' },
      csv: { type: 'boolean', summary: 'CSV for spreadsheets' },
      html: { type: 'boolean', summary: 'a page to print' },
      focus: { type: 'boolean', summary: 'CSV in the columns of FOCUS 1.2' },
    },
    read: ({ positionals: [period = ''], values }) => {
      const account = textOf(values.account)
      const [format, second] = FORMATS.filter(each => values[each] === true)
      if (second !== undefined) throw new UsageError(`use either --${format} or --${second}`)
      return {
        period,
        ...(account !== undefined && { account }),
        ...(format !== undefined && { format }),
      }
    },
    print: (all: readonly AccountStatement[]) => {
      const [{ text: whole } = {}] = all
      if (whole !== undefined) return { text: all.map(each => each.text).join('') }
      return {
        rows: all.map(({ lines: _, tags: _s, number: _n, text: _t, ...cells }) => ({ ...cells })),
        json: all,
      }
    },
  },
  own: [{ view: 'statements', access: 'team', without: ['cursor'] }],
  async run(context, { period, account: nameOrId, format, cursor }) {
    const days = daysOf(period)
    const { store, own } = context
    const one = own === undefined ? nameOrId : String(own)
    const page =
      one === undefined
        ? await accountsPage(store, { all: true, ...(cursor !== undefined && { cursor }) })
        : { data: [await findAccount(store, one, { isDeletedToo: true })], next: null }
    const statements: AccountStatement[] = []
    for (const account of page.data) {
      const statement = await statementOf(context, account, days)
      // A statement of all accounts leaves out those without a balance and without entries.
      const isEmpty =
        statement.lines.length === 0 && statement.opening === '0' && statement.closing === '0'
      if (one === undefined && isEmpty) continue
      const isFirst = statements.length === 0 && cursor === undefined
      statements.push(
        format === undefined
          ? statement
          : { ...statement, text: statementText(format, statement, isFirst) },
      )
    }
    return { data: statements, next: page.next }
  },
})
export const statementOperations: readonly Operation[] = [show]

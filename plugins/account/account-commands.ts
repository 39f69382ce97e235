/** `tollgate accounts list | show | rename | delete`. */
import { countOf, printable, textOf } from '../../engine/cli/kit.ts'
import type { SingleCommand } from '../../engine/plugin.ts'
import { nameOf } from '../credentials/input.ts'
import {
  type AccountDetails,
  accountDetails,
  deleteAccount,
  listAccounts,
  renameAccount,
} from '../operator/accounts.ts'
import type { KeyView } from '../views.ts'

const MAX_CALLS = 1_000

export const accountSubcommands: Readonly<Record<string, SingleCommand>> = {
  list: {
    summary: 'Lists the accounts with their balance and the number of their keys.',
    example: 'tollgate accounts list --json',
    options: { all: { type: 'boolean', summary: 'deleted accounts too' } },
    async run({ values }, { database }) {
      const accounts = await listAccounts(database)
      const rows = accounts.filter(({ state }) => values.all === true || state !== 'deleted')
      return { rows: rows.map(row => ({ ...row })), json: rows }
    },
  },
  show: {
    arguments: 'NAME',
    summary: 'Shows an account: balance, use of today and this month, keys and last calls.',
    example: 'tollgate accounts show ann',
    options: { calls: { type: 'string', value: 'COUNT', summary: 'how many calls; 5 by default' } },
    async run({ positionals: [name = ''], values }, { database }) {
      const calls = countOf(textOf(values.calls), 'calls', MAX_CALLS) ?? 5
      const details = await accountDetails(database, name, { now: await database.now(), calls })
      return { text: textOfAccount(details), json: details }
    },
  },
  rename: {
    arguments: 'NAME NEW-NAME',
    summary: 'Renames an account; its keys, money and number stay.',
    example: 'tollgate accounts rename ann ann-smith',
    async run({ positionals: [name = '', newName] }, { database }) {
      const account = await renameAccount(database, name, nameOf(newName, 'An account'))
      return { rows: [{ ...account }], json: account }
    },
  },
  delete: {
    arguments: 'NAME',
    summary: 'Deletes an account: its keys end, its name is free, its ledger stays.',
    example: 'tollgate accounts delete ann',
    options: {
      force: { type: 'boolean', summary: 'also with money, debts, running calls or open tasks' },
    },
    async run({ positionals: [name = ''], values }, { database }) {
      const now = await database.now()
      const account = await deleteAccount(database, name, { now, force: values.force === true })
      const row = { ...account, state: 'deleted' }
      return { rows: [row], json: row }
    },
  },
}

const textOfAccount = (details: AccountDetails): string => {
  const { id, name, role, state, created, balance, holds, used, overdraft, today, month } = details
  const lines = [
    `${printable(name)} (${id}), ${role}, ${state}, since ${created}`,
    `balance    ${balance}, of which running calls hold ${holds}; overdraft ${overdraft}`,
    `used       ${used} in all`,
    `today      ${today.cost} in ${today.calls} calls`,
    `this month ${month.cost} in ${month.calls} calls`,
    `keys       ${details.credentials.length === 0 ? 'none' : ''}`.trimEnd(),
    ...details.credentials.map(key => `  ${keyLine(key)}`),
    `last calls ${details.calls.length === 0 ? 'none' : ''}`.trimEnd(),
    ...details.calls.map(
      ({ request, at, model, key, state: callState, cost }) =>
        `  ${at}  ${cost}  ${printable(model)}  key ${key ?? '-'}  ${callState}  ${printable(request)}`,
    ),
  ]
  return `${lines.join('\n')}\n`
}
const keyLine = ({
  id,
  name,
  key,
  state,
  expires,
  models,
  limits,
  quota,
  quota_period: period,
  remaining,
  used,
}: KeyView) =>
  [
    `${id}  ${printable(name)}  ${key}  ${state}`,
    `used ${used}`,
    ...(quota === null
      ? []
      : [`quota ${remaining} of ${quota}${period ? ` a ${period}` : ''} left`]),
    ...(models ? [`models ${printable(models.join(', '))}`] : []),
    ...Object.entries(limits ?? {}).map(([kind, limit]) => `${kind} ${limit}`),
    ...(expires === null ? [] : [`until ${expires}`]),
  ].join('  ')

/** The command `tollgate batches`: lists, shows and cancels batches of all accounts. */
import { textOf, UsageError } from '../../engine/cli/kit.ts'
import type { Command, HostBase, SingleCommand } from '../../engine/plugin.ts'
import { findAccount } from '../credentials/find.ts'
import { type BatchFilter, type OperatorParts, operatorParts } from '../operator/contributions.ts'
import { type Batch, batchOf, batchView, STATES } from './batch.ts'
import { fault } from './faults.ts'
import { FIND_NAMED, LIST_ANY } from './statements.ts'
import { cancelFound } from './views.ts'

const MAX_BATCHES = 100

/** A batch with the name of its account. */
interface NamedBatch {
  readonly batch: Batch
  readonly accountName: string
}
const findBatch = async ({ database }: HostBase, id: string): Promise<NamedBatch> => {
  const [row] = await database.read(FIND_NAMED, [id])
  if (!row) throw fault('BATCH_UNKNOWN', [id.slice(0, 100)])
  return { batch: batchOf(row), accountName: String(row.account_name ?? '') }
}
const timeOf = (ms: number): string => new Date(ms).toISOString()
const summaryOf = ({ batch, accountName }: NamedBatch) => ({
  id: batch.id,
  account: batch.account,
  account_name: accountName,
  endpoint: batch.endpoint,
  state: batch.state,
  total: batch.total,
  completed: batch.completed,
  failed: batch.failed,
  created: timeOf(batch.created),
  expires: timeOf(batch.expires),
  error: batch.errors.map(({ code, message }) => `${code} ${message}`).join('; '),
})

const batchCommands = {
  async list({ database }: HostBase, { account, state }: BatchFilter) {
    const number = account === undefined ? null : (await findAccount(database, account)).id
    const values = [number, number, state ?? null, state ?? null, MAX_BATCHES]
    const rows = await database.read(LIST_ANY, values)
    return rows.map(row =>
      summaryOf({ batch: batchOf(row), accountName: String(row.account_name ?? '') }),
    )
  },
  async show(host: HostBase, id: string) {
    const named = await findBatch(host, id)
    return { ...summaryOf(named), batch: JSON.parse(JSON.stringify(batchView(named.batch))) }
  },
  async cancel(host: HostBase, id: string) {
    await cancelFound(host, async () => (await findBatch(host, id)).batch)
    return summaryOf(await findBatch(host, id))
  },
} satisfies NonNullable<OperatorParts['batches']>

/** Lets endpoints of operators do what the commands do. */
export const offerToOperators = (host: HostBase): void => {
  operatorParts(host).batches = batchCommands
}

const subcommands: Readonly<Record<string, SingleCommand>> = {
  list: {
    summary: `Lists batches, newest first: at most ${MAX_BATCHES}.`,
    example: 'tollgate batches list --account ann --state in_progress',
    options: {
      account: { type: 'string', value: 'NAME', summary: 'only batches of this account' },
      state: {
        type: 'string',
        value: 'STATE',
        summary: `only batches in this state: ${STATES.join(', ')}`,
      },
    },
    async run({ values }, host) {
      const [account, state] = [textOf(values.account), textOf(values.state)]
      if (state !== undefined && !STATES.some(each => each === state))
        throw new UsageError(`--state must be one of ${STATES.join(', ')}`)
      return { rows: await batchCommands.list(host, { account, state }) }
    },
  },
  show: {
    arguments: 'ID',
    summary: 'Shows one batch, as its customer sees it.',
    example: 'tollgate batches show batch_6f1d0a3c9b7e4d2f8a5c1e0b3d7f9a24',
    async run({ positionals: [id = ''] }, host) {
      const view = await batchCommands.show(host, id)
      return { text: JSON.stringify(view, null, 2), json: view }
    },
  },
  cancel: {
    arguments: 'ID',
    summary: 'Cancels a batch: requests under way end and are charged, no other is sent.',
    example: 'tollgate batches cancel batch_6f1d0a3c9b7e4d2f8a5c1e0b3d7f9a24',
    async run({ positionals: [id = ''] }, host) {
      return { rows: [await batchCommands.cancel(host, id)] }
    },
  },
}

export const commands: Readonly<Record<string, Command>> = {
  batches: { summary: 'Shows and cancels batches of all accounts.', subcommands },
}

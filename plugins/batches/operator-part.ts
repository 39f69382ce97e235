/** Actions of operators on batches: the operations `batches` of the table run these. */
import type { Command, HostBase } from '../../engine/plugin.ts'
import { findAccount } from '../credentials/find.ts'
import { subcommandsOf } from '../operator/command-line.ts'
import { type BatchPart, contribute } from '../operator/contributions.ts'
import { batchOperations } from '../operator/operations/batches.ts'
import type { BatchRow } from '../views.ts'
import { type Batch, batchOf, batchView } from './batch.ts'
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
const summaryOf = ({ batch, accountName }: NamedBatch): BatchRow => ({
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

const batchPart: BatchPart = {
  async list({ database }, { account, state }) {
    const number = account === undefined ? null : (await findAccount(database, account)).id
    const values = [number, number, state ?? null, state ?? null, MAX_BATCHES]
    const rows = await database.read(LIST_ANY, values)
    return rows.map(row =>
      summaryOf({ batch: batchOf(row), accountName: String(row.account_name ?? '') }),
    )
  },
  async show(host, id) {
    const named = await findBatch(host, id)
    return { ...summaryOf(named), batch: JSON.parse(JSON.stringify(batchView(named.batch))) }
  },
  async cancel({ host, store }, id) {
    await cancelFound(
      async () => (await findBatch(host, id)).batch,
      (list, { state }) =>
        store.change(list, {
          object: `batch ${id}`,
          before: { state },
          after: { state: 'cancelling' },
        }),
    )
    return summaryOf(await findBatch(host, id))
  },
}

/** Lets the operations of operators run. */
export const offerToOperators = (host: HostBase): void => {
  contribute(host, 'batches', batchPart)
}

export const commands: Readonly<Record<string, Command>> = {
  batches: {
    summary: 'Shows and cancels batches of all accounts.',
    subcommands: subcommandsOf(batchOperations, offerToOperators),
  },
}

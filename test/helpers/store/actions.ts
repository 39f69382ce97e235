/** The log of actions over a real store: runs operations, reads the rows, changes them as an
 *  intruder would. */
import type { HostBase } from '../../../engine/plugin.ts'
import type { OpenDatabase } from '../../../engine/store/database.ts'
import type { Actor } from '../../../plugins/operator/operation.ts'
import type { ActionReport, ActionView } from '../../../plugins/views.ts'
import { hostOver } from './accounts.ts'
import { runAs } from './operations.ts'
import { sql } from './store.ts'

export const OPERATOR: Actor = {
  via: 'admin API',
  name: 'root',
  account: 1,
  credential: 'session 4',
  address: '198.51.100.9',
  request: 'req_1',
}
export const run = <T = { readonly [name: string]: unknown }>(
  host: HostBase,
  name: string,
  args: object,
  more: { readonly own?: number } = {},
): Promise<T> => runAs({ host, actor: OPERATOR, ...more }, name, args)

export const actionsIn = (host: HostBase): Promise<readonly ActionView[]> =>
  run(host, 'actions list', { limit: 1_000 })
export const verify = (host: HostBase, heads?: string): Promise<ActionReport> =>
  run(host, 'actions verify', heads === undefined ? {} : { heads })
export const kindsIn = ({ findings }: ActionReport): readonly string[] =>
  findings.map(({ kind, seq }) => `${kind} ${seq}`)

/** A host with a section `actions:`. */
export const hostWith = (database: OpenDatabase, actions: object): HostBase => ({
  ...hostOver(database),
  section: <T>(name: string) => (name === 'actions' ? actions : {}) as T,
})
/** Runs a statement on the store, beside every gateway. */
export const intrude = async (database: OpenDatabase, text: string): Promise<void> => {
  await database.write([{ sql: sql(`intrude: ${text}`, text), values: [] }])
}

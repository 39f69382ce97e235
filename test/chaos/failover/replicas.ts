/** A store of two PostgreSQL servers, a primary and its synchronous standby, which take turns: each
 *  fault ends with the other server as the primary and a new standby. */
import { eventually } from '../../helpers/gateway/primary.ts'
import { type PostgresServer, startPostgres } from '../../helpers/store/postgres.ts'
import { harmBy, pause, postgresAt, type StoreSetup } from '../stores.ts'

const SYNCHRONOUS = "ALTER SYSTEM SET synchronous_standby_names = '*'"
const ALONE = 'ALTER SYSTEM RESET synchronous_standby_names'
const IN_SYNC = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"

const configure = async (server: PostgresServer, text: string): Promise<void> => {
  await server.ask(text)
  await server.ask('SELECT pg_reload_conf()')
}
/** Makes a stopped server the synchronous standby: from then on the primary acknowledges no commit
 *  that the standby lacks. */
const attach = async (standby: PostgresServer, primary: PostgresServer): Promise<void> => {
  await standby.follow(primary)
  // Its copy of the settings; a promoted server has no standby of its own at first.
  await configure(standby, ALONE)
  await configure(primary, SYNCHRONOUS)
  await eventually(async () => (await primary.ask(IN_SYNC)).length > 0)
}

export const createReplicas = async (): Promise<StoreSetup> => {
  let [primary, standby] = [await startPostgres(), await startPostgres()]
  const url = await primary.create()
  const { username, password, pathname } = new URL(url)
  const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`)
  await standby.stop()
  await attach(standby, primary)
  /** `fence`: ends the old primary. */
  const promote = async (fence: () => Promise<void>): Promise<void> => {
    await standby.ask('SELECT pg_promote()')
    await fence()
    ;[primary, standby] = [standby, primary]
    await attach(standby, primary)
  }
  const harms = {
    /** The primary crashes. */
    async failover(chance: () => number) {
      await primary.stop()
      await pause(chance() * 1_000)
      await promote(async () => {})
    },
    /** The primary does not answer, and keeps its connections. */
    async lost(chance: () => number) {
      const old = primary
      old.signal('SIGSTOP')
      await pause(chance() * 1_000)
      await promote(async () => {
        await pause(3_000)
        const stopped = old.stop()
        old.signal('SIGCONT')
        await stopped
      })
    },
    /** The primary goes on beside the promoted server. */
    async unfenced() {
      const old = primary
      await promote(async () => {
        await pause(3_000)
        await old.stop()
      })
    },
  }
  return {
    ...postgresAt(`postgres://${username}:${password}@${hosts}${pathname}`),
    kinds: Object.keys(harms),
    harm: harmBy(harms),
    async end() {
      await Promise.all([primary.stop(), standby.stop()])
    },
  }
}

/** What a chaos run stands on: the embedded store or PostgreSQL, how each is harmed, and how it is read when everybody is gone. */
import { once } from 'node:events'
import { locate, type OpenDatabase, openDatabase } from '../../engine/store/database.ts'
import { forkSwiftly } from '../helpers/operator.ts'
import { startPostgres } from '../helpers/postgres.ts'

export interface Ground {
  /** For `settings.database`. */
  readonly url: string
  /** What is killed here beside worker, primary and all. */
  readonly kinds: readonly string[]
  /** Harms the store itself; false: that kind is the gateway's. Resolves when it answers again, or will. */
  harm(kind: string, chance: () => number): Promise<boolean>
  /** While the gateway runs, or while nobody is there. */
  open(data: string): Promise<OpenDatabase>
  /** Nobody is there any more, and nobody is given time to come back. Close it by `close`. */
  openLast(data: string): Promise<{ readonly database: OpenDatabase; close(): Promise<void> }>
  /** Faults of the store itself. */
  whole(database: OpenDatabase): Promise<string | undefined>
  end(): Promise<void>
}
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const sqlite = async (): Promise<Ground> => ({
  url: 'sqlite:',
  kinds: ['writer'],
  harm: async () => false,
  open: data => openDatabase({ url: 'sqlite:', data, writeTimeout: 10_000 }),
  async openLast(data) {
    const { url } = locate('sqlite:', data)
    const program = new URL('../../engine/store/sqlite/writer.ts', import.meta.url)
    const writer = forkSwiftly(program, [url, 'power'])
    await once(writer, 'message')
    const database = await openDatabase({ url: 'sqlite:', data, writeTimeout: 10_000 })
    return {
      database,
      async close() {
        await database.close()
        const gone = once(writer, 'exit')
        writer.send({ type: 'stop' })
        await gone
      },
    }
  },
  async whole(database) {
    const text = 'SELECT * FROM pragma_integrity_check()'
    const [row] = await database.read({ name: 'integrity', text }, [])
    return row?.integrity_check === 'ok' ? undefined : JSON.stringify(row)
  },
  end: async () => {},
})

const postgres = async (): Promise<Ground> => {
  const server = await startPostgres()
  const url = await server.create()
  const harms: Readonly<Record<string, (chance: () => number) => Promise<void>>> = {
    async restart() {
      await server.stop()
      await server.start()
    },
    async backends() {
      const others =
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()'
      await server.ask(`${others} AND datname = '${new URL(url).pathname.slice(1)}'`)
    },
    async freeze(chance) {
      server.signal('SIGSTOP')
      await pause(200 + chance() * 3_000)
      server.signal('SIGCONT')
    },
  }
  return {
    url,
    kinds: Object.keys(harms),
    async harm(kind, chance) {
      const act = harms[kind]
      await act?.(chance)
      return act !== undefined
    },
    open: data => openDatabase({ url, data, writeTimeout: 10_000 }),
    async openLast(data) {
      const database = await openDatabase({ url, data, writeTimeout: 10_000 })
      return { database, close: () => database.close() }
    },
    // The server checks its pages itself, and says so when one is read.
    whole: async () => undefined,
    end: () => server.stop(),
  }
}

export const STORES = { sqlite, postgres } as const
export type StoreName = keyof typeof STORES

/** The stores of chaos runs: how to open each, how to harm it, and how to read it after all
 *  processes ended. */
import { once } from 'node:events'
import { locate, type OpenDatabase, openDatabase } from '../../engine/store/database.ts'
import { forkProgram } from '../helpers/operator.ts'
import { startPostgres } from '../helpers/store/postgres.ts'

export interface StoreSetup {
  /** The value of `settings.database`. */
  readonly url: string
  /** Kinds of kills of the store, beside those of the gateway. */
  readonly kinds: readonly string[]
  /** Harms the store itself. Resolves to false if the kind is one of the gateway, otherwise when
   *  the store answers or will. */
  harm(kind: string, chance: () => number): Promise<boolean>
  /** Opens the store while the gateway runs or has ended. */
  open(data: string): Promise<OpenDatabase>
  /** Opens the store after all processes ended for good. End it with `close`. */
  openLast(data: string): Promise<{ readonly database: OpenDatabase; close(): Promise<void> }>
  /** Faults of the store's own files. */
  corruptionIn(database: OpenDatabase): Promise<string | undefined>
  end(): Promise<void>
}
export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const sqlite = async (): Promise<StoreSetup> => ({
  url: 'sqlite:',
  kinds: ['writer'],
  harm: async () => false,
  open: data => openDatabase({ url: 'sqlite:', data, writeTimeout: 60_000 }),
  async openLast(data) {
    const { url } = locate('sqlite:', data)
    const program = new URL('../../engine/store/sqlite/writer.ts', import.meta.url)
    const writer = forkProgram(program, [url, 'power'])
    await once(writer, 'message')
    const database = await openDatabase({ url: 'sqlite:', data, writeTimeout: 60_000 })
    return {
      database,
      async close() {
        await database.close()
        const exit = once(writer, 'exit')
        writer.send({ type: 'stop' })
        await exit
      },
    }
  },
  async corruptionIn(database) {
    const text = 'SELECT * FROM pragma_integrity_check()'
    const [row] = await database.read({ name: 'integrity', text }, [])
    return row?.integrity_check === 'ok' ? undefined : JSON.stringify(row)
  },
  end: async () => {},
})

/** How to open PostgreSQL at this URL. */
export const postgresAt = (url: string): Omit<StoreSetup, 'kinds' | 'harm' | 'end'> => ({
  url,
  open: data => openDatabase({ url, data, writeTimeout: 60_000 }),
  async openLast(data) {
    const database = await openDatabase({ url, data, writeTimeout: 60_000 })
    return { database, close: () => database.close() }
  },
  // The server checks its pages itself and reports faults when it reads one.
  corruptionIn: async () => undefined,
})
const postgres = async (): Promise<StoreSetup> => {
  const server = await startPostgres()
  const url = await server.create()
  const harms: Readonly<Record<string, Harm>> = {
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
    ...postgresAt(url),
    kinds: Object.keys(harms),
    harm: harmBy(harms),
    end: () => server.stop(),
  }
}
type Harm = (chance: () => number) => Promise<void>
export const harmBy =
  (harms: Readonly<Record<string, Harm>>): StoreSetup['harm'] =>
  async (kind, chance) => {
    const harmStore = harms[kind]
    await harmStore?.(chance)
    return harmStore !== undefined
  }

export const STORES = { sqlite, postgres } as const
export type StoreName = keyof typeof STORES

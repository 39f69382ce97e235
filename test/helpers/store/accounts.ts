/** Runs the `auth` plugin over a real store: a host with the members that it needs, and callers
 *  with their credentials. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Database, Exchange, Host, Request, Stage } from '../../../engine/plugin.ts'
import type { OpenDatabase } from '../../../engine/store/database.ts'
import { makeFolder } from '../../../engine/store/make-folder.ts'
import { migrations as actionTables } from '../../../plugins/action-log/tables.ts'
import auth from '../../../plugins/auth/index.ts'
import { makeSecret, type Secret } from '../../../plugins/credentials/secret.ts'
import {
  addKey,
  addSession,
  addToken,
  createAccount,
} from '../../../plugins/credentials/statements.ts'
import { ACCOUNT, type Account } from '../../../plugins/slots.ts'
import { inMemory } from '../in-memory.ts'
import { type Store, startStore } from './store.ts'

export interface Caller {
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: string
  readonly kind?: Exchange['kind']
  readonly address?: string
}
type Authenticate = (caller: Caller) => Promise<Account | undefined>
export interface Accounts {
  readonly database: OpenDatabase
  readonly host: Host
  account(name: string, role?: Account['role']): Promise<number>
  key(account: number, more?: { expires?: number; models?: string[] }): Promise<Credential>
  token(account: number): Promise<Credential>
  /** The number of a session of the console. */
  session(account: number): Promise<number>
  /** A route with these options; resolves to the account that it admits. */
  route(options: Parameters<typeof auth.setup>[0], database?: Database): Authenticate
}
interface Credential extends Secret {
  readonly id: number
}

const folders: string[] = []
process.once('exit', () => {
  for (const path of folders) rmSync(path, { recursive: true, force: true })
})
/** One temporary folder a host, which the end of the process removes. */
const makeFolders = (shared: Map<string, object>, name: string): string => {
  const known = shared.get('folder') as { path: string } | undefined
  const path = known?.path ?? mkdtempSync(join(inMemory(), 'tollgate-host-'))
  if (!known) {
    shared.set('folder', { path })
    folders.push(path)
  }
  makeFolder(join(path, name))
  return join(path, name)
}

/** Members that a test does not give are absent: a plugin that needs one throws a TypeError. */
export const hostOver = (database: Database, method = 'POST'): Host => {
  const shared = new Map<string, object>()
  const host: Partial<Host> = {
    database,
    route: { name: 'x', method, pattern: '/v1/x', has: () => true, option: () => undefined },
    section: <T>() => ({}) as T,
    upstreams: {},
    config: { version: 1, hash: '', isTrial: true },
    folder: name => makeFolders(shared, name),
    url: path => `http://127.0.0.1${path}`,
    memo: (_, make) => make(),
    log: { debug() {}, info() {}, warn() {}, error() {} },
    share: <T extends object>(key: string, version: string, create: (previous?: T) => T) => {
      const at = `${key} ${version}`
      if (!shared.has(at)) shared.set(at, create(undefined))
      return shared.get(at) as T
    },
  }
  return host as Host
}

export const exchangeOf = (caller: Caller): Exchange => {
  const { headers = {}, query = '', kind = 'http', address = '192.0.2.1' } = caller
  const slots = new Map<string, unknown>()
  const client = { address, encrypted: false }
  const fields = { headers, query: new URLSearchParams(query), path: '/v1/x' }
  const request: Partial<Request> = { ...fields, client }
  const exchange = {
    kind,
    request,
    slots: {
      get: (slot: { name: string }) => slots.get(slot.name),
      set: (slot: { name: string }, value: unknown) => void slots.set(slot.name, value),
    },
  }
  return exchange as unknown as Exchange
}

/** Runs a stage's `handle` on a caller; rejects if the stage does. */
export const passThrough = async (stage: Stage, caller: Caller): Promise<Account | undefined> => {
  const exchange = exchangeOf(caller)
  let hasPassed = false
  await stage.handle?.(exchange, async () => {
    hasPassed = true
  })
  if (stage.handle && !hasPassed) throw new Error('neither refused nor let in')
  return exchange.slots.get(ACCOUNT)
}

export const openAccounts = async (t: Test): Promise<Accounts & { readonly store: Store }> => {
  const store = await startStore(t)
  return { store, ...(await openAccountsIn(await store.open())) }
}
/** In a store of either engine. */
export const openAccountsIn = async (database: OpenDatabase): Promise<Accounts> => {
  await database.migrate('actions', actionTables)
  await database.migrate('auth', auth.migrations)
  const host = hostOver(database)
  const idOf = async (list: Parameters<Database['write']>[0]) => {
    const rows = await database.write(list)
    return Number(rows.at(-1)?.[0]?.id)
  }
  return {
    database,
    host,
    account: (name, role = 'customer') => idOf(createAccount({ name, role }, Date.now())),
    async key(account, more = {}) {
      const secret = makeSecret('key')
      const id = await idOf(addKey({ account, name: 'test', secret, ...more }, Date.now()))
      return { ...secret, id }
    },
    async token(account) {
      const secret = makeSecret('system-token')
      return { ...secret, id: await idOf(addToken({ account, name: 'test', secret }, Date.now())) }
    },
    async session(account) {
      const session = { account, name: 'test', secret: makeSecret('session') }
      const [, [row] = []] = await database.write(addSession(session, undefined, Date.now()))
      return Number(row?.id)
    },
    route(options, over) {
      const stage = auth.setup(options, over ? hostOver(over) : host)
      return caller => passThrough(stage, caller)
    },
  }
}

/** Accounts and keys that come from another gateway. A second import of the same file changes
 *  nothing: an account that exists keeps its balance, a secret that exists stays where it is. */
import type { CommandArguments, Database, HostBase, Row, Statement } from '../../engine/plugin.ts'
import type { Action } from '../action-log/action.ts'
import { recordAction } from '../action-log/record.ts'
import { storedQuotaOf } from '../credentials/quota.ts'
import { digestOf, importedSecret } from '../credentials/secret.ts'
import {
  addKey,
  BATCH_SIZE,
  createAccount,
  FIND_ACCOUNT,
  FIND_BATCH,
  HAS_NUMBER,
  LAST_ACCOUNT,
  suspendAccount,
} from '../credentials/statements.ts'
import { creditAccount } from '../ledger/views/wallets.ts'
import type { AccountKey } from '../slots.ts'
import { commandActor } from './command-line.ts'

type Store = Pick<Database, 'read'>
type ReportProgress = NonNullable<CommandArguments['report']>
export interface ImportedKey extends Pick<AccountKey, 'models' | 'limits'> {
  readonly name: string
  readonly secret: string
  /** ms since 1970. */
  readonly expires?: number
  /** Quota units. */
  readonly quota?: number
  readonly quota_period?: 'day' | 'month'
}
export interface ImportedAccount {
  readonly name: string
  readonly role: 'customer' | 'admin'
  /** Nanos, not negative. */
  readonly balance: bigint
  readonly isSuspended: boolean
  readonly keys: readonly ImportedKey[]
}
export interface Imported {
  /** The added rows. */
  accounts: number
  keys: number
  /** The rows that the store had before. */
  knownAccounts: number
  knownKeys: number
  /** Keys whose secret another account has. */
  readonly conflicts: { readonly account: string; readonly key: string }[]
}

/** Most keys and most new accounts of one transaction. */
const MAX_KEYS = 200
const MAX_ACCOUNTS = 50

/** Each transaction is a row of the log of actions. Rejects with CREDIT_TOO_LARGE. Rows that were
 *  written before stay: repeat the import. */
export const importAccounts = async (
  host: HostBase,
  accounts: readonly ImportedAccount[],
  report: ReportProgress = () => {},
): Promise<Imported> => {
  const imported: Imported = {
    accounts: 0,
    keys: 0,
    knownAccounts: 0,
    knownKeys: 0,
    conflicts: [],
  }
  let done = 0
  for (const part of partsOf(accounts)) {
    await importPart(host, part, imported)
    done += wholeOf(part)
    report('import', done, accounts.length, 'accounts')
  }
  return imported
}

const actionOf = (
  { accounts, keys }: Pick<Imported, 'accounts' | 'keys'>,
  part: readonly Part[],
): Action => ({
  operation: 'keys import',
  object: `accounts ${part[0]?.name} to ${part.at(-1)?.name}`,
  before: null,
  after: { accounts, keys },
  actor: commandActor(),
})

/** An account of a transaction with some of its keys. */
interface Part extends ImportedAccount {
  /** Whether its first keys were in an earlier transaction, so that it exists. */
  readonly isRest: boolean
}
/** Splits accounts into transactions: one with more keys than `MAX_KEYS` is in several. */
function* partsOf(accounts: readonly ImportedAccount[]): Generator<readonly Part[]> {
  let part: Part[] = []
  let keys = 0
  for (const account of accounts) {
    for (let from = 0; from === 0 || from < account.keys.length; from += MAX_KEYS) {
      const some = account.keys.slice(from, from + MAX_KEYS)
      if (part.length === MAX_ACCOUNTS || keys + some.length > MAX_KEYS || from > 0) {
        if (part.length > 0) yield part
        part = []
        keys = 0
      }
      part.push({ ...account, keys: some, isRest: from > 0 })
      keys += some.length
    }
  }
  if (part.length > 0) yield part
}

const wholeOf = (part: readonly Part[]): number => part.filter(({ isRest }) => !isRest).length

const ATTEMPTS = 5
const importPart = async (
  host: HostBase,
  part: readonly Part[],
  imported: Imported,
): Promise<void> => {
  const { database } = host
  for (let attempt = 1; ; attempt++) {
    const known = await Promise.all(part.map(({ name }) => idOf(database, name)))
    const owners = await ownersOf(
      database,
      part.flatMap(({ keys }) => keys.map(({ secret }) => digestOf(secret))),
    )
    const [last] = await database.read(LAST_ACCOUNT, [])
    const plan = planOf(part, known, owners, Number(last?.id ?? 0), await database.now())
    try {
      if (plan.list.length > 0) await recordAction(host, plan.list, actionOf(plan, part))
    } catch (error) {
      // Another command created an account, or a key, at the same time.
      const { code } = error as { readonly code?: string }
      const isRace = ['ACCOUNT_EXISTS', 'ACCOUNT_UNKNOWN', 'SECRET_EXISTS'].includes(code ?? '')
      if (isRace && attempt < ATTEMPTS) continue
      throw error
    }
    imported.accounts += plan.accounts
    imported.keys += plan.keys
    imported.knownAccounts += wholeOf(part) - plan.accounts
    imported.knownKeys += plan.knownKeys
    imported.conflicts.push(...plan.conflicts)
    return
  }
}

/** The statements of a part. `known`: the numbers of its accounts that exist. `owners`: the
 *  accounts of its digests that exist. `last`: the highest number of an account. */
const planOf = (
  part: readonly ImportedAccount[],
  known: readonly (number | undefined)[],
  owners: ReadonlyMap<string, number>,
  last: number,
  now: number,
) => {
  const plan = {
    list: [] as Statement[],
    accounts: 0,
    keys: 0,
    knownKeys: 0,
    conflicts: [] as Imported['conflicts'],
  }
  for (const [at, account] of part.entries()) {
    const id = known[at] ?? last + ++plan.accounts
    if (known[at] === undefined) plan.list.push(...newAccount(account, id, now))
    for (const key of account.keys) {
      const owner = owners.get(digestOf(key.secret))
      if (owner === id) plan.knownKeys++
      else if (owner !== undefined) plan.conflicts.push({ account: account.name, key: key.name })
      else {
        plan.keys++
        plan.list.push(...newKey(key, id, now))
      }
    }
  }
  return plan
}

const newAccount = (
  { name, role, balance, isSuspended }: ImportedAccount,
  id: number,
  now: number,
): readonly Statement[] => [
  ...createAccount({ name, role }, now),
  { sql: HAS_NUMBER, values: [name, id], rows: 1, otherwise: 'ACCOUNT_UNKNOWN' },
  ...(balance > 0n
    ? creditAccount({ account: id, kind: 'credit', amount: balance, note: 'imported', at: now })
    : []),
  ...(isSuspended ? suspendAccount(id, now) : []),
]
const newKey = (key: ImportedKey, account: number, now: number): readonly Statement[] => {
  const { secret, quota, quota_period, ...rest } = key
  const stored = quota === undefined ? undefined : storedQuotaOf({ quota, quota_period }, 0, now)
  return addKey(
    { ...rest, account, secret: importedSecret(secret), isImported: true, quota: stored },
    now,
  )
}

const idOf = async (database: Store, name: string): Promise<number | undefined> => {
  const [row] = await database.read(FIND_ACCOUNT, [name, null])
  return row && Number(row.id)
}
const ownersOf = async (
  database: Store,
  digests: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const rows: Row[] = []
  for (let from = 0; from < digests.length; from += BATCH_SIZE) {
    const values = Array.from({ length: BATCH_SIZE }, (_, at) => digests[from + at] ?? '')
    rows.push(...(await database.read(FIND_BATCH.key, values)))
  }
  return new Map(rows.map(({ digest, account }) => [String(digest), Number(account)]))
}

/** `tollgate keys`, and the verbs of `tollgate accounts` that make and list them. */
import { textOf, UsageError } from '../../engine/cli/kit.ts'
import type { Command, Database, Row, Sql, Value } from '../../engine/plugin.ts'
import { fault } from './faults.ts'
import { findAccount } from './find.ts'
import { expiryOf, limitsOf, modelsOf, nameOf, numberOf, quotaOf, roleOf } from './input.ts'
import { type Args, runVerb, type Verb } from './output.ts'
import { type Kind, makeSecret, shown } from './secret.ts'
import {
  addKey,
  addToken,
  createAccount,
  FIND_BY_ID,
  LIST_ACCOUNTS,
  LIST_CREDENTIALS,
  revoke,
} from './statements.ts'

const PAGE = 500
const THINGS: Readonly<Record<Kind, string>> = { key: 'API key', 'system-token': 'system token' }

/** Lent with those that move money, which stand above this folder. */
export const accountVerbs: Readonly<Record<string, Verb>> = {
  async create({ positionals, values }, { database }) {
    const name = nameOf(only(positionals, 'accounts create NAME'), 'An account')
    const role = roleOf(textOf(values.role))
    const list = createAccount({ name, role }, await database.now())
    const rows = await database.write(list).catch(named('ACCOUNT_EXISTS', name))
    const account = { id: Number(rows.at(-1)?.[0]?.id), name, role }
    return { rows: [account], json: account }
  },
  async list({ positionals }, { database }) {
    if (positionals.length > 0) throw new UsageError('accounts list takes no name')
    const rows = await all(database, LIST_ACCOUNTS, [0])
    return {
      rows: rows.map(({ id, name, role, keys, created, suspended }) => ({
        id: Number(id),
        name: String(name),
        role: String(role),
        keys: Number(keys),
        created: timeOf(created),
        state: suspended === null ? 'active' : 'suspended',
      })),
    }
  },
}

const keyVerbs: Readonly<Record<string, Verb>> = {
  async create({ positionals, values }, { database }) {
    const kind = kindOf(values)
    const now = await database.now()
    const limits = limitsOf({
      requests: textOf(values.requests),
      tokens: textOf(values.tokens),
      concurrency: textOf(values.concurrency),
    })
    const models = modelsOf(textOf(values.models))
    const quota = quotaOf(textOf(values.quota))
    if (kind === 'system-token' && (limits || models || quota)) {
      throw new UsageError('a system token calls no models: it has no models, quota or limits')
    }
    const expires = expiryOf(textOf(values.expires), now)
    const name = nameOf(textOf(values.name) ?? 'unnamed', '--name')
    const account = await findAccount(database, only(positionals, 'keys create ACCOUNT'))
    const secret = makeSecret(kind)
    const credential = {
      ...{ account: account.id, name, secret, expires },
      ...(models && { models }),
      ...(limits && { limits }),
      ...(quota !== undefined && { quota }),
    }
    const rows = await database.write((kind === 'key' ? addKey : addToken)(credential, now))
    const id = Number(rows.at(-1)?.[0]?.id)
    const time = expires === undefined ? 'never' : timeOf(expires)
    const said = {
      id,
      account: account.name,
      name,
      [kind === 'key' ? 'key' : 'token']: secret.text,
    }
    return {
      rows: [{ ...said, expires: time }],
      json: { ...said, kind, expires: expires === undefined ? null : time },
      after: 'It is shown this once; the store keeps only its digest.\n',
    }
  },
  async list({ positionals, values }, { database }) {
    const kind = kindOf(values)
    if (positionals.length > 1) throw new UsageError('keys list takes one account, or none for all')
    const [wanted] = positionals
    const id = wanted === undefined ? null : (await findAccount(database, wanted)).id
    const rows = await all(database, LIST_CREDENTIALS[kind], [id, id, 0])
    const now = await database.now()
    return { rows: rows.map(row => listed(row, now)), json: rows.map(row => inFull(row, now)) }
  },
  async revoke({ positionals, values }, { database }) {
    const kind = kindOf(values)
    const id = numberOf(only(positionals, 'keys revoke ID'), `The number of the ${THINGS[kind]}`)
    const [found] = await database.read(FIND_BY_ID[kind], [id])
    if (!found) throw fault('KEY_UNKNOWN', [THINGS[kind], id])
    const now = await database.now()
    // Revoked by someone else in this moment: that is what was wanted.
    if (found.revoked === null)
      await database.write(revoke(kind, id, now)).catch(unless('KEY_UNKNOWN'))
    const [after = found] = await database.read(FIND_BY_ID[kind], [id])
    return { rows: [listed(after, now)], json: inFull(after, now) }
  },
}

const listed = (row: Row, now: number) => ({
  id: Number(row.id),
  account: String(row.account_name),
  name: String(row.name),
  key: shown(String(row.prefix), String(row.last_four)),
  state: stateOf(row, now),
  created: timeOf(row.created),
  expires: row.expires === null ? 'never' : timeOf(row.expires),
})
const inFull = (row: Row, now: number) => ({
  ...listed(row, now),
  expires: row.expires === null ? null : timeOf(row.expires),
  models: jsonOf(row.models),
  limits: jsonOf(row.limits),
  quota: row.quota,
})
const stateOf = ({ revoked, expires, suspended }: Row, now: number): string => {
  if (revoked !== null) return 'revoked'
  if (expires !== null && Number(expires) <= now) return 'expired'
  return suspended === null ? 'active' : 'suspended'
}

const all = async (
  database: Database,
  sql: Sql,
  values: readonly Value[],
): Promise<readonly Row[]> => {
  const rows: Row[] = []
  for await (const page of database.pages(sql, values, PAGE)) rows.push(...page)
  return rows
}
const only = (positionals: readonly string[], usage: string): string => {
  const [first, ...more] = positionals
  if (first === undefined || more.length > 0) throw new UsageError(`It is: tollgate ${usage}`)
  return first
}
const kindOf = ({ system }: Args['values']): Kind => (system === true ? 'system-token' : 'key')
const timeOf = (at: unknown): string => new Date(Number(at)).toISOString()
const jsonOf = (text: unknown): unknown => (typeof text === 'string' ? JSON.parse(text) : null)

type Code = Parameters<typeof fault>[0]
/** The store answers with a code; its sentence stands in our table. */
const named =
  (code: Code, subject: string) =>
  (error: { readonly code?: string }): never => {
    throw error.code === code ? fault(code, [subject]) : error
  }
const unless = (code: Code) => (error: { readonly code?: string }) => {
  if (error.code !== code) throw error
}

export const commands: Readonly<Record<string, Command>> = {
  keys: {
    summary: 'create ACCOUNT | list [ACCOUNT] | revoke ID: what they call with',
    example: 'tollgate keys create ann --name laptop --expires 90d',
    options: {
      name: { type: 'string', summary: 'what it is for' },
      expires: { type: 'string', summary: 'after 30d, 12h, or on 2030-01-31; never by default' },
      models: { type: 'string', summary: 'only these models, with commas between' },
      quota: { type: 'string', summary: 'at most this much quota in all' },
      requests: { type: 'string', summary: "in place of the route's limit: 60/min" },
      tokens: { type: 'string', summary: "in place of the route's limit: 100000/min" },
      concurrency: { type: 'string', summary: "in place of the route's limit" },
      system: { type: 'boolean', summary: 'system tokens instead of API keys' },
    },
    run: (args, host) => runVerb(keyVerbs, args, host),
  },
}

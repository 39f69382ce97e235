/** `tollgate keys import FILE`: reads accounts and keys with their secrets from a JSON file. */
import { readFileSync } from 'node:fs'
import { instantIn, UsageError } from '../../engine/cli/kit.ts'
import { isFields } from '../../engine/kit.ts'
import type { Json, SingleCommand } from '../../engine/plugin.ts'
import { parseMoney } from '../billing/money.ts'
import { LIMIT_NAMES, limitsOf, nameOf, roleOf } from '../credentials/input.ts'
import { isImportable } from '../credentials/secret.ts'
import { type ImportedAccount, type ImportedKey, importAccounts } from './import.ts'

type Fields = { readonly [name: string]: Json }

export const importKeys: SingleCommand = {
  arguments: 'FILE',
  summary:
    'Adds accounts and API keys whose secrets were made elsewhere. Existing ones stay unchanged.',
  example: 'keys import accounts.json',
  async run({ positionals: [file = ''], report }, host) {
    const accounts = readAccounts(file)
    const { conflicts, ...counts } = await importAccounts(host, accounts, report)
    const row = {
      accounts: counts.accounts,
      keys: counts.keys,
      'accounts before': counts.knownAccounts,
      'keys before': counts.knownKeys,
      conflicts: conflicts.length,
    }
    const named = conflicts.map(({ account, key }) => `${account}: ${key}`)
    return {
      rows: [row],
      json: { ...counts, conflicts },
      ...(named.length > 0 && {
        after: `Another account has the secret of these keys, which were left out:\n${named.join('\n')}\n`,
        exit: 1,
      }),
    }
  },
}

/** `{ accounts: [{ name, role, balance, suspended, keys: [{ name, secret, … }] }] }`. */
const readAccounts = (file: string): readonly ImportedAccount[] => {
  const document = parse(file)
  const { accounts } = isFields(document) ? document : {}
  if (!Array.isArray(accounts) || accounts.length === 0)
    throw new UsageError(`${file}: \`accounts\` must be a list with at least one account`)
  const read = accounts.map((account, at) =>
    atPath(`${file}: accounts[${at}]`, () => accountOf(account)),
  )
  checkUnique(file, 'account', read, ({ name }) => name)
  checkUnique(
    file,
    'secret',
    read.flatMap(({ keys }) => keys),
    ({ secret }) => secret.replace(/^sk-/, ''),
  )
  return read
}
const parse = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`)
  }
}

const accountOf = (value: Json): ImportedAccount => {
  const { name, role, balance, suspended, keys, ...rest } = fieldsOf(value)
  refuseOthers(rest)
  const list = keys ?? []
  if (!Array.isArray(list)) throw new UsageError('`keys` must be a list')
  return {
    name: nameOf(textIn(name, 'name'), '`name`'),
    role: roleOf(role === undefined ? undefined : textIn(role, 'role'), 'role'),
    balance: balance === undefined ? 0n : moneyOf(balance),
    isSuspended: flagOf(suspended),
    keys: list.map((key, at) => atPath(`keys[${at}]`, () => keyOf(key))),
  }
}
const keyOf = (value: Json): ImportedKey => {
  const { name, secret, expires, models, limits, quota, quota_period, ...rest } = fieldsOf(value)
  refuseOthers(rest)
  const text = textIn(secret, 'secret')
  if (!isImportable(text))
    throw new UsageError(
      '`secret` must have 1 to 512 visible ASCII characters, and begin with none of st-, ss- and sl-, which are other kinds of credentials',
    )
  if (quota_period !== undefined && quota === undefined)
    throw new UsageError('`quota_period` needs a `quota`')
  return {
    name: nameOf(name === undefined ? 'unnamed' : textIn(name, 'name'), '`name`'),
    secret: text,
    ...(expires !== undefined && { expires: instantOf(textIn(expires, 'expires')) }),
    ...(models !== undefined && { models: namesOf(models) }),
    ...(limits !== undefined && { limits: limitsIn(limits) ?? {} }),
    ...(quota !== undefined && { quota: unitsOf(quota) }),
    ...(quota_period !== undefined && { quota_period: periodOf(quota_period) }),
  }
}

const fieldsOf = (value: Json): Fields => {
  if (isFields(value)) return value
  throw new UsageError('must be an object')
}
const refuseOthers = (rest: Fields): void => {
  const [other] = Object.keys(rest)
  if (other !== undefined) throw new UsageError(`there is no member \`${other}\``)
}
const textIn = (value: Json | undefined, name: string): string => {
  if (typeof value === 'string') return value
  throw new UsageError(`\`${name}\` must be a text`)
}
const flagOf = (value: Json | undefined): boolean => {
  if (value === undefined || typeof value === 'boolean') return value === true
  throw new UsageError('`suspended` must be true or false')
}
const moneyOf = (value: Json): bigint => {
  try {
    return parseMoney(value)
  } catch {
    throw new UsageError('`balance` must be a decimal of at least 0, such as "12.50"')
  }
}
const instantOf = (text: string): number => {
  const at = instantIn(text)
  if (!Number.isNaN(at)) return at
  throw new UsageError('`expires` must be a time such as 2030-01-31T12:00:00Z')
}
const namesOf = (value: Json): readonly string[] => {
  if (Array.isArray(value) && value.every(name => typeof name === 'string' && name !== ''))
    return value as string[]
  throw new UsageError('`models` must be a list of names')
}
const limitsIn = (value: Json) => {
  const fields = fieldsOf(value)
  refuseOthers(Object.fromEntries(Object.entries(fields).filter(([name]) => !isLimit(name))))
  return limitsOf(
    name => (fields[name] === undefined ? undefined : String(fields[name])),
    'limits.',
  )
}
const isLimit = (name: string): boolean => LIMIT_NAMES.some(each => each === name)
const unitsOf = (value: Json): number => {
  if (Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < 1e15)
    return Number(value)
  throw new UsageError('`quota` must be a whole number of units; 500000 are 1 of the currency')
}
const periodOf = (value: Json): 'day' | 'month' => {
  if (value === 'day' || value === 'month') return value
  throw new UsageError('`quota_period` must be day or month')
}

/** Puts the place before the message of a UsageError. */
const atPath = <T>(path: string, read: () => T): T => {
  try {
    return read()
  } catch (error) {
    const { message } = error as Error
    throw new UsageError(`${path}${message.startsWith('keys[') ? '.' : ': '}${message}`)
  }
}
const checkUnique = <T>(
  file: string,
  noun: string,
  list: readonly T[],
  keyOf: (each: T) => string,
): void => {
  const keys = new Set<string>()
  for (const [at, each] of list.entries()) {
    const key = keyOf(each)
    // A secret is not printed.
    if (keys.has(key))
      throw new UsageError(
        `${file}: two of its entries have the same ${noun}; the second is number ${at + 1}`,
      )
    keys.add(key)
  }
}

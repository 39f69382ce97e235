/** Users and tokens of new-api or one-api as accounts and keys for `tollgate keys import`. Pure. */
import type { Json } from '../../../engine/plugin.ts'
import { decimal, freeName } from '../starter/texts.ts'
import type { Report } from './report.ts'
import {
  flagIn,
  isDeleted,
  jsonIn,
  listIn,
  numberIn,
  type TableRow,
  type Tables,
  textIn,
} from './source.ts'

type Fields = Record<string, Json>
export interface Scale {
  /** Quota units there of 1 USD. */
  readonly unit: number
  /** The value of 1 USD in the currency of accounts. */
  readonly rate: number
}

/** Names of accounts and keys that are used already. */
interface UsedTexts {
  readonly names: Set<string>
  readonly keys: Set<string>
}

const ON = 1
/** Seconds since 1970. From then on a year has more than four digits: the key does not expire. */
const NEVER = Date.UTC(9999, 0) / 1_000
const EXHAUSTED = 4
const ADMIN = 10
/** Quota units here of one unit of the currency. */
const UNITS = 500_000

export const accountsOf = (tables: Tables, scale: Scale, report: Report): readonly Fields[] => {
  const tokens = Map.groupBy(tables.get('tokens') ?? [], ({ user_id }) => numberIn(user_id))
  const used = { names: new Set<string>(), keys: new Set<string>() }
  const accounts = (tables.get('users') ?? []).flatMap(user => {
    const id = numberIn(user.id)
    if (isDeleted(user) || numberIn(user.status) === 3) {
      report.add('users', 'deleted there', id)
      return []
    }
    const own = tokens.get(id) ?? []
    tokens.delete(id)
    return [accountOf(user, own, used, { ...scale, report })]
  })
  for (const token of [...tokens.values()].flat())
    if (!isDeleted(token))
      report.add('tokens', 'its user is deleted or unknown', numberIn(token.id))
  return accounts
}

const accountOf = (
  user: TableRow,
  tokens: readonly TableRow[],
  used: UsedTexts,
  to: Scale & { readonly report: Report },
): Fields => {
  const { report, ...scale } = to
  const id = numberIn(user.id)
  const name = nameOf(textIn(user.username), id, used.names)
  if (name !== textIn(user.username))
    report.add('users', 'the name was changed to one that an account may have', `${id} (${name})`)
  const quota = numberIn(user.quota)
  if (quota < 0) report.add('users', 'a balance below 0 became 0', id)
  const group = textIn(user.group)
  if (group !== '' && group !== 'default')
    report.add('users', `the group "${group}" is not carried: prices are those of the ratio 1`, id)
  return {
    name,
    role: numberIn(user.role) >= ADMIN ? 'admin' : 'customer',
    balance: balanceOf((Math.max(0, quota) / scale.unit) * scale.rate),
    ...(numberIn(user.status) !== ON && { suspended: true }),
    keys: tokens.flatMap(token => keyOf(token, used.keys, scale, report) ?? []),
  }
}
/** Rounded down: no account gets more than it had. */
const balanceOf = (amount: number): string =>
  decimal(Math.floor(Number((amount * 1e9).toPrecision(15))) / 1e9)

const LONGEST = 64
const nameOf = (username: string, id: number, names: Set<string>): string => {
  const valid = username
    .replace(/[^\p{L}\p{N} ._@+-]+/gu, '-')
    .replace(/^[^\p{L}\p{N}]+/u, '')
    .slice(0, LONGEST)
    .trim()
  const base = valid === '' || /^\d+$/.test(valid) ? `user-${valid || id}` : valid
  const name = freeName(base, each => names.has(each), id, LONGEST)
  names.add(name)
  return name
}

const keyOf = (
  token: TableRow,
  keys: Set<string>,
  scale: Scale,
  report: Report,
): Fields | undefined => {
  const id = numberIn(token.id)
  const reason = reasonToLeave(token)
  if (reason !== undefined) {
    report.add('tokens', reason, id)
    return undefined
  }
  const text = textIn(token.key)
  if (keys.has(text)) {
    report.add('tokens', 'another token has the same key', id)
    return undefined
  }
  keys.add(text)
  const group = textIn(token.group)
  if (group !== '' && group !== 'default')
    report.add('tokens', `the group "${group}" is not carried: the key may use every model`, id)
  const expires = numberIn(token.expired_time)
  const models = modelsOf(token)
  const name = textIn(token.name).replace(/[^\p{L}\p{N} ._@+-]+/gu, '-')
  return {
    name: /^[\p{L}\p{N}](?=.{0,63}$)/u.test(name) && !/^\d+$/.test(name) ? name : `key-${id}`,
    secret: `sk-${text}`,
    ...(expires > 0 && expires < NEVER && { expires: new Date(expires * 1_000).toISOString() }),
    ...(models && { models }),
    ...(!flagIn(token.unlimited_quota) && {
      quota: Math.max(
        0,
        Math.floor((numberIn(token.remain_quota) / scale.unit) * scale.rate * UNITS),
      ),
    }),
  }
}

const reasonToLeave = (token: TableRow): string | undefined => {
  if (isDeleted(token)) return 'deleted there'
  const status = numberIn(token.status)
  const isEnded =
    numberIn(token.expired_time) > 0 && numberIn(token.expired_time) * 1_000 <= Date.now()
  if (status === 3 || isEnded) return 'expired'
  if (status !== ON && status !== EXHAUSTED) return 'switched off'
  if (textIn(token.allow_ips ?? token.subnet) !== '')
    return 'it is limited to addresses, and keys here are not: give its customer another key'
  if (!/^[\x21-\x7e]{1,500}$/.test(textIn(token.key)))
    return 'its key has characters that no header carries'
  const models = modelsOf(token)
  return models?.length === 0 ? 'its list of models is empty, so it may use none' : undefined
}
/** undefined: all models. */
const modelsOf = (token: TableRow): string[] | undefined => {
  if ('model_limits_enabled' in token || 'model_limits' in token)
    return flagIn(token.model_limits_enabled) ? [...listIn(token.model_limits)] : undefined
  const models = listIn(token.models)
  return models.length > 0 ? [...models] : undefined
}

/** Notes for ratios of groups: prices here are those of the group default. */
export const noteGroups = (tables: Tables, report: Report): void => {
  for (const { key, value } of tables.get('options') ?? []) {
    const name = textIn(key)
    if (!/^(group_ratio_setting\.group_ratio|GroupRatio)$/.test(name)) continue
    for (const [group, ratio] of Object.entries(jsonIn(value)))
      if (ratio !== 1)
        report.add('options', `${name}: the ratio of a group is not carried`, `${group} (${ratio})`)
  }
}

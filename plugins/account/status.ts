/** Views of account status: user info, key balance, and the billing endpoints of other services. */
import type { Exchange, Host } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { balanceOf, quotasOf } from '../billing/money.ts'
import { ACCOUNT } from '../slots.ts'
import { dollars } from './dollars.ts'
import { fault } from './faults.ts'
import { fundsOf, fundsOfKey, fundsOfSecret, type KeyFunds, masked } from './funds.ts'
import { KeyGuessLimiter } from './key-guess-limiter.ts'
import { exact, PRIVATE, succeed, type ViewFactory } from './response.ts'

export const profile: ViewFactory<Host> =
  ({ database }) =>
  async exchange => {
    const { id, name, role } = exchange.slots.need(ACCOUNT)
    const { remaining, used } = await fundsOf(database, id)
    const shown = quotasOf(remaining, used)
    succeed(exchange, {
      data: {
        id,
        username: name,
        display_name: name,
        role,
        group: 'default',
        balance: exact(balanceOf(remaining)),
        quota: exact(shown.remaining),
        used_quota: exact(shown.used),
      },
    })
  }

/** Looks up a key without authentication; attempts are limited. */
const limitedLookup = ({ database, share }: Host) => {
  const guesses = share('account/guesses', '1', () => new KeyGuessLimiter())
  return ({ request }: Exchange, secret: string): Promise<KeyFunds | undefined> =>
    guesses.limit(request.client.address, secret, () => fundsOfSecret(database, secret))
}

export const balance: ViewFactory<Host> = host => {
  const find = limitedLookup(host)
  return async exchange => {
    const [secret, ...more] = exchange.request.query.getAll('key')
    if (!secret || more.length > 0) throw fault('KEY_MISSING')
    const funds = await find(exchange, secret)
    if (!funds) throw fault('KEY_NOT_KNOWN')
    const { remaining, used, total } = quotasOf(funds.remaining, funds.used)
    succeed(exchange, {
      data: {
        key: masked(funds.row),
        remaining_quota: exact(remaining),
        used_quota: exact(used),
        total_quota: exact(total),
        ...(!funds.limited && { unlimited_quota: true }),
      },
    })
  }
}

/** The response of new-api, whose clients read `code` and `total_available`. */
export const tokenUsage: ViewFactory<Host> = host => {
  const find = limitedLookup(host)
  return async exchange => {
    const { authorization } = exchange.request.headers
    if (!authorization) throw fault('HEADER_MISSING')
    const [, secret] = /^Bearer +([^ ]+) *$/i.exec(authorization) ?? []
    const funds = secret === undefined ? undefined : await find(exchange, secret)
    if (!funds) throw fault('BEARER_NOT_KNOWN')
    const { row, limited } = funds
    const { remaining, used, total } = quotasOf(funds.remaining, funds.used)
    const models = typeof row.models === 'string' ? (JSON.parse(row.models) as string[]) : undefined
    exchange.answer(
      200,
      {
        code: true,
        message: 'ok',
        data: {
          object: 'token_usage',
          name: String(row.name),
          total_granted: exact(total),
          total_used: exact(used),
          total_available: exact(remaining),
          unlimited_quota: !limited,
          model_limits: Object.fromEntries((models ?? []).map(name => [name, true])),
          model_limits_enabled: models !== undefined,
          expires_at: seconds(funds),
        },
      },
      PRIVATE,
    )
  }
}

/** `/v1/dashboard/billing/subscription`: the total ever granted, in dollars. */
export const subscription: ViewFactory<Host> = host => {
  const currency = configuredCurrency(host)
  return async exchange => {
    const funds = await ownFunds(host, exchange)
    const granted = exact(dollars(funds.remaining + funds.used, currency))
    exchange.answer(
      200,
      {
        object: 'billing_subscription',
        has_payment_method: true,
        soft_limit_usd: granted,
        hard_limit_usd: granted,
        system_hard_limit_usd: granted,
        access_until: seconds(funds),
      },
      PRIVATE,
    )
  }
}
/** `/v1/dashboard/billing/usage`: total usage in cents. Clients subtract it from the limit, whatever dates they send. */
export const spent: ViewFactory<Host> = host => {
  const currency = configuredCurrency(host)
  return async exchange => {
    const { used } = await ownFunds(host, exchange)
    const body = { object: 'list', total_usage: exact(dollars(used * 100n, currency)) }
    exchange.answer(200, body, PRIVATE)
  }
}

const ownFunds = async ({ database }: Host, exchange: Exchange): Promise<KeyFunds> => {
  const { id, key } = exchange.slots.need(ACCOUNT)
  const funds = key && (await fundsOfKey(database, id, key.id))
  if (!funds) throw fault('KEY_NOT_KNOWN')
  return funds
}
/** Unix seconds; 0: never. */
const seconds = ({ row }: KeyFunds): number =>
  row.expires === null ? 0 : Math.floor(Number(row.expires) / 1_000)

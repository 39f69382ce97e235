/** Views of account status: user info, key balance, and the billing endpoints of OpenAI's dashboard
 *  and of new-api. */
import type { Exchange, Host } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { balanceOf, printMoney, quotasOf } from '../billing/money.ts'
import { type KeyFunds, maskKey } from '../operator/own-keys.ts'
import { ACCOUNT } from '../slots.ts'
import { toDollars } from './dollars.ts'
import { fault } from './faults.ts'
import { fundsOf, fundsOfKey, fundsOfSecret, heldFunds } from './funds.ts'
import { KeyGuessLimiter } from './key-guess-limiter.ts'
import { answerSuccess, exactNumber, PRIVATE, type ViewFactory } from './response.ts'

export const profile: ViewFactory<Host> =
  ({ database }) =>
  async exchange => {
    const { id, name, role } = exchange.slots.need(ACCOUNT)
    const { remaining, used } = await fundsOf(database, id)
    const heldAmount = await heldFunds(database, id)
    const amounts = quotasOf(remaining, used)
    answerSuccess(exchange, {
      data: {
        id,
        username: name,
        display_name: name,
        role,
        group: 'default',
        balance: exactNumber(balanceOf(remaining)),
        quota: exactNumber(amounts.remaining),
        used_quota: exactNumber(amounts.used),
        held: printMoney(heldAmount),
      },
    })
  }

/** Looks up a key without authentication; attempts are limited. */
const limitedLookup = ({ database, share }: Host) => {
  const limiter = share('account/key-guess-limiter', '1', () => new KeyGuessLimiter())
  return ({ request }: Exchange, secret: string): Promise<KeyFunds | undefined> =>
    limiter.limit(request.client.address, secret, () => fundsOfSecret(database, secret))
}

export const balance: ViewFactory<Host> = host => {
  const find = limitedLookup(host)
  return async exchange => {
    const [secret, ...more] = exchange.request.query.getAll('key')
    if (!secret || more.length > 0) throw fault('KEY_MISSING')
    const funds = await find(exchange, secret)
    if (!funds) throw fault('KEY_NOT_KNOWN')
    const { remaining, used, total } = quotasOf(funds.remaining, funds.used)
    answerSuccess(exchange, {
      data: {
        key: maskKey(funds.row),
        remaining_quota: exactNumber(remaining),
        used_quota: exactNumber(used),
        total_quota: exactNumber(total),
        ...(!funds.hasQuota && { unlimited_quota: true }),
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
    const { row, hasQuota } = funds
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
          total_granted: exactNumber(total),
          total_used: exactNumber(used),
          total_available: exactNumber(remaining),
          unlimited_quota: !hasQuota,
          model_limits: Object.fromEntries((models ?? []).map(name => [name, true])),
          model_limits_enabled: models !== undefined,
          expires_at: expirySeconds(funds),
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
    const total = exactNumber(toDollars(funds.remaining + funds.used, currency))
    exchange.answer(
      200,
      {
        object: 'billing_subscription',
        has_payment_method: true,
        soft_limit_usd: total,
        hard_limit_usd: total,
        system_hard_limit_usd: total,
        access_until: expirySeconds(funds),
      },
      PRIVATE,
    )
  }
}
const CREDIT = 'CREDIT'
/** `/ent/v2/credits` of Vidu, of the caller's own funds: whole credits, since its clients read
 *  integers. 0 if the configuration has no rate for credits. The gateway sets no limit of tasks at
 *  once, so that it names none. */
export const remainingCredits: ViewFactory<Host> = host => {
  const rate = configuredCurrency(host).rates.get(CREDIT)
  const creditsIn = (nanos: bigint): number =>
    rate === undefined || nanos < 0n ? 0 : Number(nanos / rate)
  return async exchange => {
    const { id, name, key } = exchange.slots.need(ACCOUNT)
    const { database } = host
    const ofKey = key && (await fundsOfKey(database, id, key.id))
    const { remaining, used } = ofKey ?? (await fundsOf(database, id))
    const remains = { type: 'metered', credit_remain: creditsIn(remaining) }
    const ofPackage = {
      ...remains,
      id: String(id),
      name,
      credit_amount: creditsIn(remaining + used),
    }
    const isDetailed = exchange.request.query.get('show_detail') === 'true'
    exchange.answer(200, { remains: [remains], packages: isDetailed ? [ofPackage] : [] }, PRIVATE)
  }
}
/** `/v1/dashboard/billing/usage`: the total usage in cents, whatever dates the client sends, since
 *  clients subtract it from the limit. */
export const dashboardUsage: ViewFactory<Host> = host => {
  const currency = configuredCurrency(host)
  return async exchange => {
    const { used } = await ownFunds(host, exchange)
    const body = { object: 'list', total_usage: exactNumber(toDollars(used * 100n, currency)) }
    exchange.answer(200, body, PRIVATE)
  }
}

const ownFunds = async ({ database }: Host, exchange: Exchange): Promise<KeyFunds> => {
  const { id, key } = exchange.slots.need(ACCOUNT)
  const funds = key && (await fundsOfKey(database, id, key.id))
  if (!funds) throw fault('KEY_NOT_KNOWN')
  return funds
}
/** Unix seconds; 0: the key never expires. */
const expirySeconds = ({ row }: KeyFunds): number =>
  row.expires === null ? 0 : Math.floor(Number(row.expires) / 1_000)

/** Views for clients of new-api: the units of quotas, and the names of the models. */
import type { Host } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { printDecimal } from '../billing/decimal.ts'
import { QUOTA_PER_UNIT } from '../billing/money.ts'
import { readCatalogue } from '../catalogue/configured.ts'
import { isPattern } from '../catalogue/pattern.ts'
import { dollarOf } from './dollars.ts'
import { answerSuccess, exactNumber, type ViewFactory } from './response.ts'

/** Places of a rate. */
const PLACES = 9
/** Currencies that these clients know by name. */
const KNOWN = ['USD', 'CNY']

/** `quota_per_unit` are the quota units of a dollar: a client divides by it and multiplies by the
 *  rate of the currency that it shows. */
export const siteStatus: ViewFactory<Host> = host => {
  const currency = configuredCurrency(host)
  const dollar = dollarOf(currency)
  const rate = exactNumber(printDecimal(dollar, PLACES))
  const units = {
    system_name: 'Tollgate',
    quota_per_unit: exactNumber(printDecimal(dollar * QUOTA_PER_UNIT, PLACES)),
    quota_display_type: KNOWN.includes(currency.name) ? currency.name : 'CUSTOM',
    display_in_currency: true,
    usd_exchange_rate: rate,
    price: rate,
    custom_currency_symbol: currency.name,
    custom_currency_exchange_rate: rate,
  }
  return async exchange => answerSuccess(exchange, { data: units })
}

/** Names of models; patterns name none. */
export const ownModels: ViewFactory<Host> = host => {
  const names = readCatalogue(host).all.flatMap(({ name }) => (isPattern(name) ? [] : name))
  return async exchange => answerSuccess(exchange, { data: names })
}

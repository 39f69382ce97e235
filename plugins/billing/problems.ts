/** What can be wrong with a price as an operator writes it: one row each, told with its place. */
import { errors } from '../../engine/errors.ts'
import type { Report } from '../../engine/plugin.ts'

const problem = errors({
  PRICE_MISSING: [500, 'nothing says what this costs: add `price:`, or `free: true`'],
  PRICE_AND_FREE: [500, '`free: true` stands beside a price; one of them is meant'],
  PRICE_SHAPE: [500, '%s'],
  PRICE_KEY: [500, 'unknown key "%s"; known are %s'],
  PRICE_METER: [500, 'no meter is called %s; there are %s'],
  PRICE_AMOUNT: [500, '%s'],
  PRICE_CURRENCY: [500, 'no rate converts %s; settings.currency.rates knows %s'],
  PRICE_PER: [500, '%s'],
  PRICE_BY: [500, '%s'],
  PRICE_WHEN: [500, '%s'],
  PRICE_ORDER: [500, '%s'],
  PRICE_MAX_CALLS: [500, '%s'],
  CURRENCY_RATE: [500, '%s'],
})

export type Where = readonly (string | number)[]
export type Say = (where: Where, code: Parameters<typeof problem>[0], ...args: unknown[]) => void

export const sayer =
  (report: Report): Say =>
  (where, code, ...args) =>
    report(where, code, problem(code, args).message)

export type Fields = Readonly<Record<string, unknown>>
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown)

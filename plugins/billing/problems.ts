/** The problems of configured prices, one row each, reported with their position. */
import { errors } from '../../engine/errors.ts'
import type { Report } from '../../engine/plugin.ts'

const problem = errors({
  PRICE_MISSING: [500, 'no price is configured: add `price:`, or `free: true`'],
  PRICE_AND_FREE: [500, 'both `free: true` and a price are set; remove one of them'],
  PRICE_SHAPE: [500, '%s'],
  PRICE_KEY: [500, 'unknown key "%s". Allowed keys: %s'],
  PRICE_METER: [500, 'unknown meter %s; known meters are %s'],
  PRICE_AMOUNT: [500, '%s'],
  PRICE_CURRENCY: [500, 'no exchange rate for %s; settings.currency.rates has %s'],
  PRICE_PER: [500, '%s'],
  PRICE_BY: [500, '%s'],
  PRICE_WHEN: [500, '%s'],
  PRICE_ORDER: [500, '%s'],
  PRICE_MAX_CALLS: [500, '%s'],
  CURRENCY_RATE: [500, '%s'],
})

export type Where = readonly (string | number)[]
export type ReportProblem = (
  where: Where,
  code: Parameters<typeof problem>[0],
  ...args: unknown[]
) => void

export const problemReporter =
  (report: Report): ReportProblem =>
  (where, code, ...args) =>
    report(where, code, problem(code, args).message)

export type Fields = Readonly<Record<string, unknown>>
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

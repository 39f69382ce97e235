/** Names the quota that stands for each budget of LiteLLM: money and period. */
import { isFields } from '../../../engine/kit.ts'
import { usd } from '../starter/texts.ts'
import type { LitellmSource, Path } from './source.ts'

/** Quota units of 1 USD. */
const UNITS = 500_000
const NAMES: readonly (readonly [amount: string, period: string])[] = [
  ['max_budget', 'budget_duration'],
  ['max_internal_user_budget', 'internal_user_budget_duration'],
  ['max_end_user_budget', 'max_end_user_budget_duration'],
  ['budget_limit', 'time_period'],
]
/** Where a budget is not that of a caller. */
const WHOSE: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^litellm_settings\.max_budget$/, 'the gateway as a whole has no budget; a key has one'],
  [/internal_user|team/, 'an account has credit, which does not renew; a key has a quota'],
  [/^model_list/, 'a deployment has no budget; a key has one'],
  [/provider_budget_config/, 'an upstream has no budget; a key has one'],
  [/tag_budget_config/, 'there are no budgets of tags; a key has one'],
]

export const noteBudgets = (source: LitellmSource): void => {
  const visit = (path: Path): void => {
    const fields = source.fields(path)
    for (const [amount, period] of NAMES) noteBudget(source, path, amount, period)
    for (const [name, value] of Object.entries(fields)) {
      if (isFields(value)) visit([...path, name])
      if (Array.isArray(value)) for (const index of value.keys()) visit([...path, name, index])
    }
  }
  visit([])
}

const noteBudget = (source: LitellmSource, path: Path, amount: string, period: string): void => {
  const [money, time] = [source.number([...path, amount]), source.text([...path, period])]
  if (money === undefined && time === undefined) return
  const [, whose] = WHOSE.find(([pattern]) => pattern.test([...path, amount].join('.'))) ?? []
  const every = everyOf(time)
  const prefix = whose === undefined ? '' : `${whose}; `
  if (money === undefined) return source.note([...path, period], `${prefix}quotas renew ${RENEWAL}`)
  const quota = `${Math.round(money * UNITS)}${every === undefined ? '' : `/${every}`}`
  source.note(
    [...path, amount],
    `${prefix}give each key a quota, \`tollgate keys create ACCOUNT --quota ${quota}\` (${usd(money)} USD${every === undefined ? '' : ` a ${every}`})`,
  )
  if (time !== undefined)
    source.note(
      [...path, period],
      every === undefined
        ? `"${time}" has no counterpart: quotas renew ${RENEWAL}`
        : `it is the /${every} of the quota`,
    )
}
const RENEWAL = 'each day (/day), each month (/month), or never'

/** A period that quotas have. */
const everyOf = (time: string | undefined): 'day' | 'month' | undefined => {
  if (/^(1d|24h|86400s?|1440m|daily)$/.test(time ?? '')) return 'day'
  return /^(1mo|30d|31d|720h|monthly)$/.test(time ?? '') ? 'month' : undefined
}

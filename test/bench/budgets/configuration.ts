/** The gateways that `--only budgets` measures, each with other budgets for its calls. */

const OF_CALLS = {
  day: { of: 'account', amount: 1_000_000, per: 'day', zone: 'Europe/Berlin' },
  seat: { of: 'key', amount: 1_000_000, per: 'life' },
  tokens: { of: 'account', tokens: 1_000_000_000, per: 'month' },
  week: { of: 'key', tokens: 1_000_000_000, per: 'week' },
} as const
const first = (count: number): object =>
  Object.fromEntries(Object.entries(OF_CALLS).slice(0, count))

export const NONE = 'none'
/** Sections `budgets:` by the name of their subject. Calls of the bench belong to no member. */
export const BUDGETS: Readonly<Record<string, object>> = {
  [NONE]: {},
  'two of members': {
    purse: { of: 'member', amount: 1_000_000, per: 'day' },
    mate: { of: 'member', tokens: 1_000_000_000, per: 'day' },
  },
  one: first(1),
  two: first(2),
  four: first(4),
}

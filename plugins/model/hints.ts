/** Words of other gateways for what `models:` configures. */

const MODEL = 'an entry of `models:` is the public name, and its `to:` names upstream and model'
const FALLBACK =
  'list several targets in `to:` of a model or `upstream:` of a route, or models in `fallback:` of a model'
const WEIGHT = 'the targets have weights: `to: [{ to: gp/gpt-4.1, weight: 3 }, …]`'
const CACHE = 'a model caches answers with `cache: exact` or `cache: semantic` (docs/cache.md)'
const USERS =
  'accounts and keys are in the database: tollgate accounts create, tollgate keys create'
const BUDGET =
  '`budgets:` bounds what accounts, keys and members spend; one key has a quota: tollgate keys create ann --quota 5000000/month'

export const HINTS = {
  fallbacks: FALLBACK,
  fallback: FALLBACK,
  failover: FALLBACK,
  context_window_fallbacks: FALLBACK,
  weight: WEIGHT,
  weights: WEIGHT,
  alias: MODEL,
  aliases: MODEL,
  model_list: MODEL,
  model_name: MODEL,
  model_group_alias: MODEL,
  litellm_params: MODEL,
  cache: CACHE,
  caching: CACHE,
  users: USERS,
  accounts: USERS,
  consumers: USERS,
  virtual_keys: USERS,
  master_key: USERS,
  budget: BUDGET,
  max_budget: BUDGET,
  budget_duration: BUDGET,
}

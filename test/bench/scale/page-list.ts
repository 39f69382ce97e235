/** The reads of each page of the console, with its filters and orders. */

const DAY = 86_400_000
const dateOf = (daysAgo: number): string =>
  new Date(Date.now() - daysAgo * DAY).toISOString().slice(0, 10)
const MONTH = dateOf(0).slice(0, 7)
const LAST_MONTH = dateOf(31).slice(0, 7)
const ACCOUNT = 'scale-1'
const each = (path: string, ends: readonly string[]): readonly string[] =>
  ends.map(end => path + end)

/** `request`: the id of a call of the account. */
export const operatorPages = (request: string): readonly string[] => [
  ...['model', 'upstream', 'hour', 'day', 'account', 'key'].flatMap(by =>
    each(`/api/admin/traffic?by=${by}&top=200&since=`, ['1d', '7d', '30d']),
  ),
  ...each('/api/admin/charges', [
    '',
    `?account=${ACCOUNT}`,
    `?account=${ACCOUNT}&state=released`,
    `?account=${ACCOUNT}&uncollected=yes`,
    `?account=${ACCOUNT}&model=absent`,
    '?key=1000',
    '?model=claude',
    '?model=absent',
    '?state=released',
    '?state=open',
    '?uncollected=yes',
  ]),
  ...each('/api/admin/failed-calls', ['', `?account=${ACCOUNT}`, '?code=absent', '?model=claude']),
  ...each('/api/admin/accounts', [
    '',
    '?search=scale-99',
    '?sort=balance&order=desc',
    '?sort=used&order=desc',
    '?state=suspended',
  ]),
  ...each(`/api/admin/accounts/show?account=${ACCOUNT}`, ['', '&brief=true']),
  `/api/admin/accounts/usage?account=${ACCOUNT}&days=90`,
  `/api/admin/keys?account=${ACCOUNT}`,
  `/api/admin/budgets?account=${ACCOUNT}&limit=100`,
  `/api/admin/credits?account=${ACCOUNT}&limit=100`,
  ...each(`/api/admin/statements/show?account=${ACCOUNT}&period=`, [MONTH, LAST_MONTH]),
  '/api/admin/requests?calls=yes',
  `/api/admin/requests/story?id=${request}`,
  ...each('/api/admin/actions', [
    '',
    '?operation=keys',
    '?operation=absent',
    '?actor=absent',
    `?object=account+1000`,
  ]),
  '/api/admin/webhooks',
  '/api/admin/codes?limit=100',
  '/api/admin/plans',
  '/api/admin/tasks?state=unknown',
  '/api/admin/upstreams',
  '/api/admin/routes',
  '/api/admin/configuration',
]

/** Of a customer with a tenth of all charges. */
export const customerPages = (request: string): readonly string[] => [
  ...each('/api/usage/overview?from=', [dateOf(6), dateOf(29), dateOf(89)]),
  '/api/user/info',
  '/api/budgets?limit=100',
  '/api/plans',
  ...each('/api/usage?limit=100', [
    '',
    '&model=claude',
    '&model=absent',
    '&key=1000',
    '&state=released',
    '&tag=project%3Dalpha',
    '&tag=project%3Dabsent',
    '&rule=absent',
    '&sort=cost&order=desc',
    '&sort=model',
    '&status=failed',
    `&from=${dateOf(364)}`,
    `&from=${dateOf(364)}&sort=cost&order=desc`,
  ]),
  ...['day', 'model', 'key', 'member', 'tag'].map(
    by => `/api/usage?limit=100&by=${by}&sort=cost&order=desc`,
  ),
  `/api/usage?by=model&limit=1000&from=${dateOf(89)}`,
  `/api/usage?by=day&limit=1000&from=${dateOf(364)}`,
  `/api/usage?by=model&member=1&sort=cost&order=desc&limit=100&from=${MONTH}-01`,
  `/api/usage/${request}`,
  ...each('/api/statements?period=', [MONTH, LAST_MONTH]),
  '/api/credits?limit=100',
  '/api/keys?limit=100',
  '/api/members?limit=100',
  ...each('/api/tasks', ['', '?state=failed', '?state=open']),
  '/api/notifications',
  '/api/pricing',
  '/api/system-tokens?limit=100',
  '/api/sessions?limit=100',
  '/v1/files?purpose=batch&limit=100',
]

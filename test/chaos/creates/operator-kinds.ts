/** Requests of operators and of customers with a system token. */
import {
  byAccount,
  byPrepared,
  dataMember,
  type Fields,
  json,
  type Kind,
  type Preparation,
} from './kind.ts'

const dataOf = ({ data }: Fields): Fields => data as Fields
const create = async ({ send, token }: Preparation, path: string, body: object) =>
  dataOf(await send(json(path, body), token))
const ID = dataMember('id')
/** Those that only the answer to the first attempt shows. */
const once = { isBilled: false, replayIsRefused: true } as const
const madeBy = (table: string): string =>
  `SELECT id, replace(name, 'made ', '') AS name FROM ${table} WHERE name LIKE 'made %'`

/** `token`: of the operator. */
export const operatorKinds = (token: string): readonly Kind[] => [
  {
    ...once,
    name: 'credit',
    route: 'admin-action',
    token,
    make: note => json('/api/admin/accounts/credit', { account: '1', amount: '0.01', note }),
    rows: "SELECT id, replace(note, ' (by admin)', '') AS name FROM credits",
    idIn: dataMember('credit'),
  },
  {
    ...once,
    name: 'account',
    route: 'admin',
    token,
    make: name => json('/api/admin/accounts', { name: `made ${name}` }),
    rows: madeBy('accounts'),
  },
  {
    ...once,
    name: 'key',
    route: 'create-key',
    token,
    make: name => json('/api/keys', { name: `made ${name}` }),
    rows: madeBy('api_keys'),
    idIn: ID,
  },
  {
    ...once,
    name: 'key of new-api',
    route: 'new-api-create',
    token,
    make: name => json('/api/token/', { name: `made ${name}` }),
    rows: madeBy('api_keys'),
  },
  {
    ...once,
    name: 'system token',
    route: 'create-token',
    token,
    make: name => json('/api/system-tokens', { name: `made ${name}` }),
    rows: madeBy('system_tokens'),
    idIn: ID,
  },
  rotation('key', '/api/keys', token),
  rotation('token', '/api/system-tokens', token),
  {
    ...once,
    name: 'member',
    route: 'invite-member',
    token,
    make: name => json('/api/members', { name: `made ${name}`, role: 'member' }),
    rows: madeBy('members'),
    idIn: ID,
  },
  {
    ...once,
    name: 'link of a member',
    route: 'link-member',
    token,
    async prepare(preparation) {
      const name = `linked ${crypto.randomUUID()}`
      return String((await create(preparation, '/api/members', { name, role: 'member' })).id)
    },
    make: (_, id) => json(`/api/members/${id}/link`, {}),
    // The first was made with the member.
    rows: `SELECT member AS id, member AS name FROM sign_in_links l WHERE EXISTS
      (SELECT 1 FROM sign_in_links e WHERE e.member = l.member AND e.id < l.id)`,
    nameOfRow: byPrepared,
    idIn: ID,
  },
  {
    ...once,
    name: 'plan',
    route: 'buy-plan',
    hasOwnAccount: true,
    make: () => json('/api/plans/buy', { plan: 'once' }),
    rows: 'SELECT credit AS id, account AS name FROM plan_payments',
    nameOfRow: byAccount,
  },
  {
    ...once,
    name: 'end of a plan',
    route: 'cancel-plan',
    hasOwnAccount: true,
    async prepare({ send }, credential) {
      await send(json('/api/plans/buy', { plan: 'once' }), credential)
      return ''
    },
    make: () => json('/api/plans/cancel', {}),
    rows: 'SELECT account AS id, account AS name FROM account_plans WHERE renews = 0',
    nameOfRow: byAccount,
  },
  {
    ...once,
    name: 'code',
    route: 'redeem-code',
    hasOwnAccount: true,
    async prepare(preparation) {
      const { send, token } = preparation
      const { data } = await send(json('/api/admin/codes', { amount: '2', count: 1 }), token)
      return String((data as readonly Fields[])[0]?.code)
    },
    make: (_, code) => json('/api/codes/redeem', { code }),
    rows: "SELECT id, account AS name FROM credits WHERE note LIKE 'code %'",
    nameOfRow: byAccount,
  },
]
const rotation = (name: 'key' | 'token', path: string, token: string): Kind => ({
  ...once,
  name: `rotation of a ${name}`,
  route: `rotate-${name}`,
  token,
  prepare: async preparation => String((await create(preparation, path, { name: 'rotated' })).id),
  make: (_, id) => json(`${path}/${id}/rotate`, { overlap: '1h' }),
  rows: `SELECT credential AS id, credential AS name FROM earlier_secrets
    WHERE kind = '${name === 'key' ? 'key' : 'system-token'}'`,
  nameOfRow: byPrepared,
  idIn: ID,
})

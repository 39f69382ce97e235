/** `tollgate keys import`: accounts and keys with secrets of another gateway, on both stores. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { commands } from '../../../plugins/account/command.ts'
import { type ImportedAccount, importAccounts } from '../../../plugins/operator/import.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { hostOver, openAccountsIn } from '../../helpers/store/accounts.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { startBoth } from '../../helpers/store/store.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'tollgate-import-'))
t.teardown(() => rmSync(FOLDER, { recursive: true }))
const FILE = join(FOLDER, 'accounts.json')
const write = (document: unknown) =>
  writeFileSync(FILE, typeof document === 'string' ? document : JSON.stringify(document))

const SECRET = 'AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKl'
const ACCOUNTS = [
  {
    name: 'ann',
    balance: '12.5',
    keys: [
      { name: 'laptop', secret: `sk-${SECRET}`, models: ['gp-4o'], quota: 500 },
      { name: 'old', secret: 'short', expires: '2020-01-01' },
    ],
  },
  { name: 'bob', role: 'admin', suspended: true },
]

const both = await Promise.all(
  (await startBoth(t, [])).map(async ({ engine, database }) => {
    const accounts = await openAccountsIn(database)
    await makeLedger(database)
    return { engine, database, accounts }
  }),
)
for (const { engine, database, accounts } of both) {
  const host = { ...accounts.host, section: <T>() => ({}) as T }
  const run = (t: Test, ...[name = '', ...args]: string[]) =>
    runCommand(t, name, commands, host, args)
  const counts = async (t: Test) =>
    (await run(t, 'keys', 'import', FILE, '--json')).json() as { accounts: number; keys: number }
  const call = async (secret: string) =>
    (await openAccountsIn(database))
      .route('key')({ headers: { authorization: `Bearer ${secret}` } })
      .then(
        account => account?.name,
        ({ code }) => code,
      )

  t.test(`keys import on ${engine}: makes accounts, credit and keys, once`, async t => {
    write({ accounts: ACCOUNTS })
    t.same(await counts(t), {
      accounts: 2,
      keys: 2,
      knownAccounts: 0,
      knownKeys: 0,
      conflicts: [],
    })
    t.equal(await call(`sk-${SECRET}`), 'ann')
    t.equal(await call('short'), 'AUTH_EXPIRED')
    const listed = (await run(t, 'accounts', 'list', '--json')).json()
    const rows = [
      { name: 'ann', balance: '12.5', keys: 2, state: 'active' },
      { name: 'bob', role: 'admin', balance: '0', state: 'suspended' },
    ]
    t.match(listed, rows)
    t.match((await run(t, 'keys', 'list', 'ann', '--json')).json(), [
      { name: 'laptop', models: ['gp-4o'], quota: 500 },
      { name: 'old', state: 'expired' },
    ])
    t.match(await counts(t), { accounts: 0, keys: 0, knownAccounts: 2, knownKeys: 2 })
    t.match((await run(t, 'accounts', 'list', '--json')).json(), rows, 'the same balance')
  })

  t.test(`keys import on ${engine}: adds what is missing, and names conflicts`, async t => {
    const keys = Array.from({ length: 450 }, (_, at) => ({ name: `k${at}`, secret: `many-${at}` }))
    write({
      accounts: [
        { name: 'ann', balance: '99', keys: [{ name: 'more', secret: 'more' }] },
        { name: 'cem', keys: [{ name: 'stolen', secret: SECRET }, ...keys] },
      ],
    })
    const { exit, out } = await run(t, 'keys', 'import', FILE)
    t.equal(exit, 1)
    t.match(out, /Another account has the secret of these keys, which were left out:\ncem: stolen/)
    t.match(out, /^1 +451 +1 +0 +1$/m, 'an account of several transactions counts once')
    t.equal(await call('more'), 'ann')
    t.equal(await call('many-449'), 'cem')
    t.equal(await call(SECRET), 'ann')
    const list = (await run(t, 'accounts', 'list', '--json')).json()
    t.match(list, [{ balance: '12.5' }, {}, { name: 'cem', keys: 450 }])
  })

  t.test(`keys import on ${engine}: two at the same time add each account once`, async t => {
    const list: ImportedAccount[] = Array.from({ length: 120 }, (_, at) => ({
      name: `user ${at}`,
      role: 'customer',
      balance: 1_000_000_000n,
      isSuspended: false,
      keys: [{ name: 'k', secret: `secret-of-${at}` }],
    }))
    const host = hostOver(database)
    const runs = await Promise.all([importAccounts(host, list), importAccounts(host, list)])
    const sum = (member: 'accounts' | 'keys') => (runs[0]?.[member] ?? 0) + (runs[1]?.[member] ?? 0)
    t.same([sum('accounts'), sum('keys')], [120, 120])
    const rows = (await run(t, 'accounts', 'list', '--json')).json() as { balance: string }[]
    t.equal(rows.filter(({ balance }) => balance === '1').length, 120)
  })
}

t.test('keys import: says what is wrong in the file, and where, and writes nothing', async t => {
  const accounts = await openAccountsIn((await startBoth(t, []))[0]?.database as never)
  const wrong: [document: unknown, message: RegExp][] = [
    ['{', /cannot read .*accounts\.json: /],
    [{}, /accounts\.json: `accounts` must be a list with at least one account/],
    [{ accounts: [] }, /at least one account/],
    [{ accounts: [{ name: '7' }] }, /accounts\[0\]: `name` needs a name of 1 to 64 letters/],
    [{ accounts: [{ name: 'a', gold: 1 }] }, /accounts\[0\]: there is no member `gold`/],
    [
      { accounts: [{ name: 'a', suspended: 'true' }] },
      /accounts\[0\]: `suspended` must be true or/,
    ],
    [
      { accounts: [{ name: 'a', keys: [{ secret: 'x', quota_period: 'day' }] }] },
      /accounts\[0\]\.keys\[0\]: `quota_period` needs a `quota`/,
    ],
    [{ accounts: [{ name: 'a', role: 'root' }] }, /accounts\[0\]: role must be customer or admin/],
    [{ accounts: [{ name: 'a', balance: '-1' }] }, /accounts\[0\]: `balance` must be a decimal/],
    [
      { accounts: [{ name: 'a' }, { name: 'a' }] },
      /two of its entries have the same account; the second is number 2/,
    ],
    ...['', 'two words', 'st-abc', 'x'.repeat(513)].map((secret): [unknown, RegExp] => [
      { accounts: [{ name: 'a', keys: [{ secret }] }] },
      /accounts\[0\]\.keys\[0\]: `secret` must have 1 to 512 visible/,
    ]),
    [
      { accounts: [{ name: 'a', keys: [{ secret: 'x', limits: { requests: 'many' } }] }] },
      /accounts\[0\]\.keys\[0\]: limits\.requests must be a rate such as 60\/min/,
    ],
    [{ accounts: [{ name: 'a', keys: [{ secret: 'x', expires: 'soon' }] }] }, /`expires` must be/],
    [{ accounts: [{ name: 'a', keys: [{ secret: 'x', quota: -1 }] }] }, /`quota` must be/],
    [
      { accounts: [{ name: 'a', keys: [{ secret: 'x' }, { secret: 'sk-x' }] }] },
      /two of its entries have the same secret; the second is number 2/,
    ],
  ]
  for (const [document, message] of wrong) {
    write(document)
    const result = await runCommand(t, 'keys', commands, accounts.host, ['import', FILE])
    t.match(result, { exit: 2, err: message })
  }
})

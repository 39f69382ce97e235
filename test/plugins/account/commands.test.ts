/** `tollgate accounts` and `tollgate keys`: output, effects and refusals. */
import t, { type Test } from 'tap'
import { commands } from '../../../plugins/account/command.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { openAccountsIn } from '../../helpers/store/accounts.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { startBoth } from '../../helpers/store/store.ts'

const both = await Promise.all(
  (await startBoth(t, [])).map(async ({ engine, database }) => {
    const accounts = await openAccountsIn(database)
    await makeLedger(database)
    return { engine, ...accounts }
  }),
)
for (const { engine, host, ...accountHelpers } of both) {
  const accounts = (t: Test, ...args: string[]) => runCommand(t, 'accounts', commands, host, args)
  const keys = (t: Test, ...args: string[]) => runCommand(t, 'keys', commands, host, args)

  t.test(`key commands on ${engine}: a created key calls until it is revoked`, async t => {
    t.match(await accounts(t, 'create', 'ann'), {
      exit: 0,
      out: /^id +name +role\n1 +ann +customer\n$/,
    })
    const output = await keys(t, 'create', 'ann', '--name', 'laptop', '--expires', '90d', '--json')
    t.equal(output.exit, 0)
    const { id, key, expires } = output.json() as { id: number; key: string; expires: string }
    const days = (Date.parse(expires) - Date.now()) / 86_400_000
    t.ok(days > 89.9 && days < 90.1)
    t.match(key, /^sk-[0-9A-Za-z]{49}$/)
    const call = accountHelpers.route('key', accountHelpers.database)
    const caller = { headers: { authorization: `Bearer ${key}` } }
    t.match(await call(caller), { name: 'ann', key: { id, name: 'laptop' } })
    t.match(await keys(t, 'revoke', String(id)), { exit: 0, out: /revoked/ })
    await t.rejects(accountHelpers.route('key', accountHelpers.database)(caller), {
      code: 'AUTH_REVOKED',
    })
    t.match(
      await keys(t, 'revoke', String(id), '--json'),
      { exit: 0 },
      'a second revocation succeeds',
    )
  })

  t.test(`keys create on ${engine}: prints the key once and says so`, async t => {
    const output = await keys(t, 'create', 'ann')
    const [key = ''] = /sk-\w+/.exec(output.out) ?? []
    t.match(
      output.out,
      /^id +account +name +key +expires\n\d+ +ann +unnamed +sk-\w{49} +never\nSave it now: it is not shown again/,
    )
    const list = await keys(t, 'list')
    t.notMatch(list.out, key)
    t.match(list.out, `${key.slice(0, 7)}…${key.slice(-4)}`)
  })

  t.test(`keys create on ${engine}: stores models, limits, quota and expiry`, async t => {
    await accounts(t, 'create', 'bob', '--role', 'admin')
    const options = [
      '--models',
      'gp-4.1, cl-*',
      '--quota',
      '500000',
      '--requests',
      '60/min',
      '--tokens',
      '100000/min',
      '--concurrency',
      '5',
    ]
    const output = await keys(t, 'create', 'bob', ...options, '--expires', '2100-01-01', '--json')
    const { key } = output.json() as { key: string }
    const settings = {
      models: ['gp-4.1', 'cl-*'],
      limits: { requests: '60/min', tokens: '100000/min', concurrency: 5 },
      quota: 500_000,
    }
    const account = await accountHelpers.route('key')({ headers: { 'x-api-key': key } })
    t.match(account, { name: 'bob', role: 'admin', key: settings })
    t.match((await keys(t, 'list', 'bob', '--json')).json(), [
      { account: 'bob', ...settings, expires: '2100-01-01T00:00:00.000Z', state: 'active' },
    ])
  })

  t.test(`keys --system on ${engine}: creates, lists and revokes system tokens`, async t => {
    const output = await keys(t, 'create', 'bob', '--system', '--json')
    const { id, token } = output.json() as { id: number; token: string }
    t.match(await accountHelpers.route('system-token')({ headers: { authorization: token } }), {
      name: 'bob',
      token: id,
    })
    t.match((await keys(t, 'list', '--system', '--json')).json(), [
      { id, account: 'bob', key: /^st-/ },
    ])
    t.match(await keys(t, 'revoke', String(id), '--system'), { exit: 0, out: /revoked/ })
    t.match(await keys(t, 'create', 'bob', '--system', '--quota', '5'), {
      exit: 2,
      err: /a system token calls no models/,
    })
  })

  t.test(`list commands on ${engine}: list accounts and the keys of one account`, async t => {
    t.match((await accounts(t, 'list', '--json')).json(), [
      { id: 1, name: 'ann', role: 'customer', keys: 1, state: 'active' },
      { id: 2, name: 'bob', role: 'admin', keys: 1, state: 'active' },
    ])
    t.equal(
      ((await keys(t, 'list', '1', '--json')).json() as unknown[]).length,
      2,
      'an account number works too',
    )
    await accounts(t, 'create', 'cid')
    t.match(await keys(t, 'list', 'cid'), { exit: 0, out: 'none\n' })
    t.same((await keys(t, 'list', 'cid', '--json')).json(), [])
  })

  t.test(
    `account and key commands on ${engine}: refuse invalid arguments and change nothing`,
    async t => {
      const wrong: [run: typeof keys, args: string, exit: number, message: RegExp][] = [
        [
          accounts,
          '',
          2,
          /^Usage: tollgate accounts create NAME \[--role ROLE\]\n +tollgate accounts link NAME\n +tollgate accounts limit NAME .*\n +tollgate accounts list \[--all\]\n/,
        ],
        [accounts, 'expel ann', 2, /^unknown command "expel"; Usage: tollgate accounts create/],
        [accounts, 'creat ann', 2, /^unknown command "creat"; did you mean "create"\?/],
        [accounts, 'constructor', 2, /unknown command "constructor"/],
        [accounts, 'create', 2, /Usage: tollgate accounts create NAME/],
        [accounts, 'create a b', 2, /Usage: tollgate accounts create NAME/],
        [accounts, 'create 42', 2, /not a number alone/],
        [accounts, `create ${'x'.repeat(65)}`, 2, /1 to 64 letters/],
        [accounts, "create x';DROP", 2, /1 to 64 letters/],
        [accounts, 'create dan --role king', 2, /--role must be customer or admin/],
        [accounts, 'create ann', 3, /The account "ann" exists already/],
        [accounts, 'list ann', 2, /^Usage: tollgate accounts list \[--all\]$/m],
        [
          accounts,
          'list --note x',
          2,
          /^--note is not an option here\nUsage: tollgate accounts list \[--all\]$/m,
        ],
        [keys, 'create', 2, /tollgate keys create ACCOUNT/],
        [keys, 'create nobody', 3, /Unknown account "nobody"; `tollgate accounts list`/],
        [keys, 'create 99', 3, /Unknown account "99"/],
        [keys, 'create ann --expires 2001-01-01', 2, /--expires 2001-01-01 is in the past/],
        [keys, 'create ann --expires 0d', 2, /is in the past/],
        [keys, 'create ann --expires soon', 2, /a time such as 30d/],
        [keys, 'create ann --expires 2030-13-45', 2, /a time such as 30d/],
        [keys, 'create ann --models a,,b', 2, /--models must be a comma-separated list/],
        [keys, 'create ann --quota 1.5', 2, /--quota must be a whole number above 0/],
        [keys, 'create ann --quota 99999999999999999999', 2, /--quota/],
        [keys, 'create ann --requests many', 2, /--requests must be a rate such as 60\/min/],
        [keys, 'create ann --tokens 1.5/min', 2, /--tokens must be a rate such as 60\/min/],
        [keys, 'create ann --concurrency 0', 2, /--concurrency must be a whole number above 0/],
        [keys, 'create ann --name 7', 2, /--name needs a name/],
        [keys, 'list nobody', 3, /Unknown account "nobody"/],
        [keys, 'list ann bob', 2, /^Usage: tollgate keys list \[ACCOUNT\] \[--system\]$/m],
        [keys, 'revoke', 2, /tollgate keys revoke ID/],
        [keys, 'revoke first', 2, /a whole number above 0/],
        [keys, 'revoke 999', 3, /Unknown API key 999; `tollgate keys list`/],
      ]
      const before = [await accounts(t, 'list', '--json'), await keys(t, 'list', '--json')]
      for (const [run, args, exit, message] of wrong) {
        const output = await run(t, ...args.split(' ').filter(Boolean))
        t.match(output, { exit, out: '', err: message }, args)
        const asJson = await run(t, ...args.split(' ').filter(Boolean), '--json')
        t.match(JSON.parse(asJson.err), { error: { code: /^[A-Z_]+$/, message } })
      }
      const after = [await accounts(t, 'list', '--json'), await keys(t, 'list', '--json')]
      t.same(
        after.map(({ out }) => out),
        before.map(({ out }) => out),
        'nothing was changed',
      )
    },
  )

  t.test(`account commands on ${engine}: exit with 3 if the store is unavailable`, async t => {
    await accountHelpers.database.close()
    t.match(await accounts(t, 'create', 'eve'), {
      exit: 3,
      err: /Database unavailable; the request was not processed/,
    })
  })
}

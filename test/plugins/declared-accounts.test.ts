/** `tollgate apply` and `tollgate export accounts` on both stores: what a file says is what is. */
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import type { HostBase } from '../../engine/plugin.ts'
import { moneyCommands } from '../../plugins/account/money-commands.ts'
import { findAccount } from '../../plugins/credentials/find.ts'
import { addMember } from '../../plugins/credentials/members.ts'
import { applyCommand, exportAccounts } from '../../plugins/declared-accounts/command.ts'
import { IdentityKeys } from '../../plugins/identity-provider/identity-keys.ts'
import { runWhole } from '../../plugins/operator/command-line.ts'
import { blockOf } from '../docs/blocks.ts'
import { runCommand } from '../helpers/gateway/command-line.ts'
import { hostOver, openAccountsIn } from '../helpers/store/accounts.ts'
import { makeLedger } from '../helpers/store/membership.ts'
import { operationNamed } from '../helpers/store/operations.ts'
import { sql, startBoth } from '../helpers/store/store.ts'

const COMMANDS = {
  apply: applyCommand,
  export: { summary: '', subcommands: { accounts: exportAccounts } },
}
const ACME = {
  overdraft: '10.5',
  limits: { requests: '600/min', zone: 'eu' },
  members: { bob: 'owner', eve: 'viewer' },
  keys: {
    app: { member: 'bob', models: ['b', 'a'], quota: 5_000, quota_period: 'month' },
    batch: { expires: '2090-01-31', limits: { concurrency: 3 } },
  },
}
const NO_CACHE = { findIdentity: async () => ({ refusalCode: 'AUTH_UNKNOWN' }) } as never
const start = (t: Test, host: HostBase) => {
  const folder = t.testdir({})
  const [file, secrets] = [`${folder}/accounts.yaml`, `${folder}/secrets.jsonl`]
  const apply = async (accounts: object, ...words: string[]) => {
    writeFileSync(file, stringify({ accounts }))
    return runCommand(t, 'apply', COMMANDS, host, [file, ...words])
  }
  const exported = async () => {
    const { out, err, exit } = await runCommand(t, 'export', COMMANDS, host, ['accounts'])
    return exit === 0 ? parse(out).accounts : err
  }
  const secretLines = () =>
    existsSync(secrets)
      ? readFileSync(secrets, 'utf8')
          .trim()
          .split('\n')
          .map(line => JSON.parse(line))
      : []
  return { folder, file, secrets, apply, exported, secretLines }
}

for (const { engine, database } of await startBoth(t, []))
  t.test(`declared accounts on ${engine}`, async t => {
    const { account } = await openAccountsIn(database)
    await makeLedger(database)
    await account('root', 'admin')
    const host = {
      ...hostOver(database),
      memo: (_: string, make: () => string) => make(),
      section: ((name: string) =>
        name === 'plans' ? { pro: { amount: 20, per: 'month' } } : {}) as HostBase['section'],
    } as HostBase
    const { folder, secrets, apply, exported, secretLines } = start(t, host)

    await t.test(
      'apply: makes accounts, members and keys, and a second run changes nothing',
      async t => {
        const refused = await apply({ acme: ACME })
        t.match(refused, {
          exit: 2,
          err: /4 new keys and members have secrets.*Nothing was changed/,
        })
        t.notOk('acme' in (await exported()), 'a secret without a place makes nothing')
        t.match(await apply({ acme: ACME }, '--dry-run'), { exit: 1, out: /key app of acme/ })
        t.notOk('acme' in (await exported()), 'a dry run makes nothing')
        t.match(await apply({ acme: ACME }, '--secrets', secrets), { exit: 0 })
        t.equal(statSync(secrets).mode & 0o777, 0o600)
        t.match(secretLines(), [
          { account: 'acme', name: 'bob', url: /#link=sl-/ },
          { account: 'acme', name: 'eve', url: /#link=sl-/ },
          { account: 'acme', name: 'app', key: /^sk-\w{20,}$/ },
          { account: 'acme', name: 'batch', key: /^sk-\w{20,}$/ },
        ])
        t.match(await apply({ acme: ACME }), { exit: 0, out: /^Nothing to change/ })
        t.match(await apply({ acme: ACME }, '--dry-run'), { exit: 0 })
        t.equal(secretLines().length, 4)
      },
    )

    await t.test('apply: assigns the plan of an account, which stays if left out', async t => {
      t.match(await apply({ acme: { ...ACME, plan: 'prp' } }), {
        exit: 2,
        err: /accounts\.acme\.plan: .*has no plan "prp"; it has pro; did you mean "pro"/,
      })
      t.notOk('plan' in (await exported()).acme)
      t.match(await apply({ acme: { ...ACME, plan: 'pro' } }), {
        exit: 0,
        out: /account acme +none +pro/,
      })
      t.equal((await exported()).acme.plan, 'pro')
      for (const accounts of [{ acme: ACME }, await exported()])
        t.match(await apply(accounts), { exit: 0, out: /^Nothing to change/ })
      t.match(await apply({ acme: { ...ACME, plan: null } }), {
        exit: 0,
        out: /account acme +pro +none/,
      })
      t.match(await apply({ acme: { ...ACME, plan: null } }), { out: /^Nothing to change/ })
      const plans = (...argv: string[]) => runCommand(t, 'plans', moneyCommands, host, argv)
      await plans('assign', 'acme', 'pro', '--expires', '2090-01-31')
      t.notOk('plan' in (await exported()).acme, 'the file would give it without an end')
      t.match(await apply(await exported()), { out: /^Nothing to change/ })
      const declaresPro = { acme: { ...ACME, plan: 'pro' } }
      t.match(await apply(declaresPro), { out: /account acme +pro until 2090-01-31\S+ +pro/ })
      t.match(await apply(declaresPro), { out: /^Nothing to change/ })
      const unpaid = 'UPDATE account_plans SET until = 1, unpaid = 1'
      await database.write([{ sql: sql('unpaid', unpaid), values: [] }])
      t.match(await apply(declaresPro), { out: /account acme +pro unpaid +pro/ })
      t.match(await plans('list', 'acme'), { out: /active/ })
      await plans('cancel', 'acme')
    })

    await t.test('apply: replaces limits, so that those that the file omits end', async t => {
      const limits = { tokens: '900/min' }
      const { app, batch } = ACME.keys
      const keys = { app: { ...app, limits }, batch: { ...batch, limits } }
      t.match(await apply({ acme: { ...ACME, limits, keys } }), { exit: 0 })
      const { acme } = await exported()
      t.same(acme.limits, limits)
      t.same([acme.keys.app.limits, acme.keys.batch.limits], [limits, limits])
      t.match(await apply({ acme: ACME }), { exit: 0 })
      t.same((await exported()).acme.limits, ACME.limits)
      t.match(await apply({ acme: ACME }), { exit: 0, out: /^Nothing to change/ })
    })

    await t.test('export: the file of what is there, which apply takes unchanged', async t => {
      const accounts = await exported()
      t.same(accounts.acme, {
        ...ACME,
        keys: {
          app: { ...ACME.keys.app, models: ['a', 'b'] },
          batch: { expires: '2090-01-31T00:00:00.000Z', limits: { concurrency: 3 } },
        },
      })
      t.same(accounts.root, { role: 'admin' })
      t.match(await apply(accounts, '--prune'), { exit: 0, out: /^Nothing to change/ })
    })

    await t.test(
      'apply: a setting that is left out ends, and one that differs changes',
      async t => {
        const { out, exit } = await apply({
          acme: {
            suspended: true,
            overdraft: 10,
            limits: { requests: '600/min' },
            members: { bob: 'admin', eve: 'viewer' },
            keys: { app: { models: ['a'], quota: 5_000 }, batch: {} },
          },
        })
        t.equal(exit, 0)
        for (const line of [
          /account acme +\{"requests":"600\/min","zone":"eu"\} +\{"requests":"600\/min"\}/,
          /account acme +10.5 +10\b/,
          /account acme +active +suspended/,
          /member bob of acme +owner +admin/,
          /key app of acme .*"quota_period":"month"/,
          /key batch of acme .*"concurrency":3/,
        ])
          t.match(out, line)
        t.match((await exported()).acme, {
          suspended: true,
          overdraft: '10',
          members: { bob: 'admin' },
          keys: { app: { models: ['a'], quota: 5_000 }, batch: {} },
        })
        await apply({ acme: ACME })
        t.match((await exported()).acme, { overdraft: '10.5', keys: { app: { member: 'bob' } } })
        t.notOk((await exported()).acme.suspended, 'it is resumed')
      },
    )

    await t.test(
      'apply: only --prune ends what the file does not name, never an operator',
      async t => {
        await account('other')
        const less = { acme: { ...ACME, members: { bob: 'owner' }, keys: { app: ACME.keys.app } } }
        t.match(await apply(less), { exit: 0, out: /^Nothing to change/ })
        t.match(await apply(less, '--prune', '--dry-run'), {
          exit: 1,
          out: /other +active +deleted/,
        })
        t.match(await apply(less, '--prune'), {
          exit: 0,
          out: /key batch of acme +active +revoked/,
        })
        t.same(Object.keys(await exported()).sort(), ['acme', 'root'])
        t.same(Object.keys((await exported()).acme.keys), ['app'])
        t.same(Object.keys((await exported()).acme.members), ['bob'])
      },
    )

    await t.test('apply: budgets of accounts, members and keys, also of new keys', async t => {
      const monthly = { amount: '500', per: 'month', zone: 'Europe/Berlin', alert_at: ['80%'] }
      const declared = {
        budgets: { monthly, daily: { amount: '20.5', per: 'day', at_limit: 'warn', shadow: true } },
        members: {
          bob: { role: 'owner', budgets: { seat: { tokens: 20_000, per: 'week' } } },
          eve: 'viewer',
        },
        keys: { ci: { budgets: { monthly: { amount: '1', per: 'life' } } }, web: {} },
      }
      t.match(await apply({ spender: declared }, '--dry-run'), { exit: 1, out: /budget monthly/ })
      const { out, exit } = await apply({ spender: declared }, '--secrets', secrets)
      t.equal(exit, 0)
      for (const line of [
        /budget monthly of account spender +none +\{"amount":"500".*"alert_at":\["80%"\]\}/,
        /budget seat of member bob of spender +none +\{"tokens":20000,"per":"week"\}/,
        /budget monthly of key ci of spender +none +\{"amount":"1","per":"life"\}/,
      ])
        t.match(out, line)
      const unchanged = { exit: 0, out: /^Nothing to change/ }
      t.match(await apply({ spender: declared }), unchanged)
      t.same((await exported()).spender, declared)
      t.match(await apply(await exported(), '--prune'), unchanged)
      const converted = { ...declared, budgets: { ...declared.budgets, daily: undefined } }
      converted.budgets.monthly = { ...monthly, amount: 500 as never }
      t.match(
        await apply({ spender: converted }),
        unchanged,
        'an equal amount, and none is removed',
      )
      t.match(await apply({ spender: converted }, '--prune', '--dry-run'), {
        out: /budget daily of account spender +\{.*"shadow":true\} +removed/,
      })
      const changed = {
        ...declared,
        budgets: { monthly: { ...monthly, amount: '600' } },
        members: {
          bob: 'owner',
          eve: { role: 'viewer', tags: 'project=alpha', budgets: declared.members.bob.budgets },
          kim: { role: 'member', tags: 'project=beta' },
        },
        keys: { ci: { budgets: { monthly: { amount: '2', per: 'life' } } } },
      }
      const all = await exported()
      const pruned = await apply({ ...all, spender: changed }, '--prune', '--secrets', secrets)
      t.match(pruned, { exit: 0, out: /budget seat of member bob of spender .*removed/ })
      t.match(pruned.out, /member eve of spender +viewer +viewer \(project=alpha\)/)
      t.match(pruned.out, /member kim of spender +none +member \(project=beta\)/)
      t.match(await apply({ spender: { ...changed, members: { eve: 'viewer' } } }, '--dry-run'), {
        out: /member eve of spender +viewer \(project=alpha\) +viewer/,
      })
      t.notMatch(pruned.out, /of key web/, 'budgets of a key that ends go with it')
      t.same((await exported()).spender, {
        ...changed,
        keys: { ci: changed.keys.ci },
      })
      for (const [budgets, text] of [
        [{ m: { amount: 0, per: 'day' } }, /budgets\.m\.amount: .*a budget is above 0/],
        [{ m: { amount: 5, per: 'day', zone: 'Mars' } }, /:7:9: .*budgets\.m\.zone: /],
        [{ m: { amount: 5, per: 'decade' } }, /per/],
        [{ m: { amont: 5, per: 'day' } }, /mean "amount"\?|amount/],
      ] as const) {
        const { exit, err } = await apply({ spender: { ...changed, budgets } })
        t.equal(exit, 2)
        t.match(err, text)
      }
      const { spender: _, ...others } = all
      t.match(await apply(others, '--prune'), { exit: 0 })
    })

    await t.test('apply: what cannot be done is said before anything changes', async t => {
      const before = await exported()
      for (const [accounts, text] of [
        [
          { acme: { ...ACME, role: 'admin' } },
          /accounts\.acme\.role: the role of the account is customer/,
        ],
        [
          { acme: { keys: { app: { member: 'carl' } } } },
          /:5:9: accounts\.acme\.keys\.app\.member: the account has no member "carl"/,
        ],
        [{ acme: { limits: { requests: 'many' } } }, /limits/],
        [{ acme: { overdraft: '1.2.3' } }, /:3:5: accounts\.acme\.overdraft: .*overdraft/],
        [{ acme: { balance: 5 } }, /:3:5: accounts\.acme\.balance: .*known ones are role, susp/],
        [{ acme: { overdaft: 5 } }, /accounts\.acme\.overdaft: .*mean "overdraft"\?/],
        [{ acme: { limits: { zones: 'eu' } } }, /:4:7: .*limits\.zones: .*mean "zone"\?/],
        [
          { acme: { keys: { 'a.b': { model: ['a'] } } } },
          /:5:9: accounts\.acme\.keys\.a\.b\.model: .*mean "models"\?/,
        ],
        [{ acme: { members: { 7: 'owner' } } }, /members\.7: a new name .*is not a number/],
        [{ acme: { keys: { app: { quota_period: 'day' } } } }, /quota/],
        [{ 'a/b': {} }, /:2:3: accounts\.a\/b: a new name has 1 to 64 letters/],
        [[], /accounts/],
      ] as const) {
        const { exit, err } = await apply(accounts as object)
        t.equal(exit, 2, JSON.stringify(accounts))
        t.match(err, text)
      }
      t.match(await runCommand(t, 'apply', COMMANDS, host, [`${folder}/none.yaml`]), {
        exit: 2,
        err: /ENOENT/,
      })
      writeFileSync(`${folder}/bad.yaml`, 'accounts: { a: {}, a: {} }')
      t.match(await runCommand(t, 'apply', COMMANDS, host, [`${folder}/bad.yaml`]), {
        exit: 2,
        err: /bad\.yaml:1:20: .*unique/,
      })
      t.same(await exported(), before)
    })

    await t.test('apply: new models and zones must be known, stored ones may stay', async t => {
      const configured = (models: object, upstreams: object) => {
        const sections: Readonly<Record<string, object>> = { models, upstreams }
        return { ...host, section: (name: string) => sections[name] ?? {} } as HostBase
      }
      const known = configured(
        { small: { to: 'up/a' }, 'big-*': { to: 'up/*' } },
        { up: { zone: ['eu', 'us'] }, other: {} },
      )
      const dry = (accounts: object) => start(t, known).apply(accounts, '--dry-run')
      const app = (settings: object) => ({
        acme: { ...ACME, keys: { ...ACME.keys, app: settings } },
      })
      const models = await dry(app({ ...ACME.keys.app, models: ['a', 'smal'] }))
      t.equal(models.exit, 2)
      t.match(
        models.err,
        /accounts\.acme\.keys\.app\.models: no model is named "smal".*mean "small"/,
      )
      const zone = await dry(app({ ...ACME.keys.app, limits: { zone: 'eus' } }))
      t.match(zone.err, /keys\.app\.limits\.zone: no upstream is in the zone "eus".*mean "eu"\?/)
      const far = await dry({ acme: { ...ACME, limits: { zone: 'asia' } } })
      t.match(far.err, /acme\.limits\.zone: .*"asia"; the known ones are eu, us/)
      t.match(await dry(app({ ...ACME.keys.app, models: ['a', 'b', 'big-1'] })), { exit: 1 })
      const none = start(t, configured({}, { up: {} }))
      t.match((await none.apply({ new: { limits: { zone: 'eu' } } })).err, /zone "eu"/)
    })

    await t.test('apply: --prune keeps what has money, and says so before it changes', async t => {
      const rich = await account('rich')
      await account('poor')
      await runWhole(operationNamed('accounts credit'), { account: 'rich', amount: 5 }, host)
      const before = await exported()
      const { rich: _, poor: __, ...others } = before
      const preview = await apply(others, '--prune', '--dry-run')
      t.match(preview, { exit: 1, out: /account rich +active +kept: it has a balance of 5 CNY/ })
      t.match(preview.out, /account poor +active +deleted/)
      const { exit, err } = await apply(others, '--prune')
      t.equal(exit, 2)
      t.match(
        err,
        /cannot delete account rich \(kept: it has a balance of 5 CNY\)\. .*Nothing was changed/,
      )
      t.same(await exported(), before)
      await runWhole(operationNamed('accounts delete'), { account: rich, force: true }, host)
      t.match(await apply(others, '--prune'), { exit: 0, out: /poor +active +deleted/ })
    })

    await t.test('apply: --prune with a file without customers needs --allow-empty', async t => {
      const before = await exported()
      for (const accounts of [{}, { root: { role: 'admin' } }]) {
        for (const words of [['--prune'], ['--prune', '--dry-run']]) {
          const { exit, err } = await apply(accounts, ...words)
          t.equal(exit, 2)
          t.match(err, /:1:1: accounts: the file names no customer.*all \(\d\); add --allow-empty/)
        }
        t.match(await apply(accounts, '--prune', '--allow-empty', '--dry-run'), {
          exit: 1,
          out: /acme +active +deleted/,
        })
      }
      t.same(await exported(), before)
    })

    await t.test('export: names of identity providers can be applied', async t => {
      const long = `${'p'.repeat(60)}-auth0|7/x`
      await account(long)
      const id = (await findAccount(database, 'acme')).id
      await database.write(addMember(id, { name: 'auth0|8', role: 'viewer' }, 1))
      const before = await exported()
      t.same(before[long], {})
      t.match(await apply(before, '--prune'), { exit: 0, out: /^Nothing to change/ })
      const changed = {
        ...before,
        [long]: { suspended: true },
        acme: { ...before.acme, members: { ...before.acme.members, 'auth0|8': 'admin' } },
      }
      t.match(await apply(changed), { exit: 0, out: /auth0\|8 of acme +viewer +admin/ })
      t.same((await exported())[long], { suspended: true })
      const { [long]: _, ...less } = before
      t.match(await apply(less, '--prune'), { exit: 0, out: /suspended +deleted/ })
    })

    await t.test('apply: keys of tokens of an identity provider are not of the file', async t => {
      const before = await exported()
      const id = (await findAccount(database, 'acme')).id
      const keys = new IdentityKeys({ create: 'members', operators: false }, NO_CACHE, host)
      for (const subject of ['auth0|7', `${'x'.repeat(64)}1`, `${'x'.repeat(64)}2`]) {
        const identity = { digest: `identity:${subject}`, subject, account: 'acme' }
        const find = keys.find({ ...identity, member: undefined, role: undefined })
        await t.rejects(find, { code: 'AUTH_UNKNOWN' }, 'it was made, and the cache is empty')
      }
      t.same(await exported(), before)
      t.match(await apply(before, '--prune'), { exit: 0, out: /^Nothing to change/ })
      const sql = {
        name: 'count',
        text: 'SELECT id FROM api_keys WHERE account = ? AND digest LIKE ? AND revoked IS NULL',
      }
      t.equal((await database.read(sql, [id, 'identity:%'])).length, 3)
    })

    await t.test('docs/accounts-file.md: its file can be applied', async t => {
      const { accounts } = parse(blockOf('docs/accounts-file.md', 'yaml'))
      t.match(await apply(accounts, '--dry-run'), { exit: 1, out: /key nightly of acme/ })
    })

    await t.test(
      'apply: secrets go to a private file or a command; a key whose secret is lost is revoked',
      async t => {
        const open = `${folder}/open.jsonl`
        writeFileSync(open, '')
        chmodSync(open, 0o644)
        const more = {
          acme: { ...ACME, members: { bob: 'owner' }, keys: { app: ACME.keys.app, next: {} } },
        }
        t.match(await apply(more, '--secrets', open), { exit: 2, err: /chmod 600/ })
        t.match(await apply(more, '--secrets', `${folder}/no/file`), { exit: 2, err: /ENOENT/ })
        t.match(await apply(more, '--secrets', secrets, '--secrets-command', 'cat'), { exit: 2 })
        t.match(await apply(more, '--secrets-command', 'exit 3'), {
          exit: 3,
          err: /ended with 3; it is revoked/,
        })
        t.notOk('next' in (await exported()).acme.keys, 'the key whose secret is lost is revoked')
        t.match(await apply(more, '--secrets-command', `cat >> ${folder}/piped`), { exit: 0 })
        t.match(JSON.parse(readFileSync(`${folder}/piped`, 'utf8')), { name: 'next', key: /^sk-/ })
      },
    )
  })

/** The operator's daily commands on both stores: accounts, keys, usage and one request. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { nameAt } from '../../../engine/request-log/files.ts'
import { openRequestLog } from '../../../engine/request-log/reader.ts'
import { commands as accountCommands } from '../../../plugins/account/command.ts'
import { addFailedCall, type FailedCall } from '../../../plugins/calls/statements.ts'
import { addMember } from '../../../plugins/credentials/members.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import { logsCommand } from '../../../plugins/observe/logs.ts'
import { requestCommand } from '../../../plugins/observe/request.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { call, payerOf } from '../../helpers/money/ledger.ts'
import { openAccountsIn } from '../../helpers/store/accounts.ts'
import { ledgerOn, makeLedger } from '../../helpers/store/membership.ts'
import { startBoth } from '../../helpers/store/store.ts'

const UNIT = 1_000_000_000n
const MODELS = { 'gp-4o': {}, 'gp-4.1': {}, 'cl-*-thinking': {} }
const commands = { ...accountCommands, request: requestCommand, logs: logsCommand }

const both = await Promise.all(
  (await startBoth(t, [])).map(async ({ engine, database }) => {
    const accounts = await openAccountsIn(database)
    await makeLedger(database)
    return { engine, ...accounts }
  }),
)

// Not `testdir`: a suite has one for all of its files.
const FOLDER = mkdtempSync(join(tmpdir(), 'tollgate-operator-'))
t.teardown(() => rmSync(FOLDER, { recursive: true }))
for (const { engine, database, host: base, account, key, token, route } of both) {
  const folder = join(FOLDER, engine)
  mkdirSync(folder)
  const section = <T>(name: string): T => (name === 'models' ? MODELS : {}) as T
  const host = { ...base, section, requests: openRequestLog(folder) }
  const run = (t: Test, ...[name = '', ...args]: string[]) =>
    runCommand(t, name, commands, host, args)
  const json = async <T>(t: Test, ...args: string[]): Promise<T> =>
    (await run(t, ...args, '--json')).json() as T
  const ledger = ledgerOn(database)
  t.teardown(() => ledger.close())
  const credit = (to: number, units: bigint) =>
    database.write([
      openWallet(walletOf.account(to), 0n),
      addCredit({ account: to, kind: 'credit', amount: units * UNIT, note: '', at: Date.now() }),
    ])
  const pay = async (request: string, payer: Parameters<typeof payerOf>, cents: bigint) => {
    const result = await call({ database }, ledger, request, payerOf(...payer), cents * 10_000_000n)
    if (!('settle' in result)) throw new Error('no money')
    await result.settle?.(cents * 10_000_000n)
  }

  t.test(`accounts show on ${engine}: balance, use, keys with limits and last calls`, async t => {
    const ann = await account('ann')
    await credit(ann, 10n)
    const { id } = await key(ann, { models: ['gp-4o'] })
    await pay(`req_${engine}_1`, [ann, id], 30n)
    await pay(`req_${engine}_2`, [ann, id], 12n)
    await call({ database }, ledger, `req_${engine}_open`, payerOf(ann, id), UNIT)
    t.match(await json(t, 'accounts', 'show', 'ann', '--calls', '2'), {
      name: 'ann',
      state: 'active',
      balance: '9.58',
      holds: '1',
      used: '0.42',
      today: { calls: 2, cost: '0.42' },
      month: { calls: 2, cost: '0.42' },
      credentials: [{ id, models: ['gp-4o'], used: '0.42', state: 'active' }],
    })
    const { calls } = await json<{ calls: object[] }>(t, 'accounts', 'show', 'ann', '--calls', '2')
    t.equal(calls.length, 2)
    const { out } = await run(t, 'accounts', 'show', 'ann')
    t.match(out, /^ann \(\d+\), customer, active/)
    t.match(out, /balance +9\.58 CNY, of which running calls hold 1 CNY;/)
    t.match(out, new RegExp(`0\\.3 CNY  m  key ${id}  settled  req_${engine}_1`))
    t.match(await run(t, 'accounts', 'show', 'ann', '--calls', '0'), { exit: 2, err: /--calls/ })
    t.match(await json(t, 'accounts', 'list'), [{ name: 'ann', balance: '9.58', keys: 1 }])
  })

  t.test(
    `usage --all on ${engine}: the largest cost first, by account, model, key and day`,
    async t => {
      const bob = await account('bob')
      await credit(bob, 10n)
      await pay(`req_${engine}_3`, [bob], 99n)
      const rows = async (...args: string[]) =>
        (await json<{ rows: object[] }>(t, 'usage', '--all', ...args)).rows
      t.match(await rows(), [
        { account: 'bob', calls: 1, cost: '0.99' },
        { account: 'ann', calls: 2, cost: '0.42' },
      ])
      t.equal((await rows('--top', '1')).length, 1)
      t.match(await rows('--by', 'model'), [{ model: 'm', calls: 3, cost: '1.41' }])
      t.match(await rows('--by', 'key'), [{ name: 'no key' }, { name: 'test', account: 'ann' }])
      const day = new Date().toISOString().slice(0, 10)
      t.match(await rows('--by', 'day', '--since', '1h'), [{ day, calls: 3 }])
      t.same(await rows('--from', '2020-01-01', '--to', '2020-02-01'), [])
      t.match(await run(t, 'usage', '--all'), {
        exit: 0,
        out: /^id +account +calls +input_tokens +cached_tokens +output_tokens +cost \(CNY\) +refunded \(CNY\)\n/,
      })
      const wrong: [args: string[], message: RegExp][] = [
        [[], /Usage: tollgate usage NAME, or tollgate usage --all/],
        [['ann', '--all'], /--all takes no NAME/],
        [['ann', '--top', '3'], /--top needs --all/],
        [['--all', '--member', 'bob'], /--member needs NAME/],
        [['--all', '--top', '0'], /--top must be a whole number from 1 to 1000/],
        [['--all', '--by', 'call'], /--by must be one of account, model, key, day/],
        [['--all', '--by', 'constructor'], /--by must be one of/],
        [['--all', '--since', 'monday'], /--since must be a time such as 2h/],
        [['ann', '--since', '2h', '--from', '2020-01-01'], /--since and --from are the same/],
      ]
      for (const [args, err] of wrong) t.match(await run(t, 'usage', ...args), { exit: 2, err })
    },
  )

  t.test(`accounts rename on ${engine}: keys call on under the new name`, async t => {
    const old = await account('old')
    const { text } = await key(old)
    const caller = { headers: { authorization: `Bearer ${text}` } }
    t.match(await run(t, 'accounts', 'rename', 'old', 'new'), { exit: 0, out: /\d+ +new/ })
    t.match(await route('key')(caller), { name: 'new', id: old })
    t.match(await run(t, 'accounts', 'rename', 'new', 'ann'), { exit: 3, err: /exists already/ })
    t.match(await run(t, 'accounts', 'rename', 'old', 'x'), { exit: 3, err: /Unknown account/ })
    t.match(await run(t, 'accounts', 'rename', 'new', '42'), { exit: 2, err: /not a number alone/ })
    t.match(await run(t, 'accounts', 'rename', 'new', 'a:b\u001b'), { exit: 2 })
  })

  t.test(
    `accounts delete on ${engine}: refuses money and open calls, and keeps the ledger`,
    async t => {
      const leaver = await account('leaver')
      await credit(leaver, 1n)
      const { text } = await key(leaver)
      const systemToken = await token(leaver)
      t.match(await run(t, 'accounts', 'delete', 'leaver'), {
        exit: 3,
        err: /has a balance of 1 CNY\. /,
      })
      await call({ database }, ledger, `req_${engine}_hold`, payerOf(leaver), UNIT / 2n)
      t.match(await run(t, 'accounts', 'delete', 'leaver'), {
        exit: 3,
        err: /a balance of 1 CNY and running calls or open tasks, which hold 0\.5 CNY\./,
      })
      t.match(await route('key')({ headers: { 'x-api-key': text } }), { name: 'leaver' })
      t.match(await run(t, 'accounts', 'delete', 'leaver', '--force'), { exit: 0, out: /deleted/ })
      const caller = { headers: { authorization: `Bearer ${text}` } }
      await t.rejects(route('key', database)(caller), { code: 'AUTH_REVOKED' })
      const byToken = { headers: { authorization: systemToken.text } }
      await t.rejects(route('system-token', database)(byToken), { code: 'AUTH_REVOKED' })
      t.match(await run(t, 'accounts', 'delete', 'leaver'), { exit: 3, err: /Unknown account/ })
      t.match(await run(t, 'accounts', 'delete', String(leaver)), {
        exit: 3,
        err: /Unknown account/,
      })
      t.notMatch((await run(t, 'accounts', 'list')).out, 'leaver')
      t.match((await run(t, 'accounts', 'list', '--all')).out, `deleted:${leaver}:leaver`)
      t.match(await json(t, 'accounts', 'show', String(leaver)), { state: 'deleted', balance: '1' })
      for (const change of [
        ['credit', String(leaver), '1'],
        ['resume', String(leaver)],
      ])
        t.match(await run(t, 'accounts', ...change), { exit: 3, err: /Unknown account/ })
      const { id } = await json<{ id: number }>(t, 'accounts', 'create', 'leaver')
      t.not(id, leaver, 'the name is free, the number is not')
    },
  )

  t.test(`keys update on ${engine}: changes what is named and keeps the rest`, async t => {
    const dan = await account('dan')
    const { id, text } = await key(dan)
    const update = (...args: string[]) => run(t, 'keys', 'update', String(id), ...args)
    await update('--models', 'gp-4o,cl-x-thinking', '--requests', '60/min', '--quota', '500')
    await update('--concurrency', '5', '--name', 'phone', '--expires', '2100-01-01')
    t.match(await json(t, 'keys', 'show', String(id)), {
      name: 'phone',
      models: ['gp-4o', 'cl-x-thinking'],
      limits: { requests: '60/min', concurrency: 5 },
      quota: 500,
      remaining: 500,
      expires: '2100-01-01T00:00:00.000Z',
    })
    t.match(await route('key')({ headers: { 'x-api-key': text } }), { key: { quota: 500 } })
    t.match(await update('--models', 'all', '--requests', 'none', '--expires', 'never'), {
      exit: 0,
      out: /never +all +concurrency=5 +500 of 500 +0/,
    })
    t.match(await update('--quota', '900/month'), { exit: 0, out: / 900 of 900\/month +0/ })
    t.match(await json(t, 'keys', 'show', String(id)), { quota: 900, quota_period: 'month' })
    t.match(await run(t, 'accounts', 'show', 'dan'), { out: /quota 900 of 900 a month left/ })
    await update('--quota', '500')
    t.match(await json(t, 'keys', 'show', String(id)), { quota: 500, quota_period: null })
    await update('--concurrency', 'none', '--quota', 'none')
    t.match(await json(t, 'keys', 'show', String(id)), { limits: null, quota: null, models: null })
    const before = await json(t, 'keys', 'show', String(id))
    const wrong: [args: string[], exit: number, message: RegExp][] = [
      [[], 2, /Nothing to change/],
      [['--models', 'gp-4x'], 2, /There is no model "gp-4x"; did you mean "gp-4o"\?/],
      [['--models', 'gp-4o,cl-*'], 2, /There is no model "cl-\*"/],
      [['--requests', 'many'], 2, /--requests must be a rate/],
      [['--quota', '0'], 2, /--quota must be/],
      [
        ['--quota', '5/week'],
        2,
        /--quota must be a whole number above 0, alone or with \/day or \/month/,
      ],
      [['--expires', '2001-01-01'], 2, /in the past/],
      [['--name', '7'], 2, /--name needs a name/],
    ]
    for (const [args, exit, err] of wrong) t.match(await update(...args), { exit, err })
    t.same(await json(t, 'keys', 'show', String(id)), before, 'nothing was changed')
    t.match(await run(t, 'keys', 'update', '999', '--name', 'x'), {
      exit: 3,
      err: /Unknown API key/,
    })
    t.match(await run(t, 'keys', 'create', 'dan', '--models', 'gp-4.1,nonsense'), {
      exit: 2,
      err: /There is no model "nonsense"; tollgate models lists them/,
    })
    const { id: tokenId } = await token(dan)
    t.match(await run(t, 'keys', 'update', String(tokenId), '--system', '--quota', '5'), {
      exit: 2,
      err: /a system token calls no models/,
    })
    await run(t, 'keys', 'revoke', String(id))
    t.match(await update('--name', 'again'), { exit: 3, err: /is revoked and cannot be changed/ })
  })

  t.test(`keys rotate on ${engine}: one number, a new secret, the old one for a while`, async t => {
    const eve = await account('eve')
    const { id, text } = await key(eve, { models: ['gp-4o'] })
    // A process that knows the old secret learns of its end.
    const known = route('key')
    const bearer = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } })
    t.match(await known(bearer(text)), { key: { id } })
    const first = await json<{ key: string; earlier: { expires: string } }>(
      t,
      'keys',
      'rotate',
      String(id),
      '--overlap',
      '1h',
    )
    t.match(await route('key', database)(bearer(first.key)), { key: { id, models: ['gp-4o'] } })
    t.match(await route('key', database)(bearer(text)), { key: { id, models: ['gp-4o'] } })
    t.ok(Date.parse(first.earlier.expires) > Date.now())
    const { out } = await run(t, 'keys', 'rotate', String(id))
    const [secret = ''] = /sk-\w{49}/.exec(out) ?? []
    t.match(out, /Save it now: it is not shown again\. The old secret sk-\S+ has ended\./)
    t.match(await route('key', database)(bearer(secret)), { key: { id } })
    // Without an overlap, also the secret ends whose own time was not over.
    for (const earlier of [first.key, text])
      await t.rejects(route('key', database)(bearer(earlier)), { code: 'AUTH_EXPIRED' })
    t.match(await run(t, 'keys', 'rotate', String(id), '--overlap', 'soon'), { exit: 2 })
    t.match(await run(t, 'keys', 'rotate', '999'), { exit: 3, err: /Unknown API key 999/ })
    await run(t, 'keys', 'revoke', String(id))
    t.match(await run(t, 'keys', 'rotate', String(id)), { exit: 3, err: /is revoked/ })
    const system = await token(eve)
    const rotated = await json<{ token: string }>(
      t,
      'keys',
      'rotate',
      String(system.id),
      '--system',
    )
    const byToken = { headers: { authorization: rotated.token } }
    t.match(await route('system-token', database)(byToken), { token: system.id })
  })

  t.test(
    `request on ${engine}: joins log line and charge, and says what it does not know`,
    async t => {
      const record = {
        level: 'info',
        time: Date.now(),
        id: `req_${engine}_1`,
        request_id: 'mine',
        status: 502,
        end: 'refused',
        ms: 12,
        added: 1,
        bytes: 7,
        attempts: 2,
        method: 'POST',
        path: '/v1/x',
        route: 'chat',
        code: 'UPSTREAM_ENDED',
        account: 1,
        account_name: 'ann',
        key: 1,
        model: 'evil\u001b]0;x\u0007',
        version: 7,
        tries: [
          { upstream: 'a', target: 'x', result: 503, ms: 4 },
          { upstream: 'b', target: null, result: 'UPSTREAM_ENDED', ms: 5 },
        ],
        dropped: 'seed',
      }
      const lines = [
        record,
        {
          ...record,
          id: 'req_refused',
          request_id: undefined,
          account: undefined,
          status: 401,
          tries: undefined,
          attempts: 0,
        },
        { ...record, id: 'req_open', request_id: undefined, account: undefined, status: 200 },
      ]
      writeFileSync(
        join(folder, nameAt(1, 1, 0)),
        lines.map(each => `${JSON.stringify(each)}\n`).join(''),
      )
      const { exit, out } = await run(t, 'request', `req_${engine}_1`)
      t.equal(exit, 0)
      t.notMatch(out, /[\u0007\u001b]/)
      for (const part of [
        /who +ann \(1\), key 1/,
        /result +502 UPSTREAM_ENDED, 7 bytes/,
        /attempt 1 +a\/x: 503 after 4 ms\nattempt 2 +b: UPSTREAM_ENDED after 5 ms/,
        /dropped +seed/,
        /config +version #7/,
        /charge +0\.3 CNY, settled, hold [\d.]+ CNY/,
      ])
        t.match(out, part)
      t.match(await json(t, 'request', 'mine'), {
        request: { id: `req_${engine}_1` },
        charges: [{ cost: '0.3' }],
        unknown: [],
      })
      t.match(
        (await run(t, 'request', 'req_refused')).out,
        /who +unknown: no valid credential[\s\S]*upstream +none was asked[\s\S]*charge +none in the ledger: the request failed/,
      )
      t.match(
        (await run(t, 'request', 'req_open')).out,
        /who +unknown: the route takes no credential, or `pipeline:` has no `observe`/,
      )
      const elsewhere = await run(t, 'request', `req_${engine}_2`)
      t.match(
        elsewhere.out,
        /status, times and attempts are unknown: .*\nAnother machine[\s\S]*charge +0\.12 CNY/,
      )
      t.match(await json(t, 'request', `req_${engine}_2`), {
        request: null,
        unknown: ['status', 'times', 'attempts', 'upstream'],
      })
      for (const id of ['nope', '\u001b', 'x'.repeat(200)])
        t.match(await run(t, 'request', id), { exit: 3, err: /No request has the id/ })
    },
  )

  t.test(`failed calls on ${engine}: commands show what their clients were told`, async t => {
    const attempts = [
      { upstream: 'a', target: 'x', key: 'abc', result: 503, ms: 4, message: 'no GPU\u001b' },
      { upstream: 'b', target: null, result: 'UPSTREAM_ENDED', ms: 5, message: 'It ended.' },
    ]
    const failedAt = (at: number, more: Partial<FailedCall>) =>
      addFailedCall(
        {
          request: `req_${engine}_f${at}`,
          at,
          account: 1,
          key: 1,
          route: 'chat',
          model: 'gp-4o',
          status: 503,
          code: 'UPSTREAM_ENDED',
          message: 'The upstream ended.',
          ms: 9,
          cost: 0n,
          attempts,
          ...more,
        },
        0,
      )
    const unknown = { account: 0, key: null, status: 401, code: 'KEY_INVALID', attempts: [] }
    const added = await database.write(addMember(1, { name: 'mia', role: 'member' }, 1))
    const member = Number(added.at(-1)?.[0]?.id)
    const ofMember = failedAt(500, { model: 'gp-5', member })
    await database.write([ofMember, failedAt(1_000, {}), failedAt(2_000, unknown)])
    const { out } = await run(t, 'request', `req_${engine}_f1000`)
    for (const part of [
      /another machine may have served it/,
      /who +ann \(1\), key 1/,
      /result +503 UPSTREAM_ENDED\nwhy +The upstream ended\./,
      /attempt 1 +a\/x: 503 after 4 ms, key abc\n +says: no GPU/,
      /attempt 2 +b: UPSTREAM_ENDED after 5 ms\n +says: It ended\./,
      /charge +none in the ledger: the request failed/,
    ])
      t.match(out, part)
    t.notMatch(out, '\u001b')
    t.match(
      (await run(t, 'request', `req_${engine}_f2000`)).out,
      /who +unknown: no valid credential/,
    )
    t.match(await json(t, 'request', `req_${engine}_f1000`), {
      request: null,
      failed: { account_name: 'ann', attempts },
      unknown: ['charge'],
    })

    const logs = (...args: string[]) => run(t, 'logs', '--failed', ...args)
    t.match(
      (await logs()).out,
      /503 +9 +ann +1 +gp-4o +b .*req_\w+_f1000 +UPSTREAM_ENDED: The upstream ended\.\n.* 401 .*KEY_INVALID/,
    )
    t.notMatch((await logs('--account', 'ann')).out, 'KEY_INVALID')
    t.match(await json(t, 'logs', '--failed', '--account', '1', '--key', '1', '--model', 'gp-4o'), {
      failed: [{ request: `req_${engine}_f1000` }],
    })
    for (const name of ['mia', String(member)]) {
      const { failed } = await json<{ failed: readonly object[] }>(
        t,
        'logs',
        '--failed',
        '--account',
        'ann',
        '--member',
        name,
      )
      t.match(failed, [{ request: `req_${engine}_f500` }])
      t.equal(failed.length, 1)
    }
    t.match(await logs('--account', 'ann', '--member', 'eve'), { err: /no member "eve"/ })
    t.match(await logs('--lines', '1'), {
      out: /f2000/,
      err: /there are older ones: add --lines 10/,
    })
    t.match(await logs('--since', '1h'), { exit: 0, out: 'none' })
    t.match(await logs('--account', 'nobody'), { exit: 3, err: /Unknown account "nobody"/ })
    for (const [option, ...value] of [['--route', 'x'], ['--status', '503'], ['-f'], ['--all']])
      t.match(await logs(option ?? '', ...value), { exit: 2, err: /cannot be used with --failed/ })
  })
}

/** `tollgate quote` and `tollgate explain` name the budgets that a call must fit into, and the one
 *  that would refuse it. */
import { join } from 'node:path'
import t from 'tap'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'

const ROUTES = `
pipeline: [errors, auth, model, tags, meter, translate, sandbox]
tags: { known: { project: [alpha, beta] } }
budgets:
  monthly: { of: account, amount: 1.5, per: month }
  seat: { of: key, amount: 1.2, per: day, zone: Asia/Shanghai, at_limit: warn }
  project: { of: { tag: project }, amount: 9, per: week }
  watch: { of: account, amount: 0.1, per: life, shadow: true }
  words: { of: account, tokens: 9_000, per: day }
upstreams: { inside: { url: 'sandbox:' } }
models:
  flat: { to: inside/m, price: { calls: 1 } }
  long: { to: inside/m, price: { output: 0.001 }, output: 4000, context: 10000 }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, errors: openai }
`
t.test('budgets of a quoted and of an explained call', async t => {
  const gateway = await startGateway({ routes: ROUTES })
  t.teardown(() => gateway.stop())
  const key = await gateway.key()
  const folder = t.testdir({
    'flat.json': JSON.stringify({ model: 'flat', messages: [] }),
    'long.json': JSON.stringify({ model: 'long', messages: [] }),
    'short.json': JSON.stringify({ model: 'long', messages: [], max_tokens: 100 }),
  })
  const command = (...argv: string[]) =>
    withOutput(t, [...argv, '--config', join(gateway.data, '../routes.yaml')], {
      TOLLGATE_DATA: gateway.data,
    })
  const request = (name: string) =>
    ['POST', '/v1/chat/completions', '--body', join(folder, `${name}.json`)] as const
  const quote = (name: string, ...more: string[]) => command('quote', ...request(name), ...more)
  const [row] = JSON.parse((await command('keys', 'list', '--json')).out)
  const { id, account } = row
  const caller = ['--key', String(id), '--tags', 'project=alpha']

  await t.test('without calls: every budget covers it, but one that only counts', async t => {
    t.notMatch((await quote('flat')).out, /budget/, 'without a caller there are none')
    const { code, out, err } = await quote('flat', ...caller)
    t.equal(code, 0, err)
    t.match(out, /^1 \w+ at most/)
    t.match(
      out,
      /\nbudget monthly of account \S+ covers the call: 0 of 1\.5 \w+ used until 20\S+\n/,
    )
    t.match(out, /\nbudget seat of key .* covers the call: 0 of 1\.2 \w+ used until 20\S+\+08:00\n/)
    t.match(out, /\nbudget project of tag project=alpha covers the call: 0 of 9 /)
    t.match(
      out,
      /\nbudget watch of .* does not cover the call, and only counts it: 0 of 0\.1 \w+ used\n/,
    )
    t.match(
      out,
      /\nbudget words of .* covers a part, to which it limits the output: 0 of 9000 tokens used until /,
    )
    const { out: explained } = await command('explain', ...request('flat'), '--key', key)
    t.match(explained, /meter +passes /, 'also if no call has opened a window yet')
    const own = await quote('flat', '--account', account)
    t.notMatch(own.out, /seat|project/, 'an account alone has no key and no tags')
  })

  await t.test('after a call: the budget that would refuse is named', async t => {
    const response = await postTo(
      `${gateway.url}/v1/chat/completions`,
      { model: 'flat', messages: [] },
      { ...bearer(key), 'x-tollgate-tags': 'project=alpha' },
    )
    t.equal(response.status, 200, await response.text())
    const after = await eventually(async () => {
      const { out } = await quote('flat', ...caller)
      return /: 1 of 1\.5/.test(out) ? out : undefined
    })
    t.match(after, /\nbudget monthly of account \S+ refuses the call: 1 of 1\.5 /)
    t.match(after, /\nbudget seat of .* which passes with a warning: 1 of 1\.2 /)
    t.match(after, /\nbudget project of tag project=alpha covers the call: 1 of 9 /)
    const { out } = await quote('flat', '--key', String(id), '--tags', 'project=beta', '--json')
    t.match(JSON.parse(out).budgets, [
      { name: 'monthly', used: '1', amount: '1.5', effect: 'refuses' },
      { name: 'watch', effect: 'counts', resets: null },
      { name: 'words', amount: '9000', unit: 'tokens', effect: 'limits' },
      { name: 'seat', effect: 'warns' },
      { name: 'project', owner: 'tag project=beta', used: '0', effect: 'none' },
    ])
    t.match((await quote('long', ...caller)).out, /monthly .* covers a part, to which it limits/)
    t.match((await quote('short', ...caller)).out, /monthly of account \S+ covers the call/)
  })

  await t.test('explain: the refusal with used and limit', async t => {
    const { out } = await command('explain', ...request('flat'), '--key', key)
    t.match(
      out,
      /meter +refuses +429 BUDGET_EXCEEDED: The budget "monthly" of this account .* 1 of 1\.5/,
    )
    await command('budgets', 'set', 'monthly', '50', 'month', '--account', account)
    const passed = await command('explain', ...request('flat'), '--key', key)
    t.match(passed.out, /meter +passes +\{.*"budgets":"seat; limit=1\.2; resets=20/)
  })

  await t.test('options that do not go together are refused with the reason', async t => {
    for (const [words, text] of [
      [['--member', 'bob'], /--member and --tags need --account or --key/],
      [['--account', account, '--key', '1'], /exclude each other/],
      [['--account', 'nobody'], /nobody/],
      [['--account', account, '--member', 'bob'], /has no member "bob"/],
      [['--key', 'x'], /there is no API key x/],
      [[...caller.slice(0, 2), '--tags', 'project'], /--tags must be tags/],
    ] as const) {
      const { code, err } = await quote('flat', ...words)
      t.ok(code > 0)
      t.match(err, text)
    }
  })
})

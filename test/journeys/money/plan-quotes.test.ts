/** `tollgate quote` names the plan that pays a call, in money or tokens, and `tollgate explain` the
 *  plan that would refuse it. */
import { join } from 'node:path'
import t from 'tap'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'

const ROUTES = `
pipeline: [errors, auth, model, meter, translate, sandbox]
plans:
  coins: { amount: 1.5, per: day, zone: Asia/Shanghai }
  words: { tokens: 9_000, per: month }
  part: { tokens: 1_000, per: life }
  limits: { tokens: 1_000, per: life, after: refuse }
  refuses: { tokens: 200, per: life, after: refuse }
  other: { tokens: 9_000, per: life, models: [pictures] }
upstreams: { inside: { url: 'sandbox:' } }
models:
  long: { to: inside/m, price: { output: 0.0001 }, output: 4000, context: 10000 }
  pictures: { to: inside/p, price: { images: 0.01 } }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/images/generations, auth: key, model: body, translate: openai-images, errors: openai }
`
t.test('plan of a quoted and of an explained call', async t => {
  const gateway = await startGateway({ routes: ROUTES })
  t.teardown(() => gateway.stop())
  const key = await gateway.key()
  const folder = t.testdir({
    'long.json': JSON.stringify({ model: 'long', messages: [] }),
    'picture.json': JSON.stringify({ model: 'pictures', prompt: 'a house' }),
  })
  const command = (...argv: string[]) =>
    withOutput(t, [...argv, '--config', join(gateway.data, '../routes.yaml')], {
      TOLLGATE_DATA: gateway.data,
    })
  const request = ['POST', '/v1/chat/completions', '--body', join(folder, 'long.json')] as const
  const picture = ['POST', '/v1/images/generations', '--body', join(folder, 'picture.json')]
  const [{ account }] = JSON.parse((await command('keys', 'list', '--json')).out)
  const caller = ['--account', String(account)]
  const quoteWith = async (plan: string, ...words: string[]) => {
    await command('plans', 'assign', String(account), plan)
    return command('quote', ...(words.length > 0 ? words : request), ...caller)
  }

  t.notMatch((await command('quote', ...request, ...caller)).out, /plan/)
  for (const [plan, line] of [
    ['coins', /\nplan coins pays the call: 0 of 1\.5 \w+ used until 20\S+\+08:00$/],
    ['words', /\nplan words pays the call: 0 of 9000 tokens used until 20\S+$/],
    ['part', /\nplan part covers a part of the call, and the balance the rest: 0 of 1000 tokens /],
    [
      'limits',
      /\nplan limits covers a part, to which it limits the output: 0 of 1000 tokens used$/,
    ],
    ['refuses', /\nplan refuses refuses the call: 0 of 200 tokens used$/],
  ] as const)
    t.match((await quoteWith(plan)).out, line)
  const { out: explained } = await command('explain', ...request, '--key', key)
  t.match(
    explained,
    /meter +refuses +429 PLAN_EXHAUSTED: The plan "refuses" .* may use up to 40\d\d tokens: 0 of 200/,
  )
  t.notMatch((await quoteWith('other')).out, /plan/, 'it is not for this model')
  t.notMatch((await quoteWith('other', ...picture)).out, /plan/, 'pictures have no tokens')
  const json = await command('quote', ...request, ...caller, '--json')
  t.equal(JSON.parse(json.out).plan, null)
  await quoteWith('words')
  t.match(JSON.parse((await command('quote', ...request, ...caller, '--json')).out).plan, {
    name: 'words',
    used: '0',
    amount: '9000',
    unit: 'tokens',
    effect: 'pays',
  })
})

/** The scopes of a limit: key, account and model, on one route and across routes. */
import t, { type Test } from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import limit from '../../../plugins/limit/index.ts'
import { problemsIn } from '../../../plugins/limit/problems.ts'
import { getReply, startLimited } from './limited-gateways.ts'

type Call = readonly [path: string, headers: Record<string, string>, status: number]
const calls = async (
  test: Test,
  options: Json,
  section: Json,
  list: readonly Call[],
): Promise<void> => {
  const { urls } = await startLimited(test, options, { section })
  for (const [at, [path, headers, status]] of list.entries())
    test.equal(
      (await getReply(`${urls[at % 2]}${path}`, headers)).status,
      status,
      `${at}: ${path} ${JSON.stringify(headers)}`,
    )
}
const one = (key: string, account: string, model = 'm') => ({ key, account, model })

t.test('account limit: counts all keys of an account on one route', t =>
  calls(t, { account: { requests: '2/h' } }, {}, [
    ['/x', one('1', '1'), 200],
    ['/x', one('2', '1'), 200],
    ['/x', one('3', '1'), 429],
    ['/x', { account: '1' }, 429],
    ['/x', one('4', '2'), 200],
    ['/y', one('1', '1'), 200],
  ]),
)

t.test('account limit: counts across routes', t =>
  calls(t, {}, { account: { requests: '2/h' } }, [
    ['/x', one('1', '1'), 200],
    ['/y', one('2', '1'), 200],
    ['/x', one('3', '1'), 429],
    ['/y', one('4', '2'), 200],
  ]),
)

t.test('key limit: counts across routes, and is replaced by limits of the key', t =>
  calls(t, { requests: '50/h' }, { key: { requests: '2/h' } }, [
    ['/x', one('1', '1'), 200],
    ['/y', one('1', '1'), 200],
    ['/x', one('1', '1'), 429],
    ['/x', { ...one('9', '1'), limits: '{"requests":"3/h"}' }, 200],
    ['/y', { ...one('9', '1'), limits: '{"requests":"3/h"}' }, 200],
    ['/y', { ...one('9', '1'), limits: '{"requests":"3/h"}' }, 200],
    ['/y', { ...one('9', '1'), limits: '{"requests":"3/h"}' }, 429],
    ['/x', { ...one('8', '1'), limits: '{"tokens":"300/h"}' }, 200],
    ['/x', { ...one('8', '1'), limits: '{"tokens":"300/h"}' }, 200],
    ['/x', { ...one('8', '1'), limits: '{"tokens":"300/h"}' }, 429],
  ]),
)

t.test('account limit: is replaced by limits of the account, setting by setting', async t => {
  const many = { 'account-limits': '{"requests":"4/h"}' }
  await calls(t, { account: { requests: '1/h' } }, { account: { requests: '2/h' } }, [
    ['/x', one('1', '1'), 200],
    ['/x', one('2', '1'), 429],
    ['/x', { ...one('1', '2'), ...many }, 200],
    ['/y', { ...one('2', '2'), ...many }, 200],
    ['/x', { ...one('2', '2'), ...many, limits: '{"requests":"9/h"}' }, 200],
    ['/y', { account: '2', ...many }, 200],
    ['/x', { ...one('1', '2'), ...many }, 429],
  ])
  const idle = { 'account-limits': '{"concurrency":4}' }
  await calls(t, { account: { requests: '1/h' } }, {}, [
    ['/x', { ...one('1', '3'), ...idle }, 200],
    ['/x', { ...one('1', '3'), ...idle }, 429],
  ])
})

t.test('account limit: applies to a key with limits of its own', t =>
  calls(t, {}, { account: { requests: '1/h' } }, [
    ['/x', { ...one('9', '1'), limits: '{"requests":"3/h"}' }, 200],
    ['/x', { ...one('9', '1'), limits: '{"requests":"3/h"}' }, 429],
  ]),
)

t.test('model limit: counts all callers on one route', t =>
  calls(t, { model: { requests: '2/h' } }, {}, [
    ['/x', one('1', '1', 'a'), 200],
    ['/x', one('2', '2', 'a'), 200],
    ['/x', one('3', '3', 'a'), 429],
    ['/x', one('3', '3', 'b'), 200],
    ['/y', one('3', '3', 'a'), 200],
  ]),
)

t.test('named model limit: replaces the limit of each model across routes', t =>
  calls(
    t,
    {},
    { model: { requests: '1/h', tokens: '2/h' }, models: { big: { requests: '3/h' } } },
    [
      ['/x', one('1', '1', 'small'), 200],
      ['/y', one('2', '2', 'small'), 429],
      ['/x', one('1', '1', 'big'), 200],
      ['/y', one('2', '2', 'big'), 200],
      ['/y', one('2', '2', 'big'), 429],
    ],
  ),
)

t.test('limit: adds no promise if no limit is set', async t => {
  const host = {
    route: { name: 'x', option: () => 'openai' },
    section: () => ({}),
    allowance: () => t.fail('no allowance is opened'),
  }
  const stage = limit.setup({}, host as never)
  const nextResult = Promise.resolve()
  const exchange = {
    slots: { get: () => undefined },
    onEnd: () => t.fail('no end listener is added'),
  }
  t.equal(
    stage.handle(exchange as never, () => nextResult),
    nextResult,
  )
})

t.test('limit: reports a limit of an undefined model', async t => {
  const problems: unknown[] = []
  problemsIn(
    {
      models: { 'talk-1': {}, 'gp-*': {} },
      limits: { models: { 'gp-*': {}, 'tlak-1': {}, constructor: {} } },
    },
    (where, code, message, suggestion) => problems.push([code, ...where, suggestion, message]),
  )
  t.match(problems, [
    ['LIMIT_MODEL', 'limits', 'models', 'tlak-1', 'talk-1', /written there$/],
    ['LIMIT_MODEL', 'limits', 'models', 'constructor', undefined, /`models:` has talk-1, gp-\*$/],
  ])
  problemsIn({}, () => t.fail('an absent section has no problem'))
})

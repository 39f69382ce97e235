/** Warm-ups: other targets get the requests until a request of the gateway's own was answered; with
 *  no other target, clients do not wait. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { Target } from '../../../engine/plugin.ts'
import { pick } from '../../../engine/upstream/balance.ts'
import type { Candidate } from '../../../engine/upstream/candidate.ts'
import { Health } from '../../../engine/upstream/health.ts'
import { warmingIn } from '../../../engine/upstream/warm-targets.ts'
import { coldInsteadOf, recordAnswer, withoutCold } from '../../../engine/upstream/warm-up.ts'
import { eventually } from '../../helpers/eventually.ts'
import { startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import {
  faultsOf,
  pluginOf,
  startHttpUpstream,
  startTestServer,
} from '../../helpers/gateway/test-server.ts'

const REQUEST = { path: '/warm', body: { name: '*', list: ['*', 'a*'] } }
const WARM_UP_BODY = '{"name":"m","list":["m","a*"]}'

/** Two upstreams: `own` has `warm_up`. `status` is that of its answers; while `waiting` is set its
 *  warm-ups wait there. */
const arrange = async (t: Test, targets: readonly Target[], own: object = {}) => {
  const engine = {
    status: 200,
    log: [] as string[],
    waiting: undefined as ServerResponse[] | undefined,
  }
  const warmUps = () => engine.log.filter(line => line.startsWith('/warm'))
  const url = await startTextUpstream(t, (body, response, incoming) => {
    engine.log.push(`${incoming.url} ${body}`)
    if (incoming.url === '/warm' && engine.waiting) return void engine.waiting.push(response)
    response.writeHead(engine.status).end('own')
  })
  const spare = await startHttpUpstream(t, (_, response) => void response.end('spare'))
  const chooses = pluginOf({
    handle(exchange, next) {
      exchange.targets = targets
      return next()
    },
  })
  const server = await startTestServer(
    t,
    { chooses },
    {
      upstreams: {
        own: { url, warm_up: true, warm_up_request: REQUEST, ...own },
        spare: { url: spare },
      },
      routes: [{ path: 'POST /', upstream: 'spare', retry_on: [500] }],
    },
  )
  const ask = async () => (await fetch(server.url, { method: 'POST', body: '{}' })).text()
  return { engine, ask, warmUps }
}
const OWN = { upstream: 'own', name: 'm' }
const SPARE = { upstream: 'spare', name: 'm' }

t.test('warm-up: another target answers until the own request is answered', async t => {
  const { engine, ask, warmUps } = await arrange(t, [OWN, SPARE])
  engine.waiting = []
  t.equal(await ask(), 'spare')
  await eventually(async () => engine.waiting?.length === 1)
  for (let call = 0; call < 3; call++) t.equal(await ask(), 'spare')
  t.same(
    engine.log,
    [`/warm ${WARM_UP_BODY}`],
    'one request of its own, with the name of the target',
  )
  engine.waiting[0]?.end('{}')
  engine.waiting = undefined
  await eventually(async () => (await ask()) === 'own')
  t.equal(warmUps().length, 1)
})

t.test('warm-up: with no other target a call goes there at once', async t => {
  const { engine, ask, warmUps } = await arrange(t, [OWN])
  t.equal(await ask(), 'own')
  t.same(engine.log, ['/ {}'])
  const two = await arrange(t, [OWN, { ...OWN, name: 'n' }])
  t.equal(await two.ask(), 'own', 'every target is cold')
  t.same([...warmUps(), ...two.warmUps()], [])
})

t.test('warm-up: an address that was ejected is warmed up before clients return', async t => {
  const health = { failures: 1, eject: '1ms' }
  const { engine, ask, warmUps } = await arrange(t, [OWN, SPARE], { health })
  await ask()
  await eventually(async () => (await ask()) === 'own')
  engine.status = 500
  t.equal(await ask(), 'spare')
  engine.status = 200
  engine.waiting = []
  const before = warmUps().length
  await eventually(async () => {
    t.equal(await ask(), 'spare')
    return engine.waiting?.length === 1
  })
  t.equal(warmUps().length, before + 1)
  engine.waiting[0]?.end('{}')
  engine.waiting = undefined
  await eventually(async () => (await ask()) === 'own')
})

t.test('warm-up: one that fails is not repeated at once, and clients go elsewhere', async t => {
  const health = { failures: 100, eject: '1h' }
  const { engine, ask, warmUps } = await arrange(t, [OWN, SPARE], { health })
  engine.waiting = []
  await ask()
  await eventually(async () => engine.waiting?.length === 1)
  const [response] = engine.waiting
  response?.writeHead(503).end('{}')
  if (response) await once(response, 'close')
  for (let call = 0; call < 5; call++) t.equal(await ask(), 'spare')
  t.equal(warmUps().length, 1)
})

t.test('warm-up: a target without requests for `idle` is cold again', async t => {
  const [one] = candidates('one', { idle: 500 })
  if (!one) return
  const [other] = candidates('xother')
  const isCold = (now: number) =>
    !withoutCold([one, other as Candidate], new Set(), now).includes(one)
  t.equal(isCold(1_000), true, 'it is new')
  recordAnswer(one, 1_000)
  t.same([isCold(1_000), isCold(1_499), isCold(1_500)], [false, false, true])
  recordAnswer(one, 1_600)
  t.equal(isCold(1_700), false)
  one.origin.health.recordFailure(1_700, { failures: 1, eject: 10 })
  t.equal(isCold(1_700), true, 'its address was ejected')
  for (let name = 0; name < 3_000; name++)
    recordAnswer({ ...one, target: { upstream: 'own', name: `n${name}` } }, 0)
  t.ok(one.origin.warmTargets.size <= 1_000, 'clients may choose names')
  t.same(warmingIn(one.origin.warmTargets), [])
})

const candidates = (names: string, more: object = {}) =>
  names.split(' ').map(name => {
    const warmUp = name.startsWith('x') ? undefined : { ...REQUEST, ...more }
    return {
      target: { upstream: 'own', name },
      upstream: { keys: undefined, warmUp, health: { eject: 1 } },
      origin: { health: new Health(), busy: 0, warmTargets: new Map() },
      base: '',
    } as unknown as Candidate
  })

t.test('warm-up: the balance chooses among warm targets, or among all cold ones', async t => {
  const [a, b, x] = candidates('a b x') as [Candidate, Candidate, Candidate]
  const names = (list: readonly Candidate[], balance: 'first' | 'round-robin') => {
    const state = { count: 0 }
    const none = new Set<Candidate>()
    const next = () => pick(withoutCold(list, none, 0), none, balance, state, 0)
    return [1, 2, 3, 4].map(() => next()?.target.name).join('')
  }
  t.equal(names([a, b, x], 'round-robin'), 'xxxx')
  t.equal(names([a, b], 'round-robin'), 'abab', 'all are cold')
  recordAnswer(a, 0)
  t.equal(names([a, b, x], 'round-robin'), 'axax')
  t.same(coldInsteadOf(a, [a, b, x], 'round-robin', 0), [b], 'it would have its turn')
  t.same(coldInsteadOf(a, [a, b, x], 'first', 0), [], 'it would get no request')
  t.same(coldInsteadOf(x, [b, x], 'first', 0), [b], 'it would come first')
  t.same(coldInsteadOf(b, [a, b, x], 'round-robin', 0), [], 'no other could answer')
})

t.test('warm-up: one without a request is a problem, and it is off by default', async t => {
  const problems = await faultsOf(
    {},
    {
      upstreams: { own: { url: 'http://127.0.0.1:1', warm_up: true } },
      routes: [{ path: '/', upstream: 'own' }],
    },
  )
  t.match(problems, [{ code: 'UPSTREAM_WARM_UP' }])
  const { engine, ask } = await arrange(t, [OWN, SPARE], { warm_up: false })
  t.equal(await ask(), 'own')
  t.same(engine.log, ['/ {}'])
})

/** Who tries many keys: what it costs the store, what he is told, and that nobody beside him is refused for it. */
import t from 'tap'
import type { Database } from '../../../engine/plugin.ts'
import { BatchedKeyLookup } from '../../../plugins/credentials/batched-key-lookup.ts'
import { FailedAuthLimiter } from '../../../plugins/credentials/failed-auth-limiter.ts'
import { digestOf, makeSecret } from '../../../plugins/credentials/secret.ts'
import { openAccountsIn } from '../../helpers/accounts.ts'
import { ENGINES, startAnyStore } from '../../helpers/store.ts'

const ADDRESS = '192.0.2.1'
const opened = await Promise.all(
  ENGINES.map(async engine => openAccountsIn(await (await startAnyStore(t, engine)).open())),
)
const wrong = (count: number): string[] =>
  Array.from({ length: count }, () => makeSecret('key').text)

for (const [at, accounts] of opened.entries())
  t.test(`on ${ENGINES[at]}`, async t => {
    const { database } = accounts
    const asked: string[] = []
    const watched: Pick<Database, 'read'> = {
      read(sql, values) {
        asked.push(sql.name)
        return database.read(sql, values)
      },
    }
    const route = accounts.route('key', watched as Database)
    const call = (text: string, address = ADDRESS) =>
      route({ address, headers: { authorization: `Bearer ${text}` } }).then(
        account => account?.id,
        ({ code, headers }) => [code, Number(headers?.['retry-after'] ?? 0)],
      )
    const ann = await accounts.account('ann')
    const [known, unseen, elsewhere] = [
      await accounts.key(ann),
      await accounts.key(ann),
      await accounts.key(ann),
    ]
    t.equal(await call(known.text), ann)
    asked.length = 0

    const guesses = wrong(900)
    const [found, ...answers] = await Promise.all(
      [unseen.text, ...guesses].map(text => call(text)).reverse(),
    ).then(all => all.reverse())
    t.equal(found, ann, 'a real key that this process has not seen yet waits, and is let in')
    t.equal(await call(known.text), ann, 'one that it has seen does not even wait')
    const told = Map.groupBy(answers, answer => String(Array.isArray(answer) && answer[0]))
    t.equal(told.get('AUTH_UNKNOWN')?.length, 300)
    t.equal(told.get('AUTH_GUESSED')?.length, 600)
    const seconds = told.get('AUTH_GUESSED')?.map(answer => Array.isArray(answer) && answer[1])
    t.ok(seconds?.every(each => Number(each) > 0 && Number(each) <= 60))
    const reads = (name: string) => asked.filter(each => each === `accounts: ${name}`).length
    t.equal(reads('find key'), 30)
    t.ok(reads('find batch key') <= 10, `${reads('find batch key')} reads for 871 credentials`)

    asked.length = 0
    for (const text of guesses.slice(0, 50)) t.match(await call(text), ['AUTH_GUESSED'])
    t.match(await call('sk-mistyped'), ['AUTH_GUESSED'], 'whatever it is')
    t.equal(reads('find key') + reads('find batch key'), 0, 'what is known to be wrong is')
    t.equal(await call(elsewhere.text, '192.0.2.2'), ann)
    t.match(await call(guesses[0] ?? '', '192.0.2.2'), ['AUTH_UNKNOWN', 0], 'and from elsewhere')
  })

t.test('batched lookup: looks up system tokens among system tokens', async t => {
  for (const accounts of opened) {
    const { database } = accounts
    const bob = await accounts.account('bob')
    const token = await accounts.token(bob)
    const find = (kind: 'key' | 'system-token') =>
      new BatchedKeyLookup(database.read.bind(database), kind).find(digestOf(token.text))
    t.match(await find('system-token'), { account: bob })
    t.equal(await find('key'), undefined)
  }
})

t.test('batched lookup: is bounded, and continues after a store failure', async t => {
  const held = Promise.withResolvers<void>()
  let away = true
  const crowd = new BatchedKeyLookup(async () => {
    await held.promise
    if (away) throw Object.assign(new Error('away'), { code: 'STORE_UNAVAILABLE' })
    return [{ digest: 'last' }]
  }, 'key')
  const finds = Array.from({ length: 1_500 }, (_, at) => crowd.find(`${at}`))
  const outcome = Promise.allSettled(finds)
  held.resolve()
  const codes = (await outcome).map(each => each.status === 'rejected' && each.reason.code)
  // The first is being asked for while a thousand wait.
  t.equal(codes.filter(code => code === 'AUTH_CROWDED').length, 499)
  t.equal(codes.filter(code => code === 'STORE_UNAVAILABLE').length, 1_001)
  away = false
  t.match(await crowd.find('last'), { digest: 'last' })
})

t.test('failed-auth limiter: counts by network and minute in bounded memory', async t => {
  let now = 0
  const strangers = new FailedAuthLimiter(() => now)
  const tell = (address: string, times = 1): string => {
    for (let left = times; left > 1; left--) strangers.countFailure(address)
    return strangers.countFailure(address).code
  }
  t.equal(tell('2001:db8::1', 300), 'AUTH_UNKNOWN')
  t.equal(tell('2001:db8::ffff:2'), 'AUTH_GUESSED')
  t.equal(tell('2001:db8:0:1::1'), 'AUTH_UNKNOWN')
  t.equal(tell('::ffff:192.0.2.9', 300), 'AUTH_UNKNOWN')
  t.equal(tell('192.0.2.9'), 'AUTH_GUESSED')
  now = 59_001
  t.match(strangers.countFailure('192.0.2.9'), {
    ...{ status: 429, headers: { 'retry-after': '1', 'x-should-retry': 'false' } },
  })
  now = 60_000
  t.equal(tell('192.0.2.9'), 'AUTH_UNKNOWN')
  tell('10.9.9.9', 301)
  for (let at = 0; at < 20_000; at++) tell(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`)
  t.equal(tell('10.9.9.9'), 'AUTH_UNKNOWN', 'the oldest is forgotten')
})

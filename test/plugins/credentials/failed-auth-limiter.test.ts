/** Many wrong keys from one network: the reads they cost, their refusals, and valid keys beside
 *  them. */
import t from 'tap'
import type { Database } from '../../../engine/plugin.ts'
import { BatchedKeyLookup } from '../../../plugins/credentials/batched-key-lookup.ts'
import { FailedAuthLimiter } from '../../../plugins/credentials/failed-auth-limiter.ts'
import { digestOf, makeSecret } from '../../../plugins/credentials/secret.ts'
import { openAccountsIn } from '../../helpers/accounts.ts'
import { ENGINES, startAnyStore } from '../../helpers/store.ts'

const ADDRESS = '192.0.2.1'
const stores = await Promise.all(
  ENGINES.map(async engine => openAccountsIn(await (await startAnyStore(t, engine)).open())),
)
const wrong = (count: number): string[] =>
  Array.from({ length: count }, () => makeSecret('key').text)

for (const [at, accounts] of stores.entries())
  t.test(
    `failed authentication on ${ENGINES[at]}: guesses are batched and limited, valid keys pass`,
    async t => {
      const { database } = accounts
      const readNames: string[] = []
      const recordingStore: Pick<Database, 'read'> = {
        read(sql, values) {
          readNames.push(sql.name)
          return database.read(sql, values)
        },
      }
      const route = accounts.route('key', recordingStore as Database)
      const call = (text: string, address = ADDRESS) =>
        route({ address, headers: { authorization: `Bearer ${text}` } }).then(
          account => account?.id,
          ({ code, headers }) => [code, Number(headers?.['retry-after'] ?? 0)],
        )
      const ann = await accounts.account('ann')
      const [cachedKey, newKey, otherKey] = [
        await accounts.key(ann),
        await accounts.key(ann),
        await accounts.key(ann),
      ]
      t.equal(await call(cachedKey.text), ann)
      readNames.length = 0

      const guesses = wrong(900)
      const [newKeyAnswer, ...answers] = await Promise.all(
        [newKey.text, ...guesses].map(text => call(text)).reverse(),
      ).then(all => all.reverse())
      t.equal(newKeyAnswer, ann, 'a valid key that is not cached waits and is accepted')
      t.equal(await call(cachedKey.text), ann, 'a cached key is accepted without a lookup')
      const answersByCode = Map.groupBy(answers, answer =>
        String(Array.isArray(answer) && answer[0]),
      )
      t.equal(answersByCode.get('AUTH_UNKNOWN')?.length, 300)
      t.equal(answersByCode.get('AUTH_GUESSED')?.length, 600)
      const seconds = answersByCode
        .get('AUTH_GUESSED')
        ?.map(answer => Array.isArray(answer) && answer[1])
      t.ok(seconds?.every(each => Number(each) > 0 && Number(each) <= 60))
      const reads = (name: string) => readNames.filter(each => each === `accounts: ${name}`).length
      t.equal(reads('find key'), 30)
      t.ok(reads('find batch key') <= 10, `${reads('find batch key')} reads for 871 credentials`)

      readNames.length = 0
      for (const text of guesses.slice(0, 50)) t.match(await call(text), ['AUTH_GUESSED'])
      t.match(await call('sk-mistyped'), ['AUTH_GUESSED'], 'a malformed key is limited too')
      t.equal(
        reads('find key') + reads('find batch key'),
        0,
        'cached wrong keys and malformed keys need no read',
      )
      t.equal(await call(otherKey.text, '192.0.2.2'), ann)
      t.match(
        await call(guesses[0] ?? '', '192.0.2.2'),
        ['AUTH_UNKNOWN', 0],
        'another network is not limited',
      )
    },
  )

t.test('batched lookup: looks up system tokens among system tokens', async t => {
  for (const accounts of stores) {
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
  const gate = Promise.withResolvers<void>()
  let isAway = true
  const lookup = new BatchedKeyLookup(async () => {
    await gate.promise
    if (isAway) throw Object.assign(new Error('away'), { code: 'STORE_UNAVAILABLE' })
    return [{ digest: 'last' }]
  }, 'key')
  const finds = Array.from({ length: 1_500 }, (_, at) => lookup.find(`${at}`))
  const outcome = Promise.allSettled(finds)
  gate.resolve()
  const codes = (await outcome).map(each => each.status === 'rejected' && each.reason.code)
  // The first lookup runs while a thousand are pending.
  t.equal(codes.filter(code => code === 'AUTH_CROWDED').length, 499)
  t.equal(codes.filter(code => code === 'STORE_UNAVAILABLE').length, 1_001)
  isAway = false
  t.match(await lookup.find('last'), { digest: 'last' })
})

t.test('failed-auth limiter: counts by network and minute in bounded memory', async t => {
  let now = 0
  const limiter = new FailedAuthLimiter(() => now)
  const countFailures = (address: string, times = 1): string => {
    for (let count = times; count > 1; count--) limiter.countFailure(address)
    return limiter.countFailure(address).code
  }
  t.equal(countFailures('2001:db8::1', 300), 'AUTH_UNKNOWN')
  t.equal(countFailures('2001:db8::ffff:2'), 'AUTH_GUESSED')
  t.equal(countFailures('2001:db8:0:1::1'), 'AUTH_UNKNOWN')
  t.equal(countFailures('::ffff:192.0.2.9', 300), 'AUTH_UNKNOWN')
  t.equal(countFailures('192.0.2.9'), 'AUTH_GUESSED')
  now = 59_001
  t.match(limiter.countFailure('192.0.2.9'), {
    status: 429,
    headers: { 'retry-after': '1', 'x-should-retry': 'false' },
  })
  now = 60_000
  t.equal(countFailures('192.0.2.9'), 'AUTH_UNKNOWN')
  countFailures('10.9.9.9', 301)
  for (let at = 0; at < 20_000; at++) countFailures(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`)
  t.equal(countFailures('10.9.9.9'), 'AUTH_UNKNOWN', 'the oldest network was dropped')
})

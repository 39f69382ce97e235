/** The credential cache of a process: the reads it needs, and the time until it refuses a revoked
 *  key. */
import t from 'tap'
import type { Database, Row } from '../../../engine/plugin.ts'
import { Credentials } from '../../../plugins/credentials/credentials.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import {
  addKey,
  LAST_CHANGE,
  revoke,
  suspendAccount,
} from '../../../plugins/credentials/statements.ts'
import { openAccounts } from '../../helpers/store/accounts.ts'

const { database, ...accounts } = await openAccounts(t)
const ann = await accounts.account('ann')

/** A cache with a manual clock, over a store that records its reads and can be unavailable. */
const createCache = () => {
  const state = { now: 0, reads: [] as string[], isAway: false, wait: AT_ONCE }
  const pending = new Set<Promise<unknown>>()
  const recordingStore: Pick<Database, 'read'> = {
    read(sql, values) {
      state.reads.push(sql.name.replace('accounts: ', ''))
      const { wait, isAway } = state
      const read = async (): Promise<readonly Row[]> => {
        if (isAway) throw Object.assign(new Error('away'), { code: 'STORE_UNAVAILABLE' })
        const rows = await database.read(sql, values)
        await wait
        return rows
      }
      const reading = read()
      if (wait === AT_ONCE) pending.add(reading)
      return reading
    },
  }
  const credentials = new Credentials(recordingStore as Database, () => state.now)
  /** Waits for all reads except those behind a gate. */
  const settleReads = async () => {
    await Promise.allSettled(pending)
    await new Promise(resolve => setImmediate(resolve))
  }
  return { state, credentials, settleReads }
}
const AT_ONCE = Promise.resolve()

t.test('credential cache: a hit needs no read; the background check is one small read', async t => {
  const { state, credentials, settleReads } = createCache()
  const key = await accounts.key(ann)
  t.equal(credentials.findCached(key.text), undefined, 'the cache is empty at first')
  t.match(await credentials.find(key.text, 'key'), { account: { id: ann } })
  t.same(state.reads, ['last change', 'find key'])
  for (let hit = 0; hit < 1_000; hit++) credentials.findCached(key.text)
  t.equal(state.reads.length, 2)
  state.now = 350
  for (let hit = 0; hit < 1_000; hit++) credentials.findCached(key.text)
  t.same(state.reads.slice(2), ['changed'])
  await settleReads()
  state.now = 650
  t.match(credentials.findCached(key.text), { account: { id: ann } })
  t.equal(state.reads.length, 3)
})

t.test('credential cache: entries older than a second are checked, also after a pause', async t => {
  const { state, credentials, settleReads } = createCache()
  const key = await accounts.key(ann)
  await credentials.find(key.text, 'key')
  await database.write(revoke('key', key.id, Date.now()))
  state.now = 900
  t.match(
    credentials.findCached(key.text),
    { account: { id: ann } },
    'the key is accepted until the next check',
  )
  await settleReads()
  t.equal(credentials.findCached(key.text), undefined, 'the background check found the change')
  t.match(await credentials.find(key.text, 'key'), { refusalCode: 'AUTH_REVOKED' })

  const second = await accounts.key(ann)
  await credentials.find(second.text, 'key')
  await database.write(revoke('key', second.id, Date.now()))
  state.now = 1_900
  t.equal(credentials.findCached(second.text), undefined)
  t.match(await credentials.find(second.text, 'key'), { refusalCode: 'AUTH_REVOKED' })
})

t.test('credential cache: a change drops only its own credentials', async t => {
  const { state, credentials, settleReads } = createCache()
  const bob = await accounts.account('bob')
  const [one, two, other] = [
    await accounts.key(bob),
    await accounts.key(bob),
    await accounts.key(ann),
  ]
  for (const key of [one, two, other]) await credentials.find(key.text, 'key')
  await database.write(suspendAccount(bob, Date.now()))
  state.now = 400
  credentials.findCached(other.text)
  await settleReads()
  state.reads.length = 0
  t.match(credentials.findCached(other.text), { account: { id: ann } })
  t.equal(credentials.findCached(one.text), undefined)
  t.equal(credentials.findCached(two.text), undefined)
  t.match(await credentials.find(one.text, 'key'), { refusalCode: 'AUTH_SUSPENDED' })
  await database.write(suspendAccount(bob, null))
  state.now = 800
  credentials.findCached(other.text)
  await settleReads()
  t.match(
    await credentials.find(one.text, 'key'),
    { account: { id: bob } },
    'accepted after the account is resumed',
  )
})

t.test('credential cache: caches an unknown key until it is created', async t => {
  const { state, credentials } = createCache()
  const secret = makeSecret('key')
  t.match(await credentials.find(secret.text, 'key'), { refusalCode: 'AUTH_UNKNOWN' })
  state.reads.length = 0
  t.match(credentials.findCached(secret.text), { refusalCode: 'AUTH_UNKNOWN' })
  t.same(state.reads, [])
  await database.write(addKey({ account: ann, name: 'now', secret }, Date.now()))
  state.now = 1_000
  t.match(await credentials.find(secret.text, 'key'), { account: { id: ann } })
})

t.test('credential cache: malformed keys need no read of a key', async t => {
  const { state, credentials } = createCache()
  for (let guess = 0; guess < 100; guess++) {
    t.match(await credentials.find(`sk-guess${guess}`, 'key'), { refusalCode: 'AUTH_UNKNOWN' })
  }
  t.same(state.reads, ['last change'])
  state.now = 1_000
  state.isAway = true
  t.match(await credentials.find('sk-guess', 'key'), { refusalCode: 'AUTH_UNKNOWN' })
})

t.test('credential cache: guesses evict no valid key', async t => {
  const { credentials } = createCache()
  const key = await accounts.key(ann)
  await credentials.find(key.text, 'key')
  const guesses = Array.from({ length: 10_050 }, () => makeSecret('key').text)
  for (let at = 0; at < guesses.length; at += 500) {
    await Promise.all(guesses.slice(at, at + 500).map(guess => credentials.find(guess, 'key')))
  }
  t.ok(credentials.findCached(key.text)?.account)
  t.equal(credentials.findCached(guesses[0] ?? ''), undefined, 'the oldest guess was evicted')
  t.ok(credentials.findCached(guesses.at(-1) ?? ''))
})

t.test(
  'credential cache: cached keys stay valid for a minute while the store is unavailable',
  async t => {
    const { state, credentials, settleReads } = createCache()
    const [key, other] = [await accounts.key(ann), await accounts.key(ann)]
    await credentials.find(key.text, 'key')
    state.isAway = true
    state.now = 950
    t.equal(credentials.findCached(key.text), undefined, 'the caller must read the store first')
    t.match(await credentials.find(key.text, 'key'), { account: { id: ann } })
    state.reads.length = 0
    for (state.now = 1_300; state.now < 30_000; state.now += 400) {
      t.match(credentials.findCached(key.text), { account: { id: ann } })
      await settleReads()
    }
    t.same([...new Set(state.reads)], ['changed'], 'only background checks')
    await t.rejects(credentials.find(other.text, 'key'), { code: 'STORE_UNAVAILABLE' })
    state.now = 60_001
    t.equal(credentials.findCached(key.text), undefined)
    await t.rejects(credentials.find(key.text, 'key'), { code: 'STORE_UNAVAILABLE' })
    state.isAway = false
    t.match(await credentials.find(key.text, 'key'), { account: { id: ann } })
  },
)

t.test(
  'credential cache: a failed background check is repeated before an old entry is used',
  async t => {
    const { state, credentials, settleReads } = createCache()
    const key = await accounts.key(ann)
    await credentials.find(key.text, 'key')
    state.isAway = true
    state.now = 400
    credentials.findCached(key.text)
    await settleReads()
    state.isAway = false
    await database.write(revoke('key', key.id, Date.now()))
    state.now = 30_000
    t.equal(credentials.findCached(key.text), undefined)
    t.match(await credentials.find(key.text, 'key'), { refusalCode: 'AUTH_REVOKED' })
  },
)

t.test(
  'credential cache: a key revoked before the store failed is refused once it is back',
  async t => {
    const { state, credentials, settleReads } = createCache()
    const key = await accounts.key(ann)
    await credentials.find(key.text, 'key')
    await database.write(revoke('key', key.id, Date.now()))
    state.isAway = true
    state.now = 950
    await credentials.find(key.text, 'key')
    state.isAway = false
    state.now = 1_300
    credentials.findCached(key.text)
    await settleReads()
    t.match(await credentials.find(key.text, 'key'), { refusalCode: 'AUTH_REVOKED' })
  },
)

t.test('credential cache: does not cache a key that is revoked during its lookup', async t => {
  const { state, credentials, settleReads } = createCache()
  const [key, other] = [await accounts.key(ann), await accounts.key(ann)]
  await credentials.find(other.text, 'key')
  const gate = Promise.withResolvers<void>()
  state.wait = gate.promise
  const lookup = credentials.find(key.text, 'key')
  // The store answers reads in order: after this read the row of the lookup has been read, and only
  // its delivery waits.
  await database.read(LAST_CHANGE, [])
  await database.write(revoke('key', key.id, Date.now()))
  state.wait = AT_ONCE
  state.now = 400
  credentials.findCached(other.text)
  await settleReads()
  gate.resolve()
  t.match(await lookup, { account: { id: ann } }, 'the lookup began before the revocation')
  t.equal(credentials.findCached(key.text), undefined)
  t.match(await credentials.find(key.text, 'key'), { refusalCode: 'AUTH_REVOKED' })
})

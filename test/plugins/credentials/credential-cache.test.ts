/** What a process remembers of its callers: how little it asks, and how soon it forgets. */
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
import { openAccounts } from '../../helpers/accounts.ts'

const { database, ...accounts } = await openAccounts(t)
const ann = await accounts.account('ann')

/** A clock that is moved by hand, and a store that counts what it is asked and can be away. */
const remember = () => {
  const state = { now: 0, asked: [] as string[], away: false, wait: AT_ONCE }
  const reads = new Set<Promise<unknown>>()
  const watched: Pick<Database, 'read'> = {
    read(sql, values) {
      state.asked.push(sql.name.replace('accounts: ', ''))
      const { wait, away } = state
      const read = async (): Promise<readonly Row[]> => {
        if (away) throw Object.assign(new Error('away'), { code: 'STORE_UNAVAILABLE' })
        const rows = await database.read(sql, values)
        await wait
        return rows
      }
      const reading = read()
      if (wait === AT_ONCE) reads.add(reading)
      return reading
    },
  }
  const credentials = new Credentials(watched as Database, () => state.now)
  /** All that was asked has been answered, save what is held back. */
  const settled = async () => {
    await Promise.allSettled(reads)
    await new Promise(resolve => setImmediate(resolve))
  }
  return { state, credentials, settled }
}
const AT_ONCE = Promise.resolve()

t.test('credential cache: a hit needs no read; the background check is one small read', async t => {
  const { state, credentials, settled } = remember()
  const key = await accounts.key(ann)
  t.equal(credentials.findCached(key.text), undefined, 'nothing is known at first')
  t.match(await credentials.find(key.text, 'key'), { account: { id: ann } })
  t.same(state.asked, ['last change', 'find key'])
  for (let hit = 0; hit < 1_000; hit++) credentials.findCached(key.text)
  t.equal(state.asked.length, 2)
  state.now = 350
  for (let hit = 0; hit < 1_000; hit++) credentials.findCached(key.text)
  t.same(state.asked.slice(2), ['changed'])
  await settled()
  state.now = 650
  t.match(credentials.findCached(key.text), { account: { id: ann } })
  t.equal(state.asked.length, 3)
})

t.test('credential cache: entries older than a second are checked, also after a pause', async t => {
  const { state, credentials, settled } = remember()
  const key = await accounts.key(ann)
  await credentials.find(key.text, 'key')
  await database.write(revoke('key', key.id, Date.now()))
  state.now = 900
  t.match(credentials.findCached(key.text), { account: { id: ann } }, 'until then it may be')
  await settled()
  t.equal(credentials.findCached(key.text), undefined, 'the question beside the traffic told')
  t.match(await credentials.find(key.text, 'key'), { refusalCode: 'AUTH_REVOKED' })

  const second = await accounts.key(ann)
  await credentials.find(second.text, 'key')
  await database.write(revoke('key', second.id, Date.now()))
  state.now = 1_900
  t.equal(credentials.findCached(second.text), undefined)
  t.match(await credentials.find(second.text, 'key'), { refusalCode: 'AUTH_REVOKED' })
})

t.test('credential cache: a change drops only its own credentials', async t => {
  const { state, credentials, settled } = remember()
  const bob = await accounts.account('bob')
  const [one, two, kept] = [
    await accounts.key(bob),
    await accounts.key(bob),
    await accounts.key(ann),
  ]
  for (const key of [one, two, kept]) await credentials.find(key.text, 'key')
  await database.write(suspendAccount(bob, Date.now()))
  state.now = 400
  credentials.findCached(kept.text)
  await settled()
  state.asked.length = 0
  t.match(credentials.findCached(kept.text), { account: { id: ann } })
  t.equal(credentials.findCached(one.text), undefined)
  t.equal(credentials.findCached(two.text), undefined)
  t.match(await credentials.find(one.text, 'key'), { refusalCode: 'AUTH_SUSPENDED' })
  await database.write(suspendAccount(bob, null))
  state.now = 800
  credentials.findCached(kept.text)
  await settled()
  t.match(await credentials.find(one.text, 'key'), { account: { id: bob } }, 'and let in again')
})

t.test('credential cache: caches an unknown key until it is created', async t => {
  const { state, credentials } = remember()
  const secret = makeSecret('key')
  t.match(await credentials.find(secret.text, 'key'), { refusalCode: 'AUTH_UNKNOWN' })
  state.asked.length = 0
  t.match(credentials.findCached(secret.text), { refusalCode: 'AUTH_UNKNOWN' })
  t.same(state.asked, [])
  await database.write(addKey({ account: ann, name: 'now', secret }, Date.now()))
  state.now = 1_000
  t.match(await credentials.find(secret.text, 'key'), { account: { id: ann } })
})

t.test('credential cache: malformed keys need no read', async t => {
  const { state, credentials } = remember()
  for (let guess = 0; guess < 100; guess++) {
    t.match(await credentials.find(`sk-guess${guess}`, 'key'), { refusalCode: 'AUTH_UNKNOWN' })
  }
  t.same(state.asked, [])
})

t.test('credential cache: guesses evict no valid key', async t => {
  const { credentials } = remember()
  const key = await accounts.key(ann)
  await credentials.find(key.text, 'key')
  const guesses = Array.from({ length: 10_050 }, () => makeSecret('key').text)
  for (let at = 0; at < guesses.length; at += 500) {
    await Promise.all(guesses.slice(at, at + 500).map(guess => credentials.find(guess, 'key')))
  }
  t.ok(credentials.findCached(key.text)?.account)
  t.equal(credentials.findCached(guesses[0] ?? ''), undefined, 'the oldest guess is forgotten')
  t.ok(credentials.findCached(guesses.at(-1) ?? ''))
})

t.test(
  'the store is away: whom it named goes on for a minute, nobody else, and it heals',
  async t => {
    const { state, credentials, settled } = remember()
    const [key, other] = [await accounts.key(ann), await accounts.key(ann)]
    await credentials.find(key.text, 'key')
    state.away = true
    state.now = 950
    t.equal(credentials.findCached(key.text), undefined, 'it is asked first')
    t.match(await credentials.find(key.text, 'key'), { account: { id: ann } })
    state.asked.length = 0
    for (state.now = 1_300; state.now < 30_000; state.now += 400) {
      t.match(credentials.findCached(key.text), { account: { id: ann } })
      await settled()
    }
    t.same([...new Set(state.asked)], ['changed'], 'beside the traffic')
    await t.rejects(credentials.find(other.text, 'key'), { code: 'STORE_UNAVAILABLE' })
    state.now = 60_001
    t.equal(credentials.findCached(key.text), undefined)
    await t.rejects(credentials.find(key.text, 'key'), { code: 'STORE_UNAVAILABLE' })
    state.away = false
    t.match(await credentials.find(key.text, 'key'), { account: { id: ann } })
  },
)

t.test(
  'a store that was away for one question is asked again before anybody is believed',
  async t => {
    const { state, credentials, settled } = remember()
    const key = await accounts.key(ann)
    await credentials.find(key.text, 'key')
    state.away = true
    state.now = 400
    credentials.findCached(key.text)
    await settled()
    state.away = false
    await database.write(revoke('key', key.id, Date.now()))
    state.now = 30_000
    t.equal(credentials.findCached(key.text), undefined)
    t.match(await credentials.find(key.text, 'key'), { refusalCode: 'AUTH_REVOKED' })
  },
)

t.test(
  'credential cache: a key revoked before the store failed is refused once it is back',
  async t => {
    const { state, credentials, settled } = remember()
    const key = await accounts.key(ann)
    await credentials.find(key.text, 'key')
    await database.write(revoke('key', key.id, Date.now()))
    state.away = true
    state.now = 950
    await credentials.find(key.text, 'key')
    state.away = false
    state.now = 1_300
    credentials.findCached(key.text)
    await settled()
    t.match(await credentials.find(key.text, 'key'), { refusalCode: 'AUTH_REVOKED' })
  },
)

t.test('credential cache: does not cache a key that is revoked during its lookup', async t => {
  const { state, credentials, settled } = remember()
  const [key, other] = [await accounts.key(ann), await accounts.key(ann)]
  await credentials.find(other.text, 'key')
  const held = Promise.withResolvers<void>()
  state.wait = held.promise
  const found = credentials.find(key.text, 'key')
  // Reads are answered in order: after this one the look-up has been made, and only its answer is held back.
  await database.read(LAST_CHANGE, [])
  await database.write(revoke('key', key.id, Date.now()))
  state.wait = AT_ONCE
  state.now = 400
  credentials.findCached(other.text)
  await settled()
  held.resolve()
  t.match(await found, { account: { id: ann } }, 'this one call came before')
  t.equal(credentials.findCached(key.text), undefined)
  t.match(await credentials.find(key.text, 'key'), { refusalCode: 'AUTH_REVOKED' })
})

/** Writes whose result is unknown are repeated; a refusal is not. */
import t from 'tap'
import {
  writeUntilKnown,
  writeWhileAway,
  writeWithRetry,
} from '../../../plugins/ledger/write-with-retry.ts'

const failure = (code: string) => Object.assign(new Error(code), { code })
/** A store that fails with these codes in turn, and then accepts the list. */
const storeWith = (...codes: string[]) => {
  let writes = 0
  const write = async () => {
    const code = codes[writes++]
    if (code !== undefined) throw failure(code)
    return [[{ done: 1 }]]
  }
  return { write, count: () => writes }
}

t.test('write with retry: repeats while the result is unknown', async t => {
  const store = storeWith('STORE_UNKNOWN', 'STORE_UNAVAILABLE')
  t.same(await writeWithRetry(store, []), [[{ done: 1 }]])
  t.equal(store.count(), 3)
})

t.test(
  'write with retry: rejects at once on a refusal, or if the first attempt finds no store',
  async t => {
    for (const code of ['CHARGE_EXISTS', 'STORE_UNAVAILABLE']) {
      const store = storeWith(code)
      await t.rejects(writeWithRetry(store, []), { code })
      t.equal(store.count(), 1)
    }
    const refused = storeWith('STORE_UNKNOWN', 'CHARGE_EXISTS')
    await t.rejects(writeWithRetry(refused, []), { code: 'CHARGE_EXISTS' })
  },
)

t.test('write with retry: past its deadline the result stays unknown', async t => {
  const store = storeWith('STORE_UNKNOWN', 'STORE_UNKNOWN')
  await t.rejects(writeWithRetry(store, [], -1), { code: 'STORE_UNKNOWN' })
  t.equal(store.count(), 1)
})

t.test(
  'write until known: rejects on any other error, and when it is no longer wanted',
  async t => {
    await t.rejects(
      writeUntilKnown(storeWith('CHARGE_EXISTS'), [], () => true),
      {
        code: 'CHARGE_EXISTS',
      },
    )
    const unwanted = { write: () => Promise.reject(failure('STORE_UNAVAILABLE')) }
    await t.rejects(
      writeUntilKnown(unwanted, [], () => false),
      { code: 'STORE_UNAVAILABLE' },
    )
  },
)

t.test('write until known: an outage after an unknown result does not end it', async t => {
  // One series of attempts ends unknown; the next one finds no store from its beginning.
  const store = storeWith(...Array<string>(6).fill('STORE_UNKNOWN'), 'STORE_UNAVAILABLE')
  t.same(await writeUntilKnown(store, [], () => true), [[{ done: 1 }]])
  t.equal(store.count(), 8)
  const away = storeWith('STORE_UNAVAILABLE')
  await t.rejects(
    writeUntilKnown(away, [], () => true),
    { code: 'STORE_UNAVAILABLE' },
    'a list that was never sent is not repeated',
  )
})

t.test('write while away: waits for the store from the first attempt on', async t => {
  const store = storeWith('STORE_UNAVAILABLE', 'STORE_UNKNOWN', 'STORE_UNAVAILABLE')
  t.same(await writeWhileAway(store, [], () => true), [[{ done: 1 }]])
  t.equal(store.count(), 4)
})

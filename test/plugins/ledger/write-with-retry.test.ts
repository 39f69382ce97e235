/** Writes whose result is unknown are repeated; a refusal is not. */
import t from 'tap'
import { writeUntilKnown, writeWithRetry } from '../../../plugins/ledger/write-with-retry.ts'

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

t.test('write with retry: a refusal, or a store away from the start, is final', async t => {
  for (const code of ['CHARGE_EXISTS', 'STORE_UNAVAILABLE']) {
    const store = storeWith(code)
    await t.rejects(writeWithRetry(store, []), { code })
    t.equal(store.count(), 1)
  }
  const refused = storeWith('STORE_UNKNOWN', 'CHARGE_EXISTS')
  await t.rejects(writeWithRetry(refused, []), { code: 'CHARGE_EXISTS' })
})

t.test('write with retry: past its deadline the result stays unknown', async t => {
  const store = storeWith('STORE_UNKNOWN', 'STORE_UNKNOWN')
  await t.rejects(writeWithRetry(store, [], -1), { code: 'STORE_UNKNOWN' })
  t.equal(store.count(), 1)
})

t.test('write until known: ends with the wish, or with another fault', async t => {
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
})

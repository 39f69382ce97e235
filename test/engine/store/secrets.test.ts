/** Secrets of an installation: made once, the same in every process. */
import t from 'tap'
import { readSecret, SECRETS_TABLE } from '../../../engine/store/secrets.ts'
import { ENGINES, startAnyStore } from '../../helpers/store/store.ts'

for (const engine of ENGINES)
  t.test(`secrets on ${engine}: processes that ask at once get the same`, async t => {
    const store = await startAnyStore(t, engine)
    const first = await store.open()
    await first.migrate('secrets', SECRETS_TABLE)
    const all = [first, ...(await Promise.all([1, 2, 3].map(() => store.open())))]
    const values = await Promise.all(all.map(database => readSecret(database, 'files')))
    t.equal(values[0]?.length, 32)
    t.equal(new Set(values.map(value => Buffer.from(value).toString('hex'))).size, 1)
    t.notSame(await readSecret(first, 'callbacks'), values[0], 'another name has another secret')
  })

/** Rows of objects at a provider, on both stores: put, find, name, page and expire. */
import t from 'tap'
import {
  FIND,
  FIND_NAMED,
  PAGE,
  putResource,
  type Resource,
  removeExpired,
  removeResource,
  resourceOf,
  updateResource,
} from '../../../plugins/resources/rows.ts'
import { migrations } from '../../../plugins/resources/tables.ts'
import { ENGINES, startAnyStore } from '../../helpers/store/store.ts'

const file = (account: number, name: string, created: number): Resource => ({
  account,
  maker: {},
  name,
  kind: 'files',
  upstream: 'gx',
  pin: { address: 'http://a', key: 'k' },
  details: { name, state: 'ACTIVE' },
  created,
  expires: 1_000,
})
for (const engine of ENGINES)
  t.test(`provider resources on ${engine}: rows are kept by account and name`, async t => {
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    await database.migrate('resources', migrations)
    const [one, two, other] = [file(1, 'files/a', 1), file(1, 'files/b', 2), file(2, 'files/a', 3)]
    const model = { asked: 'gem', entry: 'gem' }
    await database.write([one, { ...two, model }, other].map(putResource))
    const changed = { ...one, details: { state: 'FAILED' } }
    await database.write([putResource(changed)])
    const find = async (account: number, name: string) =>
      (await database.read(FIND.all, [account, name])).map(resourceOf)
    t.same(await find(1, 'files/a'), [changed])
    t.same(await find(1, 'files/b'), [{ ...two, model }])
    t.same(await find(3, 'files/a'), [])
    const named = await database.read(FIND_NAMED.all, [1, JSON.stringify(['files/a', 'files/x'])])
    t.same(named.map(row => Number(row.account)).sort(), [1, 2])
    const page = async (now: number, created: number, name: string) =>
      (await database.read(PAGE.all, [1, 'files', now, created, name, 1])).map(
        ({ name: each }) => each,
      )
    t.same(await page(5, Number.MAX_SAFE_INTEGER, ''), ['files/b'])
    t.same(await page(5, 2, 'files/b'), ['files/a'])
    t.same(await page(1_000, Number.MAX_SAFE_INTEGER, ''), [], 'expired')
    const updated = { ...one, details: { state: 'ACTIVE' }, expires: 900 }
    await database.write([updateResource(updated)])
    t.same(await find(1, 'files/a'), [updated])
    await database.write([removeResource(two)])
    t.same(await find(1, 'files/b'), [])
    await database.write([updateResource(two)])
    t.same(
      await find(1, 'files/b'),
      [],
      'what the provider says late brings no deleted object back',
    )
    await database.write([removeExpired(1_000)])
    t.same(await find(2, 'files/a'), [])
  })

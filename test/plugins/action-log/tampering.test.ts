/** The log of actions against an intruder who can write in the store, on both stores: each kind of
 *  change is found and named. */
import t from 'tap'
import { keyOf } from '../../../plugins/action-log/action.ts'
import { newPublished, publishedHeads, publishHead } from '../../../plugins/action-log/heads.ts'
import { deleteOld } from '../../../plugins/action-log/jobs.ts'
import { hostOver, openAccountsIn } from '../../helpers/store/accounts.ts'
import { actionsIn, hostWith, intrude, kindsIn, run, verify } from '../../helpers/store/actions.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { startBoth } from '../../helpers/store/store.ts'

const [FIRST, SECOND] = ['a'.repeat(40), 'b'.repeat(40)]
const COLUMNS = 'seq, at, operation, actor, object, entry, key, prev, mac'
/** Statements of an intruder on ten rows, and what verification finds. */
const INTRUSIONS: Readonly<Record<string, readonly [string[], string[]]>> = {
  'a changed entry': [[`UPDATE actions SET entry = '{"via":"x"}' WHERE seq = 4`], ['break 4']],
  'a changed object': [[`UPDATE actions SET object = 'account 99' WHERE seq = 4`], ['break 4']],
  'a changed actor': [[`UPDATE actions SET actor = 'eve' WHERE seq = 10`], ['break 10']],
  'a changed time': [['UPDATE actions SET at = at + 1 WHERE seq = 1'], ['break 1']],
  'a row removed': [['DELETE FROM actions WHERE seq = 5'], ['gap 5']],
  'the first rows removed': [['DELETE FROM actions WHERE seq < 4'], ['gap 1']],
  'the last rows removed': [['DELETE FROM actions WHERE seq > 8'], ['cut 9']],
  'all rows removed': [['DELETE FROM actions'], ['cut 1']],
  'the head removed': [['DELETE FROM action_head'], ['cut 0']],
  'a row removed, and those after it numbered anew': [
    ['DELETE FROM actions WHERE seq = 9', 'UPDATE actions SET seq = 9 WHERE seq = 10'],
    ['break 9', 'break 9', 'cut 10'],
  ],
  'two rows exchanged': [
    [
      'UPDATE actions SET seq = 100 WHERE seq = 6',
      'UPDATE actions SET seq = 6 WHERE seq = 7',
      'UPDATE actions SET seq = 7 WHERE seq = 100',
    ],
    ['break 6', 'break 6', 'break 7', 'break 7', 'break 8'],
  ],
  'a row added': [
    [
      `INSERT INTO actions (${COLUMNS}) SELECT 11, at, operation, actor, object, entry, key, mac, mac
      FROM actions WHERE seq = 10`,
    ],
    ['break 11'],
  ],
  'old rows said to be deleted by age': [
    [
      'DELETE FROM actions WHERE seq < 4',
      `UPDATE action_head SET deleted_seq = 3, deleted_key = '${keyOf(FIRST).id}',
        deleted_mac = (SELECT prev FROM actions WHERE seq = 4), proof = 'x'`,
    ],
    ['break 3'],
  ],
}
/** The head that the intruder writes after he has removed rows. */
const FORGE_HEAD = `UPDATE action_head SET
  seq = coalesce((SELECT max(seq) FROM actions), 0),
  mac = coalesce((SELECT mac FROM actions ORDER BY seq DESC LIMIT 1), '')`

for (const { engine, database } of await startBoth(t, [])) {
  const host = hostWith(database, { key: FIRST, publish: { every: 4 } })
  const act = (name: string) => run(host, 'accounts create', { name })
  t.before(async () => {
    await openAccountsIn(database)
    await makeLedger(database)
    for (let at = 1; at <= 10; at++) await act(`account-${at}`)
    await intrude(database, 'CREATE TABLE x (a BIGINT)').catch(() => {})
  })
  const restore = async (copy: Awaited<ReturnType<typeof save>>) => {
    for (const table of ['actions', 'action_head']) await intrude(database, `DELETE FROM ${table}`)
    for (const [table, rows] of Object.entries(copy))
      for (const row of rows) {
        const names = Object.keys(row)
        const text = `INSERT INTO ${table} (${names}) VALUES (${names.map(() => '?')})`
        await database.write([
          { sql: { name: `restore ${table}`, text }, values: Object.values(row) },
        ])
      }
  }
  const save = async () => ({
    actions: await database.read({ name: 'save', text: 'SELECT * FROM actions' }, []),
    action_head: await database.read({ name: 'save head', text: 'SELECT * FROM action_head' }, []),
  })

  t.test(`tampering on ${engine}: is found and named`, async t => {
    t.match(await verify(host), { intact: true, rows: 10, last: 10, heads: 0 })
    const copy = await save()
    for (const [title, [statements, kinds]] of Object.entries(INTRUSIONS)) {
      for (const text of statements) await intrude(database, text)
      const report = await verify(host)
      t.same(kindsIn(report), kinds, title)
      t.notOk(report.intact, title)
      await restore(copy)
    }
    t.match(await verify(host), { intact: true })
  })

  t.test(`cut logs on ${engine}: with a new head, published heads show them`, async t => {
    const copy = await save()
    const log: object[] = []
    const listening = { ...host, log: { ...host.log, error: log.push, info: log.push } }
    const errors: unknown[] = []
    const publisher = {
      ...listening,
      log: { ...host.log, error: (fields: object) => void errors.push(fields) },
    }
    const published = newPublished()
    await publishHead(publisher, published)
    t.same(
      publishedHeads(host).map(({ seq }) => seq),
      [10],
    )
    await publishHead(publisher, published)
    t.equal(publishedHeads(host).length, 1, 'a head is published once')
    const elsewhere = publishedHeads(host)
      .map(head => JSON.stringify(head))
      .join('\n')
    for (const [cut, kinds] of [
      ['DELETE FROM actions WHERE seq > 8', ['cut 9']],
      ['DELETE FROM actions', ['cut 1']],
    ] as const) {
      await intrude(database, cut)
      await intrude(database, FORGE_HEAD)
      t.same(kindsIn(await verify(host)), kinds, cut)
      const other = hostWith(database, { key: FIRST })
      t.match(await verify(other), { intact: true, heads: 0 }, 'nothing shows it without a head')
      t.same(kindsIn(await verify(other, elsewhere)), kinds, 'a head from elsewhere')
      await publishHead(publisher, published)
      t.match(errors.pop(), { published: 10 }, 'the gateway sees it by itself')
      await restore(copy)
    }
    await intrude(database, 'DELETE FROM actions WHERE seq > 8')
    await intrude(database, FORGE_HEAD)
    for (let at = 9; at <= 12; at++) await act(`again-${engine}-${at}`)
    t.same(kindsIn(await verify(host)), ['break 10'], 'a log that went on after it was cut')
    await restore(copy)
  })

  t.test(`keys on ${engine}: rows of another key are named; earlier ones verify`, async t => {
    const copy = await save()
    await run(hostWith(database, { key: SECOND }), 'accounts create', { name: 'by another key' })
    const report = await verify(host)
    t.same(kindsIn(report), ['key 11'])
    t.match(report.findings[0]?.detail, new RegExp(keyOf(SECOND).id))
    const both = hostWith(database, { key: SECOND, earlier_keys: [FIRST] })
    t.match(await verify(both), { intact: true, rows: 11 })
    await restore(copy)
  })

  t.test(`old rows on ${engine}: are deleted, and the rest still verifies`, async t => {
    await intrude(database, `UPDATE actions SET at = at`)
    const keeping = hostWith(database, { key: FIRST, keep: '1d' })
    await deleteOld(keeping)
    t.equal((await actionsIn(host)).length, 10, 'no row is a day old')
    const later = {
      ...keeping,
      database: { ...database, now: async () => Date.now() + 2 * 86_400_000 },
    }
    await deleteOld(later)
    t.match(await actionsIn(host), [
      { seq: 11, operation: 'actions expire', after: { deleted: 9 } },
      { seq: 10 },
    ])
    t.match(await verify(host), { intact: true, rows: 2, last: 11, deleted: 9 })
    await act(`after-${engine}`)
    t.match(await verify(host), { intact: true, rows: 3, last: 12 })
    await intrude(database, 'DELETE FROM actions WHERE seq = 10')
    t.same(kindsIn(await verify(host)), ['gap 10'])
  })
}

t.test('key of the log: is made once, in a file that only its owner reads', async t => {
  t.equal(keyOf(FIRST).id.length, 12)
  t.not(keyOf(FIRST).id, keyOf(SECOND).id)
  const { signingKey } = await import('../../../plugins/action-log/keys.ts')
  const host = hostOver({} as never)
  t.same(signingKey(host), signingKey(host))
  const { statSync } = await import('node:fs')
  t.equal(statSync(`${host.folder('actions')}/key`).mode & 0o777, 0o600)
})

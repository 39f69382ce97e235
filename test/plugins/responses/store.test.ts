/** What is kept of responses, on both stores: statements alone, and what becomes of a response whose process is buried. */
import t from 'tap'
import type { Row } from '../../../engine/plugin.ts'
import { MEMBERSHIP_TABLES, registration } from '../../../engine/store/membership.ts'
import {
  addTurn,
  changeTurn,
  describeConversation,
  forgetConversation,
  openConversation,
} from '../../../plugins/responses/conversation-statements.ts'
import { kept } from '../../../plugins/responses/keeping.ts'
import { dereferenced } from '../../../plugins/responses/references.ts'
import {
  clean,
  contextOf,
  findConversation,
  findResponse,
  inputOf,
  toldOf,
  turnRows,
  turnsOf,
} from '../../../plugins/responses/shelf.ts'
import {
  beginResponse,
  cancelResponse,
  finishResponse,
  forgetResponse,
  keepResponse,
  type Stored,
} from '../../../plugins/responses/statements.ts'
import { migrations } from '../../../plugins/responses/tables.ts'
import { sql, startBoth, statement } from '../../helpers/store.ts'

const LIMITS = { kept: 1_000_000, largest: 2_000 }
const stored = (id: string, more: Partial<Stored> = {}): Stored => ({
  ...{ account: 1, id, created: Date.now(), expires: Date.now() + 1_000_000, status: 'completed' },
  ...{ previous: undefined, conversation: undefined, input: JSON.stringify(`to ${id}`) },
  response: JSON.stringify({
    id,
    object: 'response',
    output: [{ type: 'message', id: `m_${id}` }],
  }),
  ...more,
})
const asked = { store: true, background: false }
const open = { status: 'in_progress' }

for (const { engine, database } of await startBoth(t, [
  ...MEMBERSHIP_TABLES,
  ...migrations.map(each => ({ ...each, number: each.number + MEMBERSHIP_TABLES.length })),
])) {
  const bury = (id: string) =>
    statement('bury', 'DELETE FROM tollgate_processes WHERE id = ?', [id])
  const found = (id: string, account = 1): Promise<Row> => findResponse(database, account, id)

  t.test(`${engine}: kept, kept again, and forgotten`, async t => {
    await database.write([keepResponse(stored('a')), keepResponse(stored('a', { account: 2 }))])
    await database.write([keepResponse(stored('a', { input: '"again"' }))])
    t.match(inputOf(await found('a')), [{ role: 'user', content: 'again' }])
    t.match(inputOf(await found('a', 2)), [{ content: 'to a' }])
    await database.write([forgetResponse(1, 'a', Date.now())])
    await t.rejects(found('a'), { code: 'RESPONSE_UNKNOWN' })
    t.ok(await found('a', 2))
    await t.rejects(findResponse(database, undefined, 'a'), { code: 'RESPONSE_UNKNOWN' })
    await database.write([keepResponse(stored('old', { expires: Date.now() - 1 }))])
    await t.rejects(found('old'), { code: 'RESPONSE_UNKNOWN' })
  })

  t.test(
    `${engine}: a chain is read from its beginning, and refused where it has a hole`,
    async t => {
      const before = (previous: string) => contextOf(database, 1, { ...asked, previous })
      await database.write(
        [
          ...[stored('c1'), stored('c2', { previous: 'c1' }), stored('c3', { previous: 'c2' })],
          stored('c1', { account: 2, input: '"foreign"' }),
        ].map(keepResponse),
      )
      t.match(await before('c3'), [
        { input: 'to c1', output: [{ id: 'm_c1' }] },
        { input: 'to c2' },
        { input: 'to c3' },
      ])
      await database.write([forgetResponse(1, 'c1', Date.now())])
      await t.rejects(before('c3'), { code: 'PREVIOUS_UNKNOWN', message: /'c1'/ })
      await t.rejects(before('c9'), { code: 'PREVIOUS_UNKNOWN', message: /'c9'/ })
      // An upstream that gives one id twice could make a ring.
      await database.write([keepResponse(stored('r', { previous: 'r' }))])
      await t.rejects(before('r'), { code: 'CONTEXT_TOO_LONG' })
    },
  )

  t.test(`${engine}: what is made in the background is finished once, by one`, async t => {
    await database.write([registration('p1'), registration('p2')])
    for (const id of ['b1', 'b2', 'b3', 'b4'])
      await database.write([beginResponse(stored(id, open), id === 'b4' ? 'p2' : 'p1')])
    t.equal(toldOf(await found('b1')).status, 'in_progress')
    await t.rejects(contextOf(database, 1, { ...asked, previous: 'b1' }), {
      code: 'PREVIOUS_UNFINISHED',
    })
    await database.write([finishResponse(1, 'b1', 'completed', '{"id":"b1","output":[]}')])
    await database.write([finishResponse(1, 'b1', 'failed', '{}'), cancelResponse(1, 'b1')])
    t.match(toldOf(await found('b1')), { id: 'b1', status: 'completed' })
    await database.write([cancelResponse(1, 'b2'), cancelResponse(2, 'b3')])
    await database.write([finishResponse(1, 'b2', 'completed', '{}')])
    t.match(toldOf(await found('b2')), { id: 'b2', status: 'cancelled' })
    t.equal(toldOf(await found('b3')).status, 'in_progress', "another account's is not cancelled")
    await database.write([bury('p1')])
    t.match(toldOf(await found('b3')), { status: 'failed', error: { code: 'server_error' } })
    t.equal(toldOf(await found('b1')).status, 'completed')
    t.equal(toldOf(await found('b4')).status, 'in_progress')
    await database.write([finishResponse(1, 'b3', 'completed', '{}')])
    t.equal(toldOf(await found('b3')).status, 'failed', 'nobody wakes the dead')
    await t.rejects(database.write([beginResponse(stored('b5', open), 'p1')]), {
      code: 'RESPONSE_BURIED',
    })
  })

  t.test(`${engine}: a conversation grows, and what came too late changes nothing`, async t => {
    const conversation = { account: 1, id: 'v', created: 1, expires: Date.now() + 1_000_000 }
    await database.write([openConversation({ ...conversation, metadata: '{}' })])
    const keeping = { account: 1, created: 5, input: '"hi"', conversation: 'v' }
    const list = kept(keeping, { id: 'v1', output: [{ type: 'message', id: 'm' }] }, LIMITS)
    await database.write(list)
    await database.write([...list])
    t.match(await turnsOf(database, 1, 'v'), [{ input: [{ content: 'hi' }, { id: 'm' }] }])
    const meant = (id: string, account = 1) =>
      dereferenced(database, account, [{ type: 'item_reference', id }], [])
    const recent = { account: 1, created: Date.now(), input: '"ho"' }
    const output = [{ type: 'message', id: 'm3' }]
    await database.write(kept(recent, { id: 'v3', output }, LIMITS))
    t.match(await meant('m3'), output, 'by the name of its upstream')
    t.match(await meant('msg_v3_0'), [{ content: [{ text: 'ho' }] }], 'by its place')
    t.match(await meant('msg_v1_0'), [{ content: [{ text: 'hi' }] }], 'of a conversation')
    await t.rejects(meant('m3', 2), { code: 'ITEM_MISSING', message: /'m3'/ })
    t.same(await turnsOf(database, 2, 'v'), [])
    t.ok(await findConversation(database, 1, 'v'))
    t.notOk(await findConversation(database, 2, 'v'))
    t.match(await contextOf(database, 1, { ...asked, conversation: 'v' }), [{ input: [{}, {}] }])
    const turn = { id: 'v1', created: 5, items: '[{"role":"user","content":"other"}]' }
    const [first] = await turnRows(database, 1, 'v')
    const items = String(first?.items)
    await database.write([changeTurn(conversation, { ...turn, items }, turn.items)])
    await t.rejects(database.write([changeTurn(conversation, { ...turn, items }, '[]')]), {
      code: 'TURN_CHANGED',
    })
    t.match(await turnsOf(database, 1, 'v'), [{ input: [{ content: 'other' }] }])
    await database.write([
      describeConversation(2, 'v', '{}'),
      describeConversation(1, 'v', '{"a":"b"}'),
    ])
    t.equal((await findConversation(database, 1, 'v'))?.metadata, '{"a":"b"}')
    await database.write(forgetConversation(1, 'v', Date.now()))
    t.notOk(await findConversation(database, 1, 'v'))
    await database.write(kept({ ...keeping, created: Date.now() }, { id: 'v2' }, LIMITS))
    t.same(await turnsOf(database, 1, 'v'), [])
    t.ok(await found('v2'), 'the response is kept, and what was paid for it stands')
    await database.write([forgetResponse(1, 'v3', Date.now())])
    await t.rejects(meant('m3'), { code: 'ITEM_MISSING' })
  })

  t.test(`${engine}: what is too old goes, but nothing under way`, async t => {
    const past = { created: 1, expires: 2 }
    await database.write([
      registration('p3'),
      beginResponse(stored('going', { ...open, ...past }), 'p3'),
    ])
    const conversation = { account: 1, id: 'gone', ...past }
    await database.write([
      ...[keepResponse(stored('gone', past)), keepResponse(stored('stays'))],
      openConversation({ ...conversation, metadata: '{}' }),
      ...addTurn(conversation, { id: 't', created: 1, items: '[]' }),
    ])
    await clean(database, new AbortController().signal)
    const ids = await database.read(
      sql(
        'ids',
        "SELECT id FROM stored_responses WHERE id IN ('going', 'gone', 'stays') ORDER BY id",
      ),
      [],
    )
    t.same(
      ids.map(({ id }) => id),
      ['going', 'stays'],
    )
    t.same(await turnsOf(database, 1, 'gone'), [])
  })
}

t.test('what is kept is bounded, and its id is one', async t => {
  const keeping = { account: 1, created: 1, input: '"hi"' }
  t.equal(kept(keeping, { id: 'a' }, LIMITS).length, 1)
  t.equal(kept(keeping, { id: 'a', text: 'x'.repeat(2_000) }, LIMITS).length, 0)
  for (const id of ['', 'a b', '\u0000', 'x'.repeat(257)]) t.same(kept(keeping, { id }, LIMITS), [])
  t.same(kept(keeping, {}, LIMITS), [])
})

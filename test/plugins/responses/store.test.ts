/** Stored responses on both stores: the statements, and responses whose process is reaped. */
import t from 'tap'
import type { Row } from '../../../engine/plugin.ts'
import { MEMBERSHIP_TABLES, registration } from '../../../engine/store/membership.ts'
import {
  addTurn,
  changeTurn,
  deleteConversation,
  openConversation,
  updateMetadata,
} from '../../../plugins/responses/conversation-statements.ts'
import {
  cancelInteraction,
  findInteraction,
  readConversation,
  rowId,
} from '../../../plugins/responses/interactions/interaction-store.ts'
import { resolveReferences } from '../../../plugins/responses/item-references.ts'
import {
  deleteExpired,
  findConversation,
  findResponse,
  readHistory,
  readInput,
  readTurnRows,
  readTurns,
  responseOf,
} from '../../../plugins/responses/response-store.ts'
import {
  addPieces,
  beginResponse,
  cancelResponse,
  deleteResponse,
  finishResponse,
  forgetCall,
  type StoredResponse,
  saveCall,
  saveResponse,
  WAITING_CALLS,
} from '../../../plugins/responses/statements.ts'
import { storeStatements } from '../../../plugins/responses/storage-options.ts'
import { migrations } from '../../../plugins/responses/tables.ts'
import { sql, startBoth, statement } from '../../helpers/store/store.ts'

const LIMITS = { lifetime: 1_000_000, largest: 2_000 }
const storedResponse = (id: string, more: Partial<StoredResponse> = {}): StoredResponse => ({
  account: 1,
  maker: {},
  id,
  created: Date.now(),
  expires: Date.now() + 1_000_000,
  status: 'completed',
  previous: undefined,
  conversation: undefined,
  input: JSON.stringify(`to ${id}`),
  response: JSON.stringify({
    id,
    object: 'response',
    output: [{ type: 'message', id: `m_${id}` }],
  }),
  ...more,
})
const begin = ({ input, ...row }: StoredResponse, process: string) => [
  beginResponse(row, process),
  ...addPieces(row.account, row.id, 'input', [input.slice(0, 3), input.slice(3)]),
]
const options = { store: true, background: false }
const open = { status: 'in_progress' }

for (const { engine, database } of await startBoth(t, [
  ...MEMBERSHIP_TABLES,
  ...migrations.map(each => ({ ...each, number: each.number + MEMBERSHIP_TABLES.length })),
])) {
  const reap = (id: string) =>
    statement('reap', 'DELETE FROM tollgate_processes WHERE id = ?', [id])
  const find = (id: string, account = 1): Promise<Row> =>
    findResponse(database, { id: account }, id)

  t.test(`stored responses on ${engine}: are saved, replaced and deleted`, async t => {
    await database.write([
      saveResponse(storedResponse('a')),
      saveResponse(storedResponse('a', { account: 2 })),
    ])
    await database.write([saveResponse(storedResponse('a', { input: '"again"' }))])
    t.match(await readInput(database, 1, 'a'), [{ role: 'user', content: 'again' }])
    t.match(await readInput(database, 2, 'a'), [{ content: 'to a' }])
    await database.write([deleteResponse(1, 'a', Date.now())])
    await t.rejects(find('a'), { code: 'RESPONSE_UNKNOWN' })
    t.ok(await find('a', 2))
    await t.rejects(findResponse(database, undefined, 'a'), { code: 'RESPONSE_UNKNOWN' })
    await database.write([saveResponse(storedResponse('old', { expires: Date.now() - 1 }))])
    await t.rejects(find('old'), { code: 'RESPONSE_UNKNOWN' })
  })

  t.test(
    `history on ${engine}: is read from its start and refused if a part was deleted`,
    async t => {
      const history = (previous: string) =>
        readHistory(database, { id: 1 }, { ...options, previous })
      await database.write(
        [
          storedResponse('c1'),
          storedResponse('c2', { previous: 'c1' }),
          storedResponse('c3', { previous: 'c2' }),
          storedResponse('c1', { account: 2, input: '"foreign"' }),
        ].map(saveResponse),
      )
      t.match((await history('c3')).exchanges, [
        { input: 'to c1', output: [{ id: 'm_c1' }] },
        { input: 'to c2' },
        { input: 'to c3' },
      ])
      await database.write([deleteResponse(1, 'c1', Date.now())])
      await t.rejects(history('c3'), { code: 'PREVIOUS_UNKNOWN', message: /'c1'/ })
      await t.rejects(history('c9'), { code: 'PREVIOUS_UNKNOWN', message: /'c9'/ })
      // An upstream that reuses an id can make a response its own predecessor.
      await database.write([saveResponse(storedResponse('r', { previous: 'r' }))])
      await t.rejects(history('r'), { code: 'CONTEXT_TOO_LONG' })
    },
  )

  t.test(`background response on ${engine}: is finished once`, async t => {
    await database.write([registration('p1'), registration('p2')])
    for (const id of ['b1', 'b2', 'b3', 'b4'])
      await database.write(begin(storedResponse(id, open), id === 'b4' ? 'p2' : 'p1'))
    t.equal(responseOf(await find('b1')).status, 'in_progress')
    await t.rejects(readHistory(database, { id: 1 }, { ...options, previous: 'b1' }), {
      code: 'PREVIOUS_UNFINISHED',
    })
    await database.write([finishResponse(1, 'b1', 'completed', '{"id":"b1","output":[]}')])
    await database.write([finishResponse(1, 'b1', 'failed', '{}'), cancelResponse(1, 'b1')])
    t.match(responseOf(await find('b1')), { id: 'b1', status: 'completed' })
    t.match(await readInput(database, 1, 'b1'), [{ role: 'user', content: 'to b1' }])
    t.match((await readHistory(database, { id: 1 }, { ...options, previous: 'b1' })).exchanges, [
      { input: 'to b1', output: [] },
    ])
    await database.write([cancelResponse(1, 'b2'), cancelResponse(2, 'b3')])
    await database.write([finishResponse(1, 'b2', 'completed', '{}')])
    t.match(responseOf(await find('b2')), { id: 'b2', status: 'cancelled' })
    t.equal(
      responseOf(await find('b3')).status,
      'in_progress',
      "another account's is not cancelled",
    )
    await database.write([reap('p1')])
    t.match(responseOf(await find('b3')), { status: 'failed', error: { code: 'server_error' } })
    t.equal(responseOf(await find('b1')).status, 'completed')
    t.equal(responseOf(await find('b4')).status, 'in_progress')
    await database.write([finishResponse(1, 'b3', 'completed', '{}')])
    t.equal(responseOf(await find('b3')).status, 'failed', 'a failed response stays failed')
    await t.rejects(database.write(begin(storedResponse('b5', open), 'p1')), {
      code: 'RESPONSE_REAPED',
    })
  })

  t.test(`stopped background response on ${engine}: failed, and is continued`, async t => {
    const names = { response: 's1', interaction: rowId('s1') }
    await database.write([registration('p3')])
    for (const id of Object.values(names)) {
      await database.write([...begin(storedResponse(id, open), 'p3'), saveCall(1, id, '{}')])
    }
    const history = (previous: string) => readHistory(database, { id: 1 }, { ...options, previous })
    const conversation = (id: string) => readConversation(database, { id: 1 }, id)
    const running = async (): Promise<void> => {
      await t.rejects(history(names.response), { code: 'PREVIOUS_UNFINISHED' })
      await t.rejects(conversation('s1'), { code: 'INTERACTION_UNFINISHED' })
    }
    await running()
    await database.write([reap('p3')])
    await running()
    // The reaped process fails its call late: another one must still run it.
    for (const id of Object.values(names))
      await database.write([finishResponse(1, id, 'failed', '{}'), forgetCall(1, id)])
    const waiting = await database.read(WAITING_CALLS, [100])
    t.same(waiting.map(({ response }) => response).sort(), Object.values(names).sort())
    // Rows of earlier versions have no call.
    await database.write([statement('lose', 'DELETE FROM stored_calls', [])])
    await database.write([cancelResponse(1, names.response), ...cancelInteraction(1, 's1')])
    const failed = { status: 'failed', error: { code: 'server_error' } }
    t.match(responseOf(await find(names.response)), failed)
    const interaction = await findInteraction(database, { id: 1 }, 's1')
    t.match(interaction, { status: 'failed', errors: [failed.error] })
    t.match((await history(names.response)).exchanges, [{ input: 'to s1', output: [] }])
    t.match((await conversation('s1')).steps, [{ type: 'user_input' }])
  })

  t.test(`conversation on ${engine}: grows, and a late turn changes nothing`, async t => {
    const conversation = {
      account: 1,
      maker: {},
      id: 'v',
      created: 1,
      expires: Date.now() + 1_000_000,
    }
    await database.write([openConversation({ ...conversation, metadata: '{}' })])
    const storage = { account: 1, maker: {}, created: 5, input: '"hi"', conversation: 'v' }
    const list = storeStatements(
      storage,
      { id: 'v1', output: [{ type: 'message', id: 'm' }] },
      LIMITS,
    )
    await database.write(list)
    await database.write([...list])
    t.match(await readTurns(database, 1, 'v'), [{ input: [{ content: 'hi' }, { id: 'm' }] }])
    const resolve = (id: string, account = 1) =>
      resolveReferences(database, { id: account }, [{ type: 'item_reference', id }])
    const recent = { account: 1, maker: {}, created: Date.now(), input: '"ho"' }
    const output = [{ type: 'message', id: 'm3' }]
    await database.write(storeStatements(recent, { id: 'v3', output }, LIMITS))
    t.match(await resolve('m3'), output, 'by the id of the upstream')
    t.match(await resolve('msg_v3_0'), [{ content: [{ text: 'ho' }] }], 'by its generated id')
    t.match(await resolve('msg_v1_0'), [{ content: [{ text: 'hi' }] }], 'of a conversation')
    await t.rejects(resolve('m3', 2), { code: 'ITEM_MISSING', message: /'m3'/ })
    t.same(await readTurns(database, 2, 'v'), [])
    t.ok(await findConversation(database, { id: 1 }, 'v'))
    t.notOk(await findConversation(database, { id: 2 }, 'v'))
    const read = await readHistory(database, { id: 1 }, { ...options, conversation: 'v' })
    t.match(read.exchanges, [{ input: [{}, {}] }])
    const turn = { id: 'v1', created: 5, items: '[{"role":"user","content":"other"}]' }
    const [first] = await readTurnRows(database, 1, 'v')
    const items = String(first?.items)
    await database.write([changeTurn(conversation, { ...turn, items }, turn.items)])
    await t.rejects(database.write([changeTurn(conversation, { ...turn, items }, '[]')]), {
      code: 'TURN_CHANGED',
    })
    t.match(await readTurns(database, 1, 'v'), [{ input: [{ content: 'other' }] }])
    await database.write([updateMetadata(2, 'v', '{}'), updateMetadata(1, 'v', '{"a":"b"}')])
    t.equal((await findConversation(database, { id: 1 }, 'v'))?.metadata, '{"a":"b"}')
    await database.write(deleteConversation(1, 'v', Date.now()))
    t.notOk(await findConversation(database, { id: 1 }, 'v'))
    await database.write(storeStatements({ ...storage, created: Date.now() }, { id: 'v2' }, LIMITS))
    t.same(await readTurns(database, 1, 'v'), [])
    t.ok(await find('v2'), 'the response is stored although its conversation was deleted')
    await database.write([deleteResponse(1, 'v3', Date.now())])
    await t.rejects(resolve('m3'), { code: 'ITEM_MISSING' })
  })

  t.test(`deleteExpired on ${engine}: deletes expired rows but none in progress`, async t => {
    const past = { created: 1, expires: 2 }
    await database.write([
      registration('p3'),
      ...begin(storedResponse('going', { ...open, ...past }), 'p3'),
    ])
    const conversation = { account: 1, maker: {}, id: 'gone', ...past }
    await database.write([
      saveResponse(storedResponse('gone', past)),
      saveResponse(storedResponse('stays')),
      openConversation({ ...conversation, metadata: '{}' }),
      ...addTurn(conversation, { id: 't', created: 1, items: '[]' }),
    ])
    await deleteExpired(database, new AbortController().signal)
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
    t.same(await readTurns(database, 1, 'gone'), [])
  })
}

t.test('storeStatements: refuses large responses and invalid ids', async t => {
  const storage = { account: 1, maker: {}, created: 1, input: '"hi"' }
  t.equal(storeStatements(storage, { id: 'a' }, LIMITS).length, 1)
  t.equal(storeStatements(storage, { id: 'a', text: 'x'.repeat(2_000) }, LIMITS).length, 0)
  for (const id of ['', 'a b', '\u0000', 'x'.repeat(257)])
    t.same(storeStatements(storage, { id }, LIMITS), [])
  t.same(storeStatements(storage, {}, LIMITS), [])
})

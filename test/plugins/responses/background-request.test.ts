/** Requests of background responses are apart from the rows that change with their state, on both
 *  stores. */
import t from 'tap'
import type { Json, Statement } from '../../../engine/plugin.ts'
import { MEMBERSHIP_TABLES, registration } from '../../../engine/store/membership.ts'
import { piecesOf } from '../../../plugins/pieces/json-pieces.ts'
import { PieceQueue } from '../../../plugins/pieces/piece-queue.ts'
import {
  type BackgroundCall,
  bodyOf,
  inputPieces,
  readCall,
  slotsOf,
  storeQueued,
} from '../../../plugins/responses/background-request.ts'
import {
  deleteExpired,
  findResponse,
  readInput,
} from '../../../plugins/responses/response-store.ts'
import { deleteResponse, takeResponse } from '../../../plugins/responses/statements.ts'
import { migrations } from '../../../plugins/responses/tables.ts'
import { sql, startBoth, statement } from '../../helpers/store/store.ts'

const tables = (last: number) => [
  ...MEMBERSHIP_TABLES,
  ...migrations
    .slice(0, last)
    .map(each => ({ ...each, number: each.number + MEMBERSHIP_TABLES.length })),
]
const IMAGE = `data:image/png;base64,${'A'.repeat(900_000)}`
const INPUT = [{ role: 'user', content: [{ type: 'input_image', image_url: IMAGE }] }]
const rowOf = (id: string) => ({
  account: 1,
  maker: {},
  id,
  created: Date.now(),
  expires: Date.now() + 1_000_000,
  previous: undefined,
  conversation: undefined,
  status: 'in_progress',
  response: `{"id":"${id}"}`,
})
const callOf = async (id: string, input: Json): Promise<BackgroundCall> => ({
  account: 1,
  id,
  route: 'responses',
  request: `req_${id}`,
  path: '/v1/responses',
  headers: {},
  sharesInput: true,
  slot: 'responses',
  slots: { responses: { created: 1 } },
  targets: [],
  queuedResponse: { id },
  pieces: { input: await piecesOf([input]), body: await piecesOf({ model: 'gp' }) },
})

for (const { engine, database } of await startBoth(t, tables(migrations.length))) {
  const rows = (text: string) => database.read(sql(`test: ${text}`, text), [])
  const store = async (call: BackgroundCall, onWrite = database.write) => {
    const writes: Statement[] = []
    const queue = new PieceQueue()
    const host = { database: { write: onWrite }, share: () => queue } as never
    await storeQueued(
      { writes: { add: (...list: Statement[]) => void writes.push(...list) } } as never,
      call,
      rowOf(call.id),
      { host, process: 'p1' },
    )
    return writes
  }
  await database.write([registration('p1'), registration('p2')])

  t.test(`background request on ${engine}: no change of its state writes it`, async t => {
    const [input] = INPUT
    const writes = await store(await callOf('large', input ?? {}))
    t.ok(JSON.stringify(writes.map(({ values }) => values)).length < 1_024)
    await t.rejects(findResponse(database, { id: 1 }, 'large'), { code: 'RESPONSE_UNKNOWN' })
    await database.write(writes)
    const row = await findResponse(database, { id: 1 }, 'large')
    t.equal(row.status, 'in_progress')
    const [sizes] = await rows(
      `SELECT length(s.input) AS input, length(c.call) AS call FROM stored_responses s
       JOIN stored_calls c ON c.response = s.id WHERE s.id = 'large'`,
    )
    t.equal(Number(sizes?.input), 0)
    t.ok(Number(sizes?.call) < 1_024)
    t.same(await readInput(database, 1, 'large'), INPUT)
    await database.write([statement('reap', "DELETE FROM tollgate_processes WHERE id = 'p1'", [])])
    await database.write([registration('p1'), ...takeResponse(1, 'large', 'p2')])
    const call = await readCall(database, 1, 'large')
    if (!call) throw new Error('it has no call')
    t.same(JSON.parse(String(await bodyOf(call))), { model: 'gp', input: INPUT })
    t.match(call, { queuedResponse: { id: 'large' } })
    t.same(slotsOf(call), { responses: { created: 1, input: '' } }, 'the input is stored already')
    const slots = { responses: { conversation: 'v' } }
    t.match(slotsOf({ ...call, slots }), { responses: { input: JSON.stringify(INPUT) } })
    await database.write([deleteResponse(1, 'large', Date.now())])
    t.same(await rows('SELECT part FROM stored_response_parts'), [])
  })

  t.test(`background request on ${engine}: a small one is one transaction`, async t => {
    const writes = await store(await callOf('small', { role: 'user', content: 'Hi' }))
    t.same(await rows('SELECT id FROM stored_responses'), [])
    await database.write(writes)
    t.same(await readInput(database, 1, 'small'), [{ role: 'user', content: 'Hi' }])
    await database.write([deleteResponse(1, 'small', Date.now())])
  })

  t.test(`background request on ${engine}: one that cannot be stored leaves nothing`, async t => {
    const [input = {}] = INPUT
    let count = 0
    const failing = async (list: readonly Statement[]) => {
      if (++count === 3) throw Object.assign(new Error('away'), { code: 'STORE_UNAVAILABLE' })
      return database.write(list)
    }
    await t.rejects(store(await callOf('lost', input), failing), { code: 'STORE_UNAVAILABLE' })
    t.same(await rows('SELECT id FROM stored_responses'), [])
    t.same(await rows('SELECT part FROM stored_response_parts'), [])
  })

  t.test(`background request on ${engine}: without its process it is deleted`, async t => {
    const [input = {}] = INPUT
    const writes = await store(await callOf('begun', input))
    const { signal } = new AbortController()
    await deleteExpired(database, signal)
    t.equal((await rows('SELECT id FROM stored_responses')).length, 1, 'it is being stored')
    await database.write([statement('reap', "DELETE FROM tollgate_processes WHERE id = 'p1'", [])])
    await t.rejects(database.write(writes), { code: 'RESPONSE_REAPED' })
    await deleteExpired(database, signal)
    t.same(await rows('SELECT id FROM stored_responses'), [])
    t.same(await rows('SELECT part FROM stored_response_parts'), [])
  })

  t.test(`background request on ${engine}: input above the limit is refused`, async t => {
    await t.rejects(inputPieces(INPUT, 800_000), { code: 'BACKGROUND_TOO_LARGE' })
    t.equal((await inputPieces(INPUT, 901_000)).join(''), JSON.stringify(INPUT))
  })
}

for (const { engine, database } of await startBoth(t, tables(3)))
  t.test(`background request on ${engine}: one of an earlier version leaves its row`, async t => {
    const insert = (id: string, status: string) =>
      statement(
        `insert ${id}`,
        `INSERT INTO stored_responses (account, id, created, expires, status, input, response)
         VALUES (1, '${id}', 1, ?, '${status}', ?, ?)`,
        [Date.now() + 1_000_000, JSON.stringify(INPUT), `{"id":"${id}"}`],
      )
    const call = { account: 1, id: 'old', body: '{"model":"gp"}', sharesInput: true, slots: {} }
    await database.write([
      insert('old', 'in_progress'),
      insert('done', 'completed'),
      statement('call', "INSERT INTO stored_calls (account, response, call) VALUES (1, 'old', ?)", [
        JSON.stringify({ ...call, queuedResponse: { id: 'old' } }),
      ]),
    ])
    await database.migrate('test', tables(migrations.length))
    const list = await database.read(
      sql('inputs', 'SELECT id, length(input) AS size FROM stored_responses ORDER BY id'),
      [],
    )
    t.match(list, [{ id: 'done' }, { id: 'old', size: 0 }])
    t.same(await readInput(database, 1, 'done'), INPUT)
    t.same(await readInput(database, 1, 'old'), INPUT)
    const stored = await readCall(database, 1, 'old')
    if (!stored) throw new Error('it has no call')
    t.same(JSON.parse(String(await bodyOf(stored))), { model: 'gp', input: INPUT })
  })

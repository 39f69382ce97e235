/** The calls of `host.gateway` as the primary answers them. */
import t from 'tap'
import { answerCall, type OperationParts } from '../../../engine/processes/gateway/operations.ts'

const parts = {
  reloader: {
    reload: async () => ({ reloaded: true }),
    rollback: async (to: number | 'previous') => {
      if (to === 404) throw new Error('there is no version 404')
      return { to }
    },
  },
  pool: { workers: [] },
  builder: { inspect: async (inspection: object) => inspection },
  exposition: { read: (names: readonly string[]) => names.map(name => ({ name })) },
  view: () => ({ version: 7 }),
} as unknown as OperationParts

t.test('gateway calls: reload, rollback and inspections reach their parts', async t => {
  t.match(await answerCall(undefined, 1, { name: 'reload' }), { error: { code: 'NO_GATEWAY' } })
  t.same(await answerCall(parts, 2, { name: 'reload' }), { id: 2, result: { reloaded: true } })
  t.match(await answerCall(parts, 3, { name: 'rollback', version: undefined }), {
    result: { to: 'previous' },
  })
  t.match(await answerCall(parts, 4, { name: 'rollback', version: 6 }), { result: { to: 6 } })
  t.match(await answerCall(parts, 5, { name: 'rollback', version: 404 }), {
    id: 5,
    error: { status: 500 },
  })
  t.match(await answerCall(parts, 7, { name: 'readings', names: ['workers'] }), {
    result: [{ name: 'workers' }],
  })
  t.match(await answerCall(parts, 6, { name: 'status' }), { result: { version: 7 } })
})

/** The engine's plain JSON refusal, where no plugin renders a fault. */
import t from 'tap'
import { plainRefusal } from '../../../engine/response/refusal.ts'

const render = (reason: Parameters<typeof plainRefusal>[0]) => {
  const { status, headers, body } = plainRefusal(reason, { id: 'req_1' })
  return { status, headers, body: JSON.parse(Buffer.from(body).toString()) as unknown }
}

t.test('plain refusal: has code, message and request id', async t => {
  const fault = { code: 'BUSY', message: 'Busy.', status: 503, expose: true }
  t.same(render({ ...fault, headers: { 'retry-after': '1' } }), {
    status: 503,
    headers: { 'content-type': 'application/json', 'retry-after': '1' },
    body: { error: { code: 'BUSY', message: 'Busy.', request_id: 'req_1' } },
  })
})

t.test('plain refusal: a hidden fault shows no message', async t => {
  const fault = { code: 'STAGE_THREW', message: 'a secret', status: 500, expose: false }
  t.match(render(fault).body, { error: { code: 'STAGE_THREW', message: 'Internal error.' } })
  const { status, body } = render(new Error('a secret') as unknown as typeof fault)
  t.equal(status, 500)
  t.match(body, { error: { code: 'INTERNAL', message: 'Internal error.' } })
})

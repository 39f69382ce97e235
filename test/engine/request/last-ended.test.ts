/** A process keeps a reference to the last small request that ended, so that V8 keeps the code that
 *  it compiled for requests. */
import t from 'tap'
import { ActiveRequests, type RequestLifecycle } from '../../../engine/request/request-lifecycle.ts'
import type { Resources } from '../../../engine/snapshot/resources.ts'

const request = (byteCount: number): RequestLifecycle =>
  ({ index: -1, acceptedRequest: { request: { body: { byteCount } } } }) as RequestLifecycle

t.test('active requests: keep a reference to the last small request that ended', async t => {
  const requests = new ActiveRequests({} as Resources)
  t.teardown(() => requests.close())
  const [first, second, large] = [request(0), request(16_383), request(16_384)]
  for (const each of [first, second, large]) requests.add(each)
  t.equal(requests.lastEnded, undefined)
  for (const [each, expected] of [
    [first, first],
    [second, second],
    [large, second],
  ] as const) {
    t.equal(requests.remove(each), true)
    t.equal(requests.lastEnded, expected)
  }
  t.equal(requests.size, 0)
  t.equal(requests.remove(large), false)
})

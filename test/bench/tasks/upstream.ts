/** The upstream of the bench's tasks: answers calls at once, accepts every submit, never finishes
 *  one, and measures the intervals between the polls of each task. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { plainAnswer } from '../answers.ts'

const CALL = plainAnswer()

/** ms of the last poll, by the upstream's id. */
const lastPolls = new Map<string, number>()
let intervals: number[] = []
let submits = 0

const server = createServer((request, response) => {
  const isPoll = request.method === 'GET'
  if (isPoll) recordPoll(request.url?.split('/').at(-2) ?? '')
  request.resume()
  const isCall = request.url?.endsWith('/chat/completions') === true
  const answer = isPoll ? { state: 'processing' } : { task_id: `new-${++submits}` }
  response.setHeader('content-type', 'application/json')
  response.end(isCall ? CALL : JSON.stringify(answer))
})
const recordPoll = (id: string): void => {
  const now = performance.now()
  const last = lastPolls.get(id)
  if (last !== undefined) intervals.push(now - last)
  lastPolls.set(id, now)
}

/** What the bench reads: tasks that were polled, and the intervals since the last reading, ms. */
export interface Polls {
  readonly tasks: number
  readonly intervals: readonly number[]
}
process.on('message', () => {
  process.send?.({ tasks: lastPolls.size, intervals } satisfies Polls)
  intervals = []
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
)

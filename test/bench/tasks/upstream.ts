/** The upstream of the bench's tasks: answers calls and responses at once, accepts every submit,
 *  finishes tasks once it is told to, and measures the intervals between the polls of each task. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { plainAnswer } from '../answers.ts'

const CALL = plainAnswer()

/** ms of the last poll, by the upstream's id. */
const lastPolls = new Map<string, number>()
let intervals: number[] = []
let submits = 0
/** Tasks up to this number are finished. */
let finished = 0
/** Tasks that were polled since they are finished. */
const ended = new Set<string>()

const server = createServer((request, response) => {
  const isPoll = request.method === 'GET'
  const id = isPoll ? (request.url?.split('/').at(-2) ?? '') : ''
  if (isPoll) recordPoll(id)
  request.resume()
  const isCall = request.url?.endsWith('/chat/completions') === true
  response.setHeader('content-type', 'application/json')
  if (isCall) return void response.end(CALL)
  if (isPoll) return void response.end(JSON.stringify(pollOf(id)))
  const submit = `new-${++submits}`
  const isResponse = request.url?.endsWith('/responses') === true
  response.end(JSON.stringify(isResponse ? responseOf(submit) : { task_id: submit }))
})
const responseOf = (id: string) => ({
  id,
  object: 'response',
  created_at: 1_750_000_000,
  status: 'completed',
  model: 'seeing',
  error: null,
  output: [],
  usage: { input_tokens: 1_000, output_tokens: 1, total_tokens: 1_001 },
})
const pollOf = (id: string) => {
  if (Number(id.replace('new-', '')) > finished) return { state: 'processing' }
  ended.add(id)
  return { state: 'success', creations: [{ url: 'https://example.com/clip.mp4' }] }
}
const recordPoll = (id: string): void => {
  const now = performance.now()
  const last = lastPolls.get(id)
  if (last !== undefined) intervals.push(now - last)
  lastPolls.set(id, now)
}

/** The bench's readings: tasks that were polled, and the intervals since the last reading, ms. */
export interface Polls {
  readonly tasks: number
  readonly intervals: readonly number[]
  /** Of tasks, and calls of background responses. */
  readonly submits: number
  /** Tasks whose last poll said that they are finished. */
  readonly ended: number
}
/** `finish`: every task so far is finished. */
export type Order = 'read' | 'finish'
process.on('message', (order: Order) => {
  if (order === 'finish') finished = submits
  const counts = { submits, ended: ended.size }
  process.send?.({ tasks: lastPolls.size, intervals, ...counts } satisfies Polls)
  intervals = []
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
)

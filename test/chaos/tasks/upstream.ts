/** The asynchronous upstream of a chaos run of tasks, in its own process: creates tasks, shows
 *  their states by their age, and records every create and every poll. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createChance } from '../../helpers/run-settings.ts'

export interface UpstreamTask {
  readonly id: string
  /** The `payload` of the request, which names the customer's intent. */
  readonly intent: string
  /** The API key of the create, and those of all polls. */
  readonly key: string
  readonly pollKeys: string[]
  readonly createdAt: number
  /** ms until it ends. */
  readonly duration: number
  readonly fails: boolean
}
export interface TaskUpstreamLog {
  readonly tasks: readonly UpstreamTask[]
  /** Times of all polls. */
  readonly polls: readonly number[]
}

const chance = createChance(Number(process.argv[2] ?? 1))
const tasks = new Map<string, UpstreamTask>()
const polls: number[] = []
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const bodyOf = async (incoming: IncomingMessage): Promise<{ payload?: string }> => {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString() || '{}')
}
const create = async (incoming: IncomingMessage, key: string): Promise<object> => {
  const { payload = '' } = await bodyOf(incoming)
  const id = `up-${tasks.size + 1}`
  const duration = 200 + Math.floor(chance() * 1_500)
  const fails = chance() < 0.2
  const task = { id, intent: payload, key, pollKeys: [], createdAt: Date.now(), duration, fails }
  tasks.set(id, task)
  // Some processes are killed between the create and its answer.
  await pause(Math.floor(chance() * 150))
  return { task_id: id, state: 'created' }
}
const show = (id: string, key: string): object => {
  const task = tasks.get(id)
  if (!task) return { state: 'failed', err_code: 'TaskNotFound', creations: [] }
  task.pollKeys.push(key)
  polls.push(Date.now())
  const age = Date.now() - task.createdAt
  if (age < task.duration / 3) return { state: 'queueing', creations: [] }
  if (age < task.duration) return { state: 'processing', creations: [] }
  if (task.fails) return { state: 'failed', err_code: 'Moderation', creations: [] }
  return { state: 'success', creations: [{ id, url: `https://files.example/${id}` }] }
}

const server = createServer(async (incoming, response) => {
  const key = String(incoming.headers.authorization ?? '')
  const id = incoming.url?.split('/').at(-2) ?? ''
  const answer = incoming.method === 'POST' ? await create(incoming, key) : show(id, key)
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
})
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port })
})
process.on('message', () => {
  process.send?.({ log: { tasks: [...tasks.values()], polls } satisfies TaskUpstreamLog })
  server.closeAllConnections()
  server.close()
})

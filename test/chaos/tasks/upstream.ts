/** The upstream of a chaos run of tasks, in its own process: creates tasks, shows their states by
 *  their age, answers calls for images itself, and records every create, call and poll. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createChance } from '../../helpers/run-settings.ts'

export interface UpstreamTask {
  readonly id: string
  /** The prompt of the request, which names the customer's intent. */
  readonly intent: string
  /** Characters of its image; 0 without one. */
  readonly imageSize: number
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

const CLIP = Buffer.concat([Buffer.from('\0\0\0\x20ftypisom', 'latin1'), Buffer.alloc(100_000)])
const chance = createChance(Number(process.argv[2] ?? 1))
const tasks = new Map<string, UpstreamTask>()
const polls: number[] = []
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const bodyOf = async (
  incoming: IncomingMessage,
): Promise<{ prompt?: string; images?: string[] }> => {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString() || '{}')
}
/** A chat of a batch line: answered after a moment, and counted by the ledger alone. */
const chat = async (incoming: IncomingMessage): Promise<object> => {
  await bodyOf(incoming)
  await pause(Math.floor(chance() * 200))
  const message = { role: 'assistant', content: 'Good day.' }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  const usage = { prompt_tokens: 5, completion_tokens: 5 }
  return { id: 'c', object: 'chat.completion', created: 1, model: 'chat', choices, usage }
}
const create = async (incoming: IncomingMessage, key: string): Promise<object> => {
  const { prompt = '', images: [image = ''] = [] } = await bodyOf(incoming)
  const id = `up-${tasks.size + 1}`
  const duration = 200 + Math.floor(chance() * 1_500)
  const fails = chance() < 0.2
  const facts = { key, pollKeys: [], createdAt: Date.now(), duration, fails }
  const task = { id, intent: prompt, imageSize: image.length, ...facts }
  tasks.set(id, task)
  // Some processes are killed between the create and its answer.
  await pause(Math.floor(chance() * 150))
  if (!incoming.url?.endsWith('/generations')) return { task_id: id, state: 'created' }
  await pause(duration)
  return fails ? { error: { message: 'refused' } } : { created: 1, data: [{ b64_json: 'AA==' }] }
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
  return { state: 'success', creations: [{ id, url: `${origin}/files/${id}` }] }
}

const server = createServer(async (incoming, response) => {
  if (incoming.url?.startsWith('/files/'))
    return void response.setHeader('content-type', 'video/mp4').end(CLIP)
  const key = String(incoming.headers.authorization ?? '')
  const id = incoming.url?.split('/').at(-2) ?? ''
  const isChat = incoming.url?.endsWith('/chat/completions')
  const respond = () => (isChat ? chat(incoming) : create(incoming, key))
  const answer = incoming.method === 'POST' ? await respond() : show(id, key)
  response.statusCode = 'error' in answer ? 400 : 200
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
})
let origin = ''
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  origin = `http://127.0.0.1:${port}`
  process.send?.({ port })
})
process.on('message', () => {
  process.send?.({ log: { tasks: [...tasks.values()], polls } satisfies TaskUpstreamLog })
  server.closeAllConnections()
  server.close()
})

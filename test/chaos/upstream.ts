/** The upstream's side of a chaos run, in a process of its own: writes words, and keeps count of what it wrote for whom. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createChance } from '../helpers/seeded.ts'
import type { UpstreamCall } from './checker.ts'

type Kept = { -readonly [Name in keyof UpstreamCall]: UpstreamCall[Name] }
interface Asked {
  readonly user?: string
  readonly stream?: boolean
  readonly max_tokens?: number
}

const chance = createChance(Number(process.argv[2] ?? 1))
const log: Kept[] = []
const upTo = (most: number): number => Math.floor(chance() * most)
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const WORD = event({ choices: [{ index: 0, delta: { content: 'word' }, finish_reason: null }] })
const LAST = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })

const stream = async (call: Kept, tokens: number, response: ServerResponse): Promise<void> => {
  // Some are killed before they have answered.
  await pause(upTo(60))
  if (response.destroyed) return
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const every = upTo(40)
  while (call.emitted < tokens && !response.destroyed) {
    call.emitted++
    response.write(WORD)
    await pause(every)
  }
  if (response.destroyed) return
  call.finished = true
  const usage = { prompt_tokens: 9, completion_tokens: tokens }
  response.end(`${LAST}${event({ choices: [], usage })}data: [DONE]\n\n`)
}
const plain = async (call: Kept, tokens: number, response: ServerResponse): Promise<void> => {
  await pause(upTo(60))
  if (response.destroyed) return
  call.emitted = tokens
  call.finished = true
  const message = { role: 'assistant', content: 'word '.repeat(tokens) }
  const usage = { prompt_tokens: 9, completion_tokens: tokens }
  const body = JSON.stringify({ id: 'x', choices: [{ index: 0, message }], usage })
  response.setHeader('content-type', 'application/json')
  response.end(body)
}
const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const call: Kept = {
    request: String(request.headers['x-request-id']),
    client: '?',
    emitted: 0,
    finished: false,
  }
  log.push(call)
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const asked = JSON.parse(Buffer.concat(parts).toString()) as Asked
  call.client = asked.user ?? '?'
  const tokens = 1 + upTo(asked.max_tokens ?? 1)
  await (asked.stream ? stream : plain)(call, tokens, response)
}

const server = createServer((request, response) => {
  response.on('error', () => {})
  // A request that is cut is in the log as far as it came.
  serve(request, response).catch(() => {})
})
server.keepAliveTimeout = 60_000
process.on('message', () => process.send?.({ log }))
process.on('disconnect', () => process.exit(0))
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port })
})

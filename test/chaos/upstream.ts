/** The upstream of a chaos run, in its own process: writes words and records how many for each
 *  call. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createChance } from '../helpers/seeded.ts'
import type { UpstreamCall } from './checker.ts'

type MutableCall = { -readonly [Name in keyof UpstreamCall]: UpstreamCall[Name] }
interface ChatRequest {
  readonly user?: string
  readonly stream?: boolean
  readonly max_tokens?: number
}

const chance = createChance(Number(process.argv[2] ?? 1))
const log: MutableCall[] = []
const upTo = (most: number): number => Math.floor(chance() * most)
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const WORD = event({ choices: [{ index: 0, delta: { content: 'word' }, finish_reason: null }] })
const LAST = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })

const stream = async (
  call: MutableCall,
  tokens: number,
  response: ServerResponse,
): Promise<void> => {
  // Some calls are killed before the response head.
  await pause(upTo(60))
  if (response.destroyed) return
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const every = upTo(40)
  while (call.wordsWritten < tokens && !response.destroyed) {
    call.wordsWritten++
    response.write(WORD)
    await pause(every)
  }
  if (response.destroyed) return
  call.isFinished = true
  const usage = { prompt_tokens: 9, completion_tokens: tokens }
  response.end(`${LAST}${event({ choices: [], usage })}data: [DONE]\n\n`)
}
const plain = async (
  call: MutableCall,
  tokens: number,
  response: ServerResponse,
): Promise<void> => {
  await pause(upTo(60))
  if (response.destroyed) return
  call.wordsWritten = tokens
  call.isFinished = true
  const message = { role: 'assistant', content: 'word '.repeat(tokens) }
  const usage = { prompt_tokens: 9, completion_tokens: tokens }
  const body = JSON.stringify({ id: 'x', choices: [{ index: 0, message }], usage })
  response.setHeader('content-type', 'application/json')
  response.end(body)
}
const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const call: MutableCall = {
    request: String(request.headers['x-request-id']),
    client: '?',
    wordsWritten: 0,
    isFinished: false,
  }
  log.push(call)
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const chatRequest = JSON.parse(Buffer.concat(parts).toString()) as ChatRequest
  call.client = chatRequest.user ?? '?'
  const tokens = 1 + upTo(chatRequest.max_tokens ?? 1)
  await (chatRequest.stream ? stream : plain)(call, tokens, response)
}

const server = createServer((request, response) => {
  response.on('error', () => {})
  // An aborted request is in the log as far as it was read.
  serve(request, response).catch(() => {})
})
server.keepAliveTimeout = 60_000
process.on('message', () => process.send?.({ log }))
process.on('disconnect', () => process.exit(0))
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port })
})

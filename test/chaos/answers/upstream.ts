/** The upstream of calls with a cache, guards, copies and rules, in its own process: numbers its
 *  answers, breaks some streams off, and records each call. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createChance } from '../../helpers/run-settings.ts'
import { BLOCKED_WORDS, COPY_USAGE, UPSTREAM_NAMES, USAGE } from './configuration.ts'

export interface AnsweredCall {
  /** The gateway's request id; of a copy or an embedding, its own. */
  readonly request: string
  readonly model: string
  /** The last text of the user. */
  readonly question: string
  /** The whole answer, whose number no other answer has. */
  readonly answer: string
  /** Whether all of it was written. */
  readonly isFinished: boolean
}
interface ChatBody {
  readonly model: string
  readonly stream?: boolean
  readonly input?: string | readonly string[]
  readonly messages?: readonly { readonly content: unknown }[]
}

/** One of so many streams breaks off. */
const BREAKS = 12
const chance = createChance(Number(process.argv[2] ?? 1))
const upTo = (most: number): number => Math.floor(chance() * most)
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const log: { -readonly [Name in keyof AnsweredCall]: AnsweredCall[Name] }[] = []

/** Texts of one topic are equal vectors, those of two topics are orthogonal. */
const DIMENSIONS = 64
const topics = new Map<string, number>()
const vectorOf = (text: string): readonly number[] => {
  const topic = /topic (\S+)/.exec(text)?.[1] ?? ''
  if (!topics.has(topic)) topics.set(topic, topics.size % DIMENSIONS)
  return Array.from({ length: DIMENSIONS }, (_, at) => (at === topics.get(topic) ? 1 : 0))
}
const answerOf = (question: string): string => {
  const word = Object.values(BLOCKED_WORDS).find(each => question.includes(`say ${each}`))
  const email = /\[EMAIL_\d+\]/.exec(question)?.[0]
  const number = log.length + 1
  return `${word ? `${word}! ` : ''}Answer ${number}${email ? ` for ${email}` : ''} end-${number}.`
}
const usageOf = (model: string) => {
  const { input, output } = model === UPSTREAM_NAMES.copy ? COPY_USAGE : USAGE
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const body = JSON.parse(Buffer.concat(parts).toString()) as ChatBody
  const json = { 'content-type': 'application/json' }
  if (request.url?.endsWith('/embeddings')) {
    const embeddings = [body.input ?? ''].flat().map((text, index) => ({
      object: 'embedding',
      index,
      embedding: vectorOf(text),
    }))
    const usage = { prompt_tokens: 5, total_tokens: 5 }
    return void response
      .writeHead(200, json)
      .end(JSON.stringify({ object: 'list', model: body.model, data: embeddings, usage }))
  }
  const question = JSON.stringify(body.messages?.at(-1)?.content ?? '')
  const call = {
    request: String(request.headers['x-request-id']),
    model: body.model,
    question,
    answer: answerOf(question),
    isFinished: false,
  }
  log.push(call)
  // Long enough that equal requests meet.
  await pause(30 + upTo(300))
  const facts = { id: `answer-${log.length}`, model: body.model, created: 1 }
  const usage = usageOf(body.model)
  if (!body.stream) {
    const message = { role: 'assistant', content: call.answer }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    call.isFinished = !response.destroyed
    return void response.writeHead(200, json).end(JSON.stringify({ ...facts, choices, usage }))
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (event: object) =>
    response.write(`data: ${JSON.stringify({ ...facts, ...event })}\n\n`)
  const breaks = body.model !== UPSTREAM_NAMES.copy && upTo(BREAKS) === 0
  for (const content of call.answer.split(/(?<= )/)) {
    send({ choices: [{ index: 0, delta: { content } }] })
    await pause(upTo(30))
    if (breaks) response.destroy()
    if (response.destroyed) return
  }
  call.isFinished = true
  send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
  send({ choices: [], usage })
  response.end('data: [DONE]\n\n')
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

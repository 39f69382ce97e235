/** Servers in the process of a test, which end with it: upstreams that read whole requests, and
 *  answers of chat completions. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

/** Listens on 127.0.0.1; returns the port. At the end of the test all connections are closed. */
export const listen = async (t: Pick<Test, 'teardown'>, server: Server): Promise<number> => {
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

type Answer = (body: string, response: ServerResponse, request: IncomingMessage) => unknown
/** A server that gets the text of each request. */
export const createTextServer = (answer: Answer) =>
  createServer(async (request, response) => {
    await answer(await text(request), response, request)
  })
/** The URL of such a server, which ends with the test. */
export const startTextUpstream = async (t: Pick<Test, 'teardown'>, answer: Answer) =>
  `http://127.0.0.1:${await listen(t, createTextServer(answer))}`

const CHAT_USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
export const CHAT_FACTS = { id: 'resp-1', model: 'words-2026', created: 1 }
interface ChatAnswer {
  /** Of the response, and of each event of a stream. */
  readonly facts?: object
  /** Each is an event of a stream. */
  readonly pieces?: readonly string[]
  /** In place of pieces: one event of a stream. */
  readonly message?: object
  readonly reason?: string
  readonly usage?: object
  /** After each of these events. The stream ends here if it destroys the response. */
  onEvent?(): unknown
}
/** A chat completion: a stream if `body`, a text, asks for one. */
export const answerChat = async (body: string, response: ServerResponse, answer: ChatAnswer) => {
  const { facts = CHAT_FACTS, pieces = [], reason = 'stop', usage = CHAT_USAGE } = answer
  if (JSON.parse(body).stream !== true) {
    const { message = { role: 'assistant', content: pieces.join('') } } = answer
    const choices = [{ index: 0, message, finish_reason: reason }]
    response.writeHead(200, { 'content-type': 'application/json' })
    return void response.end(JSON.stringify({ ...facts, choices, usage }))
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (event: object) =>
    void response.write(`data: ${JSON.stringify({ ...facts, ...event })}\n\n`)
  for (const delta of answer.message ? [answer.message] : pieces.map(content => ({ content }))) {
    send({ choices: [{ index: 0, delta }] })
    if (answer.onEvent) await answer.onEvent()
    if (response.destroyed) return
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: reason }] })
  send({ choices: [], usage })
  response.end('data: [DONE]\n\n')
}

/** The proxy that Tollgate is compared with: the least work of a gateway on undici. It buffers,
 *  parses, validates with ajv, dispatches and reads the usage; with a file, it also writes one row
 *  of SQLite per request, fsynced. */
import { readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type Dispatcher, Pool } from 'undici'
import { openRows } from './rows.ts'

const [upstream = '', schema = '', file = ''] = process.argv.slice(2)
const rows = file === '' ? undefined : openRows(file)
const pool = new Pool(upstream, { connections: 16_384, headersTimeout: 0, bodyTimeout: 0 })
const validate = new Ajv2020({ allErrors: false, strict: false, validateFormats: false }).compile(
  JSON.parse(readFileSync(schema, 'utf8')),
)

const UP = new Set(['host', 'connection', 'keep-alive', 'transfer-encoding', 'authorization'])
const DOWN = new Set(['connection', 'keep-alive', 'transfer-encoding'])
const upHeaders = (raw: readonly string[]): string[] => {
  const headers = ['authorization', 'Bearer sk-upstream-0123456789abcdef']
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase()
    if (!UP.has(name)) headers.push(name, raw[at + 1] ?? '')
  }
  return headers
}

const usageTotals = { input: 0, output: 0 }
const meter = (text: string): void => {
  const { usage, id } = JSON.parse(text)
  usageTotals.input += usage.prompt_tokens
  usageTotals.output += usage.completion_tokens
  rows?.add(String(id), usage.prompt_tokens, usage.completion_tokens)
}

class Relay implements Dispatcher.DispatchHandler {
  readonly #response: http.ServerResponse
  #status = 0
  #headers: string[] = []
  #length = -1
  #streaming = false
  #parts: Buffer[] = []
  constructor(response: http.ServerResponse) {
    this.#response = response
    response.sendDate = false
  }
  onRequestStart(): void {}
  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status
    for (const name in headers)
      if (!DOWN.has(name)) this.#headers.push(name, String(headers[name] ?? ''))
    this.#length = Number(headers['content-length'] ?? -1)
    if (this.#length >= 0) return
    this.#streaming = true
    const response = this.#response
    response.writeHead(status, this.#headers)
    response.flushHeaders()
    response.on('close', () => {
      if (!response.writableFinished) controller.abort(new Error('the client left'))
    })
  }
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#streaming) this.#parts.push(chunk)
    else if (!this.#response.write(chunk)) {
      controller.pause()
      this.#response.once('drain', () => controller.resume())
    }
  }
  onResponseEnd(): void {
    if (this.#streaming) return void this.#response.end()
    const [first] = this.#parts
    const body = first && this.#parts.length === 1 ? first : Buffer.concat(this.#parts)
    meter(body.toString())
    this.#response.writeHead(this.#status, this.#headers)
    this.#response.end(body.toString('latin1'), 'latin1')
  }
  onResponseError(): void {
    this.#response.destroy()
  }
}

const refuse = (response: http.ServerResponse, message: string): void => {
  response.writeHead(400, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message } }))
}

const serve = (request: http.IncomingMessage, response: http.ServerResponse, body: Buffer) => {
  let document: unknown
  try {
    document = JSON.parse(body.toString())
  } catch {
    return refuse(response, 'not JSON')
  }
  if (!validate(document)) return refuse(response, JSON.stringify(validate.errors))
  pool.dispatch(
    {
      path: request.url ?? '/',
      method: request.method as 'POST',
      headers: upHeaders(request.rawHeaders),
      body,
    },
    new Relay(response),
  )
}

const server = http.createServer(
  { noDelay: true, keepAliveTimeout: 65_000 },
  (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const [first] = parts
      serve(request, response, first && parts.length === 1 ? first : Buffer.concat(parts))
    })
  },
)
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  process.send?.({ port: (server.address() as AddressInfo).port })
})
process.on('disconnect', () => process.exit(0))

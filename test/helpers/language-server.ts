/** The YAML language server that editors use, over its protocol. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import type { Test } from 'tap'

/** An editor's marks of a file: `LINE:COLUMN message`. */
export type Diagnostics = (path: string, text: string) => Promise<readonly string[]>

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: {
    readonly uri: string
    readonly diagnostics: readonly {
      readonly range: { readonly start: { readonly line: number; readonly character: number } }
      readonly message: string
    }[]
  }
}
const require = createRequire(import.meta.url)
const PROGRAM = require.resolve('yaml-language-server/bin/yaml-language-server')

export const startLanguageServer = async (t: Test): Promise<Diagnostics> => {
  const child = spawn(process.execPath, [PROGRAM, '--stdio'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(async () => {
    const exit = once(child, 'exit')
    child.kill()
    await exit
  })
  const waiting = new Set<(message: Message) => void>()
  const send = (message: object): void => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }
  /** Resolves to the first message that `match` accepts. */
  const receive = (match: (message: Message) => boolean): Promise<Message> =>
    new Promise(resolve => {
      const check = (message: Message): void => {
        if (!match(message)) return
        waiting.delete(check)
        resolve(message)
      }
      waiting.add(check)
    })
  let buffered = Buffer.alloc(0)
  child.stdout.on('data', (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk])
    for (;;) {
      const start = buffered.indexOf('\r\n\r\n') + 4
      const size = Number(/Content-Length: (\d+)/.exec(buffered.toString('latin1'))?.[1])
      if (start < 4 || buffered.length < start + size) return
      const message: Message = JSON.parse(buffered.toString('utf8', start, start + size))
      buffered = buffered.subarray(start + size)
      if (message.id !== undefined && message.method !== undefined)
        send({ id: message.id, result: null })
      for (const check of waiting) check(message)
    }
  })
  send({
    id: 1,
    method: 'initialize',
    params: { processId: null, rootUri: null, capabilities: {} },
  })
  await receive(({ id, method }) => id === 1 && method === undefined)
  send({ method: 'initialized', params: {} })
  let version = 0
  return async (path, text) => {
    version++
    // Each text is a document of its own: the server repeats no result that has not changed.
    const uri = `file://${path}`
    const result = receive(
      ({ method, params }) => method === 'textDocument/publishDiagnostics' && params?.uri === uri,
    )
    const textDocument = { uri, languageId: 'yaml', version, text }
    send({ method: 'textDocument/didOpen', params: { textDocument } })
    const { params } = await result
    send({ method: 'textDocument/didClose', params: { textDocument } })
    return (params?.diagnostics ?? []).map(
      ({ range: { start }, message }) => `${start.line + 1}:${start.character + 1} ${message}`,
    )
  }
}

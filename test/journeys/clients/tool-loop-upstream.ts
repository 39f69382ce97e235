/** An upstream in one wire format whose model reads a file with a tool of the client, or asks for
 *  it if there are no tools, and then says what it read. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import type { Answer } from '../../../plugins/formats/hub/answer.ts'
import { partsOf } from '../../../plugins/formats/hub/answer-parts.ts'
import type { Content, Result } from '../../../plugins/formats/hub/content.ts'
import type { FunctionTool, Prompt, Tool } from '../../../plugins/formats/hub/prompt.ts'
import { codecOf } from '../../helpers/formats/codec.ts'

export const FILE = 'note.txt'
/** The word in the file, which the answer repeats. */
export const WORD = 'heliotrope'

export interface ToolLoopUpstream {
  readonly url: string
  /** Names of the tools that were called. */
  readonly calls: string[]
  /** Requests that the upstream could not read, with the error. */
  readonly problems: string[]
}
export const startToolLoop = async (t: Test, format: string): Promise<ToolLoopUpstream> => {
  const calls: string[] = []
  const problems: string[] = []
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    const codec = codecOf(format)
    try {
      const body = await bodyOf(request)
      const prompt = codec.decodePrompt(body as never, path, { add: () => undefined })
      const answer = answerTo(prompt, name => calls.push(name))
      const context = { id: `a${calls.length}`, model: 'model', now: 1_700_000_000, prompt, path }
      if (!prompt.stream) {
        response.setHeader('content-type', 'application/json')
        return void response.end(JSON.stringify(codec.encodeAnswer(answer, context)))
      }
      const encoder = codec.encodeStream(context)
      response.setHeader('content-type', encoder.type ?? 'text/event-stream')
      for (const part of partsOf(answer)) response.write(encoder.push(part))
      response.end()
    } catch (error) {
      problems.push(`${request.method} ${path}: ${String(error)}`)
      response.writeHead(500, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: String(error), code: 500 } }))
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls, problems }
}
const bodyOf = async (request: IncomingMessage): Promise<Json> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as Json
}

const answerTo = ({ turns, tools }: Prompt, onCall: (name: string) => void): Answer => {
  const contents: readonly Content[] = turns.flatMap(({ content }) => content)
  const results = contents.filter((each): each is Result => each.type === 'result')
  const shell = tools.find(isShell)
  if (results.length === 0 && shell) {
    onCall(shell.name)
    const input = JSON.stringify(argumentsFor(shell))
    return answerOf({ type: 'call', id: 'call_1', name: shell.name, input }, 'call')
  }
  const text = JSON.stringify(results.at(-1) ?? contents)
  if (!shell && results.length === 0 && !text.includes(WORD)) {
    onCall(FILE)
    return answerOf({ type: 'text', text: `Please add \`${FILE}\` to the chat.` }, 'end')
  }
  const reply = text.includes(WORD) ? `The word is ${WORD}.` : 'I cannot read it.'
  return answerOf({ type: 'text', text: reply }, 'end')
}
const answerOf = (content: Content, reason: 'call' | 'end'): Answer => ({
  id: 'answer',
  choices: [{ content: [content], stop: { reason } }],
  meters: { input: 100, output: 20 },
})

const SHELL = /^(?:bash|shell|shell_command|local_shell|exec_command|run_shell_command)$/i
const isShell = (tool: Tool): tool is FunctionTool =>
  tool.type === 'function' && SHELL.test(tool.name)
/** The command in the shape that the schema of the tool asks for. */
const argumentsFor = ({ schema }: FunctionTool): Json => {
  const { properties = {} } = (schema ?? {}) as {
    readonly properties?: Readonly<Record<string, { readonly type?: Json }>>
  }
  const name = ['command', 'cmd'].find(each => each in properties) ?? 'command'
  const command = `cat ${FILE}`
  const isList = JSON.stringify(properties[name]?.type ?? '').includes('array')
  const description = 'description' in properties ? { description: 'Reads the file' } : {}
  return { [name]: isList ? ['bash', '-lc', command] : command, ...description }
}

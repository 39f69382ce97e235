/** Decodes hosted calls of a client's history: a call part and its result part are one. */
import type { Json } from '../../../engine/plugin.ts'
import { lookUp } from '../fields.ts'
import { OpenHostedCalls } from '../google/open-hosted-calls.ts'
import type { RequestObject } from '../google/request-object.ts'
import type { Content, HostedCall } from '../hub/content.ts'
import { codeOf, HOSTED_TOOLS } from './hosted-tools.ts'
import { NAME } from './name.ts'

type HostedCallPart = 'executableCode' | 'codeExecutionResult' | 'toolCall' | 'toolResponse'

/** Joins the call parts of one message with their result parts to hosted calls. */
export class HostedCalls {
  readonly #contents: Content[]
  readonly #open = new OpenHostedCalls()

  /** `contents`: of the message so far; hosted calls are added to them. */
  constructor(contents: Content[]) {
    this.#contents = contents
  }
  add(key: HostedCallPart, data: RequestObject, raw: Json): void {
    const id = data.text('id')
    const isResultPart = key === 'codeExecutionResult' || key === 'toolResponse'
    const at = isResultPart ? this.#open.take(id) : undefined
    const openCall = at === undefined ? undefined : this.#contents[at]
    if (at !== undefined && openCall?.type === 'hostedCall' && openCall.raw) {
      const items = [...openCall.raw.items, raw]
      const output = outputOf(key, data)
      this.#contents[at] = { ...openCall, output, raw: { origin: NAME, items } }
    } else this.#begin(key, data, raw)
  }
  #begin(key: HostedCallPart, data: RequestObject, raw: Json): void {
    const isResultPart = key === 'codeExecutionResult' || key === 'toolResponse'
    const tool = key.startsWith('tool')
      ? lookUp(HOSTED_TOOLS, data.text('toolType') ?? '')
      : 'code_execution'
    const position = this.#contents.length
    const call: HostedCall = {
      type: 'hostedCall',
      tool: tool ?? 'other',
      id: data.text('id') ?? `work_${position}`,
      input: isResultPart
        ? {}
        : key === 'toolCall'
          ? (data.value('args') ?? {})
          : codeOf(data.fields),
      ...(isResultPart && { output: outputOf(key, data) }),
      raw: { origin: NAME, items: [raw] },
    }
    this.#contents.push(call)
    if (!isResultPart) this.#open.add(call.id, position)
  }
}
const outputOf = (key: HostedCallPart, data: RequestObject): Json =>
  key === 'toolResponse' ? (data.value('response') ?? {}) : data.fields

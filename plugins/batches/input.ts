/** Reads the input file of a batch line by line, and checks what can be checked without running
 *  it. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import { isFields, parseJson } from '../formats/fields.ts'
import type { Line, LineError } from './batch.ts'

const MAX_LINES = 50_000
const MAX_CUSTOM_ID = 512
const CUSTOM_ID = new RegExp(`^[^\\u0000-\\u001f]{1,${MAX_CUSTOM_ID}}$`)
/** Problems that a batch reports. */
const MAX_ERRORS = 100
const LF = 10

export type InputLine = Omit<Line, 'attempts' | 'waits' | 'batch'>
interface Position {
  readonly start: number
  readonly size: number
}

/** Cuts the file into lines. The text of one line at a time is in memory. */
export async function* linesIn(
  file: AsyncIterable<Bytes>,
): AsyncGenerator<Position & { text: string }> {
  let start = 0
  let parts: Bytes[] = []
  const take = () => {
    const bytes = Buffer.concat(parts)
    parts = []
    const line = { start, size: bytes.length, text: bytes.toString() }
    start += bytes.length + 1
    return line
  }
  for await (const chunk of file) {
    let from = 0
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
      parts.push(chunk.subarray(from, at))
      from = at + 1
      yield take()
    }
    // A copy: the store may reuse its buffer.
    if (from < chunk.length) parts.push(Uint8Array.from(chunk.subarray(from)))
  }
  if (parts.length > 0) yield take()
}

/** The checked input of a batch: its lines, unless it has problems. */
export class BatchInput {
  readonly lines: InputLine[] = []
  readonly errors: LineError[] = []
  readonly #endpoint: string
  readonly #lineOfId = new Map<string, number>()

  constructor(endpoint: string) {
    this.#endpoint = endpoint
  }
  async read(file: AsyncIterable<Bytes>): Promise<void> {
    let number = 0
    for await (const { start, size, text } of linesIn(file)) {
      number++
      if (text.trim() === '') continue
      const customId = this.#check(text, number)
      if (customId !== undefined) this.lines.push({ line: number, customId, start, size })
      if (this.lines.length > MAX_LINES)
        this.report('too_many_tasks', `The file has more than ${MAX_LINES} requests.`)
      if (this.errors.length >= MAX_ERRORS || this.lines.length > MAX_LINES) return
    }
    if (this.lines.length === 0 && this.errors.length === 0)
      this.report('empty_file', 'The file has no requests.')
  }
  /** The `custom_id` of a valid line. */
  #check(text: string, line: number): string | undefined {
    const entry = parseJson(text) ?? null
    if (!isFields(entry)) {
      this.#report('invalid_json_line', 'This line is not a JSON object.', line, null)
      return undefined
    }
    const problemsBefore = this.errors.length
    const { custom_id: customId, method, url, body } = entry
    this.#checkId(customId, line)
    if (method !== 'POST')
      this.#report('invalid_method', "'method' must be 'POST'.", line, 'method')
    if (url !== this.#endpoint)
      this.#report('mismatched_endpoint', `'url' must be '${this.#endpoint}'.`, line, 'url')
    this.#checkBody(body, line)
    return this.errors.length === problemsBefore ? String(customId) : undefined
  }
  #checkId(id: Json | undefined, line: number): void {
    if (typeof id !== 'string' || !CUSTOM_ID.test(id)) {
      const message = `'custom_id' must be a text of 1 to ${MAX_CUSTOM_ID} characters without control characters.`
      return this.#report('invalid_custom_id', message, line, 'custom_id')
    }
    const first = this.#lineOfId.get(id)
    if (first === undefined) this.#lineOfId.set(id, line)
    else
      this.#report(
        'duplicate_custom_id',
        `The custom_id of this line is that of line ${first}, too.`,
        line,
        'custom_id',
      )
  }
  #checkBody(body: Json | undefined, line: number): void {
    if (!isFields(body))
      return this.#report('missing_body', "'body' must be an object.", line, 'body')
    for (const name of ['stream', 'background'])
      if (body[name] === true)
        this.#report(
          `${name}_not_supported`,
          `A batch cannot have '${name}'.`,
          line,
          `body.${name}`,
        )
  }
  /** A problem of the whole file. */
  report(code: string, message: string): void {
    this.#report(code, message, null, null)
  }
  #report(code: string, message: string, line: number | null, param: string | null): void {
    this.errors.push({ code, message, param, line })
  }
}

/** One line of the output file or of the error file. Pure. */
import type { Bytes, Filter, Json, Out } from '../../engine/plugin.ts'
import type { Line } from './batch.ts'

interface Answer {
  readonly status: number
  readonly request: string
  readonly body: Json
}
const entryOf = ({ batch, line, customId }: Line, more: object): string =>
  JSON.stringify({
    id: `batch_req_${batch.replace(/^batch_/, '')}_${line}`,
    custom_id: customId,
    ...more,
  })
export const answerOutcome = (line: Line, { status, request, body }: Answer): string =>
  entryOf(line, { response: { status_code: status, request_id: request, body }, error: null })
/** Of a request without an answer. */
export const errorOutcome = (line: Line, code: string, message: string): string =>
  entryOf(line, { response: null, error: { code, message } })

export const parseBody = (bytes: Bytes): Json => {
  const text = Buffer.from(bytes).toString()
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** Reads a complete answer as it passes, and hands its bytes over before the end of the reply. */
export class AnswerCollector implements Filter {
  readonly #onEnd: (bytes: Bytes) => void
  readonly #chunks: Bytes[] = []
  constructor(onEnd: (bytes: Bytes) => void) {
    this.#onEnd = onEnd
  }
  write(chunk: Bytes, out: Out): void {
    this.#chunks.push(chunk)
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#chunks.push(tail)
    this.#onEnd(Buffer.concat(this.#chunks))
    out.end(tail)
  }
}

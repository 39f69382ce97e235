/** Validates each answer and stream event that a gateway translates for the SDKs of this process
 *  against the SDK's own types. Create the SDKs after calling it. */
import { asObject, type LooseObject } from '../../helpers/formats/loose-json.ts'
import { type AnswerValidator, createValidator } from '../../helpers/formats/sdk-validator.ts'
import { eventsOf } from '../../helpers/gateway/event-stream.ts'

interface ValidationReport {
  /** Each error once, with its count. */
  readonly errors: readonly string[]
  readonly counts: ReadonlyMap<string, { answers: number; events: number }>
  /** Names of the exceptions that were needed. */
  readonly usedExceptions: ReadonlySet<string>
}
interface Question {
  /** The client's format. */
  readonly format: string
  readonly model: string
}

const PATHS: readonly (readonly [path: RegExp, format: string])[] = [
  [/\/v1\/chat\/completions$/, 'openai-chat'],
  [/\/v1\/responses$/, 'openai-responses'],
  [/\/v1\/messages$/, 'anthropic-messages'],
  [/:(?:g|streamG)enerateContent(?:\?|$)/, 'google-gemini'],
]

interface FetchValidation {
  /** Questions by the id of their request. */
  readonly questions: ReadonlyMap<string, Question>
  finish(): Promise<ValidationReport>
}
/** Wraps `fetch`; `done` restores it. */
export const validateFetches = (): FetchValidation => {
  const { fetch } = globalThis
  const judges = new Map<string, AnswerValidator>()
  const counts = new Map<string, { answers: number; events: number }>()
  const complaints = new Map<string, number>()
  const readings: Promise<void>[] = []
  const questions = new Map<string, Question>()
  const judge = (format: string, kind: 'answer' | 'event', payload: unknown): void => {
    if (isError(payload)) return
    const judge = judges.get(format) ?? createValidator(format)
    judges.set(format, judge)
    const count = counts.get(format) ?? { answers: 0, events: 0 }
    counts.set(format, count)
    count[kind === 'answer' ? 'answers' : 'events']++
    const complaint = judge.errorIn(kind, payload)
    if (complaint === undefined) return
    const whole = `${format} ${kind} ${complaint}`
    complaints.set(whole, (complaints.get(whole) ?? 0) + 1)
  }
  const read = async (format: string, response: Response): Promise<void> => {
    const text = await response.text().catch(() => '')
    if (!/event-stream/.test(response.headers.get('content-type') ?? ''))
      return text === '' ? undefined : judge(format, 'answer', JSON.parse(text))
    for (const data of eventsOf(text))
      if (data !== '[DONE]') judge(format, 'event', JSON.parse(data))
  }
  globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init)
    const url = String(input)
    const format = PATHS.find(([path]) => path.test(url))?.[1]
    if (!format) return response
    const model = modelOf(url, init)
    questions.set(response.headers.get('x-request-id') ?? '', { format, model })
    if (response.status === 200 && !isOwn(format, model))
      readings.push(read(format, response.clone()))
    return response
  }
  return {
    questions: questions,
    async finish() {
      globalThis.fetch = fetch
      await Promise.all(readings)
      return {
        errors: [...complaints].map(([complaint, times]) => `${times} × ${complaint}`),
        counts: counts,
        usedExceptions: new Set(
          [...judges.values()].flatMap(({ usedExceptions }) => [...usedExceptions]),
        ),
      }
    },
  }
}

/** Error bodies belong to the dialect; other tests check them. */
const isError = (payload: unknown): boolean => {
  const { type, error } = asObject(payload)
  return (
    type === 'error' ||
    (error !== undefined && error !== null && asObject(payload).object !== 'response')
  )
}
const modelOf = (url: string, init: RequestInit | undefined): string => {
  const body = typeof init?.body === 'string' ? (JSON.parse(init.body) as LooseObject) : {}
  return /\/models\/([^:/?]+)/.exec(url)?.[1] ?? String(body.model)
}
/** Passed-through bytes are the provider's own. The model's name contains the format of the
 *  recording: `chat-rec-0007`. */
const isOwn = (format: string, model: string): boolean =>
  model.startsWith(`${format.split('-')[1]}-`)

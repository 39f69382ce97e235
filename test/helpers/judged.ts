/** Listens to what a gateway tells the SDKs of this process, and judges each answer and each event of a stream that was translated
 *  for them by the types of the SDK itself. The SDKs must be made after it. */
import { type Judge, judgeOf } from './answered.ts'
import { type Any, object } from './loose.ts'
import { eventsOf } from './sse.ts'

interface Heard {
  /** Each once, with how often it was met. */
  readonly complaints: readonly string[]
  readonly judged: ReadonlyMap<string, { answers: number; events: number }>
  /** Exceptions, by their names. */
  readonly met: ReadonlySet<string>
}
interface Question {
  /** The client's. */
  readonly format: string
  readonly model: string
}

const PATHS: readonly (readonly [path: RegExp, format: string])[] = [
  [/\/v1\/chat\/completions$/, 'openai-chat'],
  [/\/v1\/responses$/, 'openai-responses'],
  [/\/v1\/messages$/, 'anthropic-messages'],
  [/:(?:g|streamG)enerateContent(?:\?|$)/, 'google-gemini'],
]

interface Listening {
  /** What was asked, by the id of its request. */
  readonly asked: ReadonlyMap<string, Question>
  done(): Promise<Heard>
}
/** `done` gives back the fetch that was there before. */
export const listen = (): Listening => {
  const { fetch } = globalThis
  const judges = new Map<string, Judge>()
  const judged = new Map<string, { answers: number; events: number }>()
  const complaints = new Map<string, number>()
  const under: Promise<void>[] = []
  const asked = new Map<string, Question>()
  const judge = (format: string, kind: 'answer' | 'event', told: unknown): void => {
    if (isError(told)) return
    const judge = judges.get(format) ?? judgeOf(format)
    judges.set(format, judge)
    const count = judged.get(format) ?? { answers: 0, events: 0 }
    judged.set(format, count)
    count[kind === 'answer' ? 'answers' : 'events']++
    const complaint = judge.complaint(kind, told)
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
    asked.set(response.headers.get('x-request-id') ?? '', { format, model })
    if (response.status === 200 && !isOwn(format, model)) under.push(read(format, response.clone()))
    return response
  }
  return {
    asked,
    async done() {
      globalThis.fetch = fetch
      await Promise.all(under)
      return {
        complaints: [...complaints].map(([complaint, times]) => `${times} × ${complaint}`),
        judged,
        met: new Set([...judges.values()].flatMap(({ met }) => [...met])),
      }
    },
  }
}

/** An error is the dialect's: other tests hold them. */
const isError = (told: unknown): boolean => {
  const { type, error } = object(told)
  return (
    type === 'error' ||
    (error !== undefined && error !== null && object(told).object !== 'response')
  )
}
const modelOf = (url: string, init: RequestInit | undefined): string => {
  const body = typeof init?.body === 'string' ? (JSON.parse(init.body) as Any) : {}
  return /\/models\/([^:/?]+)/.exec(url)?.[1] ?? String(body.model)
}
/** Bytes that pass are their provider's. The model's name says whose answer it is: `chat-rec-0007`. */
const isOwn = (format: string, model: string): boolean =>
  model.startsWith(`${format.split('-')[1]}-`)

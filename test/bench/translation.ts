/** Measures the part `translation`: each client format to an upstream of the same and of another
 *  format; then streams of 50,000 events with samples of the worker's memory. */
import { DIALOGUES, type FormatName, type Manner, MODEL_NAMES } from './dialogue.ts'
import type { Job } from './load.ts'
import { residentIn, workerOf } from './processes.ts'
import { interleave, type Load, requestOf } from './rounds.ts'
import type { Subject } from './tables.ts'
import type { Pair, Samples, Translation } from './translation-report.ts'

interface Sizes {
  readonly rounds: number
  readonly seconds: number
}
interface TranslationSubject extends Subject {
  readonly client: FormatName
  readonly target: FormatName
}
/** ms. */
const SAMPLE_EVERY = 10

/** Each format once as the client format and once as the upstream format. */
const FORMAT_PAIRS: readonly (readonly [client: FormatName, target: FormatName])[] = [
  ['openai-chat', 'anthropic-messages'],
  ['anthropic-messages', 'openai-chat'],
  ['openai-responses', 'google-gemini'],
  ['google-gemini', 'openai-responses'],
]
const nameOf = (client: FormatName, target: FormatName): string => `${client} → ${target}`
const pairs: readonly Pair[] = FORMAT_PAIRS.map(([client, target]) => ({
  passThrough: nameOf(client, client),
  translation: nameOf(client, target),
}))

export const measureTranslation = async (
  gateway: Subject,
  load: Load,
  { rounds, seconds }: Sizes,
): Promise<Translation> => {
  const subjects = FORMAT_PAIRS.flatMap(([client, target]) =>
    [client, target].map(to => ({ ...gateway, name: nameOf(client, to), client, target: to })),
  )
  const byName = new Map(subjects.map(subject => [subject.name, subject]))
  const job =
    (manner: Manner, connections: number) =>
    ({ name }: Subject): Job => {
      const subject = byName.get(name)
      if (!subject) throw new Error(`unknown subject ${name}`)
      return { ...requestFor(subject, manner), connections, seconds }
    }
  const plain = await interleave(subjects, load, rounds, job('plain', 64))
  const streams = await interleave(subjects, load, rounds, job('burst', 16))
  const long = new Map<string, readonly Samples[]>()
  for (const subject of subjects) {
    // The first stream allocates memory that stays.
    await sampleMemory(subject, load)
    const samples: Samples[] = []
    for (let round = 0; round < rounds; round++) samples.push(await sampleMemory(subject, load))
    long.set(subject.name, samples)
  }
  return { pairs, plain, streams, long }
}

const requestFor = (subject: TranslationSubject, manner: Manner) => {
  const { path, ask } = DIALOGUES[subject.client]
  const model = `${subject.target}-${MODEL_NAMES[manner]}`
  const stream = manner !== 'plain'
  const body = JSON.stringify(ask(model, stream))
  return { port: subject.port, request: requestOf(subject, path(model, stream), body) }
}

const sampleMemory = async (subject: TranslationSubject, load: Load): Promise<Samples> => {
  const worker = workerOf(subject.pid ?? 0)
  const samples: number[] = []
  const timer = setInterval(() => samples.push(residentIn(worker)), SAMPLE_EVERY)
  // A job of 10 ms sends one request.
  const outcome = await load({ ...requestFor(subject, 'long'), connections: 1, seconds: 0.01 })
  clearInterval(timer)
  if (outcome.requests === 0 || outcome.failed > 0)
    throw new Error(`the long stream of ${subject.name} failed`)
  return samples
}

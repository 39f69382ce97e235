/** The part `translation`: one gateway, each client format to an upstream of its own and to one of another, in turns; then streams
 *  of 50,000 events, with the worker's memory sampled from end to end. */
import { DIALOGUES, type FormatName, type Telling, TOLD } from './dialogue.ts'
import type { Job } from './load.ts'
import { residentIn, workerOf } from './processes.ts'
import { interleave, type Load, requestOf, type Subject } from './rounds.ts'
import type { Pair, Samples, Translation } from './translation-report.ts'

interface Sizes {
  readonly rounds: number
  readonly seconds: number
}
interface Crossed extends Subject {
  readonly client: FormatName
  readonly target: FormatName
}
/** ms. */
const OFTEN = 10

/** Each format once as the client's and once as the upstream's. */
const CROSSINGS: readonly (readonly [client: FormatName, target: FormatName])[] = [
  ['openai-chat', 'anthropic-messages'],
  ['anthropic-messages', 'openai-chat'],
  ['openai-responses', 'google-gemini'],
  ['google-gemini', 'openai-responses'],
]
const nameOf = (client: FormatName, target: FormatName): string => `${client} → ${target}`
const pairs: readonly Pair[] = CROSSINGS.map(([client, target]) => ({
  identity: nameOf(client, client),
  crossed: nameOf(client, target),
}))

export const measureTranslation = async (
  gateway: Subject,
  load: Load,
  { rounds, seconds }: Sizes,
): Promise<Translation> => {
  const subjects = CROSSINGS.flatMap(([client, target]) =>
    [client, target].map(to => ({ ...gateway, name: nameOf(client, to), client, target: to })),
  )
  const byName = new Map(subjects.map(subject => [subject.name, subject]))
  const job =
    (telling: Telling, connections: number) =>
    ({ name }: Subject): Job => {
      const subject = byName.get(name)
      if (!subject) throw new Error(`no ${name}`)
      return { ...asked(subject, telling), connections, seconds }
    }
  const plain = await interleave(subjects, load, rounds, job('plain', 64))
  const streams = await interleave(subjects, load, rounds, job('burst', 16))
  const long = new Map<string, readonly Samples[]>()
  for (const subject of subjects) {
    // What the first one makes room for stays.
    await sampled(subject, load)
    const samples: Samples[] = []
    for (let round = 0; round < rounds; round++) samples.push(await sampled(subject, load))
    long.set(subject.name, samples)
  }
  return { pairs, plain, streams, long }
}

const asked = (subject: Crossed, telling: Telling) => {
  const { path, ask } = DIALOGUES[subject.client]
  const model = `${subject.target}-${TOLD[telling]}`
  const stream = telling !== 'plain'
  const body = JSON.stringify(ask(model, stream))
  return { port: subject.port, request: requestOf(subject, path(model, stream), body) }
}

const sampled = async (subject: Crossed, load: Load): Promise<Samples> => {
  const worker = workerOf(subject.pid ?? 0)
  const samples: number[] = []
  const timer = setInterval(() => samples.push(residentIn(worker)), OFTEN)
  // In so short a time a long stream is one request.
  const outcome = await load({ ...asked(subject, 'long'), connections: 1, seconds: 0.01 })
  clearInterval(timer)
  if (outcome.requests === 0 || outcome.failed > 0)
    throw new Error(`the long stream of ${subject.name} failed`)
  return samples
}

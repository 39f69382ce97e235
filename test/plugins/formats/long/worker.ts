/** A worker thread that measures the work for requests and answers of two lengths. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Codec } from '../../../../plugins/formats/hub/codec.ts'
import type { Prompt } from '../../../../plugins/formats/hub/prompt.ts'
import { createWorkCounter } from './work-counter.ts'

/** The work for a length, and for twice this length. */
export interface Measured {
  readonly title: string
  readonly short: number
  readonly long: number
}

const LENGTH = 96
/** Of bodies of one format: a search for a call costs little beside the reading of it. */
const BODY_LENGTH = 512
/** Before the modules that it counts. */
const counter = await createWorkCounter()
const { assembleParts, codecOf, collectDropped, contextWith, decodeParts, decodePrompt, PROMPT } =
  await import('../../../helpers/formats/codec.ts')
const { formats, targetFormats } = await import('../../../../plugins/formats/index.ts')
const { DroppedFieldReport } = await import('../../../../plugins/conversion/dropped-fields.ts')
const { fitPrompt } = await import('../../../../plugins/translate/fit-prompt.ts')
const { fillLastTurn, pairResults, separateCalls } = await import(
  '../../../../plugins/formats/hub/turn-order.ts'
)
const { ANSWERS } = await import('./answers.ts')
const { BODIES, PROMPTS } = await import('./requests.ts')

const CLIENTS = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'google-gemini',
  'google-interactions',
].filter(name => formats.has(name))
const TARGETS = [...CLIENTS, 'bedrock-converse', 'cohere-chat']
const PATHS: Readonly<Record<string, string>> = {
  'google-gemini': '/v1beta/models/m:streamGenerateContent?alt=sse',
}
const FACTS = { name: 'm', traits: { thinking: 'adaptive', tool_media: true, mixed_tools: true } }

const measured: Measured[] = []
/** `prepare` makes what `run` gets; its work does not count. Faults of a pair are those of other
 *  tests. */
const measure = async <T>(
  title: string,
  prepare: (length: number) => T,
  run: (input: T) => void,
  length = LENGTH,
): Promise<void> => {
  try {
    const inputs = [length, length, 2 * length].map(prepare) as [T, T, T]
    run(inputs[0])
    const short = await counter.count(() => run(inputs[1]))
    const long = await counter.count(() => run(inputs[2]))
    measured.push({ title, short, long })
  } catch (error) {
    if (!(error instanceof Error) || !('status' in error)) throw error
  }
}

const encodeFor = (target: string, prompt: Prompt): Fields => {
  const codec = targetFormats.get(target)?.codec
  if (!codec) throw new Error(`there is no target of ${target}`)
  return codec.encodePrompt(prompt, FACTS, collectDropped()).body as Fields
}
const translate = (client: string, body: Json, target: string): void => {
  const { prompt } = decodePrompt(client, body, PATHS[client])
  const codec = targetFormats.get(target)?.codec as Codec
  const dropped = new DroppedFieldReport(codecOf(client).settings)
  const turns = fillLastTurn(pairResults(separateCalls(prompt.turns)))
  const goal = { codec, facts: FACTS, dropped, isSameFormat: client === target }
  codec.encodePrompt(fitPrompt({ ...prompt, turns }, goal).prompt, FACTS, dropped)
}
/** The client's body. */
const bodyOf = (client: string, prompt: Prompt): Json =>
  JSON.parse(JSON.stringify(encodeFor(client, prompt)))

const measureRequests = async (): Promise<void> => {
  const pairs = (workerData as { readonly allPairs: boolean }).allPairs
  for (const [title, make] of Object.entries(PROMPTS)) {
    for (const target of TARGETS)
      await measure(`${title}, to ${target}`, make, prompt => void encodeFor(target, prompt))
    for (const client of CLIENTS)
      for (const target of pairs ? TARGETS : ['openai-chat'])
        await measure(
          `${title}, of ${client} to ${target}`,
          length => bodyOf(client, make(length)),
          body => translate(client, body, target),
        )
  }
  for (const [title, client, make] of BODIES)
    for (const target of pairs ? TARGETS : ['anthropic-messages'])
      await measure(
        `${title}, of ${client} to ${target}`,
        make,
        body => translate(client, body, target),
        BODY_LENGTH,
      )
}
const measureAnswers = async (): Promise<void> => {
  for (const [title, make] of Object.entries(ANSWERS)) {
    await measure(`${title}, collected`, make, parts => void assembleParts(parts))
    for (const name of CLIENTS) {
      const codec = codecOf(name)
      const context = contextWith({ path: PATHS[name] ?? '/', prompt: PROMPT })
      const stream = (parts: ReturnType<typeof make>): string => {
        const encoder = codec.encodeStream(context)
        return parts.map(part => encoder.push(part)).join('')
      }
      const whole = (parts: ReturnType<typeof make>): Fields =>
        codec.encodeAnswer(assembleParts(parts), context)
      await measure(`${title}, as a stream of ${name}`, make, parts => void stream(parts))
      await measure(
        `${title}, of a stream of ${name}`,
        length => stream(make(length)),
        events => void decodeParts(name, events),
      )
      await measure(`${title}, as an answer of ${name}`, make, parts => void whole(parts))
      await measure(
        `${title}, of an answer of ${name}`,
        length => JSON.parse(JSON.stringify(whole(make(length)))) as Fields,
        body => void codec.decodeAnswer(body),
      )
    }
  }
}

await measureRequests()
await measureAnswers()
parentPort?.postMessage(measured)

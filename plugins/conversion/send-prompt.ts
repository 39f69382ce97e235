/** Sends a prompt to a target without stages, retries, an account or a charge: for operators who
 *  compare targets. */
import type { HostBase, Outgoing, Target } from '../../engine/plugin.ts'
import { isFields, parseJson } from '../formats/fields.ts'
import type { TargetFormat } from '../formats/format.ts'
import type { Answer } from '../formats/hub/answer.ts'
import { Collector } from '../formats/hub/answer-parts.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { formatsOf } from '../formats/index.ts'
import { eventsIn, isEventStream } from '../formats/stream/sse.ts'
import { supportedFormats, translationOrder } from '../formats/supported-formats.ts'
import { fault } from './faults.ts'

/** Bytes of the response. */
const LARGEST = 64 * 1024 * 1024
const IGNORE = { add() {} }

export type NamedTarget = Target & { readonly name: string }
type Limits = Pick<Outgoing, 'timeout' | 'signal'>
interface DirectAnswer {
  readonly status: number
  readonly text: string
  /** Undefined: the status is an error, or the text is not JSON. */
  readonly answer: Answer | undefined
}

/** The format in which prompts are sent to the target. Undefined: none can be written. */
export const sendingFormat = (host: HostBase, target: Target): TargetFormat | undefined => {
  const { targets } = formatsOf(host)
  const names = supportedFormats(target, host.upstreams[target.upstream])
  const ordered = translationOrder(names.length > 0 ? names : ['openai-chat'], {}, target.traits)
  return ordered.map(name => targets.get(name)).find(each => each !== undefined)
}

/** Sends the prompt in this format. Rejects if the prompt cannot be written in it, or if no whole
 *  response arrives. */
export const sendPrompt = async (
  host: HostBase,
  { target, format }: { readonly target: NamedTarget; readonly format: TargetFormat },
  prompt: Prompt,
  limits: Limits,
): Promise<DirectAnswer> => {
  const traits = target.traits ?? {}
  const facts = {
    name: target.name,
    traits,
    ...(typeof traits.output === 'number' && { maxOutput: traits.output }),
  }
  // Other framings than events are not read here.
  const isStream = prompt.stream && format.stream.framing === undefined
  const request = { ...prompt, stream: isStream }
  const { path, body, headers } = format.codec.encodePrompt(request, facts, IGNORE)
  const bytes = body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body))
  const reply = await host.send(target.upstream, {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', ...format.headers, ...headers },
    body: bytes,
    ...limits,
  })
  const text = Buffer.from(await reply.bytes(LARGEST)).toString()
  const answer = reply.status < 300 ? answerIn(format, text, isEventStream(reply)) : undefined
  return { status: reply.status, text, answer }
}

/** Throws if a stream reports an error. */
const answerIn = (
  { codec, stream }: TargetFormat,
  text: string,
  isStream: boolean,
): Answer | undefined => {
  if (!isStream) {
    const fields = parseJson(text)
    return isFields(fields) ? codec.decodeAnswer(fields) : undefined
  }
  const collector = new Collector()
  const decoder = codec.decodeStream()
  for (const event of eventsIn(Buffer.from(text))) {
    if (event.data === undefined) continue
    if (stream.error(event)) throw fault('UPSTREAM_BROKE_OFF', ['its stream reports an error'])
    decoder.push(event, part => collector.add(part))
  }
  decoder.close(part => collector.add(part))
  if (!collector.hasEnded) throw fault('UPSTREAM_TRUNCATED')
  return collector.answer()
}

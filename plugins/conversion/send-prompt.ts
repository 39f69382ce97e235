/** Sends a prompt to a target without stages, retries, an account or a charge: for operators who
 *  compare targets. */
import type { HostBase, Outgoing, Target } from '../../engine/plugin.ts'
import { isFields, parseJson } from '../formats/fields.ts'
import type { TargetFormat } from '../formats/format.ts'
import type { Answer } from '../formats/hub/answer.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { formatsOf } from '../formats/index.ts'
import { supportedFormats, translationOrder } from '../formats/supported-formats.ts'

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
  const { path, body, headers } = format.codec.encodePrompt(prompt, facts, IGNORE)
  const bytes = body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body))
  const reply = await host.send(target.upstream, {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', ...format.headers, ...headers },
    body: bytes,
    ...limits,
  })
  const text = Buffer.from(await reply.bytes(LARGEST)).toString()
  const fields = reply.status < 300 ? parseJson(text) : undefined
  const answer = isFields(fields) ? format.codec.decodeAnswer(fields) : undefined
  return { status: reply.status, text, answer }
}

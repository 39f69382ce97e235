/** Asks a target for the vector of a text, without stages, retries, an account or a charge. */
import type { HostBase, Outgoing, Target } from '../../engine/plugin.ts'
import { isFields, parseJson } from '../formats/fields.ts'
import { targetFormatOf } from './formats.ts'
import type { EmbeddingPrompt } from './hub.ts'

/** Bytes of the response: a vector of ten thousand decimal numbers has 250 KB. */
const LARGEST = 4 * 1024 * 1024
const IGNORE = { add() {} }

interface EmbeddedText {
  readonly vector: readonly number[]
  /** Tokens of the text, if the upstream reports them. */
  readonly tokens: number
}
/** Rejects if no vector arrives in time. */
export const embedText = async (
  host: HostBase,
  target: Target & { readonly name: string },
  text: string,
  limits: Pick<Outgoing, 'timeout' | 'signal'>,
): Promise<EmbeddedText> => {
  const format = targetFormatOf(target, host)
  if (!format) throw new Error(`"${target.upstream}" makes no embeddings`)
  const prompt: EmbeddingPrompt = {
    items: [{ type: 'content', content: [{ type: 'text', text }] }],
    encoding: 'float',
    isList: false,
  }
  const { path, body } = format.writeRequest(prompt, target.name, IGNORE, target.traits ?? {})
  const reply = await host.send(target.upstream, {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
    ...limits,
  })
  const bytes = await reply.bytes(LARGEST)
  if (reply.status !== 200) throw new Error(`its upstream answered ${reply.status}`)
  const fields = parseJson(Buffer.from(bytes).toString())
  const { vectors = [], meters } = isFields(fields) ? format.readAnswer(fields) : {}
  const [vector] = vectors
  if (!vector || vectors.length > 1) throw new Error(`its upstream sent ${vectors.length} vectors`)
  return { vector, tokens: meters?.input ?? 0 }
}

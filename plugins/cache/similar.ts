/** Answers to similar texts: asks the configured model for the vector of a text, and finds the
 *  nearest vector of requests that are equal in all else. The operator pays for the calls of the
 *  model: they have neither an account nor a charge. */
import type { Exchange, HostBase } from '../../engine/plugin.ts'
import { catalogueOf } from '../catalogue/configured.ts'
import type { NamedTarget } from '../conversion/send-prompt.ts'
import { embedText } from '../embeddings/embed-text.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import type { Entry } from './entry.ts'
import { restIdentityOf, type Scope } from './identity.ts'
import { cutLastText } from './last-text.ts'
import type { Semantic } from './section.ts'
import { CANDIDATES, entryOf, FIND, type StoredQuestion } from './tables.ts'
import { bytesOf, similarityOf, unitVectorOf, vectorIn } from './vectors.ts'

export const EMBEDDINGS_METRIC = 'cache_embeddings_total'
export const TOKENS_METRIC = 'cache_embedding_tokens_total'

/** A text as a vector, and the hash of everything beside the text. */
export interface Question {
  readonly rest: string
  readonly vector: Float32Array
}
/** Vectors of one exchange, by target and text: a further attempt asks for none again. */
export type KnownVectors = Map<string, Promise<Float32Array | undefined>>

export const storedQuestionOf = ({ rest, vector }: Question): StoredQuestion => ({
  rest,
  vector: bytesOf(vector),
})

export class SimilarAnswers {
  readonly #host: HostBase
  readonly #options: Semantic
  constructor(host: HostBase, options: Semantic) {
    this.#host = host
    this.#options = options
  }
  get threshold(): number {
    return this.#options.threshold
  }
  /** Undefined: the request has no text to compare, or its text gets no vector. Throws the reason
   *  of the signal. */
  async ask(
    exchange: Exchange,
    { prompt, scope }: { readonly prompt: Prompt; readonly scope: Scope },
    known: KnownVectors,
  ): Promise<Question | undefined> {
    const last = cutLastText(prompt)
    if (!last || Buffer.byteLength(last.text) > this.#options.longest) return undefined
    const target = this.#targetFor(exchange)
    if (!target) {
      this.#count('not_permitted')
      return undefined
    }
    const { upstream, name } = target
    const key = JSON.stringify([upstream, name, last.text])
    const running = known.get(key) ?? this.#embed(exchange, target, last.text)
    known.set(key, running)
    const vector = await running
    exchange.signal.throwIfAborted()
    if (!vector) return undefined
    const embedding = [upstream, name, this.#version]
    return { rest: restIdentityOf(last, scope, embedding), vector }
  }
  /** The answer to the most similar text, if it reaches the threshold. Undefined also if the store
   *  does not answer. */
  async find(
    account: number,
    { rest, vector }: Question,
    { threshold, oldest }: { readonly threshold: number; readonly oldest: number },
  ): Promise<Entry | undefined> {
    const { database, log } = this.#host
    const now = Date.now()
    try {
      const { candidates } = this.#options
      const rows = await database.read(CANDIDATES, [rest, account, now, oldest, candidates])
      let nearest: { readonly id: string; readonly similarity: number } | undefined
      for (const { id, vector: bytes } of rows) {
        const other = vectorIn(bytes)
        const similarity = other ? similarityOf(vector, other) : -1
        if (similarity >= (nearest?.similarity ?? threshold))
          nearest = { id: String(id), similarity }
      }
      const [row] = nearest ? await database.read(FIND, [nearest.id, now]) : []
      return row && nearest && { ...entryOf(row), similarity: nearest.similarity }
    } catch (error) {
      log.warn({ error: (error as Error).message }, 'similar texts of the cache cannot be read')
      return undefined
    }
  }
  async #embed(
    exchange: Exchange,
    target: NamedTarget,
    text: string,
  ): Promise<Float32Array | undefined> {
    const { metrics, log } = this.#host
    const { signal } = exchange
    try {
      const { timeout } = this.#options
      const { vector, tokens } = await embedText(this.#host, target, text, { timeout, signal })
      metrics.count(TOKENS_METRIC, {}, tokens)
      const unit = unitVectorOf(vector)
      if (!unit) throw new Error('its upstream sent no vector')
      this.#count('ok')
      return unit
    } catch (error) {
      // Its client has left: nothing failed.
      if (signal.aborted) return undefined
      this.#count('failed')
      const fields = { id: exchange.id, model: this.#options.model, upstream: target.upstream }
      log.warn(fields, `the cache gets no embedding: ${(error as Error).message}`)
      return undefined
    }
  }
  /** The first target that the zones of the request permit. */
  #targetFor(exchange: Exchange): NamedTarget | undefined {
    const { model } = this.#options
    const targets = catalogueOf(this.#host).find(model)?.targets ?? []
    const target = targets.find(each => exchange.permits(each))
    return target && { ...target, name: target.name ?? model }
  }
  /** The configuration of the model: another one makes other vectors. */
  get #version(): string {
    const entry = catalogueOf(this.#host).find(this.#options.model)?.entry
    return JSON.stringify(entry?.options ?? {})
  }
  #count(result: 'ok' | 'failed' | 'not_permitted'): void {
    this.#host.metrics.count(EMBEDDINGS_METRIC, { result })
  }
}

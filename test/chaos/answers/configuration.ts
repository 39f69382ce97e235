/** The part of a chaos configuration with a cache, guards, a mirror and rules, its prices, and the
 *  texts that its clients send. */

/** Words that guards of answers block, by what such an answer costs. */
export const BLOCKED_WORDS = { charge: 'falcon', input: 'heron', free: 'osprey' } as const
export type BlockedPart = keyof typeof BLOCKED_WORDS
/** A word that no request may have. */
export const FORBIDDEN = 'kingfisher'

/** Tokens of every answer, of every copy, and nanos of each. */
export const USAGE = { input: 10, output: 5 }
export const COPY_USAGE = { input: 10, output: 4 }
const [INPUT, OUTPUT, CACHED] = [1_000_000n, 2_000_000n, 3_000_000n]
const [COPY_INPUT, COPY_OUTPUT] = [2_000_000n, 3_000_000n]
const costOf = ({ input, output }: typeof USAGE, ...[each, of]: readonly [bigint, bigint]) =>
  BigInt(input) * each + BigInt(output) * of
/** Nanos: of a whole answer, of one from the cache, and of the request alone. */
export const COSTS = {
  answer: costOf(USAGE, INPUT, OUTPUT),
  cached: CACHED,
  input: BigInt(USAGE.input) * INPUT,
}
/** Nanos: what is reserved for a copy, and what it costs. */
export const COPY_COSTS = {
  reserved: costOf(USAGE, COPY_INPUT, COPY_OUTPUT),
  copy: costOf(COPY_USAGE, COPY_INPUT, COPY_OUTPUT),
}
/** A long run uses it up. */
export const COPIES_IN_BUDGET = 200n
const UNIT = 1_000_000_000
const BUDGET = Number(COPIES_IN_BUDGET * COPY_COSTS.reserved) / UNIT

export const MODELS = ['exact', 'similar', 'guarded', 'copied', 'ruled'] as const
export type ModelName = (typeof MODELS)[number]
/** Names at the upstream of copies, of a canary, and of vectors. */
export const UPSTREAM_NAMES = { copy: 'copy-up', canary: 'canary-up', vectors: 'vectors-up' }

const PRICE = 'price: { input: 1 / 1k, output: 2 / 1k, cached_call: 3 / 1k }, output: 100'
const COPY_PRICE = 'price: { input: 2 / 1k, output: 3 / 1k }'
const guards = Object.entries(BLOCKED_WORDS).map(
  ([part, word]) => `  ${part}: { words: [${word}], on: answer, do: block, blocked: ${part} }\n`,
)
const names = [...Object.keys(BLOCKED_WORDS), 'forbidden'].join(', ')

/** Sections, and lines of `models:` and `routes:`. `up` is the name of the upstream. */
export const ANSWER_STAGES = 'guard, mirror, cache, embed'
export const ANSWER_SECTIONS = `cache:
  exact: { ttl: 1h, leader: store }
  semantic: { model: vectors, threshold: 0.95, timeout: 5s }
guards:
  pii: { find: email, do: mask, restore: true }
  forbidden: { words: [${FORBIDDEN}], on: request, do: block }
${guards.join('')}`
export const ANSWER_MODELS = `
  exact: { to: answers/exact-up, cache: exact, ${PRICE} }
  similar: { to: answers/similar-up, cache: semantic, ${PRICE} }
  guarded: { to: answers/guarded-up, ${PRICE} }
  copied: { to: answers/copied-up, ${PRICE}, mirror: { to: answers/${UPSTREAM_NAMES.copy}, share: 100%, accounts: all, ${COPY_PRICE}, budget: { amount: ${BUDGET}, per: month } } }
  ruled: { to: answers/ruled-up, ${PRICE}, rules: [{ name: canary, share: 50%, by: conversation, to: answers/${UPSTREAM_NAMES.canary} }] }
  vectors: { to: vectors/${UPSTREAM_NAMES.vectors}, free: true }
`
export const ANSWER_ROUTES = `
  - { path: 'POST /answers/v1/chat/completions', auth: key, model: body, translate: openai-chat, guard: [pii, ${names}] }
  - { path: 'POST /answers/v1/messages', auth: key, model: body, translate: anthropic-messages, guard: [pii, ${names}] }
`
export const upstreamLines = (port: number): string => `
  answers: { url: 'http://127.0.0.1:${port}', formats: [openai-chat], connections: 1000 }
  vectors: { url: 'http://127.0.0.1:${port}', formats: [openai-embeddings] }`

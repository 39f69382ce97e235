/** Requests of the bench and responses of its upstream, of one size for every subject. */
export const QUESTION =
  'We run a reverse proxy in front of three providers and see that the time to the first byte grows when many clients stream at once. Which parts of a proxy add latency, how does connection pooling help, and which figures should we look at first? Please keep it short and add one example with numbers that the team can be shown tomorrow.'
export const RULES =
  'You are a careful assistant for the support desk of a software company. Answer in at most five sentences. If you do not know, say so. Use metric units, ISO dates and the language of the user. When a question is about billing, point to the billing page.'

/** How the upstream responds; the model name of the request selects it. `paced`: ten events a
 *  second. */
export type Manner = 'plain' | 'burst' | 'paced' | 'idle'
export const NAMES: Readonly<Record<Manner, string>> = {
  plain: 'bench-plain',
  burst: 'bench-burst',
  paced: 'bench-paced',
  idle: 'bench-idle',
}
export const EVENTS = 200
/** ms between two events of a paced stream, and their number. */
export const PACE = { interval: 100, events: 50 }

/** A model whose requests the upstream refuses. */
export const REFUSED = 'bench-refused'

/** About 850 bytes. */
export const requestBody = (manner: Manner, model = NAMES[manner]): string =>
  JSON.stringify({
    model,
    stream: manner !== 'plain',
    messages: [
      { role: 'system', content: RULES },
      { role: 'user', content: QUESTION },
    ],
    temperature: 0.7,
    max_tokens: 512,
    user: 'user-1234',
  })

/** About 1,000 bytes, with usage. */
export const plainAnswer = (): string =>
  JSON.stringify({
    id: 'chatcmpl-0123456789abcdefghijklmnop',
    object: 'chat.completion',
    created: 1_750_000_000,
    model: NAMES.plain,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: RULES + QUESTION, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: {
      prompt_tokens: 152,
      completion_tokens: 118,
      total_tokens: 270,
      prompt_tokens_details: { cached_tokens: 0 },
    },
  })

export const event = (index: number, id = 'chatcmpl-0123456789abcdefghijklmnop'): string => {
  const choices = [{ index: 0, delta: { content: ` word${index}` }, finish_reason: null }]
  return `data: ${JSON.stringify({
    id,
    object: 'chat.completion.chunk',
    created: 1_750_000_000,
    model: NAMES.burst,
    choices,
  })}\n\n`
}
/** An event whose id has the time of now, and finds the time in such events. */
export const stampedEvent = (index: number): string =>
  event(index, `chatcmpl-T${String(process.hrtime.bigint()).padStart(20, '0')}T`)
export const STAMP = /-T(\d{20})T/g
export const DONE = 'data: [DONE]\n\n'

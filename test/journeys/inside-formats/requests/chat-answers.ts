/** Answers of chat upstreams: plain ones, and the events of streams. */
const chat = { id: 'c', object: 'chat.completion', created: 1, model: 'm' }
const chunk = { ...chat, object: 'chat.completion.chunk' }
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

export const chatAnswer = (message: object, finish_reason: string): object => ({
  ...chat,
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
  usage,
})

/** One event for each delta, one with the finish reason, and one with the usage. */
export const chatStream = (deltas: readonly object[], reason: string): readonly object[] => [
  ...deltas.map(delta => ({ ...chunk, choices: [{ index: 0, delta, finish_reason: null }] })),
  { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: reason }] },
  { ...chunk, choices: [], usage },
]

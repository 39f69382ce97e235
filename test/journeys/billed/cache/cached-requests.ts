/** Requests of one text in all formats of conversations, plain and streamed, and the routes that
 *  take them: for tests of the cache. */

const ROUTES = {
  '/v1/chat/completions': 'openai-chat',
  '/v1/responses': 'openai-responses',
  '/v1/messages': 'anthropic-messages',
} as const
const GEMINI = '/v1beta/models/words'
/** Lines of `routes:`. */
export const CHAT_ROUTES = `${Object.entries(ROUTES)
  .map(
    ([path, format]) => `  - { path: POST ${path}, auth: key, model: body, translate: ${format} }`,
  )
  .join('\n')}
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', auth: key, model: { path: model }, translate: google-gemini }`

export const MESSAGES = (text: string) => [{ role: 'user', content: text }]
export const chat = (text: string, more: object = {}) => ({
  model: 'words',
  messages: MESSAGES(text),
  temperature: 0,
  max_tokens: 50,
  ...more,
})
export const requestsOf = (text: string, stream: boolean) =>
  [
    ['openai-chat', '/v1/chat/completions', chat(text, { stream, user: `user-${Math.random()}` })],
    [
      'openai-responses',
      '/v1/responses',
      { model: 'words', input: text, temperature: 0, max_output_tokens: 50, stream, store: false },
    ],
    [
      'anthropic-messages',
      '/v1/messages',
      { model: 'words', max_tokens: 50, temperature: 0, messages: MESSAGES(text), stream },
    ],
    [
      'google-gemini',
      stream ? `${GEMINI}:streamGenerateContent?alt=sse` : `${GEMINI}:generateContent`,
      {
        contents: [{ role: 'user', parts: [{ text }] }],
        generationConfig: { temperature: 0, maxOutputTokens: 50 },
      },
    ],
  ] as const
export const resultOf = ({ response }: { readonly response: Response }) =>
  response.headers.get('x-tollgate-cache')

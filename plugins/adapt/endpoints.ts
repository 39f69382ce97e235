/** The endpoints of the wire formats, as keys of `paths:` and `body:`; each path is as clients of
 *  the format send it. The last group is the method: what `{method}` stands for. */

const ENDPOINTS = {
  'openai-chat': /^\/v1\/chat\/(completions)$/,
  'openai-completions': /^\/v1\/(completions)$/,
  'cohere-chat': /^\/v2\/(chat)$/,
  'bedrock-converse': /^\/model\/[^/]+\/(converse|converse-stream)$/,
  'openai-responses': /^\/v1\/(responses)$/,
  'anthropic-messages': /^\/v1\/(messages)$/,
  'google-gemini':
    /^\/v1(?:beta)?\/models\/[^/]+:(generateContent|streamGenerateContent|countTokens)$/,
  'google-interactions': /^\/v1(?:beta)?\/(interactions)$/,
  'openai-images': /^\/v1\/images\/(generations|edits)$/,
  'openai-speech': /^\/v1\/audio\/(speech)$/,
  'openai-transcription': /^\/v1\/audio\/(transcriptions|translations)$/,
  'openai-embeddings': /^\/v1\/(embeddings)$/,
  'openai-moderations': /^\/v1\/(moderations)$/,
  'cohere-rerank': /^\/v1\/(rerank)$/,
  'google-embeddings': /^\/v1(?:beta)?\/models\/[^/]+:(embedContent|batchEmbedContents)$/,
} as const

export type EndpointName = keyof typeof ENDPOINTS
export const endpointNames = Object.keys(ENDPOINTS) as readonly EndpointName[]

export interface Endpoint {
  readonly name: EndpointName
  readonly method: string
}

/** `path`: without a query. */
export const endpointAt = (path: string): Endpoint | undefined => {
  for (const name of endpointNames) {
    const method = ENDPOINTS[name].exec(path)?.[1]
    if (method !== undefined) return { name, method }
  }
  return undefined
}

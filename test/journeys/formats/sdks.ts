/** The official SDKs as clients of one gateway: the same question in each format, and the answer
 *  that the user reads. */
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import {
  type AnswerReading,
  isEnd,
  readChat,
  readGemini,
  readMessage,
  readResponse,
} from '../../helpers/formats/provider-reading.ts'

/** `deltas`: the streamed text, where the last event repeats it. `search`: offers a hosted tool. */
export type Client = (
  model: string,
  stream: boolean,
  search?: boolean,
) => Promise<AnswerReading & { readonly deltas?: string }>

/** `version`: Google's API version, for upstreams without the SDK's default. */
export const sdkClients = (
  url: string,
  key: string,
  version?: string,
): Readonly<Record<string, Client>> => {
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })
  const google = new GoogleGenAI({
    apiKey: key,
    httpOptions: {
      baseUrl: url,
      retryOptions: { attempts: 1 },
      ...(version !== undefined && { apiVersion: version }),
    },
  })
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  return {
    async 'openai-chat'(model, stream, search) {
      const body = { model, messages, ...(search && { web_search_options: {} }) }
      if (!stream) return readChat([await openai.chat.completions.create(body)])
      const options = { include_usage: true }
      const chunks: unknown[] = []
      const answer = await openai.chat.completions.create({
        ...body,
        stream,
        stream_options: options,
      })
      for await (const chunk of answer) chunks.push(chunk)
      return readChat(chunks)
    },
    async 'openai-responses'(model, stream, search) {
      const tools = search ? { tools: [{ type: 'web_search' as const }] } : {}
      const body = { model, input: 'Hello', ...tools }
      if (!stream) return readResponse(await openai.responses.create(body))
      const answer = await openai.responses.create({ ...body, stream })
      const [texts, ends] = [[] as string[], [] as unknown[]]
      for await (const event of answer) {
        if (event.type === 'response.output_text.delta') texts.push(event.delta)
        if (isEnd(event.type) && 'response' in event) ends.push(event.response)
      }
      return { ...readResponse(ends[0]), deltas: texts.join('') }
    },
    async 'anthropic-messages'(model, stream, search) {
      const tool = { type: 'web_search_20250305', name: 'web_search' } as const
      const body = { model, messages, max_tokens: 4096, ...(search && { tools: [tool] }) }
      if (!stream) return readMessage(await anthropic.messages.create(body))
      return readMessage(await anthropic.messages.stream(body).finalMessage())
    },
    async 'google-gemini'(model, stream, search) {
      const config = search ? { config: { tools: [{ googleSearch: {} }] } } : {}
      const body = { model, contents: 'Hello', ...config }
      if (!stream) return readGemini([await google.models.generateContent(body)])
      const chunks: unknown[] = []
      for await (const chunk of await google.models.generateContentStream(body)) chunks.push(chunk)
      return readGemini(chunks)
    },
  }
}

/** The four wire formats of chat: what the playground sends and reads, and snippets to paste. */

export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** Data URLs. */
  readonly images?: readonly string[]
}
interface Prompt {
  readonly model: string
  readonly turns: readonly Turn[]
  readonly system: string
  /** Output tokens. */
  readonly most: number
  readonly temperature?: number
}
export interface SampleCall {
  /** The public address of the gateway. */
  readonly base: string
  readonly model: string
}
export interface ChatFormat {
  /** The name of its endpoint in `/api/pricing`. */
  readonly endpoint: string
  readonly title: string
  path(model: string): string
  body(prompt: Prompt): object
  /** The text that one event of the stream adds. */
  textIn(event: StreamEvent): string
  /** Programs that call `model` with an official SDK. */
  python(call: SampleCall): string
  typescript(call: SampleCall): string
}
/** The members of events that are read. */
export interface StreamEvent {
  readonly choices?: readonly { readonly delta?: { readonly content?: string } }[]
  readonly type?: string
  readonly delta?: string | { readonly text?: string }
  /** Why the stream failed. The Responses format has it in `response.error` or `message`. */
  readonly error?: { readonly message?: string } | null
  readonly response?: { readonly error?: { readonly message?: string } | null }
  readonly message?: unknown
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly { readonly text?: string }[] }
  }[]
}
/** Why a stream ended early, in each format. */
export const failureIn = ({ type, error, response, message }: StreamEvent): string | undefined => {
  const failure = error ?? response?.error
  if (failure) return failure.message ?? String(type)
  return type === 'error' && typeof message === 'string' ? message : undefined
}
type Content = string | readonly object[]
/** Messages of a conversation: a text alone stays a text. */
const messagesOf = (
  turns: readonly Turn[],
  { text: textPart, image }: { text(text: string): object; image(url: string): object },
): readonly { readonly role: string; readonly content: Content }[] =>
  turns.map(({ role, text, images = [] }) => ({
    role,
    content: images.length === 0 ? text : [...images.map(image), textPart(text)],
  }))
/** The media type and the base64 of a data URL. */
const dataOf = (url: string): readonly [type: string, data: string] => {
  const [, type = '', data = ''] = /^data:([^;,]+);base64,(.*)$/.exec(url) ?? []
  return [type, data]
}
const heat = (temperature: number | undefined) => (temperature === undefined ? {} : { temperature })

export const FORMATS = {
  openai: {
    endpoint: 'openai',
    title: 'Chat Completions',
    path: () => '/v1/chat/completions',
    body: ({ model, turns, system, most, temperature }) => ({
      model,
      messages: [
        ...(system ? [{ role: 'system', content: system }] : []),
        ...messagesOf(turns, {
          text: text => ({ type: 'text', text }),
          image: url => ({ type: 'image_url', image_url: { url } }),
        }),
      ],
      max_tokens: most,
      ...heat(temperature),
      stream: true,
      stream_options: { include_usage: true },
    }),
    textIn: ({ choices }) => choices?.[0]?.delta?.content ?? '',
    python: ({ base, model }) => `import os
from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key=os.environ["KEY"])
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
    typescript: ({ base, model }) => `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${base}/v1', apiKey: process.env.KEY })
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(answer.choices[0]?.message.content)`,
  },
  responses: {
    endpoint: 'openai-response',
    title: 'Responses',
    path: () => '/v1/responses',
    body: ({ model, turns, system, most, temperature }) => ({
      model,
      input: messagesOf(turns, {
        text: text => ({ type: 'input_text', text }),
        image: url => ({ type: 'input_image', image_url: url }),
      }),
      ...(system && { instructions: system }),
      max_output_tokens: most,
      ...heat(temperature),
      stream: true,
      store: false,
    }),
    textIn: ({ type, delta }) =>
      type === 'response.output_text.delta' && typeof delta === 'string' ? delta : '',
    python: ({ base, model }) => `import os
from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key=os.environ["KEY"])
answer = client.responses.create(model="${model}", input="Hello")
print(answer.output_text)`,
    typescript: ({ base, model }) => `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${base}/v1', apiKey: process.env.KEY })
const answer = await client.responses.create({ model: '${model}', input: 'Hello' })
console.log(answer.output_text)`,
  },
  anthropic: {
    endpoint: 'anthropic',
    title: 'Messages',
    path: () => '/v1/messages',
    body: ({ model, turns, system, most, temperature }) => ({
      model,
      ...(system && { system }),
      messages: messagesOf(turns, {
        text: text => ({ type: 'text', text }),
        image: url => {
          const [type, data] = dataOf(url)
          return { type: 'image', source: { type: 'base64', media_type: type, data } }
        },
      }),
      max_tokens: most,
      ...heat(temperature),
      stream: true,
    }),
    textIn: ({ type, delta }) =>
      type === 'content_block_delta' && typeof delta === 'object' ? (delta.text ?? '') : '',
    python: ({ base, model }) => `import os
from anthropic import Anthropic

client = Anthropic(base_url="${base}", api_key=os.environ["KEY"])
answer = client.messages.create(
    model="${model}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
)
print("".join(block.text for block in answer.content if block.type == "text"))`,
    typescript: ({ base, model }) => `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: '${base}', apiKey: process.env.KEY })
const answer = await client.messages.create({
  model: '${model}',
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Hello' }],
})
for (const block of answer.content) if (block.type === 'text') console.log(block.text)`,
  },
  gemini: {
    endpoint: 'gemini',
    title: 'generateContent',
    path: model => `/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
    body: ({ turns, system, most, temperature }) => ({
      contents: turns.map(({ role, text, images = [] }) => ({
        role: role === 'user' ? 'user' : 'model',
        parts: [
          ...images.map(dataOf).map(([mimeType, data]) => ({ inlineData: { mimeType, data } })),
          { text },
        ],
      })),
      ...(system && { systemInstruction: { parts: [{ text: system }] } }),
      generationConfig: { maxOutputTokens: most, ...heat(temperature) },
    }),
    textIn: ({ candidates }) =>
      candidates?.[0]?.content?.parts?.map(({ text = '' }) => text).join('') ?? '',
    python: ({ base, model }) => `import os
from google import genai

client = genai.Client(api_key=os.environ["KEY"], http_options={"base_url": "${base}"})
answer = client.models.generate_content(model="${model}", contents="Hello")
print(answer.text)`,
    typescript: ({ base, model }) => `import { GoogleGenAI } from '@google/genai'

const client = new GoogleGenAI({
  apiKey: process.env.KEY,
  httpOptions: { baseUrl: '${base}' },
})
const answer = await client.models.generateContent({ model: '${model}', contents: 'Hello' })
console.log(answer.text)`,
  },
} as const satisfies Readonly<Record<string, ChatFormat>>
export type FormatName = keyof typeof FORMATS
export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FormatName[]

const EXAMPLE: Omit<Prompt, 'model'> = {
  turns: [{ role: 'user', text: 'Hello' }],
  system: '',
  most: 1024,
}
/** A call to paste into a terminal, with the key in `$KEY`. */
const curlOf = ({ base, model }: SampleCall, name: FormatName): string => {
  const format: ChatFormat = FORMATS[name]
  const path = format.path(model).replace(':streamGenerateContent?alt=sse', ':generateContent')
  const {
    stream: _,
    stream_options: __,
    ...body
  } = format.body({ ...EXAMPLE, model }) as {
    stream?: boolean
    stream_options?: object
  }
  return `curl ${base}${path} \\
  -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body)}'`
}
/** A call that creates a video task. */
export const videoCurlOf = ({ base, model }: SampleCall): string => {
  const body = { model, prompt: 'A lighthouse at dawn', duration: 5, resolution: '720p' }
  return `curl ${base}/ent/v2/text2video \\
  -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body)}'`
}
const LANGUAGES = {
  curl: { title: 'curl', of: curlOf },
  python: {
    title: 'Python',
    of: (call: SampleCall, name: FormatName) => FORMATS[name].python(call),
  },
  typescript: {
    title: 'TypeScript',
    of: (call: SampleCall, name: FormatName) => FORMATS[name].typescript(call),
  },
} as const
export type LanguageName = keyof typeof LANGUAGES
export const LANGUAGE_NAMES = Object.keys(LANGUAGES) as readonly LanguageName[]
export const languageTitle = (language: LanguageName): string => LANGUAGES[language].title
/** A program that makes one call; the key is in the environment variable KEY. */
export const snippetOf = (language: LanguageName, call: SampleCall, name: FormatName): string =>
  LANGUAGES[language].of(call, name)

/** Programs of the shell, Python and JavaScript that send a request of the playground unchanged;
 *  they read the API key from the environment variable KEY. */
export const REQUEST_CODE = {
  curl: (url: string, body: object): string => `curl ${shellText(url)} \\
  -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d ${shellText(JSON.stringify(body))}`,
  Python: (url: string, body: object): string => `import os
import urllib.request

headers = {"Authorization": "Bearer " + os.environ["KEY"], "Content-Type": "application/json"}
body = ${JSON.stringify(JSON.stringify(body))}
request = urllib.request.Request(${JSON.stringify(url)}, body.encode(), headers)
with urllib.request.urlopen(request) as answer:
    for line in answer:
        print(line.decode(), end="")`,
  JavaScript: (
    url: string,
    body: object,
  ): string => `const answer = await fetch(${JSON.stringify(url)}, {
  method: 'POST',
  headers: { authorization: \`Bearer \${process.env.KEY}\`, 'content-type': 'application/json' },
  body: JSON.stringify(${JSON.stringify(body)}),
})
console.log(await answer.text())`,
} as const
const shellText = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Reads server-sent events as they arrive. `onEvent` gets the JSON of each. */
export const readEvents = async (
  body: ReadableStream<Uint8Array>,
  onEvent: (event: StreamEvent) => void,
): Promise<void> => {
  let rest = ''
  const reader = body.pipeThrough(new TextDecoderStream() as never).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + String(value)).split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const content = block
        .split(/\r?\n/)
        .flatMap(line => (line.startsWith('data:') ? line.slice(5).trim() : []))
        .join('\n')
      if (content !== '' && content !== '[DONE]') onEvent(JSON.parse(content) as StreamEvent)
    }
  }
}

/** Conversations, tools and values that a client's own provider takes or refuses, and that others
 *  refuse in another way: they are mapped, or refused by the gateway with the place. */
import type { Body, Outcome, RequestCase } from './request-case.ts'
import type { FormatName } from './upstreams.ts'

const MODELS: readonly (readonly [FormatName, model: string])[] = [
  ['openai-chat', 'gpt-5.4'],
  ['openai-responses', 'gpt-5.6-r'],
  ['anthropic-messages', 'claude-sonnet-4-5'],
  ['google-gemini', 'gemini-2.5-flash'],
]
interface Odd {
  readonly name: string
  readonly client: FormatName
  readonly request: object
  /** Matches the message of the refusal; absent: the request reaches the upstream. */
  readonly refusal?: RegExp
  /** Matches the body that the upstream gets, as text. */
  readonly upstreamText?: RegExp
  readonly dropped?: RegExp
  /** Only of targets of these formats. */
  readonly targets?: readonly FormatName[]
}
const hasOutcome = ({ refusal, upstreamText, dropped }: Odd, outcome: Outcome): boolean => {
  const { up, status, out, upText } = outcome
  if (refusal) return up === undefined && status === 400 && refusal.test(messageOf(out) ?? '')
  return (
    status === 200 &&
    (upstreamText?.test(upText) ?? up !== undefined) &&
    (dropped?.test(outcome.dropped) ?? true)
  )
}
const messageOf = (body: Body): string | undefined => body?.error?.message

const user = { role: 'user', content: 'q' }
const schema = { type: 'object', properties: {} }
const chatTool = (description: string) => ({
  type: 'function',
  function: { name: 'f', description, parameters: schema },
})
const legacy = { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } }
const CHAT: readonly Omit<Odd, 'client'>[] = [
  {
    name: 'a legacy function call without its result',
    request: { messages: [user, legacy, user], functions: [{ name: 'f', parameters: schema }] },
  },
  {
    name: 'two legacy calls of one function, the second without its result',
    request: {
      messages: [user, legacy, { role: 'function', name: 'f', content: 'one' }, legacy],
      functions: [{ name: 'f', parameters: schema }],
    },
    upstreamText: /one/,
  },
  {
    name: 'the result of a legacy function without its call',
    request: { messages: [user, { role: 'function', name: 'f', content: 'eleven' }] },
    upstreamText: /eleven/,
  },
  {
    name: 'a tool that is declared twice',
    request: { messages: [user], tools: [chatTool('d'), chatTool('d')] },
  },
  {
    name: 'two tools of one name',
    request: { messages: [user], tools: [chatTool('d'), chatTool('e')] },
    refusal: /'tools': two tools are named 'f'/,
  },
  {
    name: 'the choice of a tool that is not offered',
    request: {
      messages: [user],
      tools: [chatTool('d')],
      tool_choice: { type: 'function', function: { name: 'g' } },
    },
    refusal: /'tool_choice': 'g' is not a tool of the request/,
  },
  {
    name: 'a schema of the answer with a title as its name',
    request: {
      messages: [user],
      response_format: { type: 'json_schema', json_schema: { name: 'My answer (é)', schema } },
    },
    upstreamText: /"name":"My_answer____"/,
    targets: ['openai-responses'],
  },
  {
    name: 'an unsupported lifetime of a cache',
    request: {
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: 'q', cache_control: { type: 'ephemeral', ttl: '10m' } }],
        },
      ],
    },
    upstreamText: /"ttl":"5m"/,
    dropped: /cache_control/,
    targets: ['anthropic-messages'],
  },
  {
    name: 'a custom voice',
    request: {
      messages: [user],
      modalities: ['text', 'audio'],
      audio: { voice: { id: 'voice_1' }, format: 'wav' },
    },
    dropped: /audio/,
    targets: ['google-gemini'],
  },
  ...(
    [
      ['data:;base64,iVBORw0KGgo=', /image\/png/],
      ['data:image;base64,iVBORw0KGgo=', /image\/png/],
      ['data:application/pdf;base64,JVBERi0x', /JVBERi0x/],
      ['data:text/plain;base64,c2V2ZW4=', /seven|c2V2ZW4=/],
    ] as const
  ).map(([url, upstreamText]) => ({
    name: `an image whose URL is ${url.slice(0, 30)}`,
    request: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] },
    upstreamText,
  })),
  ...(
    [
      ['data:image/svg+xml;base64,PHN2Zy8+', /messages\[0\]\.content\[0\].*image\/svg\+xml/],
      ['data:image/avif;base64,AAAA', /messages\[0\]\.content\[0\].*image\/avif/],
      ['file:///etc/passwd', /messages\[0\]\.content\[0\]/],
      ['gs://bucket/a.png', /messages\[0\]\.content\[0\]/],
    ] as const
  ).map(([url, refusal]) => ({
    name: `an image whose URL is ${url.slice(0, 30)}`,
    request: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] },
    refusal,
    ...(url.startsWith('gs:') && { targets: ['openai-responses' as const] }),
  })),
]

const functionCall = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
const output = { type: 'function_call_output', call_id: 'c', output: 'r' }
const tools = [{ type: 'function', name: 'f', parameters: schema, strict: false }]
const RESPONSES: readonly Omit<Odd, 'client'>[] = [
  {
    name: 'a call without its output',
    request: { input: [user, functionCall, user], tools },
    refusal: /tool call 'c' has no result/,
  },
  {
    name: 'an output without its call',
    request: { input: [user, output], tools },
    refusal: /'c' answers a tool call that is not in the conversation/,
  },
  {
    name: 'an output before its call',
    request: { input: [user, output, functionCall], tools },
    refusal: /'c' answers a tool call that is not in the conversation/,
  },
  {
    name: 'one hosted tool under two names',
    request: { input: 'q', tools: [{ type: 'web_search' }, { type: 'web_search_preview' }] },
    targets: ['anthropic-messages', 'google-gemini'],
  },
  {
    name: 'no effort with a summary',
    request: { input: 'q', reasoning: { effort: 'none', summary: 'auto' } },
    upstreamText: /"thinkingConfig":\{"thinkingBudget":0\}/,
    targets: ['google-gemini'],
  },
  {
    name: 'options of caching that chat lacks',
    request: { input: 'q', prompt_cache_options: { ttl: '30m', comparison_response_id: 'resp_1' } },
    upstreamText: /"prompt_cache_options":\{"ttl":"30m"\}/,
    dropped: /comparison_response_id/,
    targets: ['openai-chat'],
  },
]

const use = { type: 'tool_use', id: 'c', name: 'f', input: {} }
const MESSAGES: readonly Omit<Odd, 'client'>[] = [
  {
    name: 'a call without its result',
    request: {
      max_tokens: 9,
      messages: [user, { role: 'assistant', content: [use] }, user],
      tools: [{ name: 'f', input_schema: schema }],
    },
    refusal: /tool call 'c' has no result/,
  },
  {
    name: 'the choice of a hosted tool',
    request: {
      max_tokens: 9,
      messages: [user],
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      tool_choice: { type: 'tool', name: 'web_search' },
    },
    upstreamText:
      /"tool_choice":\{"type":"allowed_tools","mode":"required","tools":\[\{"type":"web_search"\}\]\}/,
    targets: ['openai-responses'],
  },
]

const parts = (...list: readonly object[]) => ({ role: 'user', parts: list })
const GEMINI: readonly Omit<Odd, 'client'>[] = [
  {
    name: 'a part with a text and a call',
    request: {
      contents: [
        parts({ text: 'q' }),
        { role: 'model', parts: [{ text: 'I look', functionCall: { name: 'f', args: {} } }] },
        parts({ functionResponse: { name: 'f', response: { output: 'r' } } }),
      ],
      tools: [{ functionDeclarations: [{ name: 'f' }] }],
    },
    upstreamText: /I look/,
  },
  {
    name: 'an empty text beside an image',
    request: {
      contents: [parts({ text: '', inlineData: { mimeType: 'image/png', data: 'iVBO' } })],
    },
    upstreamText: /iVBO/,
  },
  ...(['standard', 'SERVICE_TIER_FLEX', 'unspecified'] as const).map(serviceTier => ({
    name: `the tier ${serviceTier}`,
    request: { contents: [parts({ text: 'q' })], serviceTier },
    upstreamText: serviceTier.endsWith('FLEX')
      ? /"service_tier":"flex"/
      : /"service_tier":"default"/,
    targets: ['openai-chat', 'openai-responses'] as const,
  })),
  {
    name: 'an image that OpenAI does not read',
    request: { contents: [parts({ inlineData: { mimeType: 'image/heic', data: 'AAAA' } })] },
    refusal: /contents\[0\]\.parts\[0\].*image\/heic/,
    targets: ['openai-chat', 'openai-responses'],
  },
  {
    name: 'names of functions that are not offered',
    request: {
      contents: [parts({ text: 'q' })],
      tools: [{ functionDeclarations: [{ name: 'f' }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['g'] } },
    },
    refusal: /'toolConfig': 'g' is not a tool of the request/,
  },
]

const ALL: readonly (readonly [FormatName, readonly Omit<Odd, 'client'>[]])[] = [
  ['openai-chat', CHAT],
  ['openai-responses', RESPONSES],
  ['anthropic-messages', MESSAGES],
  ['google-gemini', GEMINI],
]
export const cases: readonly RequestCase[] = ALL.flatMap(([client, list]) =>
  list.flatMap(odd =>
    MODELS.filter(([target]) => target !== client && (odd.targets?.includes(target) ?? true)).map(
      ([target, model]) => ({
        name: `${client} to ${target}: ${odd.name}`,
        client,
        model,
        request: client === 'openai-responses' ? { store: false, ...odd.request } : odd.request,
        check: (outcome: Outcome) => hasOutcome({ ...odd, client }, outcome),
      }),
    ),
  ),
)

/** Names of attributes by the semantic conventions for generative AI: version 0.1.0 of their own,
 *  and 1.36.0 of OpenTelemetry, which older dashboards know.
 *  Source: https://github.com/open-telemetry/semantic-conventions-genai */
import { isFields } from '../../engine/kit.ts'
import type { Meters } from '../slots.ts'
import type { Attributes } from './otlp.ts'
import type { Conventions } from './section.ts'

/** The facts about an attempt, whatever the version calls them. */
export interface Inference {
  readonly operation: string
  readonly provider: string
  /** The name that the upstream uses. */
  readonly requestModel: string | undefined
  readonly responseModel: string | undefined
  readonly responseId: string | undefined
  /** In the words of the client's format. */
  readonly finishReasons: readonly string[] | undefined
  readonly isStream: boolean
  readonly meters: Meters | undefined
  /** s, of a stream. */
  readonly firstChunk: number | undefined
  readonly cost: { readonly amount: number; readonly currency: string } | undefined
}

/** All tokens of the prompt: cached ones are part of it. */
export const promptOf = ({
  input = 0,
  cached = 0,
  cache_write = 0,
  cache_write_1h = 0,
}: Meters): number => input + cached + cache_write + cache_write_1h
export const outputOf = ({ output = 0, thinking = 0 }: Meters): number => output + thinking

/** JSON of a request. */
export type Body = { readonly [name: string]: unknown }
/** The member of the request or, in Gemini's, of its settings. */
const memberIn = (body: Body, names: readonly string[]): unknown => {
  const settings = isFields(body.generationConfig) ? body.generationConfig : {}
  for (const name of names) {
    const value = body[name] ?? settings[name]
    if (value !== undefined && value !== null) return value
  }
  return undefined
}
const numberIn = (body: Body, ...names: readonly string[]): number | undefined => {
  const value = memberIn(body, names)
  return typeof value === 'number' ? value : undefined
}
const textIn = (body: Body, ...names: readonly string[]): string | undefined => {
  const value = memberIn(body, names)
  return typeof value === 'string' ? value : undefined
}
/** Of OpenAI's `reasoning`, of Anthropic's `output_config` and of Gemini's `thinkingConfig`. */
const reasoningOf = (body: Body): string | undefined => {
  const own = textIn(body, 'reasoning_effort')
  if (own !== undefined) return own
  for (const name of ['reasoning', 'output_config', 'thinkingConfig']) {
    const value = memberIn(body, [name])
    if (isFields(value)) return textIn(value, 'effort', 'thinkingLevel')
  }
  return undefined
}
const countOf = (body: Body): number | undefined => {
  const count = numberIn(body, 'n', 'candidateCount')
  return count === 1 ? undefined : count
}
const settingsOf = (body: Body): Attributes => ({
  'gen_ai.request.max_tokens': numberIn(
    body,
    'max_completion_tokens',
    'max_output_tokens',
    'max_tokens',
    'maxOutputTokens',
  ),
  'gen_ai.request.temperature': numberIn(body, 'temperature'),
  'gen_ai.request.top_p': numberIn(body, 'top_p', 'topP'),
  'gen_ai.request.top_k': numberIn(body, 'top_k', 'topK'),
  'gen_ai.request.seed': numberIn(body, 'seed'),
  'gen_ai.request.choice.count': countOf(body),
  'gen_ai.request.frequency_penalty': numberIn(body, 'frequency_penalty', 'frequencyPenalty'),
  'gen_ai.request.presence_penalty': numberIn(body, 'presence_penalty', 'presencePenalty'),
})
const factsOf = (inference: Inference): Attributes => ({
  'gen_ai.operation.name': inference.operation,
  'gen_ai.request.model': inference.requestModel,
  'gen_ai.response.id': inference.responseId,
  'gen_ai.response.model': inference.responseModel,
  'gen_ai.response.finish_reasons': inference.finishReasons,
  'gen_ai.usage.input_tokens': inference.meters && promptOf(inference.meters),
  'gen_ai.usage.output_tokens': inference.meters && outputOf(inference.meters),
})

interface Names {
  /** The settings of a request. */
  request(body: Body): readonly Attributes[]
  /** All others. In groups: to join so many members takes longer than to encode them. */
  inference(inference: Inference): readonly Attributes[]
}
const NAMES: Readonly<Record<Conventions, Names>> = {
  'gen_ai/0.1.0': {
    request: body => [
      settingsOf(body),
      {
        'gen_ai.request.reasoning.level': reasoningOf(body),
        'gen_ai.request.previous_response.id': textIn(body, 'previous_response_id'),
        'gen_ai.conversation.id': conversationOf(body),
      },
    ],
    inference: inference => [
      factsOf(inference),
      {
        'gen_ai.provider.name': inference.provider,
        'gen_ai.request.stream': inference.isStream || undefined,
        'gen_ai.response.time_to_first_chunk': inference.firstChunk,
        'gen_ai.usage.cache_read.input_tokens': inference.meters?.cached,
        'gen_ai.usage.cache_write.input_tokens': writtenOf(inference.meters),
        'gen_ai.usage.reasoning.output_tokens': inference.meters?.thinking,
        'gen_ai.usage.cost.amount': inference.cost?.amount,
        'gen_ai.usage.cost.currency': inference.cost?.currency,
        'gen_ai.usage.cost.source': inference.cost && 'local',
      },
    ],
  },
  'gen_ai/1.36.0': {
    request: body => [settingsOf(body)],
    inference: inference => [factsOf(inference), { 'gen_ai.system': inference.provider }],
  },
}
/** Of a conversation that the provider keeps. */
const conversationOf = ({ conversation }: Body): string | undefined => {
  if (typeof conversation === 'string') return conversation
  return isFields(conversation) ? textIn(conversation, 'id') : undefined
}
const writtenOf = (meters: Meters = {}): number | undefined =>
  (meters.cache_write ?? 0) + (meters.cache_write_1h ?? 0) || undefined

export const requestAttributes = (conventions: Conventions, body: Body): readonly Attributes[] =>
  NAMES[conventions].request(body)
export const inferenceAttributes = (
  conventions: Conventions,
  inference: Inference,
): readonly Attributes[] => NAMES[conventions].inference(inference)

export interface MetricNames {
  readonly duration: string
  readonly first: string
  readonly input: string
  readonly output: string
  readonly charged: string
}
export const METRICS: Readonly<Record<Conventions, MetricNames>> = {
  'gen_ai/0.1.0': {
    duration: 'gen_ai.client.inference.duration',
    first: 'gen_ai.client.inference.time_to_first_chunk',
    input: 'gen_ai.client.inference.usage.input_tokens',
    output: 'gen_ai.client.inference.usage.output_tokens',
    charged: 'tollgate.charged',
  },
  'gen_ai/1.36.0': {
    duration: 'gen_ai.client.operation.duration',
    first: 'gen_ai.server.time_to_first_token',
    input: 'gen_ai.client.input_tokens',
    output: 'gen_ai.client.output_tokens',
    charged: 'tollgate.charged',
  },
}

/** Names of providers by the end of their host. */
const PROVIDERS: readonly (readonly [host: string, name: string])[] = [
  ['openai.azure.com', 'azure.ai.openai'],
  ['services.ai.azure.com', 'azure.ai.inference'],
  ['openai.com', 'openai'],
  ['anthropic.com', 'anthropic'],
  ['generativelanguage.googleapis.com', 'gcp.gemini'],
  ['aiplatform.googleapis.com', 'gcp.vertex_ai'],
  ['amazonaws.com', 'aws.bedrock'],
  ['deepseek.com', 'deepseek'],
  ['mistral.ai', 'mistral_ai'],
  ['groq.com', 'groq'],
  ['x.ai', 'x_ai'],
  ['cohere.com', 'cohere'],
  ['moonshot.ai', 'moonshot_ai'],
  ['perplexity.ai', 'perplexity'],
]
/** `urls`: addresses of the upstream. An unknown provider has the name of its upstream. */
export const providerOf = (upstream: string, urls: readonly string[]): string => {
  for (const url of urls) {
    const host = URL.parse(url)?.hostname ?? ''
    const entry = PROVIDERS.find(
      ([end]) => host === end || host.endsWith(`.${end}`) || host.endsWith(`-${end}`),
    )
    if (entry) return entry[1]
  }
  return upstream
}

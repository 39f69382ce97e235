/** Refusals by providers of the shipped presets of chat completions that OpenAI takes, as a
 *  table, each with its source. */
import { asList, asObject, asString, type LooseObject } from '../helpers/formats/loose-json.ts'
import type { Finding } from './index.ts'
import { has, when } from './rule.ts'

/** The facts of one provider; an absent one is as at OpenAI. */
export interface ProviderFacts {
  readonly source: string
  /** All members of a body; others are refused. */
  readonly members?: readonly string[]
  /** Members that are refused, where others pass. */
  readonly refused?: readonly string[]
  /** All members of a message; others are refused. */
  readonly messageMembers?: readonly string[]
  readonly roles?: readonly string[]
  /** Types of the parts of user messages. */
  readonly parts?: readonly string[]
  /** Types of `response_format`. */
  readonly forms?: readonly string[]
  /** Values of `tool_choice`; `function` for a named one. */
  readonly choices?: readonly string[]
  readonly efforts?: readonly string[]
  /** Images by URL are refused: data URLs only. */
  readonly inlineImages?: true
}
const ROLES = ['system', 'user', 'assistant', 'tool']
const IMAGES = ['text', 'image_url']
const JSON_ONLY = ['text', 'json_object']
const MESSAGE = ['role', 'content', 'tool_calls', 'tool_call_id']
const SETTINGS = [
  'model',
  'messages',
  'stream',
  'temperature',
  'top_p',
  'stop',
  'n',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'presence_penalty',
  'frequency_penalty',
  'reasoning_effort',
]
export const PROVIDERS: Readonly<Record<string, ProviderFacts>> = {
  deepseek: {
    source:
      'api-docs.deepseek.com/api/create-chat-completion; "unknown variant `developer`", "unknown variant `image_url`, expected `text`", "This response_format type is unavailable now"',
    roles: ROLES,
    parts: ['text'],
    forms: JSON_ONLY,
  },
  mistral: {
    source: 'docs.mistral.ai/api; 422 "Extra inputs are not permitted" (extra_forbidden)',
    members: [
      ...SETTINGS,
      'max_tokens',
      'random_seed',
      'prediction',
      'prompt_mode',
      'safe_prompt',
      'metadata',
    ],
    messageMembers: [...MESSAGE, 'prefix', 'name'],
    roles: ROLES,
    parts: [...IMAGES, 'document_url', 'reference', 'input_audio', 'thinking'],
  },
  groq: {
    source:
      'console.groq.com/docs/openai: logprobs, logit_bias, top_logprobs and messages[].name are a 400; "property \'…\' is unsupported"',
    members: [
      ...SETTINGS,
      'max_tokens',
      'max_completion_tokens',
      'seed',
      'user',
      'metadata',
      'service_tier',
      'stream_options',
      'reasoning_format',
      'include_reasoning',
    ],
    messageMembers: [...MESSAGE, 'reasoning'],
    parts: IMAGES,
  },
  xai: {
    source:
      'docs.x.ai/docs/models: presence_penalty, frequency_penalty and stop are refused by models that reason; logit_bias is not supported',
    refused: ['presence_penalty', 'frequency_penalty', 'stop', 'logit_bias'],
    parts: IMAGES,
  },
  together: {
    source: 'docs.together.ai/reference/chat-completions: roles of messages, types of parts',
    roles: [...ROLES, 'function'],
    parts: [...IMAGES, 'video_url', 'audio_url', 'input_audio'],
  },
  fireworks: {
    source:
      'docs.fireworks.ai/api-reference/post-chatcompletions; 400 "Extra inputs are not permitted, field: \'store\'"',
    members: [
      ...SETTINGS,
      'max_tokens',
      'seed',
      'user',
      'metadata',
      'stream_options',
      'logit_bias',
      'logprobs',
      'top_logprobs',
      'prediction',
      'service_tier',
      'prompt_cache_key',
      'top_k',
    ],
    messageMembers: [...MESSAGE, 'name', 'reasoning_content'],
    parts: IMAGES,
  },
  cohere: {
    source: 'docs.cohere.com/docs/compatibility-api, "Unsupported parameters"',
    refused: [
      'store',
      'metadata',
      'logit_bias',
      'top_logprobs',
      'n',
      'modalities',
      'prediction',
      'audio',
      'service_tier',
      'parallel_tool_calls',
    ],
    efforts: ['none', 'high'],
    parts: IMAGES,
  },
  moonshot: {
    source: 'platform.moonshot.ai/docs: tool_choice is auto or none; images are base64; four roles',
    roles: ROLES,
    parts: [...IMAGES, 'video_url'],
    choices: ['auto', 'none'],
    inlineImages: true,
  },
  zhipu: {
    source:
      'docs.bigmodel.cn/api-reference: tool_choice "only auto is supported"; response_format text or json_object; four roles',
    refused: ['user'],
    roles: ROLES,
    forms: JSON_ONLY,
    choices: ['auto'],
  },
  qwen: {
    source: 'help.aliyun.com/zh/model-studio; "developer is not one of [\'system\', …]"',
    roles: ROLES,
    choices: ['auto', 'none', 'function'],
  },
  volcengine: { source: 'volcengine.com/docs/82379: roles of messages', roles: ROLES },
  siliconflow: { source: 'docs.siliconflow.cn/api-reference: roles of messages', roles: ROLES },
  perplexity: { source: 'docs.perplexity.ai/api-reference: roles of messages', roles: ROLES },
  cerebras: {
    source:
      'inference-docs.cerebras.ai/resources/openai: logit_bias and the penalties are a 400; texts only',
    refused: ['logit_bias', 'frequency_penalty', 'presence_penalty'],
    messageMembers: [...MESSAGE, 'name', 'reasoning'],
    parts: ['text'],
  },
  ollama: {
    source:
      'github.com/ollama/ollama/openai: "invalid image input", "invalid message format"; templates leave out unknown roles',
    roles: ROLES,
    parts: IMAGES,
    inlineImages: true,
  },
  vllm: {
    source:
      'github.com/vllm-project/vllm/entrypoints/chat_utils.py: "Unknown part type"; templates raise "Unexpected message role"',
    roles: ROLES,
    parts: [...IMAGES, 'input_audio', 'audio_url', 'video_url'],
  },
  sglang: {
    source:
      'github.com/sgl-project/sglang/srt/entrypoints/openai/protocol.py; templates as at vLLM',
    roles: ROLES,
    parts: [...IMAGES, 'audio_url', 'video_url'],
  },
  'llama-cpp': {
    source:
      'github.com/ggml-org/llama.cpp/tools/server: "unsupported content[].type"; templates as at vLLM',
    roles: ROLES,
    parts: [...IMAGES, 'input_audio'],
  },
}

const beyond = (values: readonly string[], allowed: readonly string[] | undefined, what: string) =>
  allowed ? values.filter(each => !allowed.includes(each)).map(each => `${what} ${each}`) : []
const choiceOf = ({ tool_choice: choice }: LooseObject): readonly string[] =>
  typeof choice === 'string' ? [choice] : choice ? [asString(asObject(choice).type)] : []
const imagesByUrl = (parts: readonly LooseObject[]): boolean =>
  parts.some(
    ({ type, image_url: image }) =>
      type === 'image_url' && !asString(asObject(image).url ?? image).startsWith('data:'),
  )

/** Refusals of a chat completion by a preset's provider; an empty list for a provider that
 *  takes what OpenAI takes. */
export const judgeProvider = (preset: string, body: LooseObject): readonly Finding[] => {
  const facts = PROVIDERS[preset]
  if (!facts) return []
  const messages = asList(body.messages)
  const keys = Object.keys(body).filter(key => has(body, key))
  const parts = messages.flatMap(({ content }) => asList(content))
  const types = parts.map(({ type }) => asString(type))
  const roles = messages.map(({ role }) => asString(role))
  const form = asString(asObject(body.response_format).type)
  const effort = asString(body.reasoning_effort)
  return [
    ...beyond(keys, facts.members, 'member'),
    ...keys.filter(key => facts.refused?.includes(key)).map(key => `member ${key}`),
    ...beyond(messages.flatMap(Object.keys), facts.messageMembers, 'member of a message'),
    ...beyond(roles, facts.roles, 'role'),
    ...beyond(types, facts.parts, 'part'),
    ...beyond(form ? [form] : [], facts.forms, 'response_format'),
    ...beyond(choiceOf(body), facts.choices, 'tool_choice'),
    ...beyond(effort ? [effort] : [], facts.efforts, 'reasoning_effort'),
    ...when(facts.inlineImages === true && imagesByUrl(parts), 'an image by URL'),
  ].map(message => ({ rule: `provider ${preset}`, message }))
}

/** Providers' refusals, as a program: a request is judged by the types of the provider's SDK
 *  and by the rules that types do not say. */
import { asList, asObject, asString, type LooseObject } from '../helpers/formats/loose-json.ts'
import { createRequestValidator } from '../helpers/formats/sdk-validator.ts'
import { MESSAGES_RULES } from './anthropic-messages.ts'
import { CONVERSE_RULES } from './bedrock-converse.ts'
import { type Family, familyOf } from './families.ts'
import { GEMINI_RULES } from './google-gemini.ts'
import { INTERACTIONS_RULES } from './google-interactions.ts'
import { CHAT_RULES } from './openai-chat.ts'
import { RESPONSES_RULES } from './openai-responses.ts'
import type { Rules, SentRequest } from './rule.ts'

export interface Finding {
  /** The name of the rule; `types` for the SDK's types. */
  readonly rule: string
  readonly message: string
}
export const RULES: Readonly<Record<string, Rules>> = {
  'openai-chat': CHAT_RULES,
  'openai-responses': RESPONSES_RULES,
  'anthropic-messages': MESSAGES_RULES,
  'google-gemini': GEMINI_RULES,
  'google-interactions': INTERACTIONS_RULES,
  'bedrock-converse': CONVERSE_RULES,
}
/** Members that chat upstreams other than OpenAI take: thoughts, signatures, hints about
 *  caching, settings with other names. */
const COMPATIBLE = [
  'reasoning_content',
  'reasoning_details',
  'extra_content',
  'cache_control',
  'top_k',
  'user_id',
  'random_seed',
]
const validators = new Map<string, (body: unknown) => string | undefined>()
const typeErrorIn = (format: string, isCompatible: boolean, body: unknown): string | undefined => {
  const key = `${format} ${isCompatible}`
  const validator =
    validators.get(key) ?? createRequestValidator(format, isCompatible ? COMPATIBLE : [])
  validators.set(key, validator)
  return validator(format === 'anthropic-messages' ? withoutServers(asObject(body)) : body)
}
/** MCP servers are a beta, which the types do not have; the rule `betas` judges its header. */
const withoutServers = ({ mcp_servers: servers, ...body }: LooseObject): LooseObject => {
  if (servers === undefined) return body
  const tools = asList(body.tools).filter(({ type }) => type !== 'mcp_toolset')
  return { ...body, tools: tools.length > 0 ? tools : undefined }
}

/** The provider's refusals of a request of this format; an empty list if it takes it. */
export const judge = (
  format: string,
  family: Family,
  body: unknown,
  headers: SentRequest['headers'] = {},
  path = '',
): readonly Finding[] => {
  const rules = RULES[format]
  if (!rules) throw new Error(`no oracle of ${format}`)
  const request: SentRequest = { family, body: asObject(body), headers, path }
  const isCompatible = format === 'openai-chat' && family.provider !== 'openai'
  const typeError = typeErrorIn(format, isCompatible, body)
  return [
    ...(typeError === undefined ? [] : [{ rule: 'types', message: typeError }]),
    ...Object.entries(rules).flatMap(([rule, check]) =>
      check(request).map(message => ({ rule, message })),
    ),
  ]
}

const PATHS: readonly (readonly [RegExp, string])[] = [
  [/chat\/completions$/, 'openai-chat'],
  [/\/responses$/, 'openai-responses'],
  [/\/messages$|:(?:streamR|r)awPredict$/, 'anthropic-messages'],
  [/:(?:g|streamG)enerateContent$/, 'google-gemini'],
  [/\/interactions$/, 'google-interactions'],
  [/\/converse(?:-stream)?$/, 'bedrock-converse'],
]
/** Judges a request by the path that it went to; an empty list for other paths. */
export const judgeByPath = (
  path: string,
  body: unknown,
  headers: SentRequest['headers'],
): readonly Finding[] => {
  const local = path.split('?')[0] ?? ''
  const format = PATHS.find(([pattern]) => pattern.test(local))?.[1]
  if (format === undefined) return []
  const inPath = /\/models?\/([^/:]+(?::\d+)?)(?::\w+|\/converse.*)$/.exec(local)?.[1]
  const model = asString(asObject(body).model) || (inPath ?? '')
  return judge(format, familyOf(model), body, headers, local)
}

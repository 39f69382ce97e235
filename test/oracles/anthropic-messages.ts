/** Requests that Anthropic refuses although they fit its types. Most sources are the messages of
 *  its own 400 answers, quoted; the rest is platform.claude.com/docs. */
import {
  asList,
  asNumber,
  asObject,
  asString,
  type LooseObject,
} from '../helpers/formats/loose-json.ts'
import type { Family } from './families.ts'
import {
  beyond,
  duplicates,
  has,
  INT32,
  objectsIn,
  type Rule,
  type Rules,
  rootProblems,
  when,
} from './rule.ts'

const messagesOf = (body: LooseObject): readonly LooseObject[] => asList(body.messages)
const blocksOf = ({ content }: LooseObject): readonly LooseObject[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : asList(content)
const all = (body: LooseObject, type: string): readonly LooseObject[] =>
  messagesOf(body).flatMap(each => blocksOf(each).filter(block => block.type === type))

/** Turns as the provider sees them: successive turns of one role are one. */
interface Turn {
  readonly role: string
  readonly blocks: readonly LooseObject[]
}
const turnsOf = (body: LooseObject): readonly Turn[] => {
  const turns: Turn[] = []
  for (const message of messagesOf(body)) {
    const role = asString(message.role)
    const last = turns.at(-1)
    const blocks = blocksOf(message)
    if (last?.role === role) turns[turns.length - 1] = { role, blocks: [...last.blocks, ...blocks] }
    else turns.push({ role, blocks })
  }
  return turns
}
/** "`tool_use` ids were found without `tool_result` blocks immediately after", "unexpected
 *  `tool_use_id` found in `tool_result` blocks", "tool_result blocks must come first". */
const pairs: Rule = ({ body }) => {
  const turns = turnsOf(body)
  return turns.flatMap(({ blocks }, index) => {
    const calls = blocks.flatMap(each => (each.type === 'tool_use' ? [asString(each.id)] : []))
    const previous = turns[index - 1]?.blocks ?? []
    const openIds = previous.flatMap(each => (each.type === 'tool_use' ? [asString(each.id)] : []))
    const results = blocks.flatMap(each =>
      each.type === 'tool_result' ? [asString(each.tool_use_id)] : [],
    )
    const firsts = blocks.slice(0, results.length)
    return [
      ...openIds.filter(id => !results.includes(id)).map(id => `turn ${index}: no result of ${id}`),
      ...results.filter(id => !openIds.includes(id)).map(id => `turn ${index}: no call of ${id}`),
      ...duplicates(results).map(id => `turn ${index}: two results of ${id}`),
      ...when(
        firsts.some(each => each.type !== 'tool_result'),
        `turn ${index}: results are not first`,
      ),
      ...when(index === turns.length - 1 && calls.length > 0, `turn ${index}: calls are last`),
    ]
  })
}
/** "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", "`tool_use` ids must be
 *  unique". */
const ids: Rule = ({ body }) => {
  const calls = all(body, 'tool_use').map(({ id }) => asString(id))
  const every = [...calls, ...all(body, 'tool_result').map(each => asString(each.tool_use_id))]
  return [
    ...every.filter(id => !/^[a-zA-Z0-9_-]+$/.test(id)).map(id => `the call id "${id}"`),
    ...duplicates(calls).map(id => `two calls have the id "${id}"`),
  ]
}
/** "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", "tools: Tool names
 *  must be unique." */
const toolNames: Rule = ({ body }) => {
  const names = asList(body.tools).flatMap(({ name }) =>
    name === undefined ? [] : [asString(name)],
  )
  const used = [...names, ...all(body, 'tool_use').map(({ name }) => asString(name))]
  return [
    ...used.filter(name => !/^[a-zA-Z0-9_-]{1,128}$/.test(name)).map(name => `the name "${name}"`),
    ...duplicates(names).map(name => `two tools are named "${name}"`),
  ]
}
const toolSchemas: Rule = ({ body }) =>
  asList(body.tools).flatMap(({ name, input_schema: schema }) =>
    schema === undefined ? [] : rootProblems(asString(name), schema, ['oneOf', 'anyOf', 'allOf']),
  )
/** "tool_choice: Tool 'x' not found in provided tools", "tool_choice may only be specified while
 *  providing tools". */
const toolChoice: Rule = ({ body }) => {
  const { type, name } = asObject(body.tool_choice)
  const tools = asList(body.tools)
  return [
    ...when(type !== undefined && tools.length === 0, 'tool_choice without tools'),
    ...when(
      type === 'tool' && !tools.some(each => each.name === name),
      `tool_choice: ${name} is not a tool of the request`,
    ),
  ]
}
/** "messages.0: all messages must have non-empty content except for the optional final assistant
 *  message", "text content blocks must be non-empty", "text content blocks must contain
 *  non-whitespace text", "final assistant content cannot end with trailing whitespace". */
const contents: Rule = ({ body }) => {
  const messages = messagesOf(body)
  const last = messages.at(-1)
  const lastText = asString(blocksOf(last ?? {}).at(-1)?.text)
  const texts = [...asList(body.system), ...messages.flatMap(blocksOf)].filter(
    each => each.type === 'text',
  )
  return [
    ...when(messages.length === 0, 'messages: none'),
    ...when(messages[0]?.role !== 'user', 'messages: the first is not of the user'),
    ...messages
      .filter(each => blocksOf(each).length === 0 && !has(each, 'output_config'))
      .filter(each => each !== last || each.role !== 'assistant')
      .map(each => `messages/${messages.indexOf(each)}: empty`),
    ...texts.filter(({ text }) => asString(text).trim() === '').map(() => 'a text without content'),
    ...when(
      last?.role === 'assistant' && /\s$/.test(lastText),
      'the prefill ends with white space',
    ),
  ]
}
/** Mid-conversation system messages (beta mid-conversation-system-2026-04-07): of the newest models
 *  only, behind a user turn, and last or before an assistant turn. */
const systemTurns: Rule = ({ body, family }) => {
  const messages = messagesOf(body)
  return messages.flatMap(({ role, output_config: config }, index) => {
    if (role !== 'system') return []
    const next = messages[index + 1]?.role
    const isPlaced =
      messages[index - 1]?.role === 'user' && (next === undefined || next === 'assistant')
    return [
      ...when(!family.systemTurns, `messages/${index}: a system turn`),
      ...when(!isPlaced && config === undefined, `messages/${index}: a system turn at this place`),
    ]
  })
}
/** Others serve the format without signatures, and think as they name it. */
const isAnthropic = ({ provider }: Family): boolean => provider === 'anthropic'
/** "`max_tokens` must be greater than `thinking.budget_tokens`", "budget_tokens: Input should be
 *  greater than or equal to 1024", "adaptive thinking is not supported on this model",
 *  "`temperature` may only be set to 1 when thinking is enabled", "`top_k` must be unset when
 *  thinking is enabled", "Thinking may not be enabled when tool_choice forces tool use". */
const thinking: Rule = ({ body, family, headers }) => {
  const { type, budget_tokens: budget } = asObject(body.thinking)
  if (type !== 'enabled' && type !== 'adaptive') return []
  const interleaved = /interleaved-thinking/.test(String(headers['anthropic-beta'] ?? ''))
  const forced = ['any', 'tool'].includes(asString(asObject(body.tool_choice).type))
  const { temperature, top_k: topK, top_p: topP } = body
  return [
    ...when(
      isAnthropic(family) && !family.thinking?.includes(type),
      `thinking: ${type} at ${family.name}`,
    ),
    ...when(type === 'enabled' && asNumber(budget) < 1_024, `thinking: a budget of ${budget}`),
    ...when(
      type === 'enabled' && !interleaved && asNumber(budget) >= asNumber(body.max_tokens),
      `thinking: a budget of ${budget} of ${body.max_tokens} tokens`,
    ),
    ...when(temperature !== undefined && temperature !== 1, 'thinking beside temperature'),
    ...when(topK !== undefined && topK !== null, 'thinking beside top_k'),
    ...when(typeof topP === 'number' && topP < 0.95, 'thinking beside top_p below 0.95'),
    ...when(forced, 'thinking beside a forced call'),
    ...when(messagesOf(body).at(-1)?.role === 'assistant', 'thinking beside a prefill'),
    ...unthoughtCalls(body, type),
  ]
}
/** "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a
 *  final `assistant` message must start with a thinking block": the turn with the calls that the
 *  last results belong to. Adaptive thinking has no such demand. */
const unthoughtCalls = (body: LooseObject, type: string): readonly string[] => {
  const turns = turnsOf(body)
  const isLoop = turns.at(-1)?.blocks.some(each => each.type === 'tool_result')
  const first = turns.at(-2)?.blocks[0]
  const thinks = first === undefined || /thinking$/.test(asString(first.type))
  return when(
    type === 'enabled' && isLoop === true && !thinks,
    'thinking: the last calls have none',
  )
}
/** "thinking.signature: Field required", "Invalid `signature` in `thinking` block",
 *  "Invalid `data` in `redacted_thinking` block". */
const signatures: Rule = ({ body, family }) => [
  ...all(body, 'thinking')
    .filter(each => isAnthropic(family) && asString(each.signature) === '')
    .map(() => 'thinking without a signature'),
  ...all(body, 'redacted_thinking')
    .filter(each => asString(each.data) === '')
    .map(() => 'redacted thinking without data'),
]
/** "This model does not support assistant message prefill. The conversation must end with a user
 *  message." */
const prefill: Rule = ({ body, family }) =>
  when(
    family.noPrefill === true && messagesOf(body).at(-1)?.role === 'assistant',
    `a prefill at ${family.name}`,
  )
/** API reference: temperature 0 to 1. "`temperature` and `top_p` cannot both be specified for this
 *  model", "`temperature` is deprecated for this model". */
const sampling: Rule = ({ body, family }) => {
  const { temperature, top_p: topP, top_k: topK } = body
  const isSet = [temperature, topP, topK].some(each => each !== undefined)
  const both = temperature !== undefined && topP !== undefined
  return [
    ...when(asNumber(temperature) > 1 || asNumber(temperature) < 0, 'temperature: beyond 0 to 1'),
    ...when(family.oneSampling === true && both, 'temperature beside top_p'),
    ...when(family.noSampling === true && isSet, `sampling settings at ${family.name}`),
  ]
}
/** docs, vision: JPEG, PNG, GIF, WebP; "Only HTTPS URLs are supported", "URL sources must be
 *  https". */
const IMAGES = /^image\/(?:jpeg|png|gif|webp)$/
const media: Rule = ({ body }) =>
  objectsIn(body.messages, 'messages').flatMap(([{ type, source }, path]) => {
    if (type !== 'image' && type !== 'document') return []
    const { type: kind, media_type: media, url, data } = asObject(source)
    const isKnown =
      type === 'image'
        ? IMAGES.test(asString(media))
        : media === (kind === 'text' ? 'text/plain' : 'application/pdf')
    return [
      ...when((kind === 'base64' || kind === 'text') && !isKnown, `${path}: ${type} of ${media}`),
      ...when(kind === 'url' && !/^https:/.test(asString(url)), `${path}: the url ${url}`),
      ...when((kind === 'base64' || kind === 'text') && asString(data) === '', `${path}: no data`),
    ]
  })
/** docs, prompt caching: at most 4 breakpoints, none on thinking or empty texts, longer times
 *  first. */
const caching: Rule = ({ body }) => {
  const marked = [body.tools, body.system, body.messages]
    .flatMap(each => objectsIn(each))
    .filter(
      ([each, path]) => has(each, 'cache_control') && !/\/(?:input|input_schema)\//.test(path),
    )
    .map(([each]) => each)
  const times = marked.map(each => asObject(each.cache_control).ttl ?? '5m')
  return [
    ...when(
      marked.length + Number(has(body, 'cache_control')) > 4,
      `${marked.length} cache breakpoints`,
    ),
    ...when(times.lastIndexOf('1h') > times.indexOf('5m') && times.includes('5m'), '1h behind 5m'),
    ...when(
      marked.some(each => /thinking$/.test(asString(each.type))),
      'a breakpoint on thinking',
    ),
  ]
}
/** "tool_result: all content must be type `text` if `is_error` is true"; a result has text, images,
 *  documents, search results and tool references. */
const results: Rule = ({ body }) =>
  all(body, 'tool_result').flatMap(({ content, is_error: failed, tool_use_id: id }) => {
    const types = asList(content).map(({ type }) => asString(type))
    return [
      ...when(
        failed === true && types.some(type => type !== 'text'),
        `${id}: a failure with media`,
      ),
      ...when(
        asList(content).some(({ type, text }) => type === 'text' && asString(text).trim() === ''),
        `${id}: a text without content`,
      ),
    ]
  })
/** API reference: `metadata.user_id` has at most 256 characters. "stop_sequences: each stop
 *  sequence must contain non-whitespace". */
const limits: Rule = ({ body }) => [
  ...beyond(body, { max_tokens: [0, INT32, true], top_k: [0, INT32, true], top_p: [0, 1] }),
  ...when(asString(asObject(body.metadata).user_id).length > 256, 'metadata.user_id: too long'),
  ...(asList(body.stop_sequences) as readonly unknown[])
    .filter(each => asString(each).trim() === '')
    .map(() => 'a stop sequence of white space'),
]
/** docs, effort and structured outputs: which models take them. "output_config.format: schema
 *  objects must set additionalProperties: false". */
const outputConfig: Rule = ({ body, family }) => {
  const { effort, format } = asObject(body.output_config)
  const { schema } = asObject(format)
  const open = objectsIn(schema).filter(
    ([each, path]) =>
      each.type === 'object' &&
      !/\/(?:properties|enum|const)$/.test(path) &&
      each.additionalProperties !== false,
  )
  return [
    ...when(
      effort !== undefined && effort !== null && !family.efforts?.includes(asString(effort)),
      `effort ${effort} at ${family.name}`,
    ),
    ...when(
      has(asObject(body.output_config), 'format') && !family.schemas,
      `a format at ${family.name}`,
    ),
    ...open.map(([, path]) => `format${path}: not closed`),
  ]
}
/** docs, beta headers: members that need one ("context_management: Extra inputs are not
 *  permitted"). */
const BETA_MEMBERS: Readonly<Record<string, RegExp>> = {
  context_management: /context-management|compact/,
  mcp_servers: /mcp-client/,
}
const betas: Rule = ({ body, headers }) =>
  Object.entries(BETA_MEMBERS)
    .filter(
      ([member, beta]) => has(body, member) && !beta.test(String(headers['anthropic-beta'] ?? '')),
    )
    .map(([member]) => `${member} without its beta`)
/** docs, citations: enabled on all documents of a request or on none. */
const citations: Rule = ({ body }) => {
  const enabled = new Set(
    all(body, 'document').map(each => asObject(each.citations).enabled === true),
  )
  return when(enabled.size > 1, 'citations of some documents only')
}
export const MESSAGES_RULES: Rules = {
  pairs,
  ids,
  'tool-names': toolNames,
  'tool-schemas': toolSchemas,
  'tool-choice': toolChoice,
  contents,
  'system-turns': systemTurns,
  thinking,
  signatures,
  prefill,
  sampling,
  media,
  caching,
  results,
  limits,
  'output-config': outputConfig,
  betas,
  citations,
}

/** Decodes a client's request, and encodes one for an upstream of this format. A request to count
 *  tokens lacks `max_tokens` and is decoded the same way. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, omitUndefined } from '../fields.ts'
import type { DroppedFields, TargetFacts, UpstreamRequest } from '../hub/codec.ts'
import { type Prompt, reportPrevious, type Settings } from '../hub/prompt.ts'
import { fitBreakpoints, readCache, writeCache } from './cache.ts'
import { readMessages } from './decode-messages.ts'
import { textBlock } from './encode-content.ts'
import { writeTurns } from './encode-messages.ts'
import { FORM_TOOL_NAME, readForm, writeForm } from './form.ts'
import { mcpHeaders, mcpServerFields } from './mcp-servers.ts'
import { flagIn, numberIn, objectIn, textIn, textsIn } from './members.ts'
import { callName } from './names.ts'
import { MEMBERS, shortenUser, TIERS } from './settings.ts'
import { ownThoughts, planThinking, readThinking, removeConflicts } from './thinking.ts'
import { offeredTools, readChoice, readTools, writeChoice, writeTools } from './tools.ts'

export { cachedMembers } from './cache.ts'
export { needsTranslation, repairHistory } from './thinking.ts'

/** Fields that are decoded below or have no meaning of their own. */
const DECODED_FIELDS: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'system',
  'stream',
  'max_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'metadata',
  'service_tier',
  'cache_control',
  'mcp_servers',
])

export const decodePrompt = (body: Fields, _path: string, dropped: DroppedFields): Prompt => {
  for (const key in body) if (!DECODED_FIELDS.has(key) && body[key] !== null) dropped.add(key)
  dropOthers(body, 'output_config', ['effort', 'format'], dropped)
  dropOthers(body, 'metadata', ['user_id'], dropped)
  return {
    turns: readMessages(body, dropped),
    tools: readTools(body, dropped),
    ...readChoice(body),
    settings: readSettings(body),
    ...readForm(body),
    ...readThinking(body),
    ...readCache(body, ''),
    stream: flagIn(body, 'stream', '') ?? false,
    includeUsage: true,
    body,
  }
}
const dropOthers = (
  body: Fields,
  key: string,
  decodedNames: readonly string[],
  dropped: DroppedFields,
): void => {
  const members = objectIn(body, key, '') ?? {}
  for (const name in members)
    if (!decodedNames.includes(name) && members[name] !== null) dropped.add(`${key}.${name}`)
}

const readSettings = (body: Fields): Settings => {
  const settings = {
    limit: numberIn(body, 'max_tokens', ''),
    temperature: numberIn(body, 'temperature', ''),
    topP: numberIn(body, 'top_p', ''),
    topK: numberIn(body, 'top_k', ''),
    stops: textsIn(body, 'stop_sequences', ''),
    user: textIn(objectIn(body, 'metadata', '') ?? {}, 'user_id', 'metadata'),
    tier: tierOf(textIn(body, 'service_tier', '')),
    parallel: parallelOf(body),
  }
  // Omits settings that the client did not send.
  return omitUndefined(settings as Fields) as Settings
}
const tierOf = (clientTier: string | undefined): string | undefined =>
  TIERS.find(([, name]) => name === clientTier)?.[0] ?? clientTier
const parallelOf = (body: Fields): boolean | undefined => {
  const choice = objectIn(body, 'tool_choice', '') ?? {}
  return flagIn(choice, 'disable_parallel_tool_use', 'tool_choice') ? false : undefined
}

export const encodePrompt = (
  wholePrompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): UpstreamRequest => {
  const prompt = ownThoughts(fitBreakpoints(wholePrompt, dropped), target)
  const { limit, thinking, effort, isOn } = planThinking(prompt, target, dropped)
  const form = writeForm(prompt, target, isOn, dropped)
  const { system, messages } = writeTurns(
    prompt.turns,
    target,
    target.traits.prefill !== false && !isOn,
    dropped,
  )
  reportPrevious(prompt, dropped)
  const systemBlocks =
    form.instructions === undefined ? system : [...system, textBlock(form.instructions)]
  const body: Fields = {
    model: target.name,
    max_tokens: limit,
    messages: [...messages],
    ...(systemBlocks.length > 0 && { system: [...systemBlocks] }),
    ...settingFields(samplingOf(prompt.settings, target, dropped), dropped),
    ...toolFields(prompt, target, form.tool, dropped),
    ...outputConfig(form.format, effort),
    ...(thinking && { thinking }),
    ...writeCache(prompt),
    ...(prompt.stream && { stream: true }),
  }
  return {
    path: '/v1/messages',
    ...mcpHeaders(offeredTools(prompt)),
    body: isOn ? removeConflicts(body, dropped) : body,
  }
}
/** Models refuse temperature and top_p together, or all sampling settings: see the trait
 *  `sampling`. */
const samplingOf = (
  settings: Settings,
  { traits: { sampling } }: TargetFacts,
  dropped: DroppedFields,
): Settings => {
  const { temperature, topP, topK, ...others } = settings
  if (sampling === true) return settings
  if (sampling !== false) {
    if (temperature === undefined || topP === undefined) return settings
    if (topP !== 1) dropped.add('topP')
    return omitUndefined({ ...others, temperature, topK }) as Settings
  }
  if (temperature !== undefined && temperature !== 1) dropped.add('temperature')
  if (topP !== undefined && topP !== 1) dropped.add('topP')
  if (topK !== undefined) dropped.add('topK')
  return others
}

const outputConfig = (format: Fields | undefined, effort: string | undefined): Fields =>
  format || effort !== undefined
    ? { output_config: { ...(effort !== undefined && { effort }), ...(format && { format }) } }
    : {}

const toolFields = (
  prompt: Prompt,
  target: TargetFacts,
  formTool: Fields | undefined,
  dropped: DroppedFields,
): Fields => {
  if (formTool) return { tools: [formTool], tool_choice: { type: 'tool', name: FORM_TOOL_NAME } }
  const tools = writeTools(prompt, target, dropped)
  const servers = mcpServerFields(offeredTools(prompt))
  if (tools.length === 0) return { ...earlierTools(prompt), ...servers }
  const choice = writeChoice(prompt)
  return { tools: [...tools], ...servers, ...(choice && { tool_choice: choice }) }
}

/** Declares the tools of earlier calls, which the provider requires even if no tool may be called
 *  any more. */
const earlierTools = ({ turns }: Prompt): Fields => {
  const names = new Set<string>()
  for (const { content } of turns)
    for (const each of content) if (each.type === 'call') names.add(callName(each))
  if (names.size === 0) return {}
  const tools = [...names].map(name => ({ name, input_schema: { type: 'object' } }))
  return { tools, tool_choice: { type: 'none' } }
}

type Write = (value: never, dropped: DroppedFields) => Fields
/** Settings that are more than a renamed field. */
const SPECIAL_SETTINGS: Readonly<Partial<Record<keyof Settings, Write>>> = {
  limit: () => ({}), // computed together with the thinking budget
  parallel: () => ({}), // part of the tool choice
  temperature: (value: number, dropped) => {
    if (value > 1) dropped.add('temperature')
    return { temperature: Math.min(Math.max(value, 0), 1) }
  },
  stops: (value: readonly string[], dropped) => stopsOf(value, dropped),
  user: (value: string) => ({ metadata: { user_id: shortenUser(value) } }),
  tier: (value: string, dropped) => {
    const name = TIERS.find(([hub]) => hub === value)?.[1]
    if (name === undefined) dropped.add('tier')
    return name === undefined ? {} : { service_tier: name }
  },
}
const stopsOf = (stops: readonly string[], dropped: DroppedFields): Fields => {
  // The provider rejects blank stop sequences.
  const validStops = stops.filter(stop => stop.trim() !== '')
  if (validStops.length < stops.length) dropped.add('stops')
  return validStops.length > 0 ? { stop_sequences: validStops } : {}
}

/** Values that request nothing are not reported as dropped. */
const IS_NEUTRAL: Readonly<Partial<Record<keyof Settings, (value: never) => boolean>>> = {
  candidates: (value: number) => value <= 1,
  frequencyPenalty: (value: number) => value === 0,
  presencePenalty: (value: number) => value === 0,
  logprobs: (value: boolean) => !value,
  alternatives: (value: number) => value === 0,
  store: (value: boolean) => !value,
  background: (value: boolean) => !value,
  modalities: (value: readonly string[]) => value.every(each => each.toLowerCase() === 'text'),
}

/** Plain settings; settings without a name in this format are reported as dropped. */
const settingFields = (settings: Settings, dropped: DroppedFields): Fields => {
  const body: { [name: string]: Json } = {}
  for (const [name, value] of Object.entries(settings)) {
    if (value === undefined || value === null) continue
    const special = SPECIAL_SETTINGS[name as keyof Settings]
    const member = (MEMBERS as Readonly<Record<string, string>>)[name]
    if (special) Object.assign(body, special(value as never, dropped))
    else if (member !== undefined) body[member] = value
    else if (!IS_NEUTRAL[name as keyof Settings]?.(value as never)) dropped.add(name)
  }
  return body
}

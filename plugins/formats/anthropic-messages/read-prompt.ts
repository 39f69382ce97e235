/** Decodes a client's request. A token counting request lacks `max_tokens` and is decoded the same
 *  way. */
import type { Json } from '../../../engine/plugin.ts'
import type { DroppedFields } from '../codec.ts'
import type { Content } from '../content.ts'
import { fault } from '../faults.ts'
import type { Fields } from '../fields.ts'
import type { Prompt, Settings, Turn } from '../hub.ts'
import { readCache } from './cache.ts'
import { readBlocks } from './content.ts'
import { readForm } from './form.ts'
import {
  type FieldPath,
  flagIn,
  listIn,
  memberPath,
  numberIn,
  objectIn,
  objectsIn,
  rejectValue,
  requiredReader,
  requiredText,
  textIn,
  textsIn,
} from './members.ts'
import { TIERS } from './settings.ts'
import { readThinking } from './thinking.ts'
import { readChoice, readTools } from './tools.ts'

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
])

export const decodePrompt = (body: Fields, _path: string, dropped: DroppedFields): Prompt => {
  for (const key in body) if (!DECODED_FIELDS.has(key) && body[key] !== null) dropped.add(key)
  dropOthers(body, 'output_config', ['effort', 'format'], dropped)
  dropOthers(body, 'metadata', ['user_id'], dropped)
  return {
    turns: withToolNames([...readSystem(body), ...readTurns(body)]),
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
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}
const tierOf = (clientTier: string | undefined): string | undefined =>
  TIERS.find(([, name]) => name === clientTier)?.[0] ?? clientTier
const parallelOf = (body: Fields): boolean | undefined => {
  const choice = objectIn(body, 'tool_choice', '') ?? {}
  return flagIn(choice, 'disable_parallel_tool_use', 'tool_choice') ? false : undefined
}

const readSystem = (body: Fields): readonly Turn[] => {
  if (body.system === undefined || body.system === null) return []
  const content = readContent(body, 'system', '')
  return content.length > 0 ? [{ role: 'system', content }] : []
}
const ROLES: readonly string[] = ['user', 'assistant', 'system'] satisfies readonly Turn['role'][]
const isRole = (role: string): role is Turn['role'] => ROLES.includes(role)

const readTurns = (body: Fields): readonly Turn[] =>
  objectsIn(requiredReader(listIn, [])(body, 'messages', ''), 'messages').map(({ fields, at }) => {
    const role = requiredText(fields, 'role', at)
    if (!isRole(role)) rejectValue(memberPath(at, 'role'), `'${role}'`)
    return { role: role as Turn['role'], content: readContent(fields, 'content', at) }
  })

/** A string or a list of blocks. */
const readContent = (fields: Fields, key: string, at: FieldPath): readonly Content[] => {
  const value: Json | undefined = fields[key]
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: value }]
  const path = memberPath(at, key) ?? key
  if (value === undefined || value === null) throw fault('MEMBER_MISSING', [path], { param: path })
  if (!Array.isArray(value))
    throw fault('MEMBER_TYPE', [path, 'a string or an array'], { param: path })
  return readBlocks(value, path)
}

/** Adds tool names to results, which name only the id of their call. */
const withToolNames = (turns: readonly Turn[]): readonly Turn[] => {
  const names = new Map<string, string>()
  return turns.map(turn => ({
    ...turn,
    content: turn.content.map(content => {
      if (content.type === 'call') names.set(content.id, content.name)
      const name = content.type === 'result' ? names.get(content.id) : undefined
      return name === undefined ? content : { ...content, name }
    }),
  }))
}

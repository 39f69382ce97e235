/** Decodes the turns of a client's request. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import { type Fields, isFields } from '../fields.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Content } from '../hub/content.ts'
import type { Turn } from '../hub/prompt.ts'
import { readBlocks } from './decode-content.ts'
import {
  type FieldPath,
  listIn,
  memberPath,
  objectsIn,
  rejectValue,
  requiredReader,
  requiredText,
} from './members.ts'

/** The system prompt is the first turn. Throws for a thread, whose turns are not in the request. */
export const readMessages = (body: Fields, dropped: DroppedFields): readonly Turn[] => {
  if (isFields(body.thread)) throw fault('THREAD_UNSUPPORTED')
  return withToolNames([...readSystem(body), ...readTurns(body, dropped)])
}

const readSystem = (body: Fields): readonly Turn[] => {
  if (body.system === undefined || body.system === null) return []
  const content = readContent(body, 'system', '').map(withoutPlace)
  return content.length > 0 ? [{ role: 'system', content }] : []
}
const ROLES: readonly string[] = ['user', 'assistant', 'system'] satisfies readonly Turn['role'][]
const isRole = (role: string): role is Turn['role'] => ROLES.includes(role)

const readTurns = (body: Fields, dropped: DroppedFields): readonly Turn[] =>
  objectsIn(requiredReader(listIn, [])(body, 'messages', ''), 'messages').flatMap(
    ({ fields, at }): readonly Turn[] => {
      const role = requiredText(fields, 'role', at)
      if (!isRole(role)) rejectValue(memberPath(at, 'role'), `'${role}'`)
      const changesSettings = role === 'system' && isFields(fields.output_config)
      if (changesSettings) dropped.add(memberPath(at, 'output_config') ?? '')
      // A system turn may only change settings, which other providers cannot in mid-conversation.
      if (changesSettings && fields.content === undefined) return []
      const content = readContent(fields, 'content', at)
      return [
        {
          role: role as Turn['role'],
          content: role === 'user' ? content : content.map(withoutPlace),
        },
      ]
    },
  )

/** A block of an unknown type that the model wrote concerns its provider only. */
const withoutPlace = (content: Content): Content => {
  if (content.type !== 'hostedCall') return content
  const { at: _, ...call } = content
  return call
}

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
